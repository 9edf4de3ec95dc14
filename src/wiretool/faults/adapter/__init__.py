"""The fault adapter of a protocol: what can be done to its frames, by role."""

from functools import cache

from wiretool.faults.adapter.changing import Changing
from wiretool.faults.adapter.messages import Form as Form
from wiretool.faults.adapter.messages import Kind as Kind
from wiretool.faults.adapter.messages import LengthField as LengthField
from wiretool.faults.adapter.watching import Watching
from wiretool.protocols.base.protocol import Protocol


class FaultAdapter(Changing, Watching):
    """The effect of faults in a protocol, as far as its declarations define it."""


@cache
def fault_adapter_of(protocol: Protocol) -> FaultAdapter:
    """The adapter of a protocol; of one without an adapter of its own, what its declarations allow."""
    adapter: FaultAdapter | None = protocol.made("faults", FaultAdapter, protocol)
    return FaultAdapter(protocol) if adapter is None else adapter
