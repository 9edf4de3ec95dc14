"""The state part of a protocol: the schema by which open conversations are saved between two batches of a stream."""

from typing import NamedTuple

from wiretool.codec.states import StateClass
from wiretool.protocols.base.conversation import Conversation


class ConversationState(NamedTuple):
    """The classes that the state of one conversation consists of."""

    conversation: type[Conversation]
    classes: tuple[StateClass, ...]
