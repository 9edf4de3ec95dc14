"""Replies told late, behind a hole: in columns they answer what they answer row by row."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool import limits
from wiretool.dissect.columns.late import Late, without_replies
from wiretool.dissect.columns.placing import PlacedFrames
from wiretool.dissect.packet_index import Stretches
from wiretool.protocols.base.columns import NO_REPLY, Frames, Group


class Told(NamedTuple):
    """A frame as it is told: with its number, first and last packet, whether a stretch begins, what it answers."""

    number: int
    first: int
    last: int
    begins: bool
    reply_to: int


def placed_of(told: Sequence[Told]) -> PlacedFrames:
    numbers = np.array([each.number for each in told], np.int64)
    first, last = (np.array([each[at] for each in told], np.int64) for at in (1, 2))
    stretches = np.flatnonzero([each.begins for each in told])
    nothing = np.zeros(len(told), np.int64)
    frames = Frames(b"", nothing, nothing, nothing.astype(bool), numbers)
    return PlacedFrames(frames, nothing, first, last, nothing, nothing, stretches)


def by_rows(told: Sequence[Told], latest: int, stretches: Stretches) -> tuple[list[int], int]:
    """What each answers, and the latest packet at last, as reading row by row has it."""
    found: list[int] = []
    waiting: Told | None = None
    for each in told:
        if each.begins:
            if waiting is not None:
                stretches.add(waiting.number, waiting.first)
            waiting = each
        latest = max(latest, each.first)
        is_wrong = each.last < latest and each.reply_to != NO_REPLY and stretches.packet_of(each.reply_to) > each.last
        found.append(NO_REPLY if is_wrong else each.reply_to)
    if waiting is not None:
        stretches.add(waiting.number, waiting.first)
    return found, latest


@st.composite
def _tellings(draw: st.DrawFn) -> tuple[list[Told], list[tuple[int, int]]]:
    """Frames, and what was told before: numbers and packets of stretches."""
    before = [(number, draw(st.integers(1, 30))) for number in range(1, draw(st.integers(0, 9)) + 1)]
    told = list[Told]()
    for at in range(draw(st.integers(1, 14))):
        number = 10 + at
        first = draw(st.integers(1, 30))
        last = first + draw(st.sampled_from([0, 0, 0, 1, 5]))
        answers = draw(st.one_of(st.just(NO_REPLY), st.integers(1, number - 1)))
        told.append(Told(number, first, last, at == 0 or draw(st.booleans()), answers))
    return told, before


def stretches_of(before: Sequence[tuple[int, int]]) -> Stretches:
    stretches = Stretches()
    for number, packet in before:
        stretches.add(number, packet)
    return stretches


def without_late(late: Late, told: Sequence[Told], latest: int, group: Group) -> Group:
    """Return the group without replies that `late` says are wrong, of frames that are late."""
    placed = placed_of(told)
    assert group.reply_to is not None
    is_late = placed.last < np.maximum.accumulate(np.maximum(placed.first, latest))
    places = np.flatnonzero(is_late[group.rows] & (group.reply_to != NO_REPLY))
    if not len(places):
        return group
    return without_replies(group, places[late.are_wrong(group.rows[places], group.reply_to[places])])


def group_of(told: Sequence[Told], rows: Sequence[int]) -> Group:
    return Group(None, "Reply", np.array(rows, np.int64), {}, np.array([told[row].reply_to for row in rows], np.int64))


@given(_tellings(), st.integers(0, 20), st.integers(1, 9), st.sets(st.integers(0, 13)))
def test_columns_answer_what_rows_answer(
    case: tuple[list[Told], list[tuple[int, int]]], latest: int, most: int, slow: set[int]
) -> None:
    """However far back is remembered; some rows are read one by one in between."""
    told, before = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "REMEMBERED_STRETCHES_MAX", most)
        expected = stretches_of(before)
        answers, _ = by_rows(told, latest, expected)
        stretches = stretches_of(before)
        late = Late(placed_of(told), latest, stretches)
        for row in sorted(each for each in slow if each < len(told)):
            known = stretches_of(before)
            by_rows_before, latest_before = by_rows(told[:row], latest, known)
            assert by_rows_before == answers[:row]
            assert late.catch_up(row) == latest_before
            assert stretches.packet_of(told[row].reply_to) == packet_before(told, row, before)
        plain = [row for row in range(len(told)) if row not in slow]
        for some in (plain[::2], plain[1::2]):
            reply_to = without_late(late, told, latest, group_of(told, some)).reply_to
            assert reply_to is not None
            assert reply_to.tolist() == [answers[row] for row in some]
        assert late.catch_up(len(told)) == by_rows(told, latest, stretches_of(before))[1]
        assert [list(each) for each in stretches.columns()] == [list(each) for each in expected.columns()]


def packet_before(told: Sequence[Told], row: int, before: Sequence[tuple[int, int]]) -> int:
    """When what a row answers was told, as far as is known when it is told: its own stretch is not."""
    begin = max(at for at in range(row + 1) if told[at].begins)
    known = stretches_of(before)
    for each in told[:begin]:
        if each.begins:
            known.add(each.number, each.first)
    return known.packet_of(told[row].reply_to)


#: A reply in packet 3 that is told behind packet 9; it seems to answer what was told then, or what was told at 2.
IN_ORDER = [Told(10, 2, 2, True, NO_REPLY), Told(11, 9, 9, True, NO_REPLY)]


@pytest.mark.parametrize(("answers", "kept"), [(10, True), (11, False), (NO_REPLY, True)])
def test_a_reply_to_what_came_after_it_answers_nothing(answers: int, kept: bool) -> None:
    told = [*IN_ORDER, Told(12, 3, 3, True, answers)]
    late = Late(placed_of(told), 0, Stretches())
    reply_to = without_late(late, told, 0, group_of(told, [0, 1, 2])).reply_to
    assert reply_to is not None
    assert reply_to.tolist() == [NO_REPLY, NO_REPLY, answers if kept else NO_REPLY]


def test_groups_in_good_order_are_left_as_they_are() -> None:
    told = [*IN_ORDER, Told(12, 10, 10, True, 11)]
    group = group_of(told, [0, 1, 2])
    assert without_late(Late(placed_of(told), 0, Stretches()), told, 0, group) is group
    silent = Group(None, "Silent", np.array([2]), {}, None)
    assert without_replies(silent, np.zeros(1, np.int64)) is silent


def test_the_group_that_was_given_is_not_changed() -> None:
    told = [*IN_ORDER, Told(12, 3, 3, True, 11)]
    group = group_of(told, [2])
    assert without_late(Late(placed_of(told), 0, Stretches()), told, 0, group) is not group
    assert group.reply_to is not None
    assert group.reply_to.tolist() == [11]


def test_what_was_told_long_ago_may_have_been_asked_before() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "REMEMBERED_STRETCHES_MAX", 1)
        told = [*IN_ORDER, Told(12, 20, 20, True, NO_REPLY), Told(13, 3, 3, True, 11)]
        reply_to = without_late(Late(placed_of(told), 0, Stretches()), told, 0, group_of(told, [3])).reply_to
        assert reply_to is not None
        assert reply_to.tolist() == [11]


def test_what_was_read_before_makes_late_what_comes() -> None:
    told = [Told(10, 3, 3, True, 5)]
    late = Late(placed_of(told), 9, stretches_of([(5, 9)]))
    reply_to = without_late(late, told, 9, group_of(told, [0])).reply_to
    assert reply_to is not None
    assert reply_to.tolist() == [NO_REPLY]
    assert late.catch_up(0) == 9
    assert late.catch_up(1) == 9
