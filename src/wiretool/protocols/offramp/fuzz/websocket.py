"""Mutations of WebSocket frames (RFC 6455 §5): masks, opcodes, fragments, lengths, Close, compression."""

import random
import zlib
from abc import abstractmethod
from dataclasses import replace
from functools import cache

from wiretool.fuzz.mutations.base import MessageMutation, Mutation, MutationContext
from wiretool.fuzz.mutations.texts import NOT_UTF8
from wiretool.fuzz.sequences.sequence import Change, FuzzSequence, Sending, Splice
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.deflate import TAIL
from wiretool.protocols.offramp.framing import FIN, MASKED, RSV1, Header

_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_CONTROL = (_CLOSE, _PING, _PONG)
_RESERVED_OPCODES = (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)
#: Codes that must not be sent, that are not defined, and those at the ends of the ranges (RFC 6455 §7.4).
CLOSE_CODES = (0, 1, 999, 1004, 1005, 1006, 1012, 1015, 1016, 2999, 3000, 4999, 5000, 65_535)
#: Payloads that control frames may not have, bytes.
CONTROL_BYTES = (126, 127, 1000, 65_535, 65_536)
FRAGMENTS_MAX = 200
#: A message that inflates to so many bytes.
INFLATED_BYTES = 4 * 1024 * 1024
#: The end of the request line and of a header.
_LINE_END = b"\r\n"
_OFFER = b"Sec-WebSocket-Extensions: permessage-deflate\r\n"


def header_of(data: bytes) -> Header | None:
    """Return the header of a message that is one whole frame; None for any other bytes."""
    if framing.is_http("client", data, 0, len(data)):
        return None
    header = framing.read_header(data, 0, len(data))
    return header if header is not None and header.size + header.length == len(data) else None


class _FrameMutation(MessageMutation):
    """A mutation of one frame of the client."""

    region = "frame"

    def fits(self, sending: Sending) -> bool:
        return header_of(sending.data) is not None

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        header = header_of(sending.data)
        assert header is not None
        payload = framing.payload_of(header, sending.data, 0, len(sending.data))
        made = self.remake(header, payload, rng)
        return context.edited(sending, (Splice(0, len(sending.data), made),), Change(self.name, self.region))

    @abstractmethod
    def remake(self, header: Header, payload: bytes, rng: random.Random) -> bytes:
        """Return other bytes for a frame; `payload` is unmasked."""


def _mask(header: Header) -> bytes:
    return header.mask or b"\x01\x02\x03\x04"


class FrameMask(_FrameMutation):
    name = "websocket/mask"
    description = "the mask is missing, its key is 0, or its bit contradicts the bytes"
    region = "mask"

    def remake(self, header: Header, payload: bytes, rng: random.Random) -> bytes:
        masked = framing.frame_bytes(header.first, payload, _mask(header))
        return rng.choice(
            (
                framing.frame_bytes(header.first, payload, None),
                framing.frame_bytes(header.first, payload, bytes(4)),
                masked[:1] + bytes((masked[1] & ~MASKED,)) + masked[2:],  # the key becomes a part of the payload
                framing.frame_bytes(header.first, _mask(header) + payload, None),
            )
        )


class FrameOpcode(_FrameMutation):
    name = "websocket/opcode"
    description = "a reserved opcode, or that of another kind of frame"
    region = "opcode"

    def remake(self, header: Header, payload: bytes, rng: random.Random) -> bytes:
        others = (_CONTINUATION, _TEXT, _BINARY, *_CONTROL)
        opcode = rng.choice(_RESERVED_OPCODES if rng.random() < 0.6 else others)
        fin = FIN if rng.random() < 0.8 else 0
        return framing.frame_bytes(fin | header.first & 0x70 | opcode, payload, _mask(header))


class ReservedBits(_FrameMutation):
    name = "websocket/rsv"
    description = "reserved bits are set: also RSV1, without compression or without its negotiation"
    region = "rsv"

    def remake(self, header: Header, payload: bytes, rng: random.Random) -> bytes:
        bits = rng.choice([bits for bits in range(0x10, 0x80, 0x10) if bits != header.first & 0x70])
        return framing.frame_bytes(header.first & 0x8F | bits, payload, _mask(header))


class OddFragments(_FrameMutation):
    name = "websocket/fragments"
    description = "fragments without a start or an end, another message or a control frame between them, empty ones"
    region = "fragments"

    def remake(self, header: Header, payload: bytes, rng: random.Random) -> bytes:
        mask, opcode = _mask(header), header.opcode & 7 or _TEXT
        half = len(payload) // 2

        def frame(first: int, data: bytes) -> bytes:
            return framing.frame_bytes(first, data, mask)

        start, end = frame(opcode, payload[:half]), frame(FIN | _CONTINUATION, payload[half:])
        between = frame(FIN | rng.choice(_CONTROL), b"" if rng.random() < 0.5 else b"\x03\xe8")
        return rng.choice(
            (
                frame(FIN | _CONTINUATION, payload),
                frame(_CONTINUATION, payload[:half]) + end,
                start + frame(FIN | opcode, payload),
                start + frame(opcode, payload[half:]) + end,
                start + between + end,
                start + frame(_PING, b"in parts") + end,
                start,
                start + end + end,
                start + frame(FIN | RSV1 | _CONTINUATION, payload[half:]),
                frame(opcode, b"") + frame(_CONTINUATION, b"") * rng.randrange(FRAGMENTS_MAX) + end,
                frame(opcode, payload[:1])
                + b"".join(frame(_CONTINUATION, payload[at : at + 1]) for at in range(1, min(len(payload), 100)))
                + frame(FIN | _CONTINUATION, payload[100:]),
            )
        )


class ControlFrame(_FrameMutation):
    name = "websocket/control"
    description = "a control frame is longer than 125 bytes, or not its last fragment"
    region = "control frame"

    def remake(self, header: Header, payload: bytes, rng: random.Random) -> bytes:
        opcode = rng.choice(_CONTROL)
        if rng.random() < 0.5:
            return framing.frame_bytes(opcode, payload[:125], _mask(header))
        size = rng.choice(CONTROL_BYTES)
        return framing.frame_bytes(FIN | opcode, (payload + bytes(size))[:size], _mask(header))


class OddClose(_FrameMutation):
    name = "websocket/close"
    description = "a Close with a code that may not be sent, of one byte, or with a reason that is long or not UTF-8"
    region = "close"

    def remake(self, header: Header, payload: bytes, rng: random.Random) -> bytes:
        code = rng.choice(CLOSE_CODES).to_bytes(2, "big")
        body = rng.choice(
            (code, code, code + b"bye", b"\x03", b"\x03\xe8" + rng.choice(NOT_UTF8), b"\x03\xe8" + b"r" * 124)
        )
        frame = framing.frame_bytes(FIN | _CLOSE, body, _mask(header))
        return frame + framing.frame_bytes(header.first, payload, _mask(header)) if rng.random() < 0.3 else frame


class FrameLength(_FrameMutation):
    name = "websocket/length"
    description = "a length in more bytes than it requires, with its first bit set, or other than that of the payload"
    region = "length"

    def remake(self, header: Header, payload: bytes, rng: random.Random) -> bytes:
        count = len(payload)
        if count < 0x1_0000 and rng.random() < 0.5:
            # Not the fewest bytes (§5.2).
            size = rng.choice((2, 8)) if count <= framing.SHORT_MAX else 8
        else:
            size = rng.choice((2, 8))
            count = rng.choice(
                (count + 1, max(count - 1, 0), 2**31, 2**32, 2**62, 2**63, 2**63 + count, 2**64 - 1, 65_535, 126, 127)
            )
        length = bytes((MASKED | (126 if size == 2 else 127),)) + (count % (1 << 8 * size)).to_bytes(size, "big")
        mask = _mask(header)
        return bytes((header.first,)) + length + mask + framing.unmasked(payload, mask)


class DamagedDeflate(_FrameMutation):
    name = "websocket/deflate"
    description = "a compressed message is damaged, cut, huge when inflated, or was never negotiated"
    region = "deflated payload"

    def apply(self, sequence: FuzzSequence, rng: random.Random, context: MutationContext) -> FuzzSequence | None:
        made = super().apply(sequence, rng, context)
        return made if made is None or rng.random() < 0.3 else _negotiated(made, context)

    def remake(self, header: Header, payload: bytes, rng: random.Random) -> bytes:
        deflated = _deflated(payload)
        at = rng.randrange(len(deflated))
        body = rng.choice(
            (
                rng.randbytes(rng.choice((1, 5, 50))),
                deflated[:at],
                deflated[:at] + bytes((deflated[at] ^ 1 << rng.randrange(8),)) + deflated[at + 1 :],
                deflated + deflated,
                _deflated(payload, is_final=True) + deflated,
                _huge(),
                b"",
                b"\x00",
                deflated + TAIL,
            )
        )
        opcode = header.opcode if header.opcode in (_TEXT, _BINARY) else _TEXT
        return framing.frame_bytes(FIN | RSV1 | opcode, body, _mask(header))


@cache
def _huge() -> bytes:
    """Return a compressed message of a few kilobytes that inflates to `INFLATED_BYTES`."""
    return _deflated(bytes(INFLATED_BYTES))


def _deflated(data: bytes, *, is_final: bool = False) -> bytes:
    """Return a message as permessage-deflate sends it (RFC 7692 §7.2.1), or with a final block."""
    deflater = zlib.compressobj(wbits=-15)
    begun = deflater.compress(data)
    if is_final:
        return bytes(begun + deflater.flush())
    return bytes(begun + deflater.flush(zlib.Z_SYNC_FLUSH)).removesuffix(TAIL)


def _negotiated(sequence: FuzzSequence, context: MutationContext) -> FuzzSequence:
    """Return the sequence with an offer of permessage-deflate in each request for an upgrade that has none."""
    steps = list(sequence.steps)
    for at, step in enumerate(steps):
        if not isinstance(step, Sending) or not step.data.startswith(b"GET ") or b"permessage-deflate" in step.data:
            continue
        end = step.data.find(_LINE_END) + len(_LINE_END)
        offered = context.edited(step, (Splice(end, 0, _OFFER),), Change(DamagedDeflate.name, "offer"))
        if end >= len(_LINE_END) and offered is not None:
            steps[at] = offered
    return replace(sequence, steps=tuple(steps))


class NotUtf8Text(_FrameMutation):
    name = "websocket/not-utf-8"
    description = "a text message or a fragment of one is not UTF-8; the frame still fits"
    region = "text"

    def remake(self, header: Header, payload: bytes, rng: random.Random) -> bytes:
        bad, at = rng.choice(NOT_UTF8), rng.randrange(len(payload) + 1)
        text, mask = payload[:at] + bad + payload[at:], _mask(header)
        if rng.random() < 0.7:
            return framing.frame_bytes(FIN | _TEXT, text, mask)
        cut = at + len(bad) // 2  # inside the bad bytes
        return framing.frame_bytes(_TEXT, text[:cut], mask) + framing.frame_bytes(FIN, text[cut:], mask)


MUTATIONS: tuple[Mutation, ...] = (
    FrameMask(), FrameOpcode(), ReservedBits(), OddFragments(), ControlFrame(), OddClose(), FrameLength(),
    DamagedDeflate(), NotUtf8Text(),
)  # fmt: skip
