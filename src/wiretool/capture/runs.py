"""Segment tables in, the same streams out as `Streams` gives, plain stretches of them whole.

What is out of the ordinary is fed to `Streams`, one segment at a time; what it would only have passed through comes as
a Run of rows. Both are told in such an order that for each connection it is that of the packets.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wiretool.capture.flows import RECENT_ITEMS, Flow, shares_bytes
from wiretool.capture.items import Connection, Data, Item, Side
from wiretool.capture.layers import ACK, Segment
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


class _Places:
    """How many items had been given out before each row of a table, if all segments had been fed one by one."""

    def __init__(self, table: SegmentTable, first: int) -> None:
        #: By row, the payloads before it.
        self._before: list[int] = [0, *np.cumsum(table.lengths > 0).tolist()]
        self._first = first
        #: Rows that gave out more or fewer items than their own, and how many those were more in all up to there.
        self._rows: list[int] = []
        self._more = [0]

    def note(self, row: int, more: int) -> None:
        """The row, behind all others that were noted, gave out so many items more than a plain one."""
        self._rows.append(row)
        self._more.append(self._more[-1] + more)

    def before(self, row: int) -> int:
        """Of a row behind all that were noted; that of the last one counts as given out behind it."""
        return self._first + self._more[-1] + self._before[row]

    def of(self, row: int) -> int:
        """Of a plain row with payload."""
        return self._first + self._more[bisect_left(self._rows, row)] + self._before[row]


class _PlacedRun(NamedTuple):
    """A run, and the places of the rows of its table."""

    run: Run
    places: _Places

    @property
    def connection(self) -> Connection:
        return self.run.connection

    def items(self, oldest: int) -> Iterator[tuple[int, Data]]:
        """Its items from that place on, in order, each with its place."""
        for row, item in self.run.told_items():
            place = self.places.of(row)
            if place >= oldest:
                yield place, item

    def overlapping(self, side: Side, start: int, end: int, oldest: int) -> Iterator[Data]:
        """Items of a side from that place on that share bytes with [start, end), the newest first."""
        run, rows = self.run, self.run.side(side).rows
        ends = run.side(side).offset + np.cumsum(run.table.lengths[rows])
        starts = ends - run.table.lengths[rows]
        first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(starts, end))
        for at in range(last - 1, first - 1, -1):
            if self.places.of(int(rows[at])) >= oldest:
                yield run.item(int(rows[at]), side, int(starts[at]))


class RecentRuns:
    """What was given out last, by items and by runs; of a run items are made only where somebody looks.

    Runs come behind items of later packets. So each item has the place that it had if all were fed one by one, and
    what counts is the place.
    """

    def __init__(self) -> None:
        #: Each with the place of its last item.
        self._entries: list[tuple[int, Data | _PlacedRun]] = []
        self._entries_most = 4 * RECENT_ITEMS
        self._places: _Places | None = None
        #: The place of the next item.
        self._next = 0

    def begin(self, table: SegmentTable) -> None:
        """All that is given out from now on is of this table. Of those before the last one only bytes are kept."""
        self._forget()
        last, self._places = self._places, _Places(table, self._next)
        kept, self._entries = self._entries, []
        for place, entry in kept:
            if isinstance(entry, _PlacedRun) and entry.places is not last:
                self._entries += entry.items(self._oldest)
            else:
                self._entries.append((place, entry))

    def at(self, row: int) -> None:
        """What comes next is of this row, or of later ones."""
        assert self._places is not None, "a table was begun"
        self._next = self._places.before(row)

    def fed(self, row: int, has_payload: bool) -> None:
        """The segment of the row was fed."""
        assert self._places is not None, "a table was begun"
        more = self._next - self._places.before(row) - has_payload
        if more:
            self._places.note(row, more)

    def append(self, item: Data) -> None:
        """The next item."""
        self._entries.append((self._next, item))
        self._next += 1
        if len(self._entries) > self._entries_most:
            self._forget()

    def append_run(self, run: Run) -> None:
        """A run whose items have their places before that of the next item."""
        assert self._places is not None, "a table was begun"
        last = max(int(each.rows[-1]) for each in (run.client, run.server) if len(each.rows))
        place = self._places.of(last)
        if place >= self._oldest:
            self._entries.append((place, _PlacedRun(run, self._places)))

    def overlapping(self, connection: Connection, side: Side, start: int, end: int) -> Iterator[Data]:
        """Those of a stream that share bytes with [start, end), the newest first."""
        oldest = self._oldest
        for place, entry in reversed(self._entries):
            if place < oldest or entry.connection is not connection:
                continue
            if isinstance(entry, _PlacedRun):
                yield from entry.overlapping(side, start, end, oldest)
            elif entry.side == side and shares_bytes(entry, start, end):
                yield entry

    @property
    def _oldest(self) -> int:
        """The place of the oldest item that counts."""
        return self._next - RECENT_ITEMS

    def _forget(self) -> None:
        """Keep what counts; wait for as much again before the next time, so that this costs nothing."""
        self._entries = [entry for entry in self._entries if entry[0] >= self._oldest]
        self._entries_most = len(self._entries) + 4 * RECENT_ITEMS


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
            lane = _Lane(rows, tuple(_way(table, rows, is_odd, flow) for flow in np.unique(table.flows[rows])))
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
