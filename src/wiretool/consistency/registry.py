"""The consistency model of each protocol: the module that the protocol names, loaded when it is first needed."""

from importlib import import_module

from wiretool.consistency.model import Consistency
from wiretool.errors import UsageError
from wiretool.protocols.base.registry import PROTOCOLS, protocol_named


def consistency_of(protocol: str, *, is_new: bool = False) -> Consistency:
    """Return a new consistency model of a protocol; `is_new` as in Consistency.

    UsageError for an unknown protocol, or one without a consistency model.
    """
    module = protocol_named(protocol).consistency
    if not module:
        known = ", ".join(name for name, each in PROTOCOLS.items() if each.consistency)
        raise UsageError(f"{protocol}: no consistency model; expected one of {known}")
    model: type[Consistency] = import_module(module).CONSISTENCY
    return model(is_new=is_new)
