"""The faults part of SBP v0.1: those of SBP, in the schemas of the batch style."""

from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.sbp.faults import SbpFaultAdapter
from wiretool.protocols.sbp_0_1.messages import S1, S2


def batch_fault_adapter(protocol: Protocol) -> SbpFaultAdapter:
    """The dialect of both schemas."""
    return SbpFaultAdapter(protocol, (S1, S2))
