"""Stop signals while an event loop runs."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wiretool.processes import STOP_SIGNALS


@contextmanager
def on_stop(act: Callable[[], None]) -> Iterator[list[int]]:
    """Call `act` on the running loop for each stop signal in the block; give the list of signals received.

    A SIGHUP that is ignored, as nohup arranges, stays ignored. After the block signals do what they did before.
    """
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    if before.get(signal.SIGHUP) == signal.SIG_IGN:
        del before[signal.SIGHUP]
    came: list[int] = []

    def note(number: int) -> None:
        came.append(number)
        act()

    for number in before:
        loop.add_signal_handler(number, note, number)
    try:
        yield came
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
