"""Bytes to frames and back: the header of Pravega, with a length below 2^24 (S17)."""

import re
from collections.abc import Iterator, Mapping

from wiretool import limits
from wiretool.codec.compiled import Decoder, decoder
from wiretool.codec.message import Message, Side, by_type_id
from wiretool.codec.reference import encode as encode_payload
from wiretool.codec.types import Int
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.pravega import framing as header
from wiretool.protocols.pravega.framing import frame
from wiretool.protocols.pravega_draft.messages import MESSAGES, Unknown

PAYLOAD_BYTES_MAX = limits.PRAVEGA_PAYLOAD_BYTES_MAX
PREFIX, extent = header.prefix(PAYLOAD_BYTES_MAX), header.extent(PAYLOAD_BYTES_MAX)
BY_CODE: Mapping[int, type[Message]] = by_type_id(MESSAGES)
#: The type as it stands in a header -> its class and decoder.
BY_HEAD: Mapping[bytes, tuple[type[Message], Decoder]] = {
    code.to_bytes(4, "big", signed=True): (cls, decoder(cls)) for code, cls in BY_CODE.items()
}
_TYPE = Int("i32", "i")


def may_send(side: Side, cls: type[Message]) -> bool:
    """Whether `side` may send the message."""
    return cls.declaration.sender in (side, "both")


def encode(message: Message) -> bytes:
    """The whole frame that carries a message."""
    if isinstance(message, Unknown):
        return frame(_TYPE.from_json(message.type, "Unknown.type"), message.data, PAYLOAD_BYTES_MAX)
    cls = type(message)
    if cls not in MESSAGES:
        raise EncodeError(f"{cls.__name__} is not a message of pravega-draft")
    return frame(cls.declaration.type_id, encode_payload(message), PAYLOAD_BYTES_MAX)


def left_over(count: int, at: int) -> DecodeError:
    """The draft gives no meaning to bytes after the last field, which ends at `at`."""
    return DecodeError("trailing-bytes", f"{count} bytes after the last field", offset=at)


def _pattern(side: Side) -> re.Pattern[bytes]:
    """A type and the zero high byte of a length; eight zeros, an empty event, are too common to begin a search with."""
    heads = b"|".join(re.escape(head) for head, (cls, _) in BY_HEAD.items() if may_send(side, cls))
    return re.compile(rb"(?=[\0\xff])(?!\0{8})(?=(?:" + heads + rb")\0)", re.DOTALL)


_PATTERNS: Mapping[Side, re.Pattern[bytes]] = {"client": _pattern("client"), "server": _pattern("server")}


def candidates(side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
    """Where in `data[at:end]` a frame of that side might begin: events too, as they are frames of their own here."""
    return (match.start() for match in _PATTERNS[side].finditer(data, at, end))
