"""What belongs together in two sequences."""

import time
from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from wiretool.replay.diff.aligning import align

words = st.lists(st.text("abcd", min_size=1, max_size=2), max_size=12)


def pairs_of(one: Sequence[str], other: Sequence[str]) -> list[tuple[str, str]]:
    """Aligned by the whole word, then by its first letter."""
    return [(one[at], other[other_at]) for at, other_at in align(one, other, [str], lambda word: word[0])]


def test_the_same_is_aligned_whole() -> None:
    assert pairs_of(["a1", "b1", "c1"], ["a1", "b1", "c1"]) == [("a1", "a1"), ("b1", "b1"), ("c1", "c1")]


def test_what_is_added_moves_the_rest() -> None:
    assert pairs_of(["a1", "a2", "a3"], ["a0", "a1", "a2", "a3"]) == [("a1", "a1"), ("a2", "a2"), ("a3", "a3")]


def test_what_is_alike_is_aligned_between_its_neighbours() -> None:
    assert pairs_of(["x", "a1", "y"], ["x", "a2", "y"]) == [("x", "x"), ("a1", "a2"), ("y", "y")]
    assert pairs_of(["a1", "y"], ["y", "a2"]) == [("y", "y")]


def test_what_has_moved_is_found() -> None:
    assert ("a1", "a1") in pairs_of(["a1", "b1", "c1"], ["b1", "c1", "a1"])


@given(words, words)
def test_nothing_is_in_two_pairs_and_no_pair_is_of_strangers(one: list[str], other: list[str]) -> None:
    found = align(one, other, [str], lambda word: word[0])
    assert len({at for at, _ in found}) == len({at for _, at in found}) == len(found)
    assert all(one[at][0] == other[other_at][0] for at, other_at in found)
    assert found == sorted(found)


@given(words)
def test_a_sequence_is_aligned_with_itself(one: list[str]) -> None:
    assert align(one, one, [str], str) == [(at, at) for at in range(len(one))]


@given(words, words)
def test_what_both_have_is_paired(one: list[str], other: list[str]) -> None:
    found = [one[at] for at, other_at in align(one, other, [str], str) if one[at] == other[other_at]]
    assert Counter(found) == Counter(one) & Counter(other)


def test_long_sequences_of_the_same_take_no_time() -> None:
    began_s = time.process_time()
    assert len(align(["a"] * 20_000, ["b", *["a"] * 20_000, "c"], [str], str)) == 20_000
    assert time.process_time() - began_s < 20  # of milliseconds; pair by pair it would be minutes
