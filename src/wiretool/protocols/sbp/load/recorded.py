"""The appends of SBP in recordings: one APPEND each, whose payload has batches of several streams."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from wiretool.load.events import Head
from wiretool.load.part import CarriedAppends, CarriedBatch

_KEPT = frozenset(("entries", "batches", "meta", "stream_id", "last_offset_delta", "payload_len", "records", "body"))


def appends_of(head: Head) -> CarriedAppends:
    """Return how appends are found, where a load puts this head before each event."""
    return CarriedAppends(message="APPEND", field="payload", kept=_KEPT, read=partial(read_payload, head.width))


def read_payload(head_bytes: int, form: Any) -> CarriedBatch:
    """Return the content of a payload in its JSON form, or the part of it that is kept; empty if it is unreadable."""
    found = form if isinstance(form, Mapping) else {}
    entries: Sequence[Mapping[str, Any]] = found.get("entries") or found.get("batches") or ()
    stream = next((str(entry["meta"].get("stream_id", 0)) for entry in entries), "")
    sizes = [each for entry in entries for each in _sizes(head_bytes, entry)]
    return CarriedBatch(stream, sum(times for _, times in sizes), sizes)


def _sizes(head_bytes: int, entry: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return sizes of the events of one batch: its records, or where nothing separates them, as many equal parts."""
    if "records" in entry:
        return [(_bytes_of(record["body"]), 1) for record in entry["records"]]
    count = max(entry["meta"].get("last_offset_delta", 0), 1)
    return [(max(entry["payload_len"] // count - head_bytes, 0), count)]


def _bytes_of(body: Any) -> int:
    """Return how many bytes a body has, given as its length or in the form that records have."""
    if isinstance(body, int):
        return body
    return len(body.encode()) if isinstance(body, str) else len(body["hex"]) // 2
