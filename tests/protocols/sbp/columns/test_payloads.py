"""Chains of batches are followed side by side, but not for long where they cannot be read."""

import numpy as np
import pytest

from wiretool.codec.columns import Flags, Integers
from wiretool.protocols.sbp.columns.payloads import ABREAST_MIN, STEPS_FEW_MAX, STEPS_UNSEEN_MAX, Links, follow

LINK_BYTES = 10


class Walk:
    """Chains of links of LINK_BYTES; those that begin at or behind `sound_to` cannot be read."""

    def __init__(self, sound_to: int) -> None:
        self.steps = self.seen = 0
        self._sound_to = sound_to

    def step(self, at: Integers, end: Integers) -> tuple[Links, Flags, Flags]:
        self.steps += 1
        behind = at + LINK_BYTES
        return Links(at, at, at, behind), behind <= end, behind < end

    def sound(self, links: Links) -> Flags:
        self.seen += len(links.starts)
        return links.starts < self._sound_to


def followed(walk: Walk, chains: int, length: int) -> tuple[Integers, Flags]:
    """How many links each of the chains has, all in one place, and which of them can be read."""
    starts, is_read = np.zeros(chains, np.int64), np.ones(chains, np.bool_)
    found = follow(walk.step, walk.sound, np.arange(chains), starts, starts + length * LINK_BYTES, is_read)
    assert (np.diff(found.of) >= 0).all()
    return np.bincount(found.of, minlength=chains), is_read


@pytest.mark.parametrize("length", [1, STEPS_UNSEEN_MAX, 1000])
def test_every_link_of_sound_chains(length: int) -> None:
    walk = Walk(sound_to=1 << 62)
    counts, is_read = followed(walk, ABREAST_MIN, length)
    assert is_read.all()
    assert counts.tolist() == [length] * ABREAST_MIN
    assert walk.seen <= length * ABREAST_MIN


def test_chains_that_cannot_be_read_are_left_soon() -> None:
    walk = Walk(sound_to=0)
    _, is_read = followed(walk, 100, 100_000)
    assert not is_read.any()
    assert walk.steps == STEPS_UNSEEN_MAX


def test_no_more_than_twice_as_far_as_they_can_be_read() -> None:
    walk = Walk(sound_to=300 * LINK_BYTES)
    _, is_read = followed(walk, 100, 100_000)
    assert not is_read.any()
    assert walk.steps < 2 * 300


def test_few_chains_are_not_followed_far() -> None:
    walk = Walk(sound_to=1 << 62)
    _, is_read = followed(walk, ABREAST_MIN - 1, 100_000)
    assert not is_read.any()
    assert walk.steps == STEPS_FEW_MAX
