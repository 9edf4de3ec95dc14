"""Bytes to frames and back: an 8-byte header of type and length, then the payload."""

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wiretool import limits
from wiretool.codec.cursor import Cursor, Span
from wiretool.codec.frames.prefix import Prefix, PrefixExtent
from wiretool.codec.message import Message, Side, fields_of
from wiretool.codec.reference import encode as encode_payload
from wiretool.codec.reference import read_fields
from wiretool.codec.types import Int
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.pravega.commands import BY_CODE, MESSAGES, may_send
from wiretool.protocols.pravega.messages import Event, Padding, PartialEvent, Unknown

HEADER_BYTES = 8
#: The largest payload that each side may send: the server's limit takes in the header, that of the client does not.
PAYLOAD_BYTES_MAX: Mapping[Side, int] = {
    "client": limits.PRAVEGA_PAYLOAD_BYTES_MAX - HEADER_BYTES,
    "server": limits.PRAVEGA_PAYLOAD_BYTES_MAX,
}
#: Commands that stand inside an append block, where a search for a lost frame must not stop.
_INSIDE_BLOCKS = (Event, PartialEvent, Padding)

_TYPE = Int("i32", "i")
_LENGTH = Int("u32", "I")


def type_at(data: bytes, at: int) -> int:
    """The type in the header at `at`."""
    return int.from_bytes(data[at : at + 4], "big", signed=True)


def frame(type_id: int, payload: bytes, payload_bytes_max: int) -> bytes:
    """Header and payload; EncodeError where the payload is longer than the peer takes."""
    if len(payload) > payload_bytes_max:
        raise EncodeError(f"a payload takes {payload_bytes_max} bytes at most, this one {len(payload)}")
    return type_id.to_bytes(4, "big", signed=True) + len(payload).to_bytes(4, "big") + payload


def encode(message: Message, side: Side) -> bytes:
    """The whole frame that carries a command."""
    if isinstance(message, Unknown):
        return frame(_TYPE.from_json(message.type, "Unknown.type"), message.data, PAYLOAD_BYTES_MAX[side])
    cls = type(message)
    if cls not in MESSAGES:
        raise EncodeError(f"{cls.__name__} is not a command of pravega")
    return frame(cls.declaration.type_id, encode_payload(message), PAYLOAD_BYTES_MAX[side])


def prefix(payload_bytes_max: int) -> Prefix:
    """Return the header of frames whose payload is not larger."""
    return Prefix(HEADER_BYTES, 4, HEADER_BYTES, 0, payload_bytes_max)


def extent(payload_bytes_max: int) -> PrefixExtent:
    """Return the function that finds the end of such a frame; DecodeError `frame-too-large`."""

    def too_large(length: int, _: int | None) -> DecodeError:
        why = f"a payload of {length} bytes, {payload_bytes_max} allowed"
        return DecodeError("frame-too-large", why, path="length", offset=4)

    return prefix(payload_bytes_max).extent(too_large)


PREFIXES: Mapping[Side, Prefix] = {side: prefix(most) for side, most in PAYLOAD_BYTES_MAX.items()}
EXTENTS: Mapping[Side, PrefixExtent] = {side: extent(most) for side, most in PAYLOAD_BYTES_MAX.items()}


def parse(data: bytes) -> Message:
    """The command in a buffer that is all there is (CommandDecoder.parseCommand): nothing more will come."""
    if len(data) < HEADER_BYTES:
        raise DecodeError("short-header", f"a header takes 8 bytes, {len(data)} are there", path="type")
    length = int.from_bytes(data[4:8], "big")
    if length > len(data) - HEADER_BYTES:
        why = f"the header has {length} bytes, {len(data) - HEADER_BYTES} are there"
        raise DecodeError("length-exceeds-buffer", why, path="length", offset=4)
    cls = BY_CODE.get(type_at(data, 0))
    if cls is None:
        raise unknown_type(data, 0)
    return read_fields(cls, Cursor(data, HEADER_BYTES, HEADER_BYTES + length), cls.__name__)


def rebased(err: DecodeError, at: int) -> DecodeError:
    """The same defect, its offset counted from the beginning of the frame at `at`."""
    return type(err)(err.kind, err.why, path=err.path, offset=err.offset - at)


def unknown_type(data: bytes, at: int) -> DecodeError:
    """What is wrong with a frame whose type names no command."""
    return DecodeError("unknown-type", f"no command has type {type_at(data, at)}", path="type")


def annotate(cls: type[Message] | None, data: bytes, at: int, end: int) -> list[Span]:
    """The spans of a whole frame of `cls`: header, fields, then what cannot be read or is left over; they tile it."""
    spans: list[Span] = []
    cursor = Cursor(data, at, end, spans=spans)
    rest = "Unknown.data" if cls is None else f"{cls.__name__}.(left over)"
    try:
        _TYPE.read(cursor, "type")
        _LENGTH.read(cursor, "length")
        if cls is not None:
            read_fields(cls, cursor, cls.__name__)
    except DecodeError as err:
        rest = f"({err.kind})"
    if cursor.left:
        start = cursor.at
        raw = cursor.take(cursor.left, rest)
        cursor.note(start, rest, "bytes", raw)
    return spans


def readable_fields(cls: type[Message], data: bytes, at: int, end: int) -> dict[str, Any]:
    """The fields of a payload in their JSON form, up to the first that cannot be read."""
    cursor = Cursor(data, at, end)
    fields: dict[str, Any] = {}
    try:
        for field in fields_of(cls):
            if not field.is_optional or cursor.left >= field.if_left:
                fields[field.name] = field.wire.to_json(field.wire.read(cursor, field.name))
    except DecodeError:
        pass
    return fields


class Headers:
    """Finds where frames with some of the types might begin: the type, then the zero high byte of the length.

    No match can begin inside another, as no type here ends the way one begins; so nothing needs to overlap.
    """

    def __init__(self, codes: Iterable[int]) -> None:
        heads = [code.to_bytes(4, "big", signed=True) for code in codes]
        self._patterns = [
            re.compile(re.escape(lead) + b"[" + re.escape(lasts) + rb"](?=\0)", re.DOTALL)
            for lead in (b"\0\0\0", b"\xff\xff\xff")
            if (lasts := bytes(head[3] for head in heads if head[:3] == lead and head[3] != lead[0]))
        ]

    def find(self, data: bytes, at: int, end: int) -> Iterator[int]:
        """Where in `data[at:end]` they are, ascending."""
        if any(pattern.match(data, at, end) for pattern in self._patterns):
            yield at  # where a search begins with a frame it rarely asks for more
            at += 1
        found = [(match.start() for match in pattern.finditer(data, at, end)) for pattern in self._patterns]
        yield from heapq.merge(*found)


HEADERS: Mapping[Side, Headers] = {
    side: Headers(cls.declaration.type_id for cls in MESSAGES if may_send(side, cls) and cls not in _INSIDE_BLOCKS)
    for side in ("client", "server")
}
