"""Pairs by order: pipelined requests, several replies to one, gaps, and connections without a beginning."""

import pytest

from wiretool import limits
from wiretool.protocols.base.ordered_pairs import TURNS_SURE, OrderedPairs


def test_replies_answer_requests_in_their_order() -> None:
    pairs: OrderedPairs[str] = OrderedPairs(from_start=True)
    assert (pairs.first, pairs.answer()) == (None, None)
    pairs.add(1, "a")
    pairs.add(2, "b")
    assert pairs.first == "a"
    assert [pairs.answer(is_last=False), pairs.answer(), pairs.answer(), pairs.answer()] == [1, 1, 2, None]


@pytest.mark.parametrize("from_start", [True, False])
def test_nothing_is_paired_after_a_gap_before_many_turns(from_start: bool) -> None:
    pairs: OrderedPairs[None] = OrderedPairs(from_start=from_start)
    if from_start:
        pairs.add(1, None)
        pairs.forget()
    found = []
    for n in range(2, 2 + TURNS_SURE):
        pairs.add(n, None)
        found.append(pairs.answer() == n)
    assert found == [False] * found.count(False) + [True] * found.count(True)
    assert TURNS_SURE // 2 <= found.count(False) <= TURNS_SURE // 2 + 2


def test_pipelined_requests_after_a_gap_are_never_paired() -> None:
    pairs: OrderedPairs[None] = OrderedPairs(from_start=False)
    for n in range(0, 400, 2):
        pairs.add(n, None)
        pairs.add(n + 1, None)
        assert (pairs.answer(), pairs.answer()) == (None, None)


def test_open_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUESTS_OPEN_MAX", 3)
    pairs: OrderedPairs[None] = OrderedPairs(from_start=True)
    for n in range(4):
        pairs.add(n, None)
    assert (pairs.first, pairs.answer()) == (None, None)
