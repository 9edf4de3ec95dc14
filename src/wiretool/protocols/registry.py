"""Every protocol by name. Newer before older: where two fit alike, the first is taken."""

from collections.abc import Mapping

from wiretool.codec.jsonform import nearest
from wiretool.codec.message import Message
from wiretool.errors import UsageError
from wiretool.protocols import offramp, pravega, pravega_controller, pravega_draft, sbp, sbp_0_1
from wiretool.protocols.conversation import Protocol

PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        pravega.PROTOCOL,
        pravega_controller.PROTOCOL,
        pravega_draft.PROTOCOL,
        sbp.PROTOCOL,
        sbp_0_1.PROTOCOL,
        offramp.PROTOCOL,
    )
}

#: Which protocol declares a class; a structure of several belongs to the first.
OWNERS: Mapping[type[Message], Protocol] = {
    cls: protocol for protocol in reversed(tuple(PROTOCOLS.values())) for cls in protocol.messages
}


def protocol_named(name: str) -> Protocol:
    """The protocol called `name`; UsageError with the nearest name where there is none."""
    if name not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise UsageError(f"no protocol is called {name!r}{nearest(name, PROTOCOLS)}; there are {known}")
    return PROTOCOLS[name]


def expected_on(port: int) -> tuple[Protocol, ...]:
    """The protocols whose servers listen on `port`, newest first."""
    return tuple(protocol for protocol in PROTOCOLS.values() if port in protocol.ports)


def server_ports() -> frozenset[int]:
    """Every port on which a server of ours is expected."""
    return frozenset(port for protocol in PROTOCOLS.values() for port in protocol.ports)
