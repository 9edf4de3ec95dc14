"""Segment rows as arrays, cut where one flow ends and the next one begins."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from wiretool.codec.columns import Flags, Integers

_NUMBERS = ("turn_ns", "file", "number", "time_ns", "seq", "ack", "flags", "at", "length", "cut", "mark")


class Rows(NamedTuple):
    """Segments of one flow in order, as in `rows.SCHEMA`."""

    turns: Integers
    files: Integers
    numbers: Integers
    times: Integers
    seqs: Integers
    acks: Integers
    flags: Integers
    at: Integers
    lengths: Integers
    cuts: Integers
    marks: Integers
    is_back: Flags
    data: pa.Array

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.turns)

    def cut(self, start: int, stop: int) -> "Rows":
        """Some that follow one another."""
        return Rows._make(column[start:stop] for column in self)

    def only(self, wanted: Flags) -> "Rows":
        """Those of which that is so."""
        return Rows._make(column.filter(pa.array(wanted)) if column is self.data else column[wanted] for column in self)


class Part(NamedTuple):
    """Rows of a flow that follow one another, and whether they are the first and the last of it."""

    flow: bytes
    rows: Rows
    is_first: bool
    is_last: bool


def parts_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Part]:
    """The flows in rows that are sorted by `rows.ORDER`; what a batch has of a flow is one part."""
    waiting: Part | None = None
    for batch in batches:
        for flow, rows in _flows_of(batch):
            is_first = waiting is None or waiting.flow != flow
            if waiting is not None:
                yield waiting._replace(is_last=is_first)
            waiting = Part(flow, rows, is_first, is_last=False)
    if waiting is not None:
        yield waiting._replace(is_last=True)


def _flows_of(batch: pa.RecordBatch) -> Iterator[tuple[bytes, Rows]]:
    if not batch.num_rows:
        return
    flows = batch.column("flow").dictionary_encode()
    codes = flows.indices.to_numpy()
    numbers = [batch.column(name).to_numpy().astype(np.int64, copy=False) for name in _NUMBERS]
    is_back = batch.column("is_back").to_numpy(zero_copy_only=False)
    rows = Rows._make([*numbers, is_back, batch.column("data")])
    bounds = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    for start, stop in pairwise(bounds):
        yield flows.dictionary[int(codes[start])].as_py(), rows.cut(start, stop)
