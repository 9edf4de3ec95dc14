"""One direction: order, times, stops and ends."""

from hypothesis import given
from hypothesis import strategies as st

from wiretool.faults.lane import Lane


def drained(lane: Lane, until_ns: int = 10**18) -> list[tuple[int, object]]:
    """Everything that leaves by time alone, and when."""
    out: list[tuple[int, object]] = []
    while (wake_ns := lane.wake_ns) is not None and wake_ns <= until_ns:
        out += [(wake_ns, item) for item in lane.take(wake_ns)]
    return out


def test_at_once_and_as_it_is() -> None:
    lane, data = Lane(), b"abc"
    assert lane.is_free
    lane.put(data, 5)
    assert not lane.is_free
    (taken,) = lane.take(5)
    assert taken is data
    assert (lane.is_free, lane.held, lane.wake_ns) == (True, 0, None)


def test_what_is_behind_a_delay_waits_and_is_one_piece() -> None:
    lane = Lane()
    lane.put(b"a", 0, 100)
    lane.put(b"b", 10)
    lane.put(b"c", 20)
    lane.end("finish", 30)
    assert lane.take(99) == []
    assert lane.wake_ns == 100
    assert lane.take(100) == [b"abc", "finish"]


def test_each_delay_counts_from_its_own_time() -> None:
    lane = Lane()
    for now_ns in (0, 1, 2):
        lane.put(bytes((now_ns,)), now_ns, 100)
    assert drained(lane) == [(100, b"\0"), (101, b"\1"), (102, b"\2")]


def test_a_stop_holds_until_its_time_or_its_rule_ends() -> None:
    lane = Lane()
    lane.stop(50, 1)
    lane.put(b"a", 0)
    lane.stop(None, 2)
    lane.put(b"b", 0)
    assert lane.take(49) == []
    assert lane.take(60) == [b"a"]
    assert lane.wake_ns is None
    lane.lift(1)
    assert lane.wake_ns is None
    lane.lift(2)
    assert lane.wake_ns is not None
    assert lane.take(60) == [b"b"]
    assert lane.held == 0


def test_what_is_held_back_is_overtaken_or_goes_by_itself() -> None:
    lane = Lane()
    lane.hold_back(b"a", 0, 100, 0)
    lane.put(b"b", 1)
    lane.let_go(1)
    assert lane.take(1) == [b"ba"]
    lane.hold_back(b"c", 2, 100, 0)
    assert lane.take(101) == []
    assert lane.wake_ns == 102
    assert lane.take(102) == [b"c"]
    assert lane.is_free


def test_nothing_follows_an_end() -> None:
    lane = Lane()
    lane.end("cut", 0)
    lane.end("finish", 0)
    lane.put(b"x", 0)
    lane.stop(None, 1)
    lane.hold_back(b"x", 0, 1, 0)
    assert drained(lane) == [(0, "cut")]


def test_many_small_frames_behind_a_stop_take_little_more_than_their_bytes() -> None:
    lane = Lane()
    lane.stop(None, 1)
    for now_ns in range(1_000):
        lane.put(b"12345678", now_ns)
    assert lane.held < 8_000 + 1_000


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=3), st.integers(0, 5), st.integers(0, 9))))
def test_order_is_kept_and_nothing_comes_early_or_is_lost(puts: list[tuple[bytes, int, int]]) -> None:
    lane = Lane()
    now_ns = 0
    due: list[tuple[int, int]] = []
    left: list[tuple[int, int]] = []

    def drain(until_ns: int) -> None:
        left.extend((when, byte) for when, item in drained(lane, until_ns) if isinstance(item, bytes) for byte in item)

    for data, later, delay in puts:
        now_ns += later
        drain(now_ns)
        lane.put(data, now_ns, delay)
        due += [(now_ns + delay, byte) for byte in data]
    drain(10**18)
    assert [byte for _, byte in left] == [byte for _, byte in due]
    latest = 0
    for (when, _), (wanted, _) in zip(left, due, strict=True):
        latest = max(latest, wanted)
        assert when == latest
    assert lane.held == 0
