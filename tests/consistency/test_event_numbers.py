"""The numbers of sent events."""

import pytest

from wiretool import limits
from wiretool.consistency.event_numbers import EventNumbers

A, B = b"a", b"b"


def test_an_event_is_new_by_its_segment_writer_number_and_content() -> None:
    numbers = EventNumbers()
    assert numbers.add("s", "w", [1, 2], [A, B]) == [A, B]
    assert numbers.add("s", "w", [2, 3], [B, A]) == [A]
    assert numbers.add("s", "w", [2], [A]) == [A]  # the first one was refused
    assert numbers.add("s", "other", [1], [A]) == [A]
    assert numbers.add("t", "w", [1], [A]) == [A]
    numbers.forget("s")
    assert numbers.add("s", "w", [1], [A]) == [A]
    assert numbers.add("t", "w", [1], [A]) == []
    numbers.clear()
    assert numbers.add("t", "w", [1], [A]) == [A]


def test_too_many_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONSISTENCY_EVENTS_MAX", 2)
    numbers = EventNumbers()
    numbers.add("s", "w", [1, 2], [A, A])
    assert not numbers.is_full
    numbers.add("s", "w", [3], [A])
    assert numbers.is_full
    assert numbers.add("s", "w", [1], [A]) == [A]
