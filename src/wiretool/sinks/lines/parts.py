"""Batches in parts: stretches of numbers that make a few MiB of text each, and in them rows of one message class."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wiretool.batches.batch import Batch, FrameRun
from wiretool.batches.rows import records_of
from wiretool.codec.columns import Column, Columns, Integers
from wiretool.protocols.base.columns import Events, Group
from wiretool.records import Record

#: Bytes of text that are made at once, about: every byte of a frame comes as four digits, if it is in an event.
TEXT_BYTES = 4 * 1024 * 1024
LINE_BYTES, DIGITS = 512, 4
#: Rows that are worth arrays; fewer go record by record.
PART_ROWS_MIN = 64


@dataclass(frozen=True, slots=True)
class Part:
    """Frames of one class in a run; `numbers` are those of their records."""

    run: FrameRun
    group: Group
    numbers: Integers


@dataclass(frozen=True, slots=True)
class Stretch:
    """What has neighbouring numbers: some of it in columns, the others as they are, in order."""

    parts: Sequence[Part]
    records: Sequence[Record]


def stretches_of(batch: Batch) -> Iterator[Stretch]:
    """The stretches of a batch, one after the other."""
    parts = [Part(run, group, run.frames.numbers[group.rows]) for run in batch.runs for group in run.groups]
    if not parts:
        yield Stretch((), batch.records)
        return
    own = np.array([record.n for record in batch.records], np.int64)
    raw = np.array([len(record.raw) for record in batch.records], np.int64)
    for low, high in _bounds(parts, own, raw):
        first, last = np.searchsorted(own, (low, high)).tolist()
        yield _stretch([_between(part, low, high) for part in parts], batch.records[first:last])


def _bounds(parts: Sequence[Part], own: Integers, raw: Integers) -> Iterator[tuple[int, int]]:
    """The numbers [low, high) of each stretch; `own` are those of records, `raw` the sizes of their frames."""
    numbers = np.concatenate((*(part.numbers for part in parts), own))
    sizes = [(part.run.frames.ends - part.run.frames.starts)[part.group.rows] for part in parts]
    weights = LINE_BYTES + DIGITS * np.concatenate((*sizes, raw))
    order = np.argsort(numbers)
    at = np.cumsum(weights[order]) // TEXT_BYTES
    lows = numbers[order][np.flatnonzero(np.diff(at, prepend=-1))].tolist()
    highs = [*lows[1:], int(numbers[order[-1]]) + 1]
    yield from zip(lows, highs, strict=True)


def _stretch(parts: Sequence[Part], records: Sequence[Record]) -> Stretch:
    large = [part for part in parts if len(part.numbers) >= PART_ROWS_MIN]
    return Stretch(large, with_rows(records, [part for part in parts if 0 < len(part.numbers) < PART_ROWS_MIN]))


def with_rows(records: Sequence[Record], parts: Sequence[Part]) -> Sequence[Record]:
    """The records, and those of the parts, in order."""
    if not parts:
        return records
    runs = [replace(part.run, groups=(part.group,)) for part in parts]
    return records_of(Batch(0, 0, runs, records))


def _between(part: Part, low: int, high: int) -> Part:
    first, last = np.searchsorted(part.numbers, (low, high)).tolist()
    if (first, last) == (0, len(part.numbers)):
        return part
    return Part(part.run, _sliced(part.group, first, last), part.numbers[first:last])


def _sliced(group: Group, first: int, last: int) -> Group:
    """The rows [first, last) of a group; columns that are one stay one."""
    taken = slice(first, last)
    made: dict[int, Column] = {}

    def slices(columns: Columns) -> Columns:
        return {name: made.setdefault(id(column), column.take(taken)) for name, column in columns.items()}

    return Group(
        group.cls,
        group.name,
        group.rows[taken],
        slices(group.columns),
        None if group.reply_to is None else group.reply_to[taken],
        None if group.append is None else slices(group.append),
        None if group.events is None else _sliced_events(group.events, first, last),
    )


def _sliced_events(events: Events, first: int, last: int) -> Events:
    start, stop = np.searchsorted(events.rows, (first, last)).tolist()
    taken = slice(start, stop)
    columns = {name: column.take(taken) for name, column in events.columns.items()}
    return Events(events.rows[taken] - first, columns, events.body.take(taken))
