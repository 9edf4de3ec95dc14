"""Segment tables in, the same streams out as `Streams` gives, plain stretches of them whole.

What is out of the ordinary is fed to `Streams`, one segment at a time; what it would only have passed through comes as
a Run of rows. Both are told in such an order that for each connection it is that of the packets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np

from wiretool.capture.flows import Flow
from wiretool.capture.items import Item, Side
from wiretool.capture.layers import ACK, Segment
from wiretool.capture.recent import RecentRuns
from wiretool.capture.runs import NO_RUN, RUN_SEGMENTS_MIN, Run, SideRun
from wiretool.capture.segments import SegmentTable
from wiretool.capture.streams import Streams
from wiretool.codec.columns import Flags, Integers

#: Flags of a segment that does more than carry bytes: all but PSH and those of congestion.
_FLAGS = 0x17
_NONE = np.zeros(0, np.int64)


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
        #: A time at which to look, and the row of a table at which that is.
        self._looked = (0, -1)
        #: Whether what was given last is of a connection with so few segments in the table that each of them is fed.
        self.is_alone = False

    def read(self, table: SegmentTable) -> Iterator[Run | tuple[int, Sequence[Item]]]:
        """What the segments of a table add: runs, and of each segment that was fed its row and items."""
        if not len(table):
            return
        self._recent.begin(table)
        lanes, lane_of = self._lanes(table)
        alone = zip((single := np.flatnonzero(lane_of < 0)).tolist(), table.segments(single), strict=True)
        seen_ns, never = np.maximum.accumulate(table.times), len(table)
        queue = [(int(lane.rows[lane.stop]), at) for at, lane in enumerate(lanes) if lane.stop < len(lane.rows)]
        heapify(queue)
        fed, self._looked, last_ns = -1, (0, -1), int(seen_ns[-1])
        next_alone = next(alone, None)
        while True:
            look = never if self._streams.look_ns > last_ns else self._look_row(table, seen_ns, fed)
            turn = min(look, queue[0][0] if queue else never)
            if next_alone is not None and next_alone[0] <= turn:
                fed, self.is_alone = next_alone[0], True
                yield fed, self._feed(*next_alone)
                next_alone = next(alone, None)
                continue
            if turn == never:
                break
            at = int(lane_of[turn])
            lane, fed, self.is_alone = lanes[at], turn, False
            if queue and queue[0][0] == turn:
                heappop(queue)
                if lane.stop == len(lane.rows) or lane.rows[lane.stop] != turn:
                    continue  # it was fed before its turn
            yield from self._passed(table, lane, int(np.searchsorted(lane.rows, turn)))
            yield turn, self._feed(turn, table.segment(turn))
            lane.at += 1
            lane.stop = self._stop_of(table, lane)
            if lane.stop < len(lane.rows):
                heappush(queue, (int(lane.rows[lane.stop]), at))
        self._recent.at(len(table))
        for lane in lanes:
            yield from self._passed(table, lane, len(lane.rows))
        self._streams.pass_to(table.segment(len(table) - 1))

    def _feed(self, row: int, segment: Segment) -> Sequence[Item]:
        self._recent.at(row)
        items = self._streams.feed(segment)
        self._recent.fed(row, bool(segment.payload))
        return items

    def end(self) -> list[Item]:
        """As `Streams.end`."""
        return self._streams.end()

    # -- lanes -----------------------------------------------------------------------------------------------------

    def _lanes(self, table: SegmentTable) -> tuple[list[_Lane], Integers]:
        """The lanes of a table, and for each row its lane: -1 where there are too few in it, each of which is fed."""
        known: dict[bytes, int] = {}
        lane_of_key = np.array([known.setdefault(key, known.get(_back(key), len(known))) for key in table.keys])
        lane_of = lane_of_key[table.flows]
        may_run = len(table.keys) < self._streams.room
        counts = np.bincount(lane_of)
        long = np.flatnonzero(counts >= RUN_SEGMENTS_MIN) if may_run else _NONE
        places = np.full(len(counts), -1)
        places[long] = np.arange(len(long))
        lane_of = places[lane_of]
        order = np.argsort(lane_of, kind="stable")
        bounds = np.searchsorted(lane_of[order], np.arange(len(long) + 1)).tolist()
        is_odd = (table.flags & _FLAGS != ACK) | (table.cuts > 0)
        lanes = []
        for start, end in pairwise(bounds):
            rows = order[start:end]
            lane = _Lane(rows, tuple(_way(table, rows, is_odd, flow) for flow in _flows_of(table.flows[rows])))
            lane.stop = self._stop_of(table, lane)
            lanes.append(lane)
        return lanes, lane_of

    def _stop_of(self, table: SegmentTable, lane: _Lane) -> int:
        """The position of the next segment that must be fed."""
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
        row = int(np.searchsorted(seen_ns, look_ns))
        if row > fed:
            return row
        # Times that go back: to look for the next one in all rows each time would be slow.
        if self._looked[0] != look_ns or self._looked[1] <= fed:
            later = np.flatnonzero(table.times[fed + 1 :] >= look_ns)
            self._looked = look_ns, fed + 1 + int(later[0]) if len(later) else len(table)
        return self._looked[1]

    def _passed(self, table: SegmentTable, lane: _Lane, end: int) -> Iterator[Run]:
        """The run up to the position `end`, which nothing stands in the way of."""
        start, lane.at = lane.at, end
        if start == end:
            return
        sides: dict[Side, SideRun] = {"client": NO_RUN, "server": NO_RUN}
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
            self._recent.append_run(run)
            yield run

    def _side_run(
        self, table: SegmentTable, lane: _Lane, way: _Way, flow: Flow, start: int, end: int, last: int
    ) -> SideRun:
        first_payload, last_payload = np.searchsorted(way.payloads, (start, end)).tolist()
        rows = lane.rows[way.payloads[first_payload:last_payload]]
        run = SideRun(rows, flow.offset, int(table.lengths[rows].sum()))
        self._streams.pass_by(flow, run.size, int(table.acks[lane.rows[last]]))
        return run


def _back(key: bytes) -> bytes:
    """The key of the flow in the other direction."""
    size = len(key) // 2 - 2
    return key[size:-4] + key[:size] + key[-2:] + key[-4:-2]


def _flows_of(flows: Integers) -> list[int]:
    """The flows of a lane, ascending: one, or two."""
    return sorted({int(flows.min()), int(flows.max())})


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
