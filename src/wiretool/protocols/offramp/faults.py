"""Faults in Offramp: events in WebSocket frames, behind an HTTP upgrade."""

import random
import re
from collections.abc import Sequence

import msgspec

from wiretool.codec.message import Side
from wiretool.errors import EncodeError
from wiretool.faults.actions import Change
from wiretool.faults.adapter import FaultAdapter, Form, Kind
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.handshake import DEFLATE, read_handshake
from wiretool.protocols.offramp.http import read_head
from wiretool.protocols.offramp.messages import HandshakeRequest
from wiretool.records import Record

_HANDSHAKE = ("HandshakeRequest", "HandshakeResponse")
#: What a handshake says by its target and headers.
_DERIVED = ("road", "stream", "defaultOffset", "grants", "extensions")
_OF_CONNECTION = ("host", "sec-websocket-key")
_CONTROL = ("Ping", "Pong", "Close")
#: The lines of one header, those that continue it included.
_EXTENSIONS = re.compile(rb"(?im)^Sec-WebSocket-Extensions[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*")


class OfframpFaultAdapter(FaultAdapter):
    """One event a message, and a message in one frame or in several."""

    greets = frozenset({"client"})
    extra_names = ("Unknown", "Fragment", "Empty", "Deflated")

    def check_change(self, kind: Kind, change: Change) -> None:
        if kind[1] in _HANDSHAKE and change.steps[0] in _DERIVED:
            raise EncodeError(f"{change.steps[0]} follows from target and headers", path=kind[1])
        super().check_change(kind, change)

    def check_length(self, kind: Kind) -> None:
        if kind[1] in _HANDSHAKE:
            raise EncodeError("is not a frame and has no length", path=kind[1])

    def carriage_in(self, record: Record, form: Form) -> Sequence[tuple[str | int, ...]]:
        """The server's address and the key of a request, which is drawn by lot (RFC 6455 §4.1)."""
        if not isinstance(record.fields, HandshakeRequest):
            return ()
        return [("headers", at, 1) for at, (name, _) in enumerate(form["headers"]) if name.lower() in _OF_CONNECTION]

    def form(self, record: Record) -> Form:
        form = super().form(record)
        if record.message not in _HANDSHAKE:
            return form
        return {name: value for name, value in form.items() if name not in _DERIVED}

    def frame(self, record: Record, form: Form, first: bytes, conversation: Conversation, rng: random.Random) -> bytes:
        """In one frame, without compression, text or binary as it was; a client's with a new mask."""
        message = self.protocol.from_json(record.message, record.side, form)
        if record.message in _HANDSHAKE:
            return encode(message, record.side)
        mask = rng.randbytes(4) if record.side == "client" else b""
        return encode(message, record.side, mask=mask, opcode=first[0] & framing.OPCODE)

    def with_length(self, frame: bytes, by: int) -> bytes:
        header = framing.read_header(frame, 0, len(frame))
        assert header is not None
        length = header.length + by
        if length < 0 or length >= 2**63:
            raise EncodeError(f"a length of {length} does not fit a frame")
        empty = framing.frame_bytes(header.first, b"", None)
        masked = framing.MASKED if header.is_masked else 0
        if length <= framing.SHORT_MAX:
            head = bytes((empty[0], masked | length))
        elif length < 0x1_0000:
            head = bytes((empty[0], masked | 126)) + length.to_bytes(2, "big")
        else:
            head = bytes((empty[0], masked | 127)) + length.to_bytes(8, "big")
        return head + header.mask + frame[header.size :]

    def opening(self, record: Record) -> Record | None:
        """The request without the offer to compress: a message less would leave the others unreadable."""
        request = record.fields
        if not isinstance(request, HandshakeRequest) or not any(
            name.lower() == "sec-websocket-extensions" and DEFLATE in value.lower() for name, value in request.headers
        ):
            return None
        head = read_head("client", record.raw, 0, len(record.raw))
        assert head is not None
        end = head.size
        raw = _EXTENSIONS.sub(b"", record.raw[:end]) + record.raw[end:]
        fields = read_handshake("client", raw, 0, len(raw)).message
        return msgspec.structs.replace(record, raw=raw, fields=fields, length=len(raw))

    def is_greeting(self, record: Record) -> bool:
        return record.message == "HandshakeRequest"

    def is_part(self, record: Record) -> bool:
        return record.message == "Fragment" and record.raw[0] < framing.FIN

    def is_aside(self, record: Record) -> bool:
        return record.message in _CONTROL

    def why_fixed(self, side: Side, frame: bytes) -> str:
        if frame[0] & framing.RSV1 and not framing.is_http(side, frame, 0, len(frame)):
            return "it is compressed, and later messages are not readable without it"
        return ""
