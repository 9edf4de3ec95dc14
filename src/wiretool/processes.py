"""Signals that stop a command, and child processes that never outlive the process that started them."""

import os
import signal
import sys
import threading
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:  # __main__ imports this module before signals are handled
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType
    from typing import Any

#: Signals that ask a command to stop: Ctrl-C, a supervisor, and a terminal or SSH session that is closed.
STOP_SIGNALS: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
if sys.platform != "win32":
    STOP_SIGNALS += (signal.SIGHUP,)

#: prctl(2): the option that names the signal that the kernel sends when the parent ends.
PR_SET_PDEATHSIG = 1


def signal_name(number: int) -> str:
    """Return the name of a signal as users know it: `Ctrl-C`, `SIGTERM`."""
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


def exit_words(status: int) -> str:
    """Return how a child process ended by its exit code, negative for a signal: `was ended by SIGKILL`."""
    if status >= 0:
        return f"ended with exit code {status}"
    known = -status in set(signal.Signals)
    return f"was ended by {signal.Signals(-status).name if known else f'signal {-status}'}"


#: Whether a library handles the stop signals.
_handed_over = False


def hand_over_signals() -> None:
    """Leave the stop signals of this process to a library whose handlers Python does not see and cannot restore."""
    global _handed_over
    _handed_over = True


@contextmanager
def held_interrupts() -> "Iterator[None]":
    """Defer a stop signal to the end of the block; handle a second one at once, or at the end of an inner block.

    Start a child process in such a block: Python loses an exception that a handler raises between fork and its return.
    """
    noted: list[int] = []

    def note(number: int, frame: "FrameType | None") -> None:
        noted.append(number)
        if len(noted) > 1:
            signal.signal(number, before[number])
            signal.raise_signal(number)

    try:
        with handled_by(note) as before:
            yield
    finally:
        if noted:
            signal.raise_signal(noted[0])


@contextmanager
def handled_by(handle: "Callable[[int, FrameType | None], Any]") -> "Iterator[Mapping[int, Any]]":
    """Send the stop signals to `handle`, except those that are ignored; give the handlers of before.

    It does nothing in other threads, and once signals are handed over.
    """
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread() and not _handed_over:
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    taken = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in taken:
            signal.signal(number, handle)
        yield before
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


def parent_death_hook() -> "Callable[[], None]":
    """Return a function that a child process calls first, so that the kernel kills it when this process ends.

    It holds however this process ends, by SIGKILL too. The calling thread has to live as long as the child: the kernel
    takes the end of that thread for the end of its process. Only Linux has this; elsewhere the function does nothing.
    """
    if sys.platform != "linux":
        return lambda: None
    from ctypes import CDLL

    parent, prctl = os.getpid(), CDLL(None).prctl  # looked up here: between fork and exec little is safe

    def tie_to_parent() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before that was arranged
            os._exit(128 + signal.SIGKILL)

    return tie_to_parent
