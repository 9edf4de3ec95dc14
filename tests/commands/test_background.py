"""A job in the background of a terminal leaves the screen to the job in the foreground."""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from wiretool.commands.progress import SHOW_CURSOR, LiveDisplay, is_watched

#: Seconds within which a terminal shows what was written to it.
WAIT_S = 10.0


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal as stderr; its other end. Not a fixture: pytest replaces stderr between those and the test."""
    master, slave = os.openpty()
    with os.fdopen(master, "w"), os.fdopen(slave, "w") as stderr, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stderr)
        yield master


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


def read_until(screen: int, expected: bytes) -> bytes:
    """Return what a terminal shows up to some bytes, which come in pieces of any size."""
    seen = b""
    while expected not in seen:
        ready, _, _ = select.select([screen], [], [], WAIT_S)
        assert ready, f"{expected!r} is not in {seen!r}"
        seen += os.read(screen, 4096)
    return seen


def test_a_job_that_moves_to_the_background_draws_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    foreground = [os.getpgrp()]
    monkeypatch.setattr(os, "tcgetpgrp", lambda number: foreground[0])
    with terminal(monkeypatch) as screen:
        display = LiveDisplay()
        display.show("first")
        sys.stderr.flush()
        read_until(screen, b"first")
        foreground[0] += 1
        display.show("second")
        display.close()
        sys.stderr.flush()
        seen = read_until(screen, SHOW_CURSOR.encode())
        assert b"second" not in seen
        assert b"\x1b[2K" not in seen


def test_what_was_drawn_is_erased_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "tcgetpgrp", lambda number: os.getpgrp())
    with terminal(monkeypatch) as screen:
        display = LiveDisplay()
        display.show("first")
        sys.stderr.flush()
        read_until(screen, b"first")
        display.close()
        sys.stderr.flush()
        read_until(screen, b"\x1b[2K")
