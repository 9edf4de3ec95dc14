"""Packet tables of several captures as those of one, in time order."""

from collections.abc import Iterator, Sequence

import numpy as np

from wiretool.capture.tables import PacketTable
from wiretool.codec.columns import Integers
from wiretool.errors import CaptureError


class _Head:
    """What of one capture waits: the table that is next, and how far it is given out."""

    def __init__(self, tables: Iterator[PacketTable], errors: list[CaptureError]) -> None:
        self._tables = tables
        self._errors = errors
        self._latest_ns = np.int64(-(2**63))
        self.at = 0
        self.table: PacketTable | None = None
        #: When each packet's turn is: not before those in front of it in its file, whatever its own time.
        self.turns: Integers = np.zeros(0, np.int64)
        self.advance()

    def advance(self) -> None:
        """Go on to the next table that has packets; none is left where `table` is None."""
        self.table, self.at = None, 0
        try:
            self.table = next(self._tables, None)
        except CaptureError as err:
            self._errors.append(err)
        if self.table is not None:
            self.turns = np.maximum.accumulate(np.maximum(self.table.times, self._latest_ns))
            self._latest_ns = self.turns[-1]


def merged_tables(captures: Sequence[Iterator[PacketTable]]) -> Iterator[PacketTable]:
    """The packets of all captures by time, numbered from 1: in the order of `files.read_packets`.

    A damaged capture gives what is good of it; the first CaptureError comes after the last table.
    """
    errors: list[CaptureError] = []
    heads = [_Head(tables, errors) for tables in captures]
    number = 1
    while open_ := [head for head in heads if head.table is not None]:
        # Up to here nothing more can come between: the capture that ends first may go on later, or at this very time.
        bound = min(int(head.turns[-1]) for head in open_)
        first = next(place for place, head in enumerate(open_) if head.turns[-1] == bound)
        ends = [
            int(np.searchsorted(head.turns, bound, "right" if place <= first else "left"))
            for place, head in enumerate(open_)
        ]
        yield _merged(open_, ends, number)
        for head, end in zip(open_, ends, strict=True):
            number += end - head.at
            head.at = end
            if head.table is not None and end == len(head.table.starts):
                head.advance()
    if errors:
        raise errors[0]


def _merged(heads: Sequence[_Head], ends: Sequence[int], number: int) -> PacketTable:
    """The packets of each head up to its end, in turn."""
    parts: list[bytes] = []
    columns: list[tuple[Integers, ...]] = []
    base = 0
    for head, end in zip(heads, ends, strict=True):
        table, at = head.table, head.at
        if table is None or at == end:
            continue
        low, high = int(table.starts[at]), int((table.starts + table.lengths)[at:end].max())
        parts.append(table.data[low:high])
        every = (table.lengths, table.wire_lengths, table.times, table.links, head.turns)
        columns.append((table.starts[at:end] - low + base, *(column[at:end] for column in every)))
        base += high - low
    joined = [np.concatenate(same) for same in zip(*columns, strict=True)]
    order = np.argsort(joined.pop(), kind="stable")
    return PacketTable(number, b"".join(parts), *(column[order] for column in joined))
