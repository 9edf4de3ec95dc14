"""Preparations for an event loop."""

import asyncio
import gc
import os
from collections.abc import Callable

LAST_STANDARD_STREAM = 2
#: New objects that are there at once before the collector looks at them; 700 is Python's own pace.
COLLECTED_OBJECTS = 50_000


def fill_standard_streams() -> None:
    """Fill the number of each closed standard stream: a socket with that number would be used as the stream."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= LAST_STANDARD_STREAM:
        pass
    os.close(number)


def calm_collector() -> None:
    """Look for garbage in cycles less often, and never in what is there from the start.

    A request makes hardly any cycles, yet at Python's own pace looking for them takes a quarter of a server's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTED_OBJECTS, *gc.get_threshold()[1:])


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop's loop where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
