"""The column path of each protocol that has one. It stands apart so that only who reads in bulk loads NumPy."""

from wiretool.protocols.bulk import BulkConversation
from wiretool.protocols.conversation import Conversation
from wiretool.protocols.offramp.connection import Connection as OfframpConversation
from wiretool.protocols.pravega.session import PravegaConversation
from wiretool.protocols.pravega_draft.session import DraftConversation
from wiretool.protocols.sbp.session import SbpConversation
from wiretool.protocols.sbp_0_1.session import BatchConversation


def bulk_of(conversation: Conversation) -> BulkConversation | None:
    """The column path of a conversation; None where its frames are read one by one.

    Each is loaded when the first connection speaks its protocol: one capture has one or two of them.
    """
    match conversation:
        case PravegaConversation():
            from wiretool.protocols.pravega.bulk import PravegaBulk

            return PravegaBulk(conversation)
        case DraftConversation():
            from wiretool.protocols.pravega_draft.bulk import DraftBulk

            return DraftBulk(conversation)
        case BatchConversation():
            from wiretool.protocols.sbp_0_1.bulk import BatchBulk

            return BatchBulk(conversation)
        case SbpConversation():
            from wiretool.protocols.sbp.bulk import SbpBulk

            return SbpBulk(conversation)
        case OfframpConversation():
            from wiretool.protocols.offramp.bulk import OfframpBulk

            return OfframpBulk(conversation)
    return None
