"""What was given out by runs and by items is what was given out by items alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.capture.columns.runs import NO_RUN, Run, SideRun
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp import direction as flows
from wiretool.capture.tcp import retransmit_history as recent
from wiretool.capture.tcp.direction import RecentItems
from wiretool.capture.tcp.retransmit_history import RecentRuns, _PlacedRun
from wiretool.capture.tcp.stream_events import Connection, Data, Side
from wiretool.codec.message import SIDES

#: The segments of the first come as runs, those of the second are fed.
RUNNING, FED = (Connection(number, bytes(6), bytes(6), 0) for number in range(2))
#: Each segment: whether it is of the running connection, its side, its length, and what more it gives out if it is fed.
Row = tuple[bool, Side, int, int]
ROWS = st.lists(
    st.tuples(st.booleans(), st.sampled_from(SIDES), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12
)


class Both:
    """Gives the same out in both ways, table by table."""

    def __init__(self) -> None:
        self.runs = RecentRuns()
        self.items = RecentItems()
        self._offsets = dict.fromkeys(((connection.id, side) for connection in (RUNNING, FED) for side in SIDES), 0)

    def take(self, rows: list[Row]) -> None:
        """One table, whose run is told behind all that is fed."""
        table = table_of(rows)
        self.runs.begin(table)
        client, server = (self._side_run(table, rows, side) for side in SIDES)
        run = Run(RUNNING, table, client, server)
        for at, (is_running, side, length, more) in enumerate(rows):
            if is_running:
                self.items.extend([self._item(RUNNING, side, table, at)] if length else [])
            else:
                self._feed([self._item(FED, side, table, at) for _ in range((length > 0) + more)], at)
        self.runs.at(len(rows))
        if run.client.size or run.server.size:
            self.runs.append_run(run)

    def _side_run(self, table: SegmentTable, rows: list[Row], side: Side) -> SideRun:
        own = [at for at, row in enumerate(rows) if row[:2] == (True, side) and row[2]]
        if not own:
            return NO_RUN
        return SideRun(np.array(own, np.int64), self._offsets[RUNNING.id, side], int(table.lengths[own].sum()))

    def _item(self, connection: Connection, side: Side, table: SegmentTable, at: int) -> Data:
        offset, data = self._offsets[connection.id, side], table.payload(at)
        self._offsets[connection.id, side] += len(data)
        return Data(connection, side, offset, data, int(table.times[at]), int(table.numbers[at]))

    def _feed(self, items: list[Data], at: int) -> None:
        self.runs.at(at)
        for item in items:
            self.items.append(item)
            self.runs.append(item)
        self.runs.fed(at)


def table_of(rows: list[Row]) -> SegmentTable:
    lengths, every = np.array([row[2] for row in rows], np.int64), np.arange(len(rows))
    none = np.zeros(0, np.int64)
    starts = np.cumsum(lengths) - lengths
    return SegmentTable(bytes(range(len(rows) * 3)), every, every, none, (), none, none, none, starts, lengths, none)


@given(
    st.lists(ROWS, min_size=1, max_size=5),
    st.integers(1, 20),
    st.integers(0, 60),
    st.integers(1, 9),
    st.sampled_from([0, 2 * recent.ROW_BYTES, recent.IDLE_BYTES_MAX]),
)
def test_what_shares_bytes_is_found_in_both(
    tables: list[list[Row]], most: int, start: int, size: int, idle: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recent, "IDLE_BYTES_MAX", idle)
        patch.setattr(flows, "RECENT_ITEMS", most)
        patch.setattr(recent, "RECENT_ITEMS", most)
        both = Both()
        for rows in tables:
            both.take(rows)
            for connection in (RUNNING, FED):
                for side in SIDES:
                    wanted = connection, side, start, start + size
                    assert list(both.runs.overlapping(*wanted)) == list(both.items.overlapping(*wanted))


def tables_kept(runs: RecentRuns) -> int:
    """How many tables runs are kept of."""
    return len({id(entry.run.table) for _, entry in runs._entries if isinstance(entry, _PlacedRun)})


def fed_with(tables: int, table_bytes: int, payload_bytes: int) -> RecentRuns:
    """What is kept after so many tables, each with a run of two payloads."""
    runs = RecentRuns()
    for at in range(tables):
        every, none = np.arange(2), np.zeros(0, np.int64)
        columns = every * payload_bytes, np.full(2, payload_bytes)
        table = SegmentTable(bytes(table_bytes), every, every, none, (), none, none, none, *columns, none)
        runs.begin(table)
        runs.at(2)
        runs.append_run(Run(RUNNING, table, SideRun(every, 2 * payload_bytes * at, 2 * payload_bytes), NO_RUN))
    return runs


def test_tables_are_kept_as_long_as_they_are_full_of_what_counts() -> None:
    mib = 1 << 20
    full = fed_with(40, 2 * mib, mib - 200)
    assert tables_kept(full) == 40
    assert [item.offset for item in full.overlapping(RUNNING, "client", 0, 5)] == [0]


def test_of_sparse_tables_items_are_kept() -> None:
    """Beside the last two tables as many as hold at most so many bytes in vain."""
    mib = 1 << 20
    sparse = fed_with(40, 2 * mib, 10)
    assert tables_kept(sparse) == 2 + recent.IDLE_BYTES_MAX // (2 * mib + 2 * recent.ROW_BYTES - 20)
    for at in (0, 20, 39):
        assert [item.offset for item in sparse.overlapping(RUNNING, "client", 20 * at, 20 * at + 15)] == [
            20 * at + 10,
            20 * at,
        ]


def test_items_that_come_with_later_rows_have_their_places_there() -> None:
    table = table_of([(False, "client", size, 0) for size in (3, 0, 3, 3)])
    runs = RecentRuns()
    runs.begin(table)
    runs.note_late(np.array([0, 2]), np.array([3, 3]))
    for row, places in enumerate(([], [], [], [0, 1, 2])):
        runs.at(row)
        for place in places:
            assert vars(runs)["_next"] == place
            runs.append(Data(FED, "client", 0, b"x", 0, 0))
        runs.fed(row)
    runs.at(4)
    assert vars(runs)["_next"] == 3
