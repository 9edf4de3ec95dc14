"""The conformance part of each protocol: the module that the protocol names, loaded when it is first needed."""

from functools import cache

from wiretool.conformance.case import Conformance
from wiretool.errors import UsageError
from wiretool.protocols.base.registry import protocol_named, protocols_with


@cache
def conformance_of(protocol: str) -> Conformance:
    """Return the cases of a protocol. UsageError for an unknown one, or one without conformance cases."""
    part: Conformance | None = protocol_named(protocol).part("conformance")
    if part is None:
        known = ", ".join(protocols_with("conformance"))
        raise UsageError(f"{protocol}: it has no conformance cases; expected one of {known}")
    return part
