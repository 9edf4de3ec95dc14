import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.limits import BENCH_APART_MAX as APART_MAX
from wiretool.load.in_flight import Credits, Flights, Tally


def test_a_tally_stays_small_and_loses_little() -> None:
    tally = Tally()
    for number in range(3 * APART_MAX):
        tally.note(number)
    assert tally.total() == 3 * APART_MAX
    assert len(tally) < APART_MAX + 10_000
    assert tally.quantile(0.9) == pytest.approx(0.9 * 3 * APART_MAX, rel=1e-3)
    assert tally.mean == pytest.approx(1.5 * APART_MAX, rel=1e-3)


@given(st.lists(st.integers(0, 50), min_size=1), st.floats(0.01, 1))
def test_a_quantile_is_the_least_with_that_share_below_it(numbers: list[int], share: float) -> None:
    tally = Tally(numbers)
    found = tally.quantile(share)
    assert found in numbers
    assert sum(number <= found for number in numbers) >= share * len(numbers)
    assert sum(number < found for number in numbers) < share * len(numbers)


def test_nothing_has_no_quantile_and_no_mean() -> None:
    assert (Tally().quantile(0.5), Tally().mean) == (0, 0)


def test_an_answer_is_one_to_all_before_it_where_answers_add_up() -> None:
    flights = Flights(is_cumulative=True)
    for n in (1, 2, 3):
        flights.sent(n, 0, "w")
    flights.answered(4, 2)
    flights.answered(5, 3)
    assert flights.depths == {3: 1, 1: 1}


def test_an_answer_is_one_to_its_own_append_elsewhere() -> None:
    flights = Flights(is_cumulative=False)
    for n in (1, 2, 3):
        flights.sent(n, 0, "w")
    for n, reply_to in ((4, 3), (5, 1), (6, 2)):
        flights.answered(n, reply_to)
    assert flights.depths == {3: 1, 2: 1, 1: 1}


def test_writers_are_apart_and_so_are_connections() -> None:
    flights = Flights(is_cumulative=True)
    for n, (connection, writer) in enumerate([(0, "a"), (0, "b"), (1, "a")], 1):
        flights.sent(n, connection, writer)
    for n in (1, 2, 3):
        flights.answered(3 + n, n)
    assert flights.depths == {1: 3}


def test_what_a_hole_may_have_answered_is_not_on_the_way() -> None:
    flights = Flights(is_cumulative=True)
    for n in range(1, 9):
        flights.sent(n, 0, "w")
    flights.lose(0)
    flights.lose(7)
    flights.sent(10, 0, "w")
    flights.answered(11, 10)
    assert flights.depths == {1: 1}


def test_what_answers_no_append_says_nothing() -> None:
    flights = Flights(is_cumulative=True)
    flights.sent(1, 0, "w")
    flights.answered(3, 2)
    assert not flights.depths


def test_requests_are_open_until_all_their_messages_came() -> None:
    credits_ = Credits()
    credits_.asked(0, 2)
    credits_.asked(0, 2)
    for _ in range(5):
        credits_.came(0)
    credits_.came(1)
    assert credits_.depths == {2: 2, 1: 2}
    credits_.asked(0, 9)
    credits_.lose(0)
    credits_.came(0)
    assert credits_.depths.total() == 4
