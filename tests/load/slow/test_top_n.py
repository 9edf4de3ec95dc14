"""The slowest of many, against sorting all of them."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from wiretool.load.slow.top_n import Slowest

TIMES = st.lists(st.integers(1, 50).map(float), max_size=60)


def kept_of(times: list[float], limit: int, sizes: list[int] | None = None, bytes_max: int = 1_000_000) -> Slowest[int]:
    """What is kept of these, each called by its place, when nobody adds what is not above the floor."""
    slowest: Slowest[int] = Slowest(limit, bytes_max)
    slowest.open()
    for place, took in enumerate(times):
        if took > slowest.floor:
            slowest.add(took, 1 if sizes is None else sizes[place], place)
    return slowest


@given(TIMES, st.integers(1, 20))
def test_it_keeps_what_sorting_all_of_them_would(times: list[float], limit: int) -> None:
    slowest = kept_of(times, limit)
    best = sorted(range(len(times)), key=lambda place: (-times[place], place))[:limit]
    # Of those that took as long as the floor any may be there.
    assert [times[place] for place in slowest.ranked()] == [times[place] for place in best]
    assert slowest.things() == sorted(slowest.ranked())
    assert len(slowest) == len(best)
    assert slowest.left_out == 0


@given(TIMES, st.integers(1, 20), st.integers(1, 40), st.data())
def test_bytes_are_bounded_and_nothing_less_slow_is_kept_in_place_of_what_went(
    times: list[float], limit: int, bytes_max: int, data: st.DataObject
) -> None:
    sizes = data.draw(st.lists(st.integers(1, 30), min_size=len(times), max_size=len(times)))
    slowest = kept_of(times, limit, sizes, bytes_max)
    kept = slowest.ranked()
    assert sum(sizes[place] for place in kept) <= bytes_max or len(kept) == 1
    least = min((times[place] for place in kept), default=inf)
    missing = [took for place, took in enumerate(times) if place not in kept and took > least]
    assert missing == []
    assert slowest.left_out <= limit - len(kept)
    assert bool(kept) == bool(times)


def test_how_many_had_no_room_is_told() -> None:
    slowest = kept_of([1.0, 2.0, 3.0, 4.0], 3, [10, 10, 10, 10], 25)
    assert slowest.ranked() == [3, 2]
    assert slowest.left_out == 1
    assert slowest.cut == 2.0


def test_what_is_no_slower_than_what_went_elsewhere_goes_too() -> None:
    slowest = kept_of([1.0, 4.0, 2.0, 3.0], 10)
    slowest.leave_out(2.0)
    assert slowest.ranked() == [1, 3]
    assert (slowest.floor, slowest.left_out, slowest.cut) == (2.0, 2, 2.0)


def test_nothing_is_wanted_before_it_is_opened_and_after_it_is_closed() -> None:
    slowest: Slowest[str] = Slowest(2)
    assert slowest.floor == inf
    slowest.open()
    assert slowest.floor == 0
    for took in (1.0, 3.0, 2.0):
        slowest.add(took, 1, str(took))
    assert slowest.floor == 2.0
    slowest.close()
    assert slowest.floor == inf
    slowest.open()
    assert slowest.floor == 2.0
    assert slowest.ranked() == ["3.0", "2.0"]


def test_where_none_is_wanted_it_never_opens() -> None:
    slowest: Slowest[str] = Slowest(0)
    slowest.open()
    assert slowest.floor == inf
