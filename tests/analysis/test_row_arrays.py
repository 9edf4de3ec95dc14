import numpy as np

from wiretool.analysis.row_arrays import ConnectionArrays, FrameCounts, RowArrays
from wiretool.analysis.stats import ConnectionRow, Row


def counts_of(*rows: tuple[int, int, bool, int, int]) -> FrameCounts:
    frames, size, is_server, first_ns, last_ns = np.array(rows, np.int64).T
    return FrameCounts(frames, size, is_server.astype(np.bool_), first_ns, last_ns)


def test_counts_are_added_to_their_rows_once() -> None:
    arrays: RowArrays[Row] = RowArrays()
    rows = [Row(), Row(frames=1, bytes=1)]
    assert [arrays.place_of(row) for row in (*rows, rows[0])] == [0, 1, 0]
    for _ in range(2):  # what was added is not added again
        arrays.count(np.array([1, 0, 1]), counts_of((2, 20, False, 0, 0), (1, 5, True, 0, 0), (3, 30, False, 0, 0)))
        arrays.count_replies(np.array([1]), np.array([7]), np.array([2]))
        assert rows[0].frames in (0, 1)  # not before it is poured
        arrays.pour()
    arrays.pour()
    assert [(row.frames, row.bytes, row.replies.count) for row in rows] == [(2, 10, 0), (11, 101, 4)]


def test_rows_may_come_after_counts() -> None:
    arrays: RowArrays[Row] = RowArrays()
    arrays.place_of(Row())
    arrays.count(np.array([0]), counts_of((1, 10, False, 0, 0)))
    arrays.count(np.array([arrays.place_of(Row())]), counts_of((2, 20, False, 0, 0)))
    arrays.count_replies(np.array([1]), np.array([3]), np.array([1]))
    arrays.pour()
    assert [row.as_json() for row in arrays.rows] == [
        {"frames": 1, "bytes": 10},
        {"frames": 2, "bytes": 20, "replies": 1, "reply_p50_ns": 3, "reply_p99_ns": 3, "reply_max_ns": 3},
    ]


def test_connections_have_sides_and_times_and_a_total() -> None:
    total = ConnectionRow()
    arrays = ConnectionArrays(total)
    rows = [ConnectionRow(), ConnectionRow(), ConnectionRow()]
    places = np.array([arrays.place_of(row) for row in rows])
    arrays.count(places[:2], counts_of((2, 20, False, 5, 9), (1, 7, True, 3, 4)))
    arrays.count(places[:1], counts_of((1, 1, True, -2, 2)))
    arrays.count_replies(places[:2], np.array([4, 6]), np.array([1, 2]))
    arrays.pour()
    numbers = [
        (row.frames, row.client_bytes, row.server_bytes, row.first_ns, row.last_ns, row.replies.count, row.bytes)
        for row in (*rows, total)
    ]
    assert numbers == [
        (3, 20, 1, -2, 9, 1, 21),
        (1, 0, 7, 3, 4, 2, 7),
        (0, 0, 0, None, 0, 0, 0),
        (4, 20, 8, -2, 9, 3, 28),
    ]
