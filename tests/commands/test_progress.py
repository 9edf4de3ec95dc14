"""What is shown of work of which nobody knows how far it is."""

import threading

import pytest

from wiretool.commands import progress
from wiretool.commands.progress import report_waiting


def test_a_line_is_written_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    some = threading.Event()

    def tell(text: str) -> None:
        lines.append(text)
        if len(lines) == 3:
            some.set()

    monkeypatch.setattr(progress, "tell", tell)
    monkeypatch.setattr(progress, "WAITING_S", 0.01)
    monkeypatch.setattr(progress, "LONG_S", 0.01)
    with report_waiting("starting Spark") as end:
        assert some.wait(20)
        end()
        count = len(lines)
    assert len(lines) == count
    assert set(lines) == {"starting Spark (0 s)"}


def test_what_is_quick_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(progress, "tell", lines.append)
    with report_waiting("starting Spark"):
        pass
    assert not lines


def test_a_name_that_changes_is_asked_for_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    some = threading.Event()
    names = iter(["first", "second", *["third"] * 1_000])

    def tell(text: str) -> None:
        lines.append(text)
        if len(lines) == 3:
            some.set()

    monkeypatch.setattr(progress, "tell", tell)
    monkeypatch.setattr(progress, "WAITING_S", 0.01)
    monkeypatch.setattr(progress, "LONG_S", 0.01)
    with report_waiting(lambda: next(names)):
        assert some.wait(20)
    assert lines[:3] == ["first (0 s)", "second (0 s)", "third (0 s)"]
