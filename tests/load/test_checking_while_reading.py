"""A check of what is being read: who is told what came, and what is found where nobody reads on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.segments import FILLER, HEAD, RUN, Event, numbers, segment_of, stored, writer
from wiretool.load.verify.findings import Outcome
from wiretool.load.verify.stored_events import Checker

#: How often each of three writers writes so many events in a row.
RUNS = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40)), max_size=12)


def events_of(runs: list[tuple[int, int]]) -> list[Event]:
    last = [0, 0, 0]
    events = []
    for index, count in runs:
        for _ in range(count):
            last[index] += 1
            events.append((index, last[index]))
    return events


@given(RUNS, st.lists(st.integers(0, 10_000), max_size=5), st.booleans())
def test_all_that_comes_in_order_is_told_once(runs: list[tuple[int, int]], cuts: list[int], is_bulk: bool) -> None:
    told: dict[int, list[int]] = {}

    def arrived(key: int, first: int, last: int) -> None:
        told.setdefault(key, []).extend(range(first, last + 1))

    events = events_of(runs)
    data = segment_of(events)
    checker = Checker("seg", run=RUN, head=HEAD, filler=FILLER, is_bulk=is_bulk, arrived=arrived)
    start = 0
    for stop in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        checker.feed(data[start:stop])
        start = stop
    assert told == {
        writer(index): [number for other, number in events if other == index] for index in {index for index, _ in runs}
    }
    assert checker.checked == len(events)
    assert checker.leave() == Outcome(checked=len(events))


@given(st.integers(0, 99), st.integers(1, 83), st.booleans())
def test_who_stops_anywhere_has_found_nothing(whole: int, more: int, is_bulk: bool) -> None:
    data = segment_of(numbers(*range(1, 101)))
    checker = Checker("seg", run=RUN, head=HEAD, filler=FILLER, is_bulk=is_bulk)
    checker.feed(data[: whole * (HEAD.width + 60) + more % (HEAD.width + 60)])
    assert checker.leave() == Outcome(checked=whole)


@pytest.mark.parametrize("is_bulk", [True, False])
def test_what_was_passed_over_is_told_and_comes_late_without_a_word(is_bulk: bool) -> None:
    told = []
    checker = Checker(
        "seg",
        run=RUN,
        head=HEAD,
        filler=FILLER,
        is_bulk=is_bulk,
        arrived=lambda _, first, last: told.append((first, last)),
    )
    checker.feed(segment_of(numbers(1, 3, 2, 4)))
    assert told == [(1, 1), (3, 3), (4, 4)]
    assert checker.leave().kinds == {"out of order": 1}


def test_bytes_that_are_no_event_are_found_though_nobody_reads_on() -> None:
    checker = Checker("seg", run=RUN, head=HEAD, filler=FILLER)
    checker.feed(stored((0, 1)) + b"what is this")
    outcome = checker.leave()
    assert (outcome.checked, outcome.kinds) == (1, {"broken": 1})
    assert outcome.findings == [
        "broken: segment seg, byte 68: no event begins here, 77 68 61 74 20 69 73 20 is there; none follows so far"
    ]


def test_a_damaged_event_is_no_loss() -> None:
    data = bytearray(segment_of(numbers(1, 2, 3)))
    data[68 + 20] ^= 1
    checker = Checker("seg", run=RUN, head=HEAD, filler=FILLER)
    checker.feed(bytes(data))
    outcome = checker.leave()
    assert (outcome.checked, outcome.found, outcome.kinds) == (2, 1, {"changed": 1})
