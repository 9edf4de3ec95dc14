"""Fuzzing of the draft of Pravega's protocol."""

from wiretool.fuzz.mutations.blocks import NestedBlock
from wiretool.fuzz.part import FuzzPart, SessionTable
from wiretool.protocols.pravega_draft.session import TABLE

FUZZ = FuzzPart(
    mutations=(NestedBlock("BeginAppendBlock"),),
    table=SessionTable.of_clients("outside", TABLE, without="lost"),
)
