"""Segment tables in, the same streams out as `Streams` gives, plain stretches of them whole.

What is out of the ordinary is fed to `Streams`, one segment at a time; what it would only have passed through comes as
a Run of rows. Both come in such an order that for each connection it is that of the packets.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from wiretool import limits
from wiretool.capture.columns.connection_rows import ConnectionRows, Way, connection_rows, stop_on
from wiretool.capture.columns.handshakes import IsStart, is_never_start
from wiretool.capture.columns.middle_starts import IsExpected, is_never_expected
from wiretool.capture.columns.new_connections import NewConnections
from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.columns.plain_segments import PlainSegmentScan, has_room, pairs_of
from wiretool.capture.columns.runs import NO_RUN, RUN_SEGMENTS_MIN, Run, SideRun
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.columns.steady_flows import SteadyFlows
from wiretool.capture.tcp.direction import Flow
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.retransmit_history import RecentRuns
from wiretool.capture.tcp.segments_of_packets import Segment
from wiretool.capture.tcp.stream_events import Connection, Data, Finding, Item, Side
from wiretool.codec.columns import NO_INTEGERS, Flags, Integers

#: Segments of a connection in one table below which each of them is fed: its runs would be too short.
GROUP_SEGMENTS_MIN = 2 * RUN_SEGMENTS_MIN
#: A row that no table has.
NEVER = 1 << 63
#: In place of the group of a row: its segment is fed by itself; all segments of its connection are plain.
_ALONE, _PLAIN = -1, -2


class Fed(NamedTuple):
    """What a segment gave that was fed by itself."""

    row: int
    items: Sequence[Item]


class Pause(NamedTuple):
    """All that is before this row was given, and nothing that is not."""

    row: int


class _Turns:
    """The rows of a table that are to be fed, in order, as far as that is known."""

    def __init__(self, table: SegmentTable, groups: list[ConnectionRows], group_of: Integers) -> None:
        self._table = table
        self._groups = groups
        self._group_of = group_of
        rows = np.flatnonzero(group_of == _ALONE)
        #: Rows of no group, each of which is fed.
        self._alone = zip(rows.tolist(), table.segments(rows), strict=True)
        self._next_alone = next(self._alone, None)
        self._queue = [
            (int(group.rows[group.stop]), at) for at, group in enumerate(groups) if group.stop < len(group.rows)
        ]
        heapify(self._queue)
        self._seen_ns = np.maximum.accumulate(table.times)
        self._last_ns = int(self._seen_ns[-1])
        #: A time at which to look, and the row at which that is; and the row that was fed last.
        self._looked = (0, -1)
        self._fed = -1

    def next_row(self, look_ns: int) -> int:
        """The row that is fed next: whatever it is, one of that time; behind the table where there is none."""
        queue, row = self._queue, len(self._table)
        while queue and self._is_stale(*queue[0]):
            heappop(queue)
        if queue:
            row = queue[0][0]
        if self._next_alone is not None:
            row = min(row, self._next_alone[0])
        return row if look_ns > self._last_ns else min(row, self._look_row(look_ns))

    def take(self, row: int) -> tuple[ConnectionRows | None, Segment]:
        """The segment of the next row, and its group if it has one."""
        self._fed = row
        if self._next_alone is not None and self._next_alone[0] == row:
            segment, self._next_alone = self._next_alone[1], next(self._alone, None)
            return None, segment
        return self._groups[self._group_of[row]], self._table.segment(row)

    def add(self, group: ConnectionRows) -> None:
        """Have the rows of a further group fed in their turn."""
        self._group_of[group.rows] = len(self._groups)
        self._groups.append(group)
        self.put(group)

    def put(self, group: ConnectionRows) -> None:
        """Have the segment fed at which a group stops."""
        if group.stop < len(group.rows):
            row = int(group.rows[group.stop])
            heappush(self._queue, (row, int(self._group_of[row])))

    def _is_stale(self, row: int, at: int) -> bool:
        """Whether a row was fed before its turn, as one to look at."""
        group = self._groups[at]
        return group.stop == len(group.rows) or bool(group.rows[group.stop] != row)

    def _look_row(self, look_ns: int) -> int:
        """The next row at whose time waiting holes are to be looked at."""
        row = int(np.searchsorted(self._seen_ns, look_ns))
        if row > self._fed:
            return row
        # Times that go back: to look for the next one in all rows each time would be slow.
        if self._looked[0] != look_ns or self._looked[1] <= self._fed:
            later = np.flatnonzero(self._table.times[self._fed + 1 :] >= look_ns)
            self._looked = look_ns, self._fed + 1 + int(later[0]) if len(later) else len(self._table)
        return self._looked[1]


class BulkStreams:
    """All connections of a capture; `read` each table in turn, then `end`."""

    def __init__(
        self,
        streams: LentStreams,
        recent: RecentRuns,
        is_start: IsStart = is_never_start,
        is_expected: IsExpected = is_never_expected,
        leave: Callable[[Iterable[Connection]], None] = lambda connections: None,
        close: Callable[[Sequence[Connection]], Flags] = lambda connections: np.zeros(len(connections), np.bool_),
        is_single: Callable[[bytes, Connection | None], bool] = lambda key, connection: False,
    ) -> None:
        """`leave` is called with connections before their segments are not plain any more.

        `close` is called with those of connections that end with the capture; it returns which need no items for that.

        `is_single` returns whether all segments of a connection, by the key of a flow, are read by themselves; a new
        connection is None.
        """
        self._is_start = is_start
        self._is_expected = is_expected
        self._streams = streams
        self._recent = recent
        self.begin_steady()
        self._leave = leave
        self._close = close
        self._is_single = is_single
        #: The rows to be fed of the table that is read.
        self._turns: _Turns | None = None
        #: The row before which to pause; whoever reads sets it, to one that was not come to yet.
        self.pause = NEVER
        #: Whether every segment is fed, however many there are of a connection: of few in all, arrays cost more.
        self.feeds_each = False

    def begin_steady(self) -> None:
        """Begin without flows in arrays."""
        self._steady = SteadyFlows(self._streams.flow_for)

    def read(self, table: SegmentTable) -> Iterator[NewConnections | PlainSegments | Run | Fed | Pause]:
        """Yield plain segments, runs, and the items of each segment that was fed.

        A packet that gave very many items has a pause in front of it, see `are_many`.
        """
        if not len(table):
            return
        self._recent.begin(table)
        groups, group_of, scan = self._groups(table)
        turns = self._turns = _Turns(table, groups, group_of)
        if scan is not None:
            self._recent.note_late(*scan.late())
        while True:
            row = turns.next_row(self._streams.look_ns)
            if self.pause <= row and self.pause < len(table):
                pause, self.pause = self.pause, NEVER
                yield from self._paused(table, groups, scan, pause)
                continue
            if row == len(table):
                break
            if scan is not None and group_of[row] == _PLAIN:
                if scan.is_changing(row):
                    yield from self._passed_to(table, (), scan, row)
                    if group_of[row] != _PLAIN:
                        continue
                mine = scan.leave(row)
                self._release(scan.leave_odd())
                group_of[mine] = len(groups)
                groups.append(connection_rows(table, mine, int(np.searchsorted(mine, row))))
            if scan is not None:
                scan.open_before(row)
            group, segment = turns.take(row)
            if group is not None:
                yield from self._passed(table, group, row)
                group.at += 1
            items = self._feed(row, segment)
            if are_many(items):
                yield from self._paused(table, groups, scan, row)
            yield Fed(row, items)
            if group is not None:
                group.stop = self._stop_of(table, group)
                turns.put(group)
        yield from self._passed_to(table, groups, scan, len(table))
        if scan is not None:
            self._release(scan.leave_closed())
        self._turns = None
        self._streams.pass_to(table.segment(len(table) - 1))

    def read_whole(self, table: SegmentTable) -> NewConnections | None:
        """Return the connections that begin in the only table, in good order to their ends; the others are not read."""
        scan = PlainSegmentScan(table, self._streams, self._steady, self._is_start, is_last=True)
        return scan.take_new(len(table))

    def _paused(
        self, table: SegmentTable, groups: Sequence[ConnectionRows], scan: PlainSegmentScan | None, row: int
    ) -> Iterator[NewConnections | PlainSegments | Run | Fed | Pause]:
        yield from self._passed_to(table, groups, scan, row)
        yield Pause(row)

    def _passed_to(
        self, table: SegmentTable, groups: Sequence[ConnectionRows], scan: PlainSegmentScan | None, row: int
    ) -> Iterator[NewConnections | PlainSegments | Run | Fed]:
        """The plain, and the runs of all groups, up to a row."""
        self._recent.at(row)
        new = None if scan is None else scan.take_new(row)
        if new is not None:
            self._recent.append_plain(new.plain)
            yield new
            self._steady.free(new.plain.slots[~new.goes_on])  # those were read by now
        plain = None if scan is None else scan.take(row)
        if plain is not None:
            if len(plain.rows):
                self._recent.append_plain(plain)
            yield plain
        if scan is not None:
            yield from self._feed_half_started(table, scan, row)
        for group in groups:
            yield from self._passed(table, group, row)

    def _feed_half_started(self, table: SegmentTable, scan: PlainSegmentScan, row: int) -> Iterator[Fed]:
        """Feed the segments before a row of connections that have begun, of which not both flows have started."""
        for before, later in scan.leave_half_started(row):
            for each in before.tolist():
                yield Fed(each, self._feed(each, table.segment(each)))
            if len(later):
                group = connection_rows(table, later)
                group.stop = self._stop_of(table, group)
                assert self._turns is not None, "a table is read"
                self._turns.add(group)

    def _feed(self, row: int, segment: Segment) -> Sequence[Item]:
        self._recent.at(row)
        items = self._streams.feed(segment)
        self._recent.fed(row)
        return items

    def release_all(self) -> None:
        """Bring the objects of all flows up to date, which own their state from now on."""
        self._release(self._steady.slots())

    def _release(self, slots: Integers) -> None:
        self._leave(self._steady.connections(slots))
        self._steady.release(slots)

    def end(self) -> list[Item]:
        """As `Streams.end`, without items of connections that `close` ends."""
        calm = self._steady.calm()
        calm = calm[self._close(self._steady.connections(calm))]
        for ended in self._steady.end(calm, "capture-end"):
            self._streams.note_ended(ended)
        self._steady.release(calm)
        self.release_all()
        return self._streams.end()

    # -- groups -----------------------------------------------------------------------------------------------------

    def _groups(self, table: SegmentTable) -> tuple[list[ConnectionRows], Integers, PlainSegmentScan | None]:
        """Return the groups of a table, the group of each row, and the scan for connections without irregular rows."""
        scan, long = None, NO_INTEGERS
        if not self.feeds_each and has_room(table, self._streams):
            scan = PlainSegmentScan(table, self._streams, self._steady, self._is_start, self._is_expected)
            self._release(scan.leave_odd())
            group_of = scan.pair_of_key[table.flows]
        else:
            self.release_all()
            group_of = pairs_of(table.keys, np.full(len(table.keys), -1), 0)[table.flows]
        counts = np.bincount(group_of)
        places = np.full(len(counts), _ALONE)
        if scan is not None:
            places[scan.is_plain] = _PLAIN
            is_long = (counts >= GROUP_SEGMENTS_MIN) & ~scan.is_plain
            long = np.flatnonzero(is_long & ~self._are_single(table, scan, is_long))
        places[long] = np.arange(len(long))
        group_of = places[group_of]
        order = np.argsort(group_of, kind="stable")
        bounds = np.searchsorted(group_of[order], np.arange(len(long) + 1)).tolist()
        groups = []
        for start, end in pairwise(bounds):
            group = connection_rows(table, order[start:end])
            group.stop = self._stop_of(table, group)
            groups.append(group)
        return groups, group_of, scan

    def _are_single(self, table: SegmentTable, scan: PlainSegmentScan, is_asked: Flags) -> Flags:
        """Return which of some connections are read segment by segment: their groups would be of no use."""
        are_single = np.zeros(len(is_asked), np.bool_)
        for index in np.flatnonzero(is_asked[scan.pair_of_key]).tolist():
            key = table.keys[index]
            flow = self._streams.open_flow(key)
            if self._is_single(key, None if flow is None else flow.connection):
                are_single[scan.pair_of_key[index]] = True
        return are_single

    def _stop_of(self, table: SegmentTable, group: ConnectionRows) -> int:
        """The position of the next segment that is to be fed: one that must be, or the next one if that is near."""
        if group.at == len(group.rows) or group.at < group.fed_to:
            return group.at
        flows = [self._streams.open_flow(way.key) for way in group.ways]
        if not any(flow is not None and flow.is_plain and flow.connection.is_understood for flow in flows):
            group.fed_to = group.at + RUN_SEGMENTS_MIN
            return group.at
        stop = min(len(group.rows), *map(partial(stop_on, table, group), group.ways, flows))
        if stop in (group.at, len(group.rows)) or stop - group.at >= RUN_SEGMENTS_MIN:
            return stop
        # Short runs would be read item by item; what is fed is put together to be read as one.
        group.fed_to = group.at + RUN_SEGMENTS_MIN
        return group.at

    def _passed(self, table: SegmentTable, group: ConnectionRows, row: int) -> Iterator[Run]:
        """The run of a group up to a row, which nothing stands in the way of."""
        if group.at == len(group.rows) or group.rows[group.at] >= row:
            return
        end = int(np.searchsorted(group.rows, row))
        start, group.at = group.at, end
        sides: dict[Side, SideRun] = {"client": NO_RUN, "server": NO_RUN}
        connection = None
        for way in group.ways:
            first, last = np.searchsorted(way.every, (start, end)).tolist()
            if first == last:
                continue
            flow = self._streams.open_flow(way.key)
            assert flow is not None, "a plain segment has a flow"
            connection = flow.connection
            sides[flow.side] = self._side_run(table, group, way, flow, start, end, way.every[last - 1])
        assert connection is not None, "every position is of one of the ways"
        connection.packets += end - start
        connection.last_ns = int(table.times[group.rows[end - 1]])
        run = Run(connection, table, sides["client"], sides["server"])
        if run.client.size or run.server.size:
            self._recent.append_run(run)
            yield run

    def _side_run(
        self, table: SegmentTable, group: ConnectionRows, way: Way, flow: Flow, start: int, end: int, last: int
    ) -> SideRun:
        first_payload, last_payload = np.searchsorted(way.payloads, (start, end)).tolist()
        rows = group.rows[way.payloads[first_payload:last_payload]]
        run = SideRun(rows, flow.offset, int(table.lengths[rows].sum()))
        self._streams.pass_by(flow, run.size, int(table.acks[group.rows[last]]))
        return run


def are_many(items: Sequence[Item]) -> bool:
    """Whether these, given by one packet, are more than a batch is made of at once."""
    if len(items) < 2:
        return False
    size = sum(len(item.data) for item in items if isinstance(item, Data | Finding))
    return len(items) > limits.BATCH_ITEMS_MAX or size > limits.BATCH_ITEMS_BYTES_MAX
