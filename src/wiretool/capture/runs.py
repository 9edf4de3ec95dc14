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
        """The items that `Streams.feed` would have given out, each with its row."""
        offsets: dict[Side, int] = {"client": self.client.offset, "server": self.server.offset}
        sides: list[tuple[int, Side]] = [(row, "client") for row in self.client.rows.tolist()]
        sides += [(row, "server") for row in self.server.rows.tolist()]
        for row, side in sorted(sides):
            yield row, self.item(row, side, offsets[side])
            offsets[side] += int(self.table.lengths[row])

    def behind(self, row: int) -> "Run":
        """What of it comes after the row."""
        return self._replace(client=self._behind(self.client, row), server=self._behind(self.server, row))

    def _behind(self, run: SideRun, row: int) -> SideRun:
        at = int(np.searchsorted(run.rows, row, "right"))
        passed = int(self.table.lengths[run.rows[:at]].sum())
        return SideRun(run.rows[at:], run.offset + passed, run.size - passed)

    def item(self, row: int, side: Side, offset: int) -> Data:
        """The item of one row."""
        table = self.table
        return Data(self.connection, side, offset, table.payload(row), int(table.times[row]), int(table.numbers[row]))


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
