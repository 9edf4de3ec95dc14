"""One run of a caller from beginning to end: to a server somewhere, or mocks of our own that are started for it."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

from wiretool.errors import WiretoolError
from wiretool.net.addresses import Address
from wiretool.net.calling.caller import Caller
from wiretool.net.calling.dialler import Dialler
from wiretool.net.calling.stage import Stage
from wiretool.net.loops import calm_collector, fill_standard_streams, loop_factory
from wiretool.net.signals import on_stop


@dataclass(frozen=True, slots=True)
class Called:
    """How it went."""

    #: The signal that stopped the caller before it came to its end.
    stopped_by: int | None
    #: Connections that the server has accepted, and what the network said of one that it has not.
    reached: int
    why_unreached: str
    #: Why the recording of it ends early.
    unrecorded: WiretoolError | None = None


def call(caller: Caller, stage: Stage) -> Called:
    """Run it to its end, or until a stop signal. PeerError where a mock finds no port."""
    fill_standard_streams()
    calm_collector()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_call(caller, stage))


async def _call(caller: Caller, stage: Stage) -> Called:
    stopped = asyncio.Event()
    async with AsyncExitStack() as stack:
        came = stack.enter_context(on_stop(stopped.set))
        targets = dict(stage.targets)
        asides: set[Address] = set()
        if stage.mocks:
            from wiretool.net.serving.hosted_mocks import host_mocks

            targets |= await host_mocks(stage, stack, asides)
        dialler = Dialler(caller, targets, recording=stage.record, asides=asides if stage.mocks else None)
        is_whole = await dialler.run(stopped)
    return Called(None if is_whole else came[0], dialler.reached, dialler.why_unreached, dialler.unrecorded)
