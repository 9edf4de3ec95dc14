"""What each byte of a frame or an HTTP head means."""

import json
import re
from collections.abc import Iterator
from typing import Any

from wiretool.codec.cursor import Span
from wiretool.codec.json_types import JsonType
from wiretool.codec.message import Side, fields_of
from wiretool.errors import DecodeError
from wiretool.protocols.offramp import framing, http
from wiretool.protocols.offramp.framing import FIN, NAMES, OPCODE, RSV1, RSV23, Header
from wiretool.protocols.offramp.json_parser import parse_json
from wiretool.protocols.offramp.messages import EVENT_BY_NAME

_PUNCTUATION = re.compile(r"[ \t\r\n,:{}]*")


def annotate_frame(side: Side, data: bytes, at: int, end: int) -> list[Span]:
    """The spans of one WebSocket frame."""
    header = framing.read_header(data, at, end)
    assert header is not None
    length_size = header.size - 1 - len(header.mask)
    spans = [
        Span(at, 1, "WebSocket.opcode", "flags + opcode", _first_byte(header.first)),
        Span(at + 1, length_size, "WebSocket.length", f"mask bit + length, {length_size} bytes", header.length),
    ]
    if header.is_masked:
        spans.append(Span(at + 1 + length_size, 4, "WebSocket.mask", "mask", header.mask.hex()))
    if header.length:
        spans += _payload_spans(header, framing.payload_of(header, data, at, end), at + header.size)
    return spans


def _first_byte(first: int) -> str:
    parts = [NAMES.get(first & OPCODE, f"opcode {first & OPCODE}")]
    if first & FIN:
        parts.append("FIN")
    if first & RSV1:
        parts.append("RSV1 (compressed)")
    if first & RSV23:
        parts.append("RSV2/3")
    return " ".join(parts)


def _payload_spans(header: Header, payload: bytes, at: int) -> list[Span]:
    if header.opcode == 8 and len(payload) >= 2:
        spans = [Span(at, 2, "Close.code", "u16", int.from_bytes(payload[:2], "big"))]
        if len(payload) > 2:
            reason = payload[2:].decode("utf-8", "backslashreplace")
            spans.append(Span(at + 2, len(payload) - 2, "Close.reason", "UTF-8", reason))
        return spans
    if header.is_control:
        return [Span(at, len(payload), f"{NAMES.get(header.opcode, 'control')}.payload", "bytes", payload)]
    if header.is_compressed:
        return [Span(at, len(payload), "payload", "deflated", payload)]
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError:
        return [Span(at, len(payload), "payload", "bytes", payload)]
    if header.opcode in (1, 2) and header.is_final and _is_object(text):
        return list(_member_spans(text, at))
    return [Span(at, len(payload), "payload", "UTF-8", text)]


def _is_object(text: str) -> bool:
    try:
        parsed = parse_json(text)
    except DecodeError:
        return False
    return isinstance(parsed.value, dict) and parsed.error is None


def _member_spans(text: str, at: int) -> Iterator[Span]:
    """The members of a JSON object, each with its name, and what is between them."""
    types = _types_of(text)
    place = _skip(text, 0)
    yield from _between(text[:place], at)
    at += place
    decode = json.JSONDecoder().raw_decode
    while place < len(text):
        name, behind_name = decode(text, place)
        value, behind = decode(text, _skip(text, behind_name))
        size = len(text[place:behind].encode("utf-8"))
        path = f"{types.get('', 'event')}.{name}"
        yield Span(at, size, path, types.get(name, "not declared"), value)
        at += size
        place = _skip(text, behind)
        yield from _between(text[behind:place], at)
        at += place - behind


def _skip(text: str, at: int) -> int:
    found = _PUNCTUATION.match(text, at)
    assert found is not None
    # Of `:{` only the colon is punctuation: the brace begins a value.
    behind = found.end()
    if ":" in found.group():
        return at + len(_COLON.match(found.group()).group())  # type: ignore[union-attr]
    return behind


_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")


def _between(text: str, at: int) -> Iterator[Span]:
    if text:
        yield Span(at, len(text), "JSON", "punctuation", text)


def _types_of(text: str) -> dict[str, str]:
    """The declared type of each member, and under the empty name the name of the event."""
    members: dict[str, Any] = parse_json(text).value
    name = members.get("type")
    cls = EVENT_BY_NAME.get(name) if isinstance(name, str) else None
    if cls is None:
        return {}
    types = {field.name: field.wire.name for field in fields_of(cls) if isinstance(field.wire, JsonType)}
    return {**types, "": cls.declaration.name}


def annotate_http(side: Side, data: bytes, at: int, end: int) -> list[Span]:
    """The spans of one HTTP message: its lines and its body."""
    head = http.read_head(side, data, at, end)
    assert head is not None
    behind = at + head.size
    name = "HandshakeRequest" if side == "client" else "HandshakeResponse"
    spans: list[Span] = []
    while at < behind:
        newline = data.index(b"\n", at) + 1
        line = data[at:newline].decode("latin-1").rstrip("\r\n")
        if not spans:
            spans.append(Span(at, newline - at, f"{name}.line", "HTTP start line", line))
        elif line:
            key, _, value = line.partition(":")
            spans.append(Span(at, newline - at, f"{name}.headers.{key}", "HTTP header", value.strip()))
        else:
            spans.append(Span(at, newline - at, f"{name}.end", "empty line", ""))
        at = newline
    if behind < end:
        spans.append(Span(behind, end - behind, f"{name}.body", "HTTP body", data[behind:end]))
    return spans
