"""Plain segments of many connections in one table."""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from wiretool.capture.columns.runs import NO_RUN, Run, SideRun
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp.stream_events import Connection, End, Side
from wiretool.codec.columns import Flags, Integers, begins_of, items_of
from wiretool.codec.message import SIDES


class Fins(NamedTuple):
    """The rows with the FINs of connections; `owner` and `is_server` have the index and the sender of each."""

    rows: Integers
    owner: Integers
    is_server: Flags

    def ends(self, table: SegmentTable, connections: Sequence[Connection], wanted: Flags) -> list[End]:
        """Return the ends of flows of some of the connections."""
        mine = wanted[self.owner]
        rows = self.rows[mine]
        columns = self.owner[mine], self.is_server[mine], table.times[rows], table.numbers[rows]
        values = zip(*(column.tolist() for column in columns), strict=True)
        return [End(connections[index], SIDES[side], "fin", *when) for index, side, *when in values]


class ClosedConnections(NamedTuple):
    """Connections with FINs of both sides, by their slots, and these FINs."""

    slots: Integers
    connections: Sequence[Connection]
    fins: Fins


class PlainSegments(NamedTuple):
    """Plain segments of many connections, starting with the next one of each.

    `rows` are those with payload, ordered by flow: flow i has `rows[bounds[i] : bounds[i + 1]]`; their first byte
    has the offset `offsets[i]`. It is one side of `connections[connection_of[i]]`; the client's side comes first.
    """

    table: SegmentTable
    connections: Sequence[Connection]
    #: By connection, its slot among the steady flows.
    slots: Integers
    rows: Integers
    bounds: Integers
    offsets: Integers
    connection_of: Integers
    is_server: Flags
    #: The ends of flows, after all of their bytes; and connections without flows that are over, after these bytes too.
    ends: Sequence[End] = ()
    closed: ClosedConnections | None = None
    #: By row of the table the packet at which its frames are emitted, where that is not its own for all; and packets at
    #: which more may be emitted than these frames.
    emitted_at: Integers | None = None
    shared: Integers = np.zeros(0, np.int64)
    #: By row the order among what is emitted at one packet.
    turns: Integers | None = None
    #: By connection the packet at which its first frames are emitted at the earliest.
    emitted_from: Integers | None = None

    @property
    def sizes(self) -> Integers:
        """Return the number of bytes of each flow."""
        ends = np.append(0, np.cumsum(self.table.lengths[self.rows]))
        sizes: Integers = ends[self.bounds[1:]] - ends[self.bounds[:-1]]
        return sizes

    def run(self, index: int) -> Run:
        """Return the segments of one connection."""
        first, last = np.searchsorted(self.connection_of, (index, index + 1)).tolist()
        sides: dict[Side, SideRun] = {"client": NO_RUN, "server": NO_RUN}
        for stream in range(first, last):
            rows = self.rows[self.bounds[stream] : self.bounds[stream + 1]]
            side: Side = "server" if self.is_server[stream] else "client"
            sides[side] = SideRun(rows, int(self.offsets[stream]), int(self.table.lengths[rows].sum()))
        return Run(self.connections[index], self.table, sides["client"], sides["server"], self.emitted_at)

    def first_rows(self) -> list[tuple[int, bool]]:
        """Return the first row of each connection, and whether it is the server's."""
        rows = self.rows[self.bounds[:-1]]
        order = np.lexsort((rows, self.connection_of))
        firsts = order[begins_of(self.connection_of[order])]
        return list(zip(rows[firsts].tolist(), self.is_server[firsts].tolist(), strict=True))

    def with_flows(self, wanted: Integers) -> "PlainSegments":
        """Return them with these flows, of which some may have no segments; flow `2 * index` is a client's."""
        flows = 2 * self.connection_of + self.is_server
        every = np.union1d(flows, wanted)
        places = np.searchsorted(every, flows)
        counts, offsets = np.zeros((2, len(every)), np.int64)
        counts[places], offsets[places] = np.diff(self.bounds), self.offsets
        bounds = np.append(0, np.cumsum(counts))
        return self._replace(bounds=bounds, offsets=offsets, connection_of=every >> 1, is_server=every & 1 == 1)

    def only(self, wanted: Flags) -> "PlainSegments":
        """Return the segments of some of the connections, without the ends of their flows."""
        if wanted.all():
            return self._replace(ends=())
        flows = np.flatnonzero(wanted[self.connection_of])
        counts = np.diff(self.bounds)[flows]
        return self._replace(
            connections=list(compress(self.connections, wanted.tolist())),
            slots=self.slots[wanted],
            rows=self.rows[items_of(self.bounds[flows], counts)],
            bounds=np.append(0, np.cumsum(counts)),
            offsets=self.offsets[flows],
            connection_of=(np.cumsum(wanted) - 1)[self.connection_of[flows]],
            is_server=self.is_server[flows],
            ends=(),
        )

    def runs(self) -> Iterator[Run]:
        """Yield the segments of each connection."""
        return map(self.run, range(len(self.connections)))
