"""Groups of frames that are remembered: of each connection the last ones."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool import limits
from wiretool.dissect.columns import frame_groups
from wiretool.dissect.columns.frame_groups import FrameGroups

MOST, SLOTS = 3, 8


def groups_with(chunks: list[list[int]]) -> tuple[FrameGroups, dict[int, list[int]]]:
    """Return groups of eight slots, or of none, that are added in chunks, and their numbers by slot."""
    groups = FrameGroups()
    number, numbers = 0, dict[int, list[int]]()
    for chunk in chunks:
        added = np.arange(number + 1, number + len(chunk) + 1)
        number += len(chunk)
        for slot, each in zip(chunk, added.tolist(), strict=True):
            if slot >= 0:
                numbers.setdefault(slot, []).append(each)
        groups.add(np.array(chunk, np.int64), added, 10 * added, SLOTS)
    return groups, numbers


def with_packets(numbers: list[int]) -> tuple[list[int], list[int]]:
    return numbers, [10 * number for number in numbers]


CHUNKS = st.lists(st.lists(st.integers(-1, 7), max_size=30), max_size=6)


@given(CHUNKS)
def test_the_last_groups_of_each_connection_are_kept(chunks: list[list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "REMEMBERED_STRETCHES_MAX", MOST)
        groups, numbers = groups_with(chunks)
        groups._forget(SLOTS)
    expected = {slot: with_packets(each[-MOST:]) for slot, each in numbers.items()}
    assert groups._count == sum(len(each) for each, _ in expected.values())
    assert groups.take(np.arange(SLOTS), SLOTS) == expected
    assert groups.take(np.arange(SLOTS), SLOTS) == {}


@given(CHUNKS, st.sets(st.integers(0, 7)), st.sets(st.integers(0, 7)), st.sampled_from([1, 16]))
def test_groups_that_were_dropped_are_not_taken(
    chunks: list[list[int]], dropped: set[int], taken: set[int], parts: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_groups, "_PARTS_MAX", parts)
        groups, numbers = groups_with(chunks)
        groups.drop(np.array([*dropped], np.int64), SLOTS)
        found = groups.take(np.array([*taken], np.int64), SLOTS)
    assert found == {slot: with_packets(each) for slot, each in numbers.items() if slot in taken - dropped}


def test_groups_take_no_more_than_twice_their_memory() -> None:
    """As many as count of 1,000 connections are 6 MB; no array of all is made on the way."""
    rng = np.random.default_rng(1)
    groups: Any = FrameGroups()
    for at in range(40):
        slots = rng.integers(0, 1_000, 1 << 16)
        groups.add(slots, np.arange(len(slots)) + (at << 16), slots, 1_000)
    assert sum(each.nbytes for each in groups._parts) < 1.6 * 24 * 256_000 + 24 * (1 << 16)
