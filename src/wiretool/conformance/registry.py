"""The conformance part of each protocol: the module that the protocol names, loaded when it is first needed."""

from collections.abc import Collection
from functools import cache

from wiretool.conformance.case import Conformance
from wiretool.conformance.default import default_conformance
from wiretool.errors import UsageError
from wiretool.protocols.base.registry import protocol_named, protocols_with


@cache
def conformance_of(protocol: str) -> Conformance:
    """Return the part of a protocol; where it names none, one without cases. UsageError for an unknown protocol."""
    found = protocol_named(protocol)
    part: Conformance | None = found.part("conformance", Conformance)
    return default_conformance(found) if part is None else part


def check_cases(part: Conformance, cases: Collection[object], *, what: str, otherwise: str) -> None:
    """UsageError where a protocol has none of the cases that are needed; `otherwise`: what can be done without."""
    if not cases:
        known = ", ".join(name for name in protocols_with("conformance") if name != part.protocol)
        raise UsageError(f"{part.protocol}: it has no {what}; expected one of {known}; {otherwise}")
