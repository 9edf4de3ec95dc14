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
from wiretool.load.part import CarriedAppends, JoinedAppends, LoadPart
from wiretool.protocols.base.columns import Group
from wiretool.records import Record


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


def appended_in(run: FrameRun, group: Group, part: LoadPart) -> Appended | None:
    """The appends in frames of one kind, all of one connection; None where they are none."""
    if not len(group.rows):
        return None
    (ends,) = run.connections
    numbers, times_ns = run.frames.numbers[group.rows].tolist(), run.times[group.rows].tolist()
    how = part.recorded
    if isinstance(how, JoinedAppends) and group.append is not None:
        return _in_columns(run, group, how.writer, part, numbers, times_ns)
    if not isinstance(how, CarriedAppends) or group.name != how.message or how.field not in group.columns:
        return None
    if run.frames.is_server[group.rows[0]]:
        return None
    forms = values_of(_slim(group.columns[how.field], how.kept), run.frames.data)
    return _carried(how, ends.connection, ends.server, numbers, times_ns, forms)


def appended_by(record: Record, part: LoadPart) -> Appended | None:
    """The append that a frame completes; None where it does none."""
    numbers, times_ns, how = [record.n], [record.time_ns], part.recorded
    if isinstance(how, JoinedAppends) and record.append is not None:
        append, events = record.append, record.events or ()
        is_conditional = append.get("expected_length") is not None
        sizes = [each["length"] for each in events]
        raw = [] if sizes else [_raw(part, append["length"], is_conditional=is_conditional)]
        return Appended(
            record.connection,
            numbers,
            times_ns,
            [append[how.writer]],
            [len(sizes) or 1],
            Counter(sizes or raw).items(),
            [append["segment"]] if append["segment"] is not None else (),
            int(is_conditional),
        )
    if not isinstance(how, CarriedAppends) or record.message != how.message or record.side != "client":
        return None
    if not isinstance(record.fields, Mapping):
        return None
    return _carried(how, record.connection, record.server, numbers, times_ns, [record.fields.get(how.field)])


# -- appends that several frames make up -------------------------------------------------------------------------------


def _in_columns(
    run: FrameRun, group: Group, writer: str, part: LoadPart, numbers: Sequence[int], times_ns: Sequence[int]
) -> Appended:
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
        found[_raw(part, int(lengths.values[row]), is_conditional=is_conditional)] += 1
    writers = labels_of(group.append[writer], data)
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


def _raw(part: LoadPart, length: int, *, is_conditional: bool) -> int:
    """The size of the one event that stands for bytes which are none: a conditional append tells its event's alone."""
    head_bytes = 0 if part.stored is None else part.stored.head.width
    return length if is_conditional else max(length - head_bytes, 0)


# -- appends that are one message each -------------------------------------------------------------------------------


def _carried(
    how: CarriedAppends,
    connection: int,
    server: str,
    numbers: Sequence[int],
    times_ns: Sequence[int],
    forms: Sequence[Any],
) -> Appended:
    """Return appends with this content. A writer is a stream on a server, whatever the connection it comes by."""
    batches = [how.read(form) for form in forms]
    sizes: Counter[int] = Counter()
    for batch in batches:
        for size, times in batch.sizes:
            sizes[size] += times
    writers = [f"{batch.stream} {server}" if batch.stream else f"{connection}" for batch in batches]
    counts = [batch.events for batch in batches]
    return Appended(connection, numbers, times_ns, writers, counts, sizes.items(), ())


def _slim(column: Column, kept: frozenset[str]) -> Column:
    """Return the columns of these names in a column, with lengths in place of bytes."""
    match column:
        case Struct(columns, count):
            return Struct({name: _slim(each, kept) for name, each in columns.items() if name in kept}, count)
        case Sparse(inner, has):
            return Sparse(_slim(inner, kept), has)
        case Lists(counts, items):
            return Lists(counts, _slim(items, kept))
        case Made(Spans(_, lengths), _):
            return Numbers(lengths)
    return column
