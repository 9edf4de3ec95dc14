"""Groups of frames that are remembered: of each connection the last ones."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool import limits
from wiretool.bulk.steady_watches import SteadyWatches

MOST = 3


def watches_with(chunks: list[list[int]]) -> tuple[Any, dict[int, list[int]]]:
    """Return watches in eight slots with groups in chunks, each of a slot or of none, and their numbers by slot."""
    steady: Any = SteadyWatches()
    steady._reserve(8)
    number, numbers = 0, dict[int, list[int]]()
    for chunk in chunks:
        rows = np.zeros((3, len(chunk)), np.int64)
        for at, slot in enumerate(chunk):
            number += 1
            rows[:, at] = slot, number, 10 * number
            if slot >= 0:
                numbers.setdefault(slot, []).append(number)
        steady._groups.append(rows)
        steady._group_count += len(chunk)
    return steady, numbers


@given(st.lists(st.lists(st.integers(-1, 7), max_size=30), max_size=6))
def test_the_last_groups_of_each_connection_are_kept(chunks: list[list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "REMEMBERED_STRETCHES_MAX", MOST)
        steady, numbers = watches_with(chunks)
        steady._forget_groups()
    expected = {slot: (each[-MOST:], [10 * number for number in each[-MOST:]]) for slot, each in numbers.items()}
    assert steady._group_count == sum(len(each) for each, _ in expected.values())
    assert steady._take_groups(np.arange(8)) == expected
    assert steady._take_groups(np.arange(8)) == {}


def test_groups_take_no_more_than_twice_their_memory() -> None:
    """As many as count of 1,000 connections are 6 MB; no array of all is made on the way."""
    rng = np.random.default_rng(1)
    steady: Any = SteadyWatches()
    steady._reserve(1_000)
    for at in range(40):
        slots = rng.integers(0, 1_000, 1 << 16)
        steady._groups.append(np.stack((slots, np.arange(len(slots)) + (at << 16), slots)))
        steady._group_count += len(slots)
        if steady._group_count > steady._groups_max:
            steady._forget_groups()
    assert sum(each.nbytes for each in steady._groups) < 1.6 * 24 * 256_000 + 24 * (1 << 16)
