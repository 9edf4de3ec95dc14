"""How conversations of SBP 0.1 are saved between two batches of a stream, beside what SBP itself has."""

from wiretool.codec.state_types import BOOL
from wiretool.codec.states import StateClass, attributes
from wiretool.protocols.base.state import ConversationState
from wiretool.protocols.sbp.state import conversation_fields
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.session import BatchConversation

_CLASSES: tuple[StateClass, ...] = (
    attributes("sbp-0.1", BatchConversation, **conversation_fields(S1, S2), is_decided=BOOL),
)

STATE = ConversationState(BatchConversation, _CLASSES)
