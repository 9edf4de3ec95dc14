"""Steps that were made of others are kept by the identity of their origin."""

import pytest

from wiretool.fuzz.sequences import step_cache
from wiretool.fuzz.sequences.sequence import Sending
from wiretool.fuzz.sequences.step_cache import StepCache


def test_what_was_made_of_a_step_is_kept_for_that_very_step() -> None:
    cache = StepCache()
    one, equal, made = Sending(1, b"a"), Sending(1, b"a"), Sending(1, b"b")
    assert cache.put(one, 2, made) is made
    assert cache.get(one, 2) is made
    assert cache.get(one, 3) is None
    assert cache.get(equal, 2) is None


def test_few_steps_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_cache, "KEPT_MAX", 2)
    cache = StepCache()
    steps = [Sending(1, bytes((number,))) for number in range(3)]
    for step in steps:
        cache.put(step, 0, step)
    assert [cache.get(step, 0) is step for step in steps] == [False, False, True]
