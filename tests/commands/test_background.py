"""A job in the background of a terminal leaves the screen to the job in the foreground."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from wiretool.commands.progress import is_watched


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A terminal as stderr. Not a fixture: pytest replaces stderr between those and the test."""
    master, slave = os.openpty()
    with os.fdopen(master, "w"), os.fdopen(slave, "w") as stderr, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stderr)
        yield


@pytest.mark.parametrize("is_foreground", [True, False])
def test_only_the_foreground_job_is_watched(monkeypatch: pytest.MonkeyPatch, is_foreground: bool) -> None:
    group = os.getpgrp() if is_foreground else os.getpgrp() + 1
    monkeypatch.setattr(os, "tcgetpgrp", lambda number: group)
    with terminal(monkeypatch):
        assert is_watched() is is_foreground


def test_a_terminal_that_names_no_job_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> int:
        raise OSError(25, "Inappropriate ioctl for device")

    monkeypatch.setattr(os, "tcgetpgrp", refuse)
    with terminal(monkeypatch):
        assert is_watched()
