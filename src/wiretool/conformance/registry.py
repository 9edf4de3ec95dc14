"""The conformance part of each protocol: the module that the protocol names, loaded when it is first needed."""

from functools import cache
from importlib import import_module

from wiretool.conformance.case import Conformance
from wiretool.errors import UsageError
from wiretool.protocols.base.registry import PROTOCOLS, protocol_named


@cache
def conformance_of(protocol: str) -> Conformance:
    """Return the cases of a protocol. UsageError for an unknown one, or one without conformance cases."""
    module = protocol_named(protocol).conformance
    if not module:
        known = ", ".join(name for name, each in PROTOCOLS.items() if each.conformance)
        raise UsageError(f"{protocol}: it has no conformance cases; expected one of {known}")
    part: Conformance = import_module(module).CONFORMANCE
    return part
