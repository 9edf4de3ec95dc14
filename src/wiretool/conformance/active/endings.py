"""Words for how a server ended a connection, and for its silence."""

import errno
import os

from wiretool.conformance.case import CLOSED, NOTHING
from wiretool.conformance.results import Event

#: Reports of the network that the peer reset a connection; of the second, what is sent on it afterwards.
_RESETS = frozenset(map(os.strerror, (errno.ECONNRESET, errno.EPIPE)))
_LOST = "(connection lost: "
WAS_CLOSED = "the server closed the connection"
WAS_RESET = "the connection was reset by the server"
#: Words for outcomes that are not messages, by their names.
OUTCOME_WORDS = {CLOSED: WAS_CLOSED, NOTHING: "no reply came in time"}


def lost_event(why: str) -> str:
    """Return the name of the event of a connection that was lost, by the report of the network."""
    return f"{_LOST}{why})"


def is_loss(event: Event) -> bool:
    """Return whether an event is a connection that was lost."""
    return event.name.startswith(_LOST)


def end_words(why: str) -> str:
    """Return how a connection ended, by the report of the network; that is empty for an orderly end."""
    if not why:
        return WAS_CLOSED
    return WAS_RESET if why in _RESETS else f"the connection was lost: {why}"
