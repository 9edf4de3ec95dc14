"""Plain stretches of streams: rows of a segment table instead of an item for each."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wiretool.capture.items import Connection, Data, Side
from wiretool.capture.segments import SegmentTable
from wiretool.codec.columns import Integers

#: Segments of a connection in one table below which all of them are fed: arrays would cost more.
RUN_SEGMENTS_MIN = 8


class SideRun(NamedTuple):
    """What one side sent in a run: `rows` of its segments with payload; the first byte is `offset` of its stream."""

    rows: Integers
    offset: int
    size: int


_NONE = np.zeros(0, np.int64)
#: Nothing.
NO_RUN = SideRun(_NONE, 0, 0)
SIDES: tuple[Side, Side] = ("client", "server")


class Run(NamedTuple):
    """Plain segments of one connection, from its next one on."""

    connection: Connection
    table: SegmentTable
    client: SideRun
    server: SideRun
    #: By row the packet at which it is told, where that is not its own.
    told: Integers | None = None

    @property
    def is_late(self) -> bool:
        """Return whether payloads may be emitted at later packets than their own."""
        return self.told is not None

    def told_at(self, rows: Any) -> Any:
        """The packets at which rows are told, or that of one."""
        return (self.table.numbers if self.told is None else self.told)[rows]

    def side(self, side: Side) -> SideRun:
        """What that side sent."""
        return self.client if side == "client" else self.server

    def only(self, side: Side) -> "Run":
        """What one side sent in it."""
        return self._replace(server=NO_RUN) if side == "client" else self._replace(client=NO_RUN)

    def told_items(self) -> Iterator[tuple[int, Data]]:
        """The items that `Streams.feed` would have given out, in that order, each with its row."""
        offsets: dict[Side, int] = {"client": self.client.offset, "server": self.server.offset}
        sides: list[tuple[int, Side]] = [(row, "client") for row in self.client.rows.tolist()]
        sides += [(row, "server") for row in self.server.rows.tolist()]
        # Of one side they stand in order; what one packet gave is of one side.
        for row, side in sorted(sides, key=None if self.told is None else lambda each: self.told_at(each[0])):
            yield row, self.item(row, side, offsets[side])
            offsets[side] += int(self.table.lengths[row])

    def behind(self, client: int, server: int) -> "Run":
        """What of it comes after so many items of each side."""
        return self._replace(client=self._behind(self.client, client), server=self._behind(self.server, server))

    def cut(self, packet: int) -> tuple["Run", "Run"]:
        """What of it is told before a packet, and the rest."""
        client, server = (int(np.searchsorted(self.told_at(each.rows), packet)) for each in (self.client, self.server))
        before = self._replace(client=self._upto(self.client, client), server=self._upto(self.server, server))
        return before, self.behind(client, server)

    @property
    def size(self) -> int:
        """Bytes of both sides."""
        return self.client.size + self.server.size

    def _upto(self, run: SideRun, count: int) -> SideRun:
        rows = run.rows[:count]
        return run if count == len(run.rows) else SideRun(rows, run.offset, int(self.table.lengths[rows].sum()))

    def _behind(self, run: SideRun, count: int) -> SideRun:
        passed = int(self.table.lengths[run.rows[:count]].sum())
        return SideRun(run.rows[count:], run.offset + passed, run.size - passed)

    def item(self, row: int, side: Side, offset: int) -> Data:
        """The item of one row."""
        table = self.table
        return Data(self.connection, side, offset, table.payload(row), int(table.times[row]), int(table.numbers[row]))


#: What was given out of a connection: a run, or an item with the packet at which it was.
Part = Run | tuple[int, Data]


def joined(parts: Sequence[Part], table: SegmentTable) -> Iterator[Run]:
    """Parts of one connection, in the order in which they were given out, as few runs.

    The runs are of the table; so is an item that is the whole payload of one of its segments.
    """
    rows = _rows_of([part[1] for part in parts if not isinstance(part, Run)], table)
    own: list[tuple[Part, int]] = []
    loose: list[tuple[int, Data]] = []
    for part in parts:
        row = -1
        if not isinstance(part, Run):
            row = next(rows)
            if row < 0:
                if own:
                    yield _joined(own, table)
                    own = []
                loose.append(part)
                continue
        if loose:
            yield run_of(loose)
            loose = []
        own.append((part, row))
    if own:
        yield _joined(own, table)
    elif loose:
        yield run_of(loose)


def _rows_of(items: Sequence[Data], table: SegmentTable) -> Iterator[int]:
    """The row of the segment whose whole payload each item is, -1 where there is none."""
    packets = np.array([item.packet for item in items], np.int64)
    lengths = np.array([len(item.data) for item in items], np.int64)
    rows = np.minimum(np.searchsorted(table.numbers, packets), len(table) - 1)
    is_whole = (table.numbers[rows] == packets) & (table.lengths[rows] == lengths)
    yield from np.where(is_whole, rows, -1).tolist()


def _joined(parts: Sequence[tuple[Part, int]], table: SegmentTable) -> Run:
    """Runs, and items with the rows of the table that they are, as one run."""
    first = parts[0][0]
    if len(parts) == 1 and isinstance(first, Run):
        return first
    rows: dict[Side, list[Integers]] = {side: [] for side in SIDES}
    offsets: dict[Side, int] = {}
    emitted: Integers | None = None
    for part, row in parts:
        if isinstance(part, Run):
            for side in SIDES:
                run = part.side(side)
                if len(run.rows):
                    rows[side].append(run.rows)
                    offsets.setdefault(side, run.offset)
                    if part.is_late:
                        emitted = table.numbers.copy() if emitted is None else emitted
                        emitted[run.rows] = part.told_at(run.rows)
            continue
        number, item = part
        rows[item.side].append(np.array([row], np.int64))
        offsets.setdefault(item.side, item.offset)
        if item.packet != number:
            emitted = table.numbers.copy() if emitted is None else emitted
            emitted[row] = number
    sides = {side: _side_run(table, rows[side], offsets.get(side, 0)) for side in SIDES}
    connection = first.connection if isinstance(first, Run) else first[1].connection
    return Run(connection, table, sides["client"], sides["server"], emitted)


def _side_run(table: SegmentTable, parts: Sequence[Integers], offset: int) -> SideRun:
    if not parts:
        return NO_RUN
    rows = np.concatenate(parts)
    return SideRun(rows, offset, int(table.lengths[rows].sum()))


def run_of(items: Sequence[tuple[int, Data]]) -> Run:
    """Items of one connection as they were given out, each with the packet at which it was, as a run."""
    lengths = np.array([len(item.data) for _, item in items], np.int64)
    table = SegmentTable(
        b"".join(item.data for _, item in items),
        np.array([item.packet for _, item in items], np.int64),
        np.array([item.time_ns for _, item in items], np.int64),
        starts=np.cumsum(lengths) - lengths,
        lengths=lengths,
        keys=(),
        **dict.fromkeys(("flows", "seqs", "acks", "flags", "cuts"), _NONE),
    )
    sides = {side: _side_of(items, side, lengths) for side in SIDES}
    told = np.array([number for number, _ in items], np.int64)
    return Run(items[0][1].connection, table, sides["client"], sides["server"], told)


def _side_of(items: Sequence[tuple[int, Data]], side: Side, lengths: Integers) -> SideRun:
    rows = np.array([row for row, (_, item) in enumerate(items) if item.side == side], np.int64)
    return SideRun(rows, items[int(rows[0])][1].offset, int(lengths[rows].sum())) if len(rows) else NO_RUN
