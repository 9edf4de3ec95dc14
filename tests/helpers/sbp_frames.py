"""Frames of SBP with any table that an operation carries, of either version."""

import msgspec
from hypothesis import strategies as st

from tests.helpers.strategies import SIDES, Saying
from tests.helpers.tables import tables
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.message import Message, Side
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.sbp.messages import SbpFrame, Schema
from wiretool.protocols.sbp.schema import LATEST


def schemas() -> dict[str, Schema]:
    """Return the schemas by their short names, those of `sbp-0.1` where that is registered."""
    found: dict[str, Schema] = {"L": LATEST}
    if "sbp-0.1" in PROTOCOLS:
        from wiretool.protocols.sbp_0_1.messages import S1, S2

        found |= {"S1": S1, "S2": S2}
    return found


@st.composite
def frames(draw: st.DrawFn, name: str) -> Saying:
    """A frame with any table that an operation carries."""
    carried = [cls for cls in PROTOCOLS[name].messages if issubclass(cls, Table) and _is_carried(cls)]
    table = draw(st.sampled_from(carried))
    declared = table.declaration
    side: Side = "client" if declared.sender == "client" else "server"
    flags = 0 if side == "client" else draw(st.sampled_from([1, 3]))
    stream_id = draw(st.integers(0, 2**32 - 1))
    header = draw(tables(table))
    return side, SbpFrame(opcode=declared.type_id, flags=flags, stream_id=stream_id, header=header)


def _is_carried(cls: type[Message]) -> bool:
    return cls.declaration.type_id > 0 and cls.declaration.sender in SIDES


def comparable(message: Message) -> Message:
    """The message as reading gives it back: what the writer fills in is left out."""
    return msgspec.structs.replace(message, checksum=None) if isinstance(message, SbpFrame) else message
