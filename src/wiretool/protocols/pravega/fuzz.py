"""Fuzzing of the wire protocol of Pravega."""

from wiretool.fuzz.mutations.blocks import NestedBlock
from wiretool.fuzz.part import FuzzPart, SessionTable
from wiretool.protocols.pravega.session import TABLE

FUZZ = FuzzPart(
    mutations=(NestedBlock("AppendBlock"),),
    table=SessionTable(
        "idle",
        {
            (phase, cls.declaration.name): after
            for (phase, side, cls), after in TABLE.items()
            if side == "client" and phase != "lost"
        },
    ),
)
