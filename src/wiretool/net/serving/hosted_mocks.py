"""Built-in mocks that are started for a call."""

from contextlib import AsyncExitStack

from wiretool.faults import Interceptor
from wiretool.net.addresses import LOOPBACK, Address
from wiretool.net.calling.dialler import Target
from wiretool.net.calling.stage import Stage
from wiretool.net.serving.host import Host
from wiretool.server.mock import Mock


async def host_mocks(stage: Stage, stack: AsyncExitStack, asides: set[Address]) -> dict[Target, Address]:
    """Start the mocks of a stage at free ports until `stack` ends, and return the addresses of their doors."""
    targets: dict[Target, Address] = {}
    for protocol, mock in stage.mocks.items():
        targets |= await _hosted(protocol, mock, stage, stack, asides)
    return targets


async def _hosted(
    protocol: str, mock: Mock, stage: Stage, stack: AsyncExitStack, asides: set[Address]
) -> dict[Target, Address]:
    """Start a mock at free ports, and return the addresses of its doors; rules do not see connections from `asides`."""
    host = Host(mock, stage.tell, exempt=asides)
    rules = [rule for rule in stage.rules if {name for name, _ in rule.sides} & {door.protocol for door in mock.doors}]
    if rules:
        interceptor = host.interceptor = Interceptor(rules, seed=stage.seed, on_note=stage.tell)
        if (applied := stage.applied) is not None:
            stack.callback(lambda: applied.note(interceptor.standings.values()))
    stack.push_async_callback(host.stop)
    found: dict[Target, Address] = {}
    for door in mock.doors:
        found[protocol, door.name] = await host.listen(door.name, Address(LOOPBACK, 0), None)
    # What is spoken at another door than the first may be a protocol of its own.
    others = {(door.protocol, ""): found[protocol, door.name] for door in mock.doors if door.protocol != protocol}
    return others | found | {(protocol, ""): found[protocol, mock.doors[0].name]}
