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
    made: Callable[[Any], BulkConversation] | None = _bulk_class(protocol)
    return None if made is None else made(conversation)


def reads_together(protocol: str) -> bool:
    """Return whether frames of many connections of that protocol are read together."""
    made = _bulk_class(protocol)
    return made is not None and made.together is not None


def _bulk_class(protocol: str) -> Any:
    """Return the class of the column path of a protocol, None where there is none."""
    if protocol not in _BULKS:
        return None
    module, name = _BULKS[protocol]
    return getattr(load_part(module), name)
