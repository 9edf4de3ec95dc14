"""Frames and heads of a recorded client as they go to another server: a new key, new masks, the same cuts."""

import base64
import binascii
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from wiretool.codec.message import Message
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.offramp import events, framing
from wiretool.protocols.offramp.connection import Connection
from wiretool.protocols.offramp.framing import RSV1
from wiretool.protocols.offramp.handshake import read_handshake
from wiretool.protocols.offramp.http import read_head
from wiretool.protocols.offramp.replay.consumer_trace import Part
from wiretool.protocols.offramp.server.upgrade import accept_of
from wiretool.records import Record
from wiretool.replay.adapter import Identity

_KEY = re.compile(rb"(?im)^(Sec-WebSocket-Key[ \t]*:[ \t]*)([^\r\n]*?)([ \t]*\r?)$")
_HOST = re.compile(rb"(?im)^(Host[ \t]*:[ \t]*)([^\r\n]*?)([ \t]*\r?)$")
_STREAM = re.compile(rb"/roads/[^/]+/streams/([^/]+)/messages")
_KEY_BYTES = 16
#: The message that a frame completes as it is to be now; None where it may go as it was recorded.
Changed = Callable[[Record], Message | None]


def renewed_head(record: Record, identity: Identity, rng: random.Random) -> tuple[bytes, Mapping[str, str]]:
    """The bytes of a handshake with a new key, and for the recorded Sec-WebSocket-Accept the one that answers now.

    Everything else stays as the client wrote it, and a key that is none as well, save what he says of himself now.
    """
    head = read_head("client", record.raw, 0, len(record.raw))
    if head is None:
        raise EncodeError("its head is not whole")
    lines, rest = record.raw[: head.size], record.raw[head.size :]
    if identity.host:
        lines = _HOST.sub(lambda found: found[1] + identity.host.encode("latin-1") + found[3], lines, count=1)
    for name, value in identity.headers:
        lines = _with_header(lines, name.encode("latin-1"), value.encode("latin-1"))
    keys = _KEY.findall(lines)
    if len(keys) != 1 or not _is_key(keys[0][1]):
        return lines + rest, {}
    new = base64.b64encode(rng.randbytes(_KEY_BYTES))
    lines = _KEY.sub(lambda found: found[1] + new + found[3], lines)
    return lines + rest, {accept_of(keys[0][1].decode("ascii")): accept_of(new.decode("ascii"))}


def with_stream(record: Record, rename: Callable[[str], str]) -> Record:
    """A handshake that is about another stream, where its target names one; all else stays as the client wrote it."""
    line, end, rest = record.raw.partition(b"\n")
    found = _STREAM.search(line.partition(b"?")[0])
    if found is None:
        return record
    start, stop = found.span(1)
    name = rename(found[1].decode("latin-1")).encode("latin-1")
    raw = line[:start] + name + line[stop:] + end + rest
    return msgspec.structs.replace(record, fields=read_handshake("client", raw, 0, len(raw)).message, raw=raw)


def _with_header(lines: bytes, name: bytes, value: bytes) -> bytes:
    """The head with that header, behind the request line, and no other of its name."""
    others = re.sub(rb"(?im)^" + re.escape(name) + rb"[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*", b"", lines)
    request, _, rest = others.partition(b"\n")
    return request + b"\n" + name + b": " + value + b"\r\n" + rest


def _is_key(text: bytes) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def renewed_frame(
    record: Record, part: Part | None, changed: Changed, conversation: Connection, rng: random.Random
) -> bytes:
    """A WebSocket frame with a new mask; EncodeError where what it says cannot be said on this connection.

    The frames of one message keep their sizes, but for the last. A compressed one goes as it was recorded where the
    server reads the same from it now, else without compression.
    """
    header = framing.read_header(record.raw, 0, len(record.raw))
    if header is None:
        return record.raw
    if header.is_control or not header.is_masked:
        return _masked(record.raw, framing.payload_of(header, record.raw, 0, len(record.raw)), rng)
    frames = [record] if part is None else list(part.frames)
    whole = changed(frames[-1])
    first = framing.read_header(frames[0].raw, 0, len(frames[0].raw))
    assert first is not None
    if whole is None and first.is_compressed and not _reads_the_same(frames, conversation):
        whole = _event_of(frames[-1])
    payload = framing.payload_of(header, record.raw, 0, len(record.raw))
    if whole is None:
        return _masked(record.raw, payload, rng)
    sizes = [len(_payload(each)) for each in frames]
    at = 0 if part is None else part.at
    piece = _piece(events.encode(whole), sizes, at)
    return framing.frame_bytes(record.raw[0] & ~RSV1 & 0xFF, piece, rng.randbytes(4))


def _piece(text: bytes, sizes: list[int], at: int) -> bytes:
    """The part `at` of a text that is cut into parts of these sizes, the last of which takes the rest."""
    start = sum(sizes[:at])
    return text[start:] if at == len(sizes) - 1 else text[start : start + sizes[at]]


def _payload(record: Record) -> bytes:
    header = framing.read_header(record.raw, 0, len(record.raw))
    assert header is not None
    return framing.payload_of(header, record.raw, 0, len(record.raw))


def _masked(raw: bytes, payload: bytes, rng: random.Random) -> bytes:
    """A frame with another mask, its length in the form that it has; one without mask stays as it is."""
    header = framing.read_header(raw, 0, len(raw))
    if header is None or not header.is_masked:
        return raw
    mask = rng.randbytes(4)
    return raw[: header.size - 4] + mask + framing.unmasked(payload, mask)


def _reads_the_same(frames: list[Record], conversation: Connection) -> bool:
    """Whether a compressed message is now what it was: compression was agreed to, and its context is the same."""
    if not conversation.deflates:
        return False
    text = conversation.joiners["client"].inflater.peek(b"".join(map(_payload, frames)))
    recorded: Any = frames[-1].fields
    if text is None:
        return False
    try:
        said: Any = events.decode(text, "client")
    except DecodeError:
        said = events.show(text).fields
    return bool(said == recorded)


def _event_of(record: Record) -> Message:
    """The event that a compressed message says; EncodeError where it says none."""
    if not isinstance(record.fields, Message):
        raise EncodeError(
            "it is compressed, and the messages it refers to were not recorded, or compression was not negotiated now"
        )
    return record.fields
