"""The column path of each protocol that has one. It stands apart so that only who reads in bulk loads NumPy."""

from collections.abc import Callable
from typing import Any

from wiretool.protocols.bulk import BulkConversation
from wiretool.protocols.conversation import Conversation
from wiretool.protocols.registry import load_part

#: By protocol: the module and class; loaded when the first connection speaks it.
_BULKS = {
    "pravega": ("pravega.bulk", "PravegaBulk"),
    "pravega-draft": ("pravega_draft.bulk", "DraftBulk"),
    "sbp": ("sbp.bulk", "SbpBulk"),
    "sbp-0.1": ("sbp_0_1.bulk", "BatchBulk"),
    "offramp": ("offramp.bulk", "OfframpBulk"),
}


def bulk_of(protocol: str, conversation: Conversation) -> BulkConversation | None:
    """The column path of a conversation of that protocol; None where its frames are read one by one."""
    if protocol not in _BULKS:
        return None
    module, name = _BULKS[protocol]
    made: Callable[[Any], BulkConversation] = getattr(load_part(module), name)
    return made(conversation)
