"""One run of a caller from beginning to end: to a server somewhere, or mocks of our own that are started for it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wiretool.errors import WiretoolError
from wiretool.net.addresses import Address
from wiretool.net.caller import Caller
from wiretool.net.dialler import Dialler, Target
from wiretool.net.loops import calm_collector, fill_standard_streams, loop_factory
from wiretool.net.signals import on_stop

if TYPE_CHECKING:  # a call to a server needs no mock, and fault rules load every protocol
    from wiretool.faults import AppliedRules, Rule
    from wiretool.server.mock import Mock
    from wiretool.sinks.pcapng import Recording as Pcapng


@dataclass(frozen=True, slots=True)
class Stage:
    """Whom a caller talks to: addresses, or mocks by the protocol that is spoken at their first door."""

    targets: Mapping[Target, Address] = field(default_factory=dict)
    mocks: "Mapping[str, Mock]" = field(default_factory=dict)
    #: Fault rules of the mocks, and the notes of those that were applied.
    rules: "Sequence[Rule]" = ()
    applied: "AppliedRules | None" = None
    seed: int = 0
    record: "Pcapng | None" = None
    tell: Callable[[str], None] = lambda text: None


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
            from wiretool.net.hosted_mocks import host_mocks

            targets |= await host_mocks(stage, stack, asides)
        dialler = Dialler(caller, targets, recording=stage.record, asides=asides if stage.mocks else None)
        is_whole = await dialler.run(stopped)
    return Called(None if is_whole else came[0], dialler.reached, dialler.why_unreached, dialler.unrecorded)
