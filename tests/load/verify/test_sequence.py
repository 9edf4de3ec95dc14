"""Order of stored events: one defect is one finding, and arrays say what one by one says."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.segments import Event, last_of, numbers, writer
from wiretool import limits
from wiretool.load.verify.findings import Findings
from wiretool.load.verify.sequence import Order


def findings_of(
    events: Sequence[Event], acknowledged: dict[int, int] | None = None, sent: dict[int, int] | None = None
) -> Findings:
    """Of events that lie ten bytes apart."""
    findings = Findings()
    order = Order(findings)
    for row, (index, number) in enumerate(events):
        order.place(writer(index), number, 10 * row)
    known = last_of(events) if acknowledged is None else acknowledged
    order.settle(known, known if sent is None else sent, 10 * len(events))
    return findings


def told(*given: int, acknowledged: int | None = None, sent: int | None = None) -> list[str]:
    known = None if acknowledged is None else {writer(0): acknowledged}
    findings = findings_of(numbers(*given), known, None if sent is None else {writer(0): sent})
    return [line.replace(" segment s,", "").replace(" of writer 0.0", "") for line in findings.told("s")]


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        ((1, 2, 4, 3, 5), "out of order: byte 30: event 3: late, after event 4"),
        ((1, 3, 2, 4), "out of order: byte 20: event 2: late, after event 3"),
        ((2, 1, 3), "out of order: byte 10: event 1: late, after event 2"),
        # One that comes early, or a batch that comes late, is one defect.
        ((1, 6, 2, 3, 4, 5, 7), "out of order: byte 20: events 2 to 5: late, after event 6"),
        ((1, 5, 6, 2, 3, 4, 7), "out of order: byte 30: events 2 to 4: late, after event 6"),
        ((1, 1, 2), "doubled: byte 10: event 1: there once more, after event 1"),
        ((1, 2, 3, 1, 2, 3, 4), "doubled: byte 30: events 1 to 3: there once more, after event 3"),
        ((1, 2, 4, 5), "lost: byte 20: event 3: acknowledged and not there; event 4 comes here"),
        ((4, 5), "lost: byte 0: events 1 to 3: acknowledged and not there; event 4 comes here"),
    ],
)
def test_one_defect_is_one_finding(given: tuple[int, ...], finding: str) -> None:
    assert told(*given) == [finding]


def test_several_defects_are_told_apart() -> None:
    kinds = [line.split(":")[0] for line in told(1, 3, 3, 2, 2, 6, 5)]
    assert kinds == ["doubled", "out of order", "doubled", "lost", "out of order"]


def test_defects_with_something_right_between_them_are_two() -> None:
    assert findings_of(numbers(1, 2, 3, 1, 4, 2, 5)).kinds == {"doubled": 2}
    assert findings_of(numbers(1, 5, 2, 6, 3, 7, 4)).kinds == {"out of order": 3}


def test_a_hole_that_is_filled_in_part_is_lost_in_parts() -> None:
    assert told(1, 7, 4, 8) == [
        "lost: byte 10: events 2 to 3: acknowledged and not there; event 7 comes here",
        "lost: byte 10: events 5 to 6: acknowledged and not there; event 7 comes here",
        "out of order: byte 20: event 4: late, after event 7",
    ]


def test_all_that_is_right_is_no_finding() -> None:
    assert told() == told(1, 2, 3) == []


def test_the_end_may_be_there_or_not_where_it_was_not_acknowledged() -> None:
    for there in range(3, 6):
        assert told(*range(1, there + 1), acknowledged=3, sent=5) == []
    assert told(1, 2, 5, acknowledged=2, sent=5) == []


def test_an_acknowledged_end_is_lost_and_a_hole_no_further_than_acknowledged() -> None:
    lost = "lost: byte 20: events 3 to 4: acknowledged and not there; the segment ends here"
    assert told(1, 2, acknowledged=4, sent=9) == [lost]
    hole = "lost: byte 20: event 3: acknowledged and not there; event 9 comes here"
    assert told(1, 2, 9, acknowledged=3, sent=9) == [hole]
    assert findings_of([], {writer(0): 2, writer(1): 0}).kinds == {"lost": 1}


def test_what_was_never_sent_is_a_finding() -> None:
    assert told(1, 2, 3, 4, acknowledged=2, sent=2) == [
        "never sent: byte 30: events 3 to 4: there, though its writer sent 2 in all"
    ]
    assert told(1, 2, 7, acknowledged=2, sent=3) == [
        "never sent: byte 20: event 7: there, though its writer sent 3 in all"
    ]
    assert told(1, acknowledged=0, sent=0) == [
        "never sent: byte 0: event 1: there, though its writer sent nothing here"
    ]


def test_findings_of_others_do_not_end_a_run() -> None:
    events = [(0, 1), (0, 2), (0, 3), (0, 1), (1, 1), (0, 2), (1, 1), (0, 3), (0, 4)]
    assert findings_of(events).kinds == {"doubled": 2}


def test_holes_that_are_too_many_are_lost_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BENCH_HOLES_MAX", 3)
    findings = findings_of(numbers(2, 4, 6, 8, 10), sent={writer(0): 10})
    assert findings.kinds == {"lost": 5}
    # One that was filled is no hole any more, one that was filled in the middle is two.
    assert findings_of(numbers(2, 4, 6, 5, 8, 7)).kinds == {"lost": 2, "out of order": 2}
    assert findings_of(numbers(2, 6, 10, 4, 13, 3)).kinds == {"lost": 5, "out of order": 1, "doubled": 1}


def placed_in_rows(events: Sequence[Event], cuts: Sequence[int] = (), sent: dict[int, int] | None = None) -> Findings:
    """The same as `findings_of`, in stretches that end at these places."""
    findings = Findings()
    order = Order(findings)
    places = [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
    for start, stop in pairwise(places):
        if start < stop:
            writers = np.array([writer(index) for index, _ in events[start:stop]], np.uint64)
            given_numbers = np.array([number for _, number in events[start:stop]], np.int64)
            order.place_rows(writers, given_numbers, 10 * np.arange(start, stop))
    known = last_of(events) if sent is None else sent
    order.settle(known, known, 10 * len(events))
    return findings


def test_of_more_findings_than_are_told_rows_tell_the_same() -> None:
    events = [(index, number) for number in range(1, 90) for index in range(5) for _ in range(1 + (index > 1))]
    findings = placed_in_rows(events)
    assert findings.count == 3 * 89
    assert findings.told("s") == findings_of(events).told("s")


def test_rows_say_where_what_was_never_sent_is() -> None:
    events = numbers(*range(1, 30))
    sent = {writer(0): 20}
    assert placed_in_rows(events, sent=sent).told("s") == findings_of(events, sent).told("s")
    assert placed_in_rows(events, sent=sent).told("s")[0].startswith("never sent: segment s, byte 280: events 21 to 29")


EVENTS = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 12)), max_size=60)


@st.composite
def shuffled(draw: st.DrawFn) -> list[Event]:
    """Writers mixed, nearly all in order."""
    turns = draw(st.lists(st.integers(0, 5), max_size=200))
    given: dict[int, int] = {}
    events = []
    for index in turns:
        given[index] = given.get(index, 0) + 1
        events.append((index, given[index]))
    for at in draw(st.lists(st.integers(0, max(len(events) - 1, 0)), max_size=3)):
        if at < len(events):
            events.insert(draw(st.integers(0, len(events))), events.pop(at))
    return events


@given(st.one_of(EVENTS, shuffled()), st.lists(st.integers(0, 200), max_size=4))
def test_rows_are_placed_as_one_by_one(events: list[Event], cuts: list[int]) -> None:
    findings = placed_in_rows(events, cuts)
    one_by_one = findings_of(events)
    assert (findings.kinds, findings.told("s")) == (one_by_one.kinds, one_by_one.told("s"))


@given(st.one_of(EVENTS, shuffled()))
def test_findings_are_what_is_wrong(events: list[Event]) -> None:
    wrong = set()
    for index, last in {index: max(n for i, n in events if i == index) for index, _ in events}.items():
        given_numbers = [number for i, number in events if i == index]
        first_ones = list(dict.fromkeys(given_numbers))
        wrong |= {"doubled"} if len(first_ones) < len(given_numbers) else set()
        wrong |= {"out of order"} if first_ones != sorted(first_ones) else set()
        wrong |= {"lost"} if len(first_ones) < last else set()
    assert set(findings_of(events).kinds) == wrong
