"""Mocks and taps on real sockets, inside a test's own event loop: loopback, any free port, a deadline on everything."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.loops import loop_factory
from wiretool.net.serving.host import Host
from wiretool.server.mock import Mock
from wiretool.sinks.pcapng import Recording

DEADLINE_S = 30.0
T = TypeVar("T")


def run(story: Callable[[], Awaitable[T]]) -> T:
    """What a coroutine gives, on the loop that servers use, in time."""

    async def bounded() -> T:
        return await asyncio.wait_for(story(), DEADLINE_S)

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(bounded())


@asynccontextmanager
async def hosted(
    mock: Mock, *, recording: Recording | None = None, **options: Any
) -> AsyncIterator[tuple[Host, Address, list[str]]]:
    """A host for a mock, where its main door is, and what it tells the log; `options` are the host's."""
    told: list[str] = []
    host = Host(mock, told.append, **options)
    host.recording = recording
    bound = [await host.listen(door.name, Address(LOOPBACK, 0), None) for door in mock.doors]
    try:
        yield host, bound[0], told
    finally:
        await host.stop()


async def until(is_so: Callable[[], bool]) -> None:
    """Let the loop turn until it is so; the deadline of the run ends it otherwise."""
    while not is_so():
        await asyncio.sleep(0)
