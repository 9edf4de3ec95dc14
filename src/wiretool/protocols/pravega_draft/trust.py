"""How sure it is that some bytes are a frame of the draft: what a search for lost frames goes by."""

from collections.abc import Container

from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega.trust import is_name
from wiretool.protocols.pravega_draft.framing import BY_HEAD, may_send
from wiretool.protocols.pravega_draft.messages import Event, KeepAlive, Padding, PartialMessage


def trust(side: Side, data: bytes, at: int, end: int, writers: Container[str]) -> int:
    """The points of Conversation.trust; `writers` are the connection ids known on this connection."""
    found = BY_HEAD.get(data[at : at + 4])
    if found is None or not may_send(side, found[0]):
        return 0
    try:
        message, stop = found[1](data, at + HEADER_BYTES, end)
    except DecodeError:
        return 0
    if stop != end or (isinstance(message, Event) and _is_in_zeros(message, data, end)):
        return 0
    return _points(message, data[at + HEADER_BYTES : end], writers)


def _is_in_zeros(event: Event, data: bytes, end: int) -> bool:
    """Whether it is nothing but zeros with more of them behind: they look like empty events without end."""
    return not event.data and data[end : end + HEADER_BYTES] == bytes(HEADER_BYTES)


def _points(message: Message, payload: bytes, writers: Container[str]) -> int:
    """An event, a piece and a KeepAlive look like a header with anything behind it."""
    if isinstance(message, Event):
        return 1
    if isinstance(message, Padding):
        return 0 if payload.strip(b"\0") else 1
    if isinstance(message, PartialMessage | KeepAlive):
        return 1
    known = getattr(message, "connection_id", None) in writers or is_name(getattr(message, "segment", ""))
    return 4 if known else 2
