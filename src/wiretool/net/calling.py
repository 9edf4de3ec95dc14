"""One run of a caller from beginning to end: to a server somewhere, or mocks of our own that are started for it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from wiretool.errors import WiretoolError
from wiretool.faults import AppliedRules, Interceptor, Rule
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.caller import Caller
from wiretool.net.dialler import Dialler, Target
from wiretool.net.host import Host
from wiretool.net.serving import calm_collector, fill_standard_streams, loop_factory
from wiretool.net.signals import on_stop
from wiretool.servers.mock import Mock
from wiretool.sinks.pcapng import Recording as Pcapng


@dataclass(frozen=True, slots=True)
class Stage:
    """Whom a caller talks to: addresses, or mocks by the protocol that is spoken at their first door."""

    targets: Mapping[Target, Address] = field(default_factory=dict)
    mocks: Mapping[str, Mock] = field(default_factory=dict)
    #: Of the mocks, and what they did.
    rules: Sequence[Rule] = ()
    applied: AppliedRules = field(default_factory=AppliedRules)
    seed: int = 0
    record: Pcapng | None = None
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
        for protocol, mock in stage.mocks.items():
            targets |= await _hosted(protocol, mock, stage, stack, asides)
        dialler = Dialler(caller, targets, recording=stage.record, asides=asides if stage.mocks else None)
        is_whole = await dialler.run(stopped)
    return Called(None if is_whole else came[0], dialler.reached, dialler.why_unreached, dialler.unrecorded)


async def _hosted(
    protocol: str, mock: Mock, stage: Stage, stack: AsyncExitStack, asides: set[Address]
) -> dict[Target, Address]:
    """Start a mock at free ports, and return the addresses of its doors; rules do not see connections from `asides`."""
    host = Host(mock, stage.tell, exempt=asides)
    rules = [rule for rule in stage.rules if {name for name, _ in rule.sides} & {door.protocol for door in mock.doors}]
    if rules:
        interceptor = host.interceptor = Interceptor(rules, seed=stage.seed, on_note=stage.tell)
        stack.callback(lambda: stage.applied.note(interceptor.standings.values()))
    stack.push_async_callback(host.stop)
    found: dict[Target, Address] = {}
    for door in mock.doors:
        found[protocol, door.name] = await host.listen(door.name, Address(LOOPBACK, 0), None)
    # What is spoken at another door than the first may be a protocol of its own.
    others = {(door.protocol, ""): found[protocol, door.name] for door in mock.doors if door.protocol != protocol}
    return others | found | {(protocol, ""): found[protocol, mock.doors[0].name]}
