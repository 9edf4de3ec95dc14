"""What programs call: captures to records, bytes to messages, messages to bytes."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec.frames.splitter import Splitter
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, EncodeError, Truncated, UsageError
from wiretool.protocols.base.conversation import Reading
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import owner_of, protocol_named


def decode(data: bytes, *, protocol: str, side: Side) -> list[Message]:
    """The messages in the first bytes that `side` sends on a connection.

    Raises the first thing wrong: DecodeError (Truncated where the last frame is not whole) for bytes, offsets from
    their beginning; ProtocolViolation for a message at a bad time; UsageError for an unknown protocol or side.
    """
    _check_side(side)
    spoken = protocol_named(protocol)
    data = bytes(data)
    conversation = spoken.open(spoken.begins is None or spoken.begins(side, data))
    splitter = Splitter(conversation, side)
    messages: list[Message] = []
    for n, piece in enumerate(splitter.feed(data) + splitter.end(), 1):
        if piece.kind == "lost":
            kind = Truncated if piece.error == "incomplete" else DecodeError
            raise kind(piece.error, piece.why, offset=piece.offset)
        reading = conversation.read(side, piece.data, piece.at, piece.end, n)
        if reading.defects:
            raise _in_stream(reading, piece.offset)
        messages += _messages(reading, spoken, side)
    return messages


def _check_side(side: str) -> None:
    if side not in ("client", "server"):
        raise UsageError(f"side is client or server, not {side!r}")


def _in_stream(reading: Reading, start: int) -> Exception:
    defect = reading.defects[0]
    if isinstance(defect, DecodeError):
        return type(defect)(defect.kind, defect.why, path=defect.path, offset=start + defect.offset)
    return defect


def _messages(reading: Reading, spoken: Protocol, side: Side) -> list[Message]:
    """The message of a frame; none for a frame that is only part of one, or carries none (a Fragment, an Empty)."""
    if isinstance(reading.fields, Message):
        return [reading.fields]
    fields: Mapping[str, Any] = reading.fields
    if isinstance(fields.get("message"), str) and isinstance(fields.get("fields"), Mapping):
        return [spoken.from_json(fields["message"], side, fields["fields"])]  # put together by its last part
    try:
        return [spoken.from_json(reading.message, side, fields)]
    except EncodeError:
        return []


def encode(message: Message, *, protocol: str = "", side: Side | None = None) -> bytes:
    """The whole frame that carries a message.

    The protocol is that which declares the message, the side the one that may send it (the client where both may),
    unless given. EncodeError: a value that has no bytes, or an object that is no message.
    """
    owner = protocol_named(protocol) if protocol else owner_of(type(message))
    if owner is None:
        raise EncodeError(f"{type(message).__name__} is not a message of a known protocol")
    sender = type(message).declaration.sender
    if side is not None:
        _check_side(side)
    return owner.encode(message, side or ("server" if sender == "server" else "client"))
