"""How sure it is that some bytes are a frame of this protocol: what a search for lost frames goes by."""

from collections.abc import Callable, Mapping
from typing import Any

from wiretool.codec.message import Message, Side, fields_of
from wiretool.codec.reference import encode as encode_payload
from wiretool.codec.types import Int, RestBytes, SizedBytes, Text16, Uuid
from wiretool.errors import DecodeError
from wiretool.protocols.pravega.appends import bodies_of
from wiretool.protocols.pravega.commands import BY_HEAD, MESSAGES, may_send
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    DataAppended,
    Hello,
    Padding,
)

#: Characters of a text that is no accident.
_TEXT_MIN = 8
#: Wire types that have one encoding only, or whose others real peers use.
_ONE_WAY = (Int, Uuid, Text16, RestBytes, SizedBytes)

#: Commands some of whose bytes could be read otherwise than they are written.
_LAX = frozenset(cls for cls in MESSAGES if not all(isinstance(field.wire, _ONE_WAY) for field in fields_of(cls)))
_TEXTS: Mapping[type[Message], tuple[str, ...]] = {
    cls: tuple(field.name for field in fields_of(cls) if isinstance(field.wire, Text16)) for cls in MESSAGES
}


def trust(side: Side, data: bytes, at: int, end: int, knows: Callable[[Message], bool]) -> int:
    """The points of Conversation.trust; `knows` says whether a name, writer or request in a message is known."""
    found = BY_HEAD.get(data[at : at + 4])
    if found is None or not may_send(side, found[0]):
        return 0
    cls, _, decode = found
    try:
        message, stop = decode(data, at + HEADER_BYTES, end)
    except DecodeError:
        return 0
    if stop != end or not _is_plausible(message):
        return 0
    if cls in _LAX and not encode_payload(message).startswith(data[at + HEADER_BYTES : end]):
        return 0
    if knows(message) or isinstance(message, Hello) or any(is_name(getattr(message, name)) for name in _TEXTS[cls]):
        return 4
    return _points(message, end - at - HEADER_BYTES)


def _is_plausible(message: Any) -> bool:
    """Whether its numbers are such as are really sent."""
    if isinstance(message, AppendBlockEnd):
        return message.num_events > 0 and message.last_event_number >= 0
    if isinstance(message, DataAppended):
        return message.event_number >= 0 and message.previous_event_number < message.event_number
    return True


def is_name(text: str) -> bool:
    """Whether a text is no accident."""
    return len(text) >= _TEXT_MIN and text.isascii() and text.isprintable()


def _points(message: Any, payload_bytes: int) -> int:
    """What a command that names nothing known is worth."""
    if isinstance(message, AppendBlockEnd) and message.data:
        return 4 if len(bodies_of(message.data, message.num_events)) == message.num_events else 2
    if isinstance(message, AppendBlock):
        return 1
    return 1 if payload_bytes < HEADER_BYTES or isinstance(message, Padding) else 2
