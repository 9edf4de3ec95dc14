"""Fuzzing of the wire protocol of Pravega."""

from wiretool.fuzz.mutations.blocks import NestedBlock
from wiretool.fuzz.part import FuzzPart, SessionTable
from wiretool.protocols.pravega.session import TABLE

FUZZ = FuzzPart(
    mutations=(NestedBlock("AppendBlock"),),
    table=SessionTable.of_clients("idle", TABLE, without="lost"),
)
