"""How conversations of SBP are saved between two batches of a stream."""

from typing import Literal

from wiretool.codec.state_types import BOOL, INT, SIDE, FieldType, by_side, many, named, pairs, plain, ref, row
from wiretool.codec.states import StateClass, attributes
from wiretool.protocols.base.state import ConversationState
from wiretool.protocols.sbp.messages import Schema
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.session import Phase, Requests, SbpConversation


def conversation_fields(*schemas: Schema) -> dict[str, FieldType]:
    """Return the fields of a conversation that may speak one of these schemas."""
    known = {schema.name: schema for schema in schemas}
    return {
        "schema": named(lambda: known, lambda schema: str(schema.name)),
        "role": plain(Literal["", "placement driver", "range server"]),
        "phase": plain(Phase),
        "requests": by_side(ref(Requests)),
        "_whole": many(SIDE, set),
        "heard": many(SIDE, set),
        "_has_gaps": BOOL,
    }


_CLASSES: tuple[StateClass, ...] = (
    attributes("sbp", SbpConversation, **conversation_fields(LATEST)),
    attributes("sbp.requests", Requests, _open=pairs(INT, many(row(INT, INT))), count=INT),
)

STATE = ConversationState(SbpConversation, _CLASSES)
