"""Ctrl-C: heeded where it cuts nothing in two, and told in one line."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from wiretool.commands.options import tell

T = TypeVar("T")


def for_each(steps: Iterator[T], take: Callable[[T], None], *, may_wait: bool) -> None:
    """Take every step. Ctrl-C stops between two of them, so that what was taken is whole.

    With `may_wait`, where more input is always there, the one that is being read is taken too.
    """
    while True:
        with held_interrupts() if may_wait else nullcontext():
            try:
                step = next(steps)
            except StopIteration:
                return
            with held_interrupts():
                take(step)
            del step  # or two would be held while the next one is read


@contextmanager
def told_when_stopped(so_far: Callable[[], str]) -> Iterator[None]:
    """Say so where Ctrl-C ends the block, and how far it had come then."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"stopped by Ctrl-C: {so_far()}")
        raise


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Ctrl-C once is heeded at the end of the block, however it ends; a second one at once, or at an inner end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # nobody is to be interrupted
        yield
        return
    noted = False

    def note(number: int, frame: Any) -> None:
        nonlocal noted
        if noted:
            raise KeyboardInterrupt
        noted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if noted:
            signal.raise_signal(signal.SIGINT)
