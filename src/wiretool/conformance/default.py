"""The conformance part of a protocol without cases of its own: rules that its declarations give."""

from wiretool.codec.message import SIDES
from wiretool.conformance.case import Conformance
from wiretool.conformance.levels import MUST
from wiretool.conformance.recorded.rules import Rule, decodable
from wiretool.protocols.base.protocol import Protocol

_REQUIREMENT = "Every message of the {} can be decoded, and comes when it may."


def default_conformance(protocol: Protocol) -> Conformance:
    """Return a part that judges recorded traffic only: each side by the declared messages and the session."""
    source = f"the declared messages of {protocol.name}"
    rules = tuple(
        Rule(f"{protocol.name}/traffic/{side}/1", MUST, _REQUIREMENT.format(side), source, side, decodable(side))
        for side in SIDES
    )
    return Conformance(protocol.name, server=protocol.name, rules=rules)
