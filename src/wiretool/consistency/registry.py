"""The consistency model of each protocol: the module that the protocol names, loaded when it is first needed."""

from wiretool.consistency.model import Consistency
from wiretool.errors import UsageError
from wiretool.protocols.base.registry import protocol_named, protocols_with


def consistency_of(protocol: str, *, is_new: bool = False) -> Consistency:
    """Return a new consistency model of a protocol; `is_new` as in Consistency.

    UsageError for an unknown protocol, or one without a consistency model.
    """
    model: Consistency | None = protocol_named(protocol).made("consistency", Consistency, is_new=is_new)
    if model is None:
        known = ", ".join(protocols_with("consistency"))
        raise UsageError(f"{protocol}: no consistency model; expected one of {known}")
    return model
