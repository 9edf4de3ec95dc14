"""The events part of SBP: the records of batches in payloads."""

from collections.abc import Iterator, Mapping
from typing import Any

from wiretool.protocols.base.events import EventLayout
from wiretool.protocols.sbp.records import body_from_json


def batched(payload: Any) -> Iterator[tuple[int | None, bytes]]:
    """Number and bytes of each record in the batches of a payload's JSON form, or of each batch that is one whole."""
    if not isinstance(payload, Mapping):
        return
    for batches in payload.values():
        for batch in batches if isinstance(batches, list) else ():
            if "records" in batch:
                for each in batch["records"]:
                    yield batch["base_offset"] + each["offset_delta"], body_from_json(each["body"], "body")
            elif "payload" in batch:
                yield batch["meta"].get("base_offset"), body_from_json(batch["payload"], "payload")


EVENTS = EventLayout(batched=batched)
