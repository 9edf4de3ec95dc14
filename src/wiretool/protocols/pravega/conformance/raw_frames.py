"""Frames that no message can express: bytes as they are, and changes of frames."""

from typing import Any
from uuid import UUID

from wiretool.conformance.case import FIRST, SendBytes
from wiretool.conformance.values import Bindings, Uuid, resolved


def raw(data: bytes, words: str, *, on: str = FIRST) -> SendBytes:
    """Send bytes that are no message."""
    return SendBytes(data, words, on)


def header(type_id: int, length: int) -> bytes:
    """Return the header of a frame."""
    return type_id.to_bytes(4, "big", signed=True) + length.to_bytes(4, "big")


def framed(type_id: int, payload: bytes = b"") -> bytes:
    """Return a frame of any type."""
    return header(type_id, len(payload)) + payload


def raw_frame(type_id: int, *parts: Any, words: str, on: str = FIRST) -> SendBytes:
    """Send a frame that no message can express; parts are bytes, or placeholders: names with a count, UUIDs plain."""
    return SendBytes(lambda bindings: framed(type_id, b"".join(_packed(part, bindings) for part in parts)), words, on)


def _packed(part: Any, bindings: Bindings) -> bytes:
    value = resolved(part, bindings)
    if isinstance(part, Uuid):
        return UUID(value).bytes
    if isinstance(value, str):
        data = value.encode()
        return len(data).to_bytes(2, "big") + data
    assert isinstance(value, bytes)
    return value


def longer(data: bytes) -> Any:
    """Return a change of a frame that puts bytes after its last field."""
    return lambda frame: frame[:4] + (len(frame) - 8 + len(data)).to_bytes(4, "big") + frame[8:] + data


def shorter(count: int) -> Any:
    """Return a change of a frame that cuts its last bytes, with a header that agrees."""
    return lambda frame: frame[:4] + (len(frame) - 8 - count).to_bytes(4, "big") + frame[8:-count]
