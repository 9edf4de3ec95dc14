"""What was given out last, by items and by runs, for a late segment to be held against."""

from bisect import bisect_left
from collections.abc import Collection, Iterator
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.columns.runs import Run, SideRun
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp.direction import NEVER_BYTES, RECENT_ITEMS, shares_bytes
from wiretool.capture.tcp.stream_events import Connection, Data, Side
from wiretool.codec.columns import Integers
from wiretool.codec.message import SIDES

#: What tables before the last one may hold beside payloads that count, before items are made of the sparsest.
IDLE_BYTES_MAX = 8 * 1024 * 1024
#: What a table takes for each row beside its data.
ROW_BYTES = 128


class _Places:
    """How many items had been given out before each row of a table, if all segments had been fed one by one."""

    def __init__(self, table: SegmentTable, first: int) -> None:
        self._has_payload = table.lengths > 0
        #: By row, the items given out before it; and before its own one.
        self._before: list[int] = [0, *np.cumsum(self._has_payload).tolist()]
        self._of = self._before
        self._first = first
        #: Rows that gave out more or fewer items than their own, and how many those were more in all up to there.
        self._rows: list[int] = []
        self._more = [0]
        #: What the table takes.
        self.table_bytes = len(table.data) + ROW_BYTES * len(table)

    def note_late(self, rows: Integers, emitted: Integers) -> None:
        """Note that the items of these rows are given out with later ones, each before the item of that row."""
        if not len(rows):
            return
        at = np.arange(len(self._has_payload))
        at[rows] = emitted
        carriers = np.flatnonzero(self._has_payload)
        order = np.argsort(at[carriers], kind="stable")
        of = np.zeros(len(at), np.int64)
        of[carriers[order]] = np.arange(len(carriers))
        self._before = np.searchsorted(at[carriers][order], np.arange(len(at) + 1)).tolist()
        self._of = of.tolist()

    def given_by(self, row: int) -> int:
        """Return the number of items that a row gives out, as far as it was known before."""
        return self._before[row + 1] - self._before[row]

    def note(self, row: int, more: int) -> None:
        """Note that a row, after all others that were noted, gave out this many items more than was known."""
        self._rows.append(row)
        self._more.append(self._more[-1] + more)

    def before(self, row: int) -> int:
        """Of a row behind all that were noted; that of the last one counts as given out behind it."""
        return self._first + self._more[-1] + self._before[row]

    def of(self, row: int) -> int:
        """Of a plain row with payload."""
        return self._first + self._more[bisect_left(self._rows, row)] + self._of[row]


class _PlacedRun(NamedTuple):
    """A run, and the places of the rows of its table."""

    run: Run
    places: _Places

    @property
    def connection(self) -> Connection:
        return self.run.connection

    @property
    def last_row(self) -> int:
        return max(int(each.rows[-1]) for each in (self.run.client, self.run.server) if len(each.rows))

    def items(self, oldest: int) -> Iterator[tuple[int, Data]]:
        """Its items from that place on, in order, each with its place."""
        for row, item in self.run.told_items():
            place = self.places.of(row)
            if place >= oldest:
                yield place, item

    def behind(self, client: int, server: int) -> "_PlacedRun":
        """What of it ends behind these offsets of each side."""
        bounds = (self.run.client, client), (self.run.server, server)
        return self._replace(run=self.run.behind(*(self._passed(side, bound) for side, bound in bounds)))

    def _passed(self, side: SideRun, bound: int) -> int:
        """How many items of a side end there or before."""
        if not side.size or side.offset + side.size <= bound:
            return len(side.rows)
        ends = side.offset + np.cumsum(self.run.table.lengths[side.rows])
        return int(np.searchsorted(ends, bound, "right"))

    def size(self, oldest: int) -> int:
        """Bytes of its items from that place on."""
        return sum(self._side_size(each, oldest) for each in (self.run.client, self.run.server) if each.size)

    def _side_size(self, side: SideRun, oldest: int) -> int:
        if self.places.of(int(side.rows[0])) >= oldest:
            return side.size
        first = bisect_left(side.rows, oldest, key=self.places.of)
        return int(self.run.table.lengths[side.rows[first:]].sum())

    def overlapping(self, side: Side, start: int, end: int, oldest: int) -> Iterator[Data]:
        """Items of a side from that place on that share bytes with [start, end), the newest first."""
        own = self.run.side(side)
        run_end = own.offset + own.size
        if not own.size or end <= own.offset or run_end <= start:
            return
        rows = own.rows[-RECENT_ITEMS:]  # no more of them count
        lengths = self.run.table.lengths[rows]
        ends = np.cumsum(lengths)
        ends += run_end - ends[-1]
        starts = ends - lengths
        first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(starts, end))
        for at in range(last - 1, first - 1, -1):
            if self.places.of(int(rows[at])) < oldest:
                return
            yield self.run.item(int(rows[at]), side, int(starts[at]))


class _PlacedSegments:
    """Plain segments, made into runs on demand, and the places of the rows of their table."""

    def __init__(self, segments: PlainSegments, places: _Places) -> None:
        self.places = places
        self._segments = segments
        self._indices: dict[Connection, int] = {}

    def runs(self) -> Iterator[_PlacedRun]:
        """Yield a run for each connection."""
        return (_PlacedRun(run, self.places) for run in self._segments.runs())

    def run_of(self, connection: Connection) -> _PlacedRun | None:
        """Return the run of a connection."""
        if not self._indices:
            self._indices = {each: index for index, each in enumerate(self._segments.connections)}
        index = self._indices.get(connection)
        return None if index is None else _PlacedRun(self._segments.run(index), self.places)


class RecentRuns:
    """What was given out last, by items and by runs; of a run items are made only where somebody looks.

    Runs come behind items of later packets. So each item has the place that it had if all were fed one by one, and
    what counts is the place.
    """

    def __init__(self, bytes_max: int = NEVER_BYTES) -> None:
        """`bytes_max`: so far back in its stream is looked, however many items that is."""
        self.bytes_max = bytes_max
        #: Each with the place of its last item.
        self._entries: list[tuple[int, Data | _PlacedRun | _PlacedSegments]] = []
        self._entries_most = 4 * RECENT_ITEMS
        self._places: _Places | None = None
        #: The place of the next item.
        self._next = 0

    def begin(self, table: SegmentTable) -> None:
        """All that is given out from now on is of this table. Of sparse ones before the last only items are kept."""
        self._forget()
        last, self._places = self._places, _Places(table, self._next)
        self._take_apart(last)
        sparse = self._sparse(last)
        if not sparse:
            return
        kept, self._entries = self._entries, []
        for place, entry in kept:
            if isinstance(entry, _PlacedRun) and entry.places in sparse:
                self._entries += entry.items(self._oldest)
            else:
                self._entries.append((place, entry))

    def _take_apart(self, last: _Places | None) -> None:
        """Make runs of the plain segments of tables before the last one."""
        kept, self._entries = self._entries, []
        for place, entry in kept:
            if isinstance(entry, _PlacedSegments) and entry.places is not last:
                runs = [(run.places.of(run.last_row), run) for run in entry.runs()]
                self._entries += [each for each in runs if each[0] >= self._oldest]
            else:
                self._entries.append((place, entry))

    def _sparse(self, last: _Places | None) -> Collection[_Places]:
        """The tables before the last one that hold too much beside payloads that count: those that hold most."""
        oldest, idle = self._oldest, dict[_Places, int]()
        for _, entry in self._entries:
            if isinstance(entry, _PlacedRun) and entry.places is not last:
                places = entry.places
                idle[places] = idle.get(places, places.table_bytes) - entry.size(oldest)
        left, sparse = IDLE_BYTES_MAX, set()
        for places, size in sorted(idle.items(), key=itemgetter(1)):
            left -= size
            if left < 0:
                sparse.add(places)
        return sparse

    def at(self, row: int) -> None:
        """What comes next is of this row, or of later ones."""
        assert self._places is not None, "a table was begun"
        self._next = self._places.before(row)

    def note_late(self, rows: Integers, emitted: Integers) -> None:
        """Note that the items of these rows of the table come with later rows; before anything is given out of it."""
        assert self._places is not None, "a table was begun"
        self._places.note_late(rows, emitted)

    def fed(self, row: int) -> None:
        """The segment of the row was fed."""
        assert self._places is not None, "a table was begun"
        more = self._next - self._places.before(row) - self._places.given_by(row)
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
        placed = _PlacedRun(run, self._places)
        place = self._places.of(placed.last_row)
        if place >= self._oldest:
            self._entries.append((place, placed))

    def append_plain(self, segments: PlainSegments) -> None:
        """Add plain segments, whose items have their places before that of the next item."""
        assert self._places is not None, "a table was begun"
        place = self._places.of(int(segments.rows.max()))
        if place >= self._oldest:
            self._entries.append((place, _PlacedSegments(segments, self._places)))

    def overlapping(self, connection: Connection, side: Side, start: int, end: int) -> Iterator[Data]:
        """Those of a stream that share bytes with [start, end), the newest first."""
        oldest = self._oldest
        for place, each in reversed(self._entries):
            if place < oldest:
                continue
            entry = each.run_of(connection) if isinstance(each, _PlacedSegments) else each
            if entry is None or entry.connection is not connection:
                continue
            if isinstance(entry, _PlacedRun):
                yield from entry.overlapping(side, start, end, oldest)
            elif entry.side == side and shares_bytes(entry, start, end):
                yield entry

    def keep(self, connections: Collection[Connection]) -> None:
        """Make items of all that counts for these connections, and let go of everything else: tables too.

        Between tables; then it can be pickled.
        """
        self._take_apart(None)
        oldest, kept, bounds = self._oldest, list[tuple[int, Data]](), dict[Connection, dict[Side, int]]()
        entries = [
            (place, entry)
            for place, entry in self._entries
            if not isinstance(entry, _PlacedSegments) and entry.connection in connections
        ]
        for _, entry in entries:
            bounds.setdefault(entry.connection, {"client": 0, "server": 0}).update(self._bounds(entry))
        for place, entry in entries:
            sides = bounds[entry.connection]
            if isinstance(entry, _PlacedRun):
                kept += entry.behind(**sides).items(oldest)
            elif place >= oldest and entry.offset + len(entry.data) > sides[entry.side]:
                kept.append((place, entry))
        self._entries = list(kept)
        self._entries_most = len(self._entries) + 4 * RECENT_ITEMS
        self._places = None

    def _bounds(self, entry: Data | _PlacedRun) -> Iterator[tuple[Side, int]]:
        """Up to where nothing counts any more of the sides of a connection, if this is the last of it."""
        if isinstance(entry, Data):
            yield entry.side, entry.offset + len(entry.data) - self.bytes_max
            return
        for side in SIDES:
            own = entry.run.side(side)
            if own.size:
                yield side, own.offset + own.size - self.bytes_max

    def split(self) -> tuple[int, int, list[tuple[Connection, Side]], Integers, bytes]:
        """Return what `keep` has left as values, in little: nobody asks when an item came."""
        items = [(place, item) for place, item in self._entries if isinstance(item, Data)]
        assert len(items) == len(self._entries), "items were made of all"
        streams = {(item.connection, item.side): None for _, item in items}
        codes = {stream: code for code, stream in enumerate(streams)}
        rows = [(place, codes[item.connection, item.side], item.offset, len(item.data)) for place, item in items]
        data = b"".join([item.data for _, item in items])
        return self.bytes_max, self._next, list(streams), np.array(rows, np.int64).ravel(), data

    def restore(
        self, bytes_max: int, next_place: int, streams: list[tuple[Connection, Side]], rows: Integers, data: bytes
    ) -> None:
        """Take over the values of another one. ValueError where they do not fit one another."""
        self.bytes_max, self._next = bytes_max, next_place
        self._entries, self._places, at = [], None, 0
        for place, code, offset, size in rows.reshape(-1, 4).tolist():
            if not 0 <= code < len(streams) or not 0 <= size <= len(data) - at:
                raise ValueError("bytes that were given out last are not there")
            connection, side = streams[code]
            self._entries.append((place, Data(connection, side, offset, data[at : at + size], 0, 0)))
            at += size
        self._entries_most = len(self._entries) + 4 * RECENT_ITEMS

    @property
    def _oldest(self) -> int:
        """The place of the oldest item that counts."""
        return self._next - RECENT_ITEMS

    def _forget(self) -> None:
        """Keep what counts; wait for as much again before the next time, so that this costs nothing."""
        oldest = self._oldest
        self._entries = [entry for entry in self._entries if entry[0] >= oldest]
        self._entries_most = len(self._entries) + 4 * RECENT_ITEMS
