"""Turns on time, by the real clock; each test takes some hundredths of a second."""

import socket
import statistics
from functools import partial
from time import perf_counter

import gevent
from gevent.event import Event
from hypothesis import given, settings
from hypothesis import strategies as st

from wiretool.load.wakeups import Pacer


def lateness_s(pacer: Pacer, turns: int) -> list[float]:
    """By how much each of so many turns came too late."""
    done, late_s = Event(), []

    def take_turn(due_s: float) -> None:
        late_s.append(perf_counter() - due_s)
        if len(late_s) == turns:
            done.set()

    began_s = perf_counter()
    for number in range(turns):
        due_s = began_s + 0.0007 * number
        pacer.at(due_s, partial(take_turn, due_s))
    assert done.wait(10)
    return late_s


def test_a_turn_comes_when_it_is_due_and_not_before() -> None:
    pacer = Pacer(perf_counter)
    rounds = [lateness_s(pacer, 20) for _ in range(10)]
    assert min(map(min, rounds)) >= 0
    # A busy machine may hold up any of them, hardly the best of ten; timers of a millisecond hold up all.
    assert min(map(statistics.median, rounds)) < 0.0003


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30))
@settings(max_examples=20, deadline=None)
def test_turns_come_in_the_order_in_which_they_are_due(tenths_ms: list[int]) -> None:
    pacer, done = Pacer(perf_counter), Event()
    came: list[tuple[int, int]] = []

    def take_turn(place: tuple[int, int]) -> None:
        came.append(place)
        if len(came) == len(tenths_ms):
            done.set()

    began_s = perf_counter() + 0.001
    for index, tenth in enumerate(tenths_ms):
        pacer.at(began_s + tenth / 10_000, partial(take_turn, (tenth, index)))
    assert done.wait(10)
    assert came == sorted(came)


def test_one_that_is_due_earlier_than_what_is_waited_for_comes_first() -> None:
    pacer, done = Pacer(perf_counter), Event()
    came: list[str] = []
    began_s = perf_counter()
    pacer.at(began_s + 0.3, partial(came.append, "late"))
    pacer.at(began_s + 0.3, done.set)
    gevent.sleep(0.005)
    pacer.at(began_s + 0.01, partial(came.append, "early"))
    assert done.wait(10)
    assert came == ["early", "late"]


def test_what_comes_is_read_between_two_turns_though_there_is_always_one() -> None:
    pacer = Pacer(perf_counter)
    here, there = socket.socketpair()
    turns = 0
    read_at = Event()
    reading = gevent.get_hub().loop.io(here.fileno(), 1)

    def read() -> None:
        here.recv(1)
        after.append(turns - 50)
        read_at.set()

    def again() -> None:
        nonlocal turns
        turns += 1
        if turns == 50:
            there.send(b"!")
        if not read_at.is_set() and turns < 100_000:
            pacer.at(perf_counter(), again)

    after: list[int] = []
    reading.start(read)
    again()
    assert read_at.wait(10)
    assert after[0] <= 3
    reading.stop()
    reading.close()
    here.close()
    there.close()


def test_a_pacer_that_nobody_wants_anything_of_rests() -> None:
    pacer, done = Pacer(perf_counter), Event()
    for _ in range(2):
        done.clear()
        pacer.at(perf_counter() + 0.001, done.set)
        assert done.wait(10)
        gevent.sleep(0.02)
        assert pacer._pacing is None
