"""Work that is put off."""

from hypothesis import given
from hypothesis import strategies as st

from wiretool.replay.playing.deferred import WAITING_MAX, Later


@given(st.lists(st.integers(0, 3), max_size=20))
def test_what_is_late_is_done_once_and_in_its_order(counts: list[int]) -> None:
    """Before each piece of work `count` others are caught up with, or none."""
    later, done = Later(), list[int]()
    for number, count in enumerate(counts):
        later.late(lambda number=number: done.append(number))  # type: ignore[misc]
        if count == 0:
            later.catch_up()
            assert done == list(range(number + 1))
    later.catch_up()
    later.catch_up()
    assert done == list(range(len(counts)))


def test_nothing_is_done_before_it_is_asked_for() -> None:
    later, done = Later(), list[str]()
    later.late(lambda: done.append("late"))
    assert done == []
    later.catch_up()
    assert done == ["late"]


def test_what_work_puts_off_itself_is_done_behind_all_else() -> None:
    later, done = Later(), list[str]()

    def first() -> None:
        done.append("first")
        later.late(lambda: done.append("third"))

    later.late(first)
    later.late(lambda: done.append("second"))
    later.catch_up()
    assert done == ["first", "second", "third"]


def test_what_is_to_be_done_soon_is_done_before_what_may_come_late() -> None:
    later, done = Later(), list[str]()
    later.late(lambda: done.append("late"))
    later.soon(lambda: done.append("soon"))
    later.go_on()
    assert done == ["soon"]
    later.soon(lambda: done.append("soon again"))
    later.catch_up()
    assert done == ["soon", "soon again", "late"]


def test_not_too_much_is_put_off() -> None:
    later, done = Later(), list[int]()
    for number in range(WAITING_MAX + 1):
        later.go_on()
        assert done == []
        later.late(lambda number=number: done.append(number))  # type: ignore[misc]
    later.go_on()
    assert done == list(range(WAITING_MAX + 1))


def test_work_that_fails_is_not_done_again() -> None:
    later, done = Later(), list[str]()

    def fail() -> None:
        raise ValueError("no")

    later.late(fail)
    later.late(lambda: done.append("behind"))
    try:
        later.catch_up()
    except ValueError:
        done.append("failed")
    later.catch_up()
    assert done == ["failed", "behind"]
