"""Ctrl-C, SIGTERM and SIGHUP: handled between two steps, and reported in one line."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from types import FrameType
from typing import NoReturn, TypeVar

from wiretool.commands.options import tell
from wiretool.errors import Stopped
from wiretool.processes import handled_by, held_interrupts, signal_name

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
    """Report the signal that ends the block, and how far the work had come."""
    try:
        yield
    except KeyboardInterrupt as err:
        number = err.number if isinstance(err, Stopped) else signal.SIGINT
        known = err.so_far if isinstance(err, Stopped) else ""
        tell(f"stopped by {signal_name(number)}: {known or so_far()}")
        raise Stopped(number, is_told=True) from err


@contextmanager
def stoppable(*needed: str) -> Iterator[None]:
    """Raise Stopped in the block for a stop signal, so that its context managers end what they began.

    Import the `needed` modules first: an exception that is raised during an import may get lost.
    """
    load(*needed)
    with handled_by(_stop):
        yield


def load(*modules: str) -> None:
    """Import modules. PyArrow, if it is loaded by then, does not load pandas later."""
    for name in modules:
        import_module(name)
    if "pyarrow" in sys.modules:
        from wiretool.sinks.arrow.without_pandas import forgo_pandas

        forgo_pandas()


@contextmanager
def ended_by_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Give whether Ctrl-C was pressed in the block, where it is the usual end; a second one stops as ever."""
    before, pressed = signal.getsignal(signal.SIGINT), False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(number, before)

    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise Stopped(number)
