"""What Ctrl-C and SIGTERM do while a loop runs, and not a moment longer."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_stop(act: Callable[[], None]) -> Iterator[list[int]]:
    """Both call `act` on the running loop; gives the list of those that come.

    Then they do what they did before, which a closed loop would swallow.
    """
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in STOPPING}
    came: list[int] = []

    def note(number: int) -> None:
        came.append(number)
        act()

    for number in STOPPING:
        loop.add_signal_handler(number, note, number)
    try:
        yield came
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
