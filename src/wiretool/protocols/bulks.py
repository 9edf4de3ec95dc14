"""The column path of each protocol that has one. It stands apart so that only who reads in bulk loads NumPy."""

from collections.abc import Callable, Mapping
from typing import Any

from wiretool.protocols.bulk import BulkConversation
from wiretool.protocols.conversation import Conversation
from wiretool.protocols.pravega.bulk import PravegaBulk

_BULKS: Mapping[str, Callable[[Any], BulkConversation]] = {"pravega": PravegaBulk}


def bulk_of(protocol: str, conversation: Conversation) -> BulkConversation | None:
    """The column path of a conversation of that protocol; None where its frames are read one by one."""
    made = _BULKS.get(protocol)
    return None if made is None else made(conversation)
