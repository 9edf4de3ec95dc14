"""The appends in what was dissected: who appended how many events of which size, the same for all protocols.

An event is as large as a load would have to make it for as many bytes on the wire: where a protocol does not show where
events begin, what a load puts in front of each is taken off.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wiretool.analysis.subjects_bulk import labels_of
from wiretool.batches.batch import FrameRun
from wiretool.batches.rows import values_of
from wiretool.codec.columns import Column, Lists, Made, Numbers, Spans, Sparse, Struct
from wiretool.load.stored_formats import DIALECTS
from wiretool.protocols.base.columns import Group
from wiretool.records import Record

#: What stands for a writer in an append, where frames add up to one.
_WRITER = {"pravega": "writer_id", "pravega-draft": "connection_id"}
#: The frame that is an append, elsewhere; and what is looked at of its payload.
_NAME = "APPEND"
_KEPT = ("entries", "batches", "meta", "stream_id", "last_offset_delta", "payload_len", "records", "body")


class Appended(NamedTuple):
    """Appends of one connection, in order."""

    connection: int
    #: Of each: the record that completes it, when that was captured, who wrote it, how many events it has.
    numbers: Sequence[int]
    times_ns: Sequence[int]
    writers: Sequence[str]
    counts: Sequence[int]
    #: Of all: sizes of their events, each with how often it came, and the segments that are known.
    sizes: Iterable[tuple[int, int]]
    segments: Iterable[str]
    conditional: int = 0


class _Batch(NamedTuple):
    """What one append of SBP carries."""

    stream: str
    events: int
    sizes: Sequence[tuple[int, int]]


def appended_in(run: FrameRun, group: Group) -> Appended | None:
    """The appends in frames of one kind, all of one connection; None where they are none."""
    if not len(group.rows):
        return None
    (ends,) = run.connections
    numbers, times_ns = run.frames.numbers[group.rows].tolist(), run.times[group.rows].tolist()
    if group.append is not None and run.protocol in _WRITER:
        return _in_columns(run, group, numbers, times_ns)
    if group.name != _NAME or run.frames.is_server[group.rows[0]] or "payload" not in group.columns:
        return None
    forms = values_of(_slim(group.columns["payload"]), run.frames.data)
    return _batched(run.protocol, ends.connection, ends.server, numbers, times_ns, forms)


def appended_by(record: Record) -> Appended | None:
    """The append that a frame completes; None where it does none."""
    numbers, times_ns = [record.n], [record.time_ns]
    if record.append is not None and record.protocol in _WRITER:
        append, events = record.append, record.events or ()
        is_conditional = append.get("expected_length") is not None
        sizes = [each["length"] for each in events]
        raw = [] if sizes else [_raw(record.protocol, append["length"], is_conditional=is_conditional)]
        return Appended(
            record.connection,
            numbers,
            times_ns,
            [append[_WRITER[record.protocol]]],
            [len(sizes) or 1],
            Counter(sizes or raw).items(),
            [append["segment"]] if append["segment"] is not None else (),
            int(is_conditional),
        )
    if record.message != _NAME or record.side != "client" or not isinstance(record.fields, Mapping):
        return None
    forms = [record.fields.get("payload")]
    return _batched(record.protocol, record.connection, record.server, numbers, times_ns, forms)


# -- Pravega and its draft ---------------------------------------------------------------------------------------------


def _in_columns(run: FrameRun, group: Group, numbers: Sequence[int], times_ns: Sequence[int]) -> Appended:
    assert group.append is not None
    assert group.events is not None
    data, lengths = run.frames.data, group.append["length"]
    expected = values_of(group.append["expected_length"], data) if "expected_length" in group.append else ()
    sizes = group.events.columns["length"]
    assert isinstance(lengths, Numbers)
    assert isinstance(sizes, Numbers)
    counts = np.bincount(group.events.rows, minlength=len(numbers))
    found = Counter(sizes.values.tolist())
    for row in np.flatnonzero(counts == 0).tolist():
        is_conditional = bool(expected) and expected[row] is not None
        found[_raw(run.protocol, int(lengths.values[row]), is_conditional=is_conditional)] += 1
    writers = labels_of(group.append[_WRITER[run.protocol]], data)
    codes = np.broadcast_to(writers.codes, len(numbers)).tolist()
    return Appended(
        run.connections[0].connection,
        numbers,
        times_ns,
        [writers.values[code] for code in codes],
        np.maximum(counts, 1).tolist(),
        found.items(),
        labels_of(group.append["segment"], data).values,
        sum(each is not None for each in expected),
    )


def _raw(protocol: str, length: int, *, is_conditional: bool) -> int:
    """The size of the one event that stands for bytes which are none: a conditional append tells its event's alone."""
    return length if is_conditional else max(length - DIALECTS[protocol].head.width, 0)


# -- SBP ---------------------------------------------------------------------------------------------------------------


def _batched(
    protocol: str, connection: int, server: str, numbers: Sequence[int], times_ns: Sequence[int], forms: Sequence[Any]
) -> Appended | None:
    """Appends with these payloads. A writer is a stream on a server, whatever the connection it comes by."""
    if protocol not in DIALECTS:
        return None
    batches = [_batch(protocol, form) for form in forms]
    sizes: Counter[int] = Counter()
    for batch in batches:
        for size, times in batch.sizes:
            sizes[size] += times
    writers = [f"{batch.stream} {server}" if batch.stream else f"{connection}" for batch in batches]
    counts = [batch.events for batch in batches]
    return Appended(connection, numbers, times_ns, writers, counts, sizes.items(), ())


def _batch(protocol: str, form: Any) -> _Batch:
    """What a payload in its JSON form, or the part of it that is `_KEPT`, says; nothing where it cannot be read."""
    found = form if isinstance(form, Mapping) else {}
    entries: Sequence[Mapping[str, Any]] = found.get("entries") or found.get("batches") or ()
    stream = next((str(entry["meta"].get("stream_id", 0)) for entry in entries), "")
    sizes = [each for entry in entries for each in _sizes(protocol, entry)]
    return _Batch(stream, sum(times for _, times in sizes), sizes)


def _sizes(protocol: str, entry: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Sizes of the events of one batch: its records, or where they cannot be told apart, as many equal parts."""
    if "records" in entry:
        return [(_bytes_of(record["body"]), 1) for record in entry["records"]]
    count = max(entry["meta"].get("last_offset_delta", 0), 1)
    return [(max(entry["payload_len"] // count - DIALECTS[protocol].head.width, 0), count)]


def _bytes_of(body: Any) -> int:
    """How many bytes a body has, of which there is the length or the form that records have."""
    if isinstance(body, int):
        return body
    return len(body.encode()) if isinstance(body, str) else len(body["hex"]) // 2


def _slim(column: Column) -> Column:
    """What is looked at of a column, with lengths in place of bytes."""
    match column:
        case Struct(columns, count):
            return Struct({name: _slim(each) for name, each in columns.items() if name in _KEPT}, count)
        case Sparse(inner, has):
            return Sparse(_slim(inner), has)
        case Lists(counts, items):
            return Lists(counts, _slim(items))
        case Made(Spans(_, lengths), _):
            return Numbers(lengths)
    return column
