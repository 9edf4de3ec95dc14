"""Segment tables in, the same streams out as `Streams` gives, plain stretches of them whole.

What is out of the ordinary is fed to `Streams`, one segment at a time; what it would only have passed through comes as
a Run of rows. Both are told in such an order that for each connection it is that of the packets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from wiretool.capture.flows import RECENT_ITEMS, Flow
from wiretool.capture.items import Connection, Data, Item, Side
from wiretool.capture.layers import ACK
from wiretool.capture.segments import SegmentTable
from wiretool.capture.streams import Streams
from wiretool.codec.columns import Flags, Integers

#: Segments of a connection in one table below which all of them are fed: arrays would cost more.
RUN_SEGMENTS_MIN = 8
#: Flags of a segment that does more than carry bytes: all but PSH and those of congestion.
_FLAGS = 0x17


class SideRun(NamedTuple):
    """What one side sent in a run: `rows` of its segments with payload; the first byte is `offset` of its stream."""

    rows: Integers
    offset: int
    size: int


class Run(NamedTuple):
    """Plain segments of one connection, from its next one on."""

    connection: Connection
    table: SegmentTable
    client: SideRun
    server: SideRun

    def side(self, side: Side) -> SideRun:
        """What that side sent."""
        return self.client if side == "client" else self.server

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


class RecentRuns:
    """What was given out last, by items and by runs; of a run items are made only where somebody looks."""

    def __init__(self) -> None:
        self._entries: list[Data | Run] = []

    def append(self, item: Data | Run) -> None:
        """The next that was given out."""
        self._entries.append(item)
        if len(self._entries) > 4 * RECENT_ITEMS:
            self._forget()

    def __reversed__(self) -> Iterator[Data]:
        return islice(self._newest_first(), RECENT_ITEMS)

    def _newest_first(self) -> Iterator[Data]:
        for entry in reversed(self._entries):
            if isinstance(entry, Run):
                yield from (item for _, item in reversed(list(entry.told_items())))
            else:
                yield entry

    def _forget(self) -> None:
        """Keep the entries that hold the last items."""
        count, at = 0, len(self._entries)
        while at and count < RECENT_ITEMS:
            at -= 1
            entry = self._entries[at]
            count += len(entry.client.rows) + len(entry.server.rows) if isinstance(entry, Run) else 1
        del self._entries[:at]


@dataclass(frozen=True, slots=True)
class _Way:
    """One direction of a lane: its flow's key, and positions in the lane, each in order."""

    key: bytes
    every: Integers
    #: Those with payload.
    payloads: Integers
    #: Those that do more than carry bytes, and those that do not follow on the payload before them.
    odd: Integers
    breaks: Integers


@dataclass(slots=True)
class _Lane:
    """The segments of two flows that are each other's way back, in one table; positions are indices into `rows`."""

    rows: Integers
    ways: tuple[_Way, ...]
    #: The position up to which all is told, and that of the next segment that is to be fed.
    at: int = 0
    stop: int = 0


class BulkStreams:
    """All connections of a capture; `read` each table in turn, then `end`."""

    def __init__(self, streams: Streams, recent: RecentRuns) -> None:
        self._streams = streams
        self._recent = recent

    def read(self, table: SegmentTable) -> Iterator[Run | tuple[int, Sequence[Item]]]:
        """What the segments of a table add: runs, and of each segment that was fed its row and items."""
        if not len(table):
            return
        lanes, lane_of = self._lanes(table)
        seen_ns = np.maximum.accumulate(table.times)
        queue = [(int(lane.rows[lane.stop]), at) for at, lane in enumerate(lanes) if lane.stop < len(lane.rows)]
        heapify(queue)
        fed = -1
        while True:
            look = self._look_row(table, seen_ns, fed)
            if queue and queue[0][0] <= look:
                row, at = heappop(queue)
                if lanes[at].stop == len(lanes[at].rows) or lanes[at].rows[lanes[at].stop] != row:
                    continue  # it was fed before its turn
            elif look < len(table):
                row, at = look, int(lane_of[look])
            else:
                break
            lane, fed = lanes[at], row
            yield from self._passed(table, lane, int(np.searchsorted(lane.rows, row)))
            yield row, self._streams.feed(table.segment(row))
            lane.at += 1
            lane.stop = self._stop_of(table, lane)
            if lane.stop < len(lane.rows):
                heappush(queue, (int(lane.rows[lane.stop]), at))
        for lane in lanes:
            yield from self._passed(table, lane, len(lane.rows))
        self._streams.pass_to(table.segment(len(table) - 1))

    def end(self) -> list[Item]:
        """As `Streams.end`."""
        return self._streams.end()

    # -- lanes -----------------------------------------------------------------------------------------------------

    def _lanes(self, table: SegmentTable) -> tuple[list[_Lane], Integers]:
        """The lanes of a table, and for each row its lane."""
        known: dict[bytes, int] = {}
        lane_of_key = np.array([known.setdefault(key, known.get(_back(key), len(known))) for key in table.keys])
        _, lane_of_key = np.unique(lane_of_key, return_inverse=True)
        lane_of = lane_of_key[table.flows]
        order = np.argsort(lane_of, kind="stable")
        bounds = np.searchsorted(lane_of[order], np.arange(lane_of_key.max() + 2)).tolist()
        is_odd = (table.flags & _FLAGS != ACK) | (table.cuts > 0)
        may_run = len(table.keys) < self._streams.room
        lanes = []
        for start, end in pairwise(bounds):
            rows = order[start:end]
            if may_run and end - start >= RUN_SEGMENTS_MIN:
                lane = _Lane(rows, tuple(_way(table, rows, is_odd, flow) for flow in np.unique(table.flows[rows])))
            else:
                lane = _Lane(rows, ())
            lane.stop = self._stop_of(table, lane)
            lanes.append(lane)
        return lanes, lane_of

    def _stop_of(self, table: SegmentTable, lane: _Lane) -> int:
        """The position of the next segment that must be fed."""
        if not lane.ways:
            return lane.at
        return min(len(lane.rows), *(self._stop_on(table, lane, way) for way in lane.ways))

    def _stop_on(self, table: SegmentTable, lane: _Lane, way: _Way) -> int:
        flow, never = self._streams.flow_of(way.key), len(lane.rows)
        if flow is None or not flow.is_plain:
            return _next(way.every, lane.at, never)
        payload = _next(way.payloads, lane.at, never)
        if payload < never and table.seqs[lane.rows[payload]] != flow.seq:
            stop = payload
        else:
            stop = _next(way.breaks, payload + 1, never)
        return min(stop, _next(way.odd, lane.at, never))

    def _look_row(self, table: SegmentTable, seen_ns: Integers, fed: int) -> int:
        """The next row at whose time waiting holes are to be looked at."""
        look_ns = self._streams.look_ns
        if look_ns > seen_ns[-1]:
            return len(table)
        row = int(np.searchsorted(seen_ns, look_ns))
        if row > fed:
            return row
        later = np.flatnonzero(table.times[fed + 1 :] >= look_ns)
        return fed + 1 + int(later[0]) if len(later) else len(table)

    def _passed(self, table: SegmentTable, lane: _Lane, end: int) -> Iterator[Run]:
        """The run up to the position `end`, which nothing stands in the way of."""
        start, lane.at = lane.at, end
        if start == end:
            return
        sides: dict[Side, SideRun] = {"client": _NO_RUN, "server": _NO_RUN}
        connection = None
        for way in lane.ways:
            first, last = np.searchsorted(way.every, (start, end)).tolist()
            if first == last:
                continue
            flow = self._streams.flow_of(way.key)
            assert flow is not None, "a plain segment has a flow"
            connection = flow.connection
            sides[flow.side] = self._side_run(table, lane, way, flow, start, end, way.every[last - 1])
        assert connection is not None, "every position is of one of the ways"
        connection.packets += end - start
        connection.last_ns = int(table.times[lane.rows[end - 1]])
        run = Run(connection, table, sides["client"], sides["server"])
        if run.client.size or run.server.size:
            self._recent.append(run)
            yield run

    def _side_run(
        self, table: SegmentTable, lane: _Lane, way: _Way, flow: Flow, start: int, end: int, last: int
    ) -> SideRun:
        first_payload, last_payload = np.searchsorted(way.payloads, (start, end)).tolist()
        rows = lane.rows[way.payloads[first_payload:last_payload]]
        run = SideRun(rows, flow.offset, int(table.lengths[rows].sum()))
        self._streams.pass_by(flow, run.size, int(table.acks[lane.rows[last]]))
        return run


_NO_RUN = SideRun(np.zeros(0, np.int64), 0, 0)


def _back(key: bytes) -> bytes:
    """The key of the flow in the other direction."""
    size = len(key) // 2 - 2
    return key[size:-4] + key[:size] + key[-2:] + key[-4:-2]


def _way(table: SegmentTable, rows: Integers, is_odd: Flags, flow: int) -> _Way:
    every = np.flatnonzero(table.flows[rows] == flow)
    mine = rows[every]
    has_payload = table.lengths[mine] > 0
    payloads, carriers = every[has_payload], mine[has_payload]
    expected = (table.seqs[carriers] + table.lengths[carriers]) & 0xFFFF_FFFF
    breaks = payloads[1:][table.seqs[carriers[1:]] != expected[:-1]]
    return _Way(table.keys[flow], every, payloads, every[is_odd[mine]], breaks)


def _next(positions: Integers, at: int, never: int) -> int:
    """The first of the positions that is not before `at`, or `never`."""
    index = int(np.searchsorted(positions, at))
    return int(positions[index]) if index < len(positions) else never
