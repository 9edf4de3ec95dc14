"""The conformance part of each protocol, loaded when it is first asked for."""

from functools import cache
from importlib import import_module

from wiretool.conformance.case import Conformance
from wiretool.errors import UsageError
from wiretool.protocols.registry import PROTOCOLS, protocol_named


@cache
def conformance_of(protocol: str) -> Conformance:
    """Return the cases of a protocol. UsageError for an unknown one, or one without conformance cases."""
    name = protocol_named(protocol).name
    module = f"wiretool.protocols.{name.replace('-', '_').replace('.', '_')}.conformance"
    try:
        part: Conformance = import_module(module).CONFORMANCE
    except ModuleNotFoundError as err:
        if err.name != module:
            raise
        known = ", ".join(name for name in PROTOCOLS if name != protocol)
        raise UsageError(f"{protocol}: it has no conformance cases; expected one of {known}") from err
    return part
