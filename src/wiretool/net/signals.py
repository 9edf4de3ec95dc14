"""What Ctrl-C and SIGTERM do while a loop runs, and not a moment longer."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_stop(act: Callable[[], None]) -> Iterator[None]:
    """Both call `act` on the running loop; then they do what they did before, which a closed loop would swallow."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in STOPPING}
    for number in STOPPING:
        loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
