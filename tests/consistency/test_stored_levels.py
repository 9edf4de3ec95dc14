"""The confirmed levels of writers."""

import pytest

from wiretool import limits
from wiretool.consistency.stored_levels import StoredLevels


def test_the_highest_level_counts() -> None:
    levels = StoredLevels()
    assert not levels.has("s", "w", 0)
    levels.confirm("s", "w", 5)
    levels.confirm("s", "w", 3)
    assert [levels.has("s", "w", level) for level in (3, 5, 6)] == [True, True, False]
    assert not levels.has("s", "other", 3)
    assert not levels.has("t", "w", 3)
    levels.forget("s")
    assert not levels.has("s", "w", 3)


def test_too_many_writers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONSISTENCY_WRITERS_MAX", 2)
    levels = StoredLevels()
    for number, writer in enumerate(("one", "two", "three")):
        levels.confirm("s", writer, number)
    assert [levels.has("s", writer, 0) for writer in ("one", "two", "three")] == [False, False, True]


def test_a_level_that_a_client_sets_proves_nothing() -> None:
    levels = StoredLevels()
    levels.confirm("s", "w", 5)
    levels.doubt("s", "w")
    levels.confirm("s", "w", 7)
    assert (levels.has("s", "w", 3), levels.is_doubted("s", "w"), levels.is_doubted("s", "other")) == (
        False,
        True,
        False,
    )
    levels.forget("s")
    levels.confirm("s", "w", 1)
    assert (levels.has("s", "w", 1), levels.is_doubted("s", "w")) == (True, False)
