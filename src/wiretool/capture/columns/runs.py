"""Plain stretches of streams: rows of a segment table instead of an item for each."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp.stream_events import Connection, Data, Side
from wiretool.codec.columns import NO_INTEGERS, Integers

#: Segments of a connection in one table below which all of them are fed: arrays would cost more.
RUN_SEGMENTS_MIN = 8


class SideRun(NamedTuple):
    """What one side sent in a run: `rows` of its segments with payload; the first byte is `offset` of its stream."""

    rows: Integers
    offset: int
    size: int


#: Nothing.
NO_RUN = SideRun(NO_INTEGERS, 0, 0)


class Run(NamedTuple):
    """Plain segments of one connection, from its next one on."""

    connection: Connection
    table: SegmentTable
    client: SideRun
    server: SideRun
    #: By row the packet at which it is emitted, where that is not its own for all.
    emitted_at: Integers | None = None

    def emitted(self, rows: Any) -> Any:
        """Return the packets at which rows are emitted, or that of one."""
        return (self.table.numbers if self.emitted_at is None else self.emitted_at)[rows]

    def side(self, side: Side) -> SideRun:
        """What that side sent."""
        return self.client if side == "client" else self.server

    def told_items(self) -> Iterator[tuple[int, Data]]:
        """The items that `Streams.feed` would have given out, in that order, each with its row."""
        offsets: dict[Side, int] = {"client": self.client.offset, "server": self.server.offset}
        sides: list[tuple[int, Side]] = [(row, "client") for row in self.client.rows.tolist()]
        sides += [(row, "server") for row in self.server.rows.tolist()]
        # Of one side they stand in order; what one packet gave begins with the client's.
        for row, side in sorted(sides, key=None if self.emitted_at is None else lambda each: self.emitted(each[0])):
            yield row, self.item(row, side, offsets[side])
            offsets[side] += int(self.table.lengths[row])

    def behind(self, client: int, server: int) -> "Run":
        """What of it comes after so many items of each side."""
        return self._replace(client=self._behind(self.client, client), server=self._behind(self.server, server))

    def _behind(self, run: SideRun, count: int) -> SideRun:
        passed = int(self.table.lengths[run.rows[:count]].sum())
        return SideRun(run.rows[count:], run.offset + passed, run.size - passed)

    def item(self, row: int, side: Side, offset: int) -> Data:
        """The item of one row."""
        table = self.table
        return Data(self.connection, side, offset, table.payload(row), int(table.times[row]), int(table.numbers[row]))
