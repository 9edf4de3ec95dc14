"""What a fault comes to in each protocol."""

from functools import cache

from wiretool.faults.adapter import Dialect as Dialect
from wiretool.faults.adapter import Kind as Kind
from wiretool.protocols import sbp, sbp_0_1
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.offramp.faults import OfframpDialect
from wiretool.protocols.pravega.faults import PravegaDialect
from wiretool.protocols.pravega_controller.faults import ControllerDialect
from wiretool.protocols.sbp.faults import SbpDialect
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp_0_1.messages import S1, S2


@cache
def dialect_of(protocol: Protocol) -> Dialect:
    """The dialect of a protocol; of one without a dialect of its own, what its declarations allow."""
    if protocol.name in ("pravega", "pravega-draft"):
        return PravegaDialect(protocol)
    if protocol.name == sbp.PROTOCOL.name:
        return SbpDialect(protocol, (LATEST,))
    if protocol.name == sbp_0_1.PROTOCOL.name:
        return SbpDialect(protocol, (S1, S2))
    if protocol.name == "offramp":
        return OfframpDialect(protocol)
    if protocol.name == "pravega-controller":
        return ControllerDialect(protocol)
    return Dialect(protocol)
