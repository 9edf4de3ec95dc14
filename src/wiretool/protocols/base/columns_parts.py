"""The column path of each protocol that has one. It stands apart so that only who reads in bulk loads NumPy."""

from collections.abc import Callable
from typing import Any

from wiretool.protocols.base.columns import BulkConversation, ProtocolColumns
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.registry import load_part

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


def columns_of(protocol: str) -> ProtocolColumns | None:
    """Return what reads frames of many connections of that protocol together, if they are read so."""
    made = _bulk_class(protocol)
    return None if made is None else made.together


def _bulk_class(protocol: str) -> Any:
    """Return the class of the column path of a protocol, None where there is none."""
    if protocol not in _BULKS:
        return None
    module, name = _BULKS[protocol]
    return getattr(load_part(module), name)
