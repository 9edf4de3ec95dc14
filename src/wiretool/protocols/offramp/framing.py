"""WebSocket frames (RFC 6455 §5.2): where one ends, what its header says, and its bytes.

A connection's HTTP heads and its frames are told apart by their first two bytes alone, so that where a frame ends
does not hang on what was read before: `HTTP/` would be a Close that is a fragment, and the letters of a method a
frame of the client without mask.
"""

from typing import NamedTuple

from wsproto.frame_protocol import Opcode

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import DecodeError, EncodeError, OverLimit

FIN, RSV1, RSV23, OPCODE, MASKED, LENGTH = 0x80, 0x40, 0x30, 0x0F, 0x80, 0x7F
#: The longest payload of a control frame, and of one whose length is in the second byte.
SHORT_MAX = 125
OPCODES = frozenset(int(opcode) for opcode in Opcode)
NAMES = {0: "continuation", 1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong"}
#: Oddities in one header that make it no header at all; with fewer it is a frame of a peer that breaks rules.
ODDITIES_MAX = 1


#: First bytes with which nothing is wrong: parts and whole messages without compression, and control frames.
_LAWFUL = frozenset({0x00, 0x01, 0x02, 0x80, 0x81, 0x82, 0x88, 0x89, 0x8A})


class Header(NamedTuple):
    """The header of one frame, `size` bytes long; `length` bytes of payload follow."""

    first: int
    is_masked: bool
    mask: bytes
    length: int
    size: int

    @property
    def opcode(self) -> int:
        """What kind of frame it is."""
        return self.first & OPCODE

    @property
    def is_final(self) -> bool:
        """Whether it is the last of its message."""
        return self.first >= FIN

    @property
    def is_control(self) -> bool:
        """Whether it is no part of a message."""
        return self.first & 8 != 0

    @property
    def is_compressed(self) -> bool:
        """Whether permessage-deflate marks it as the first of a compressed message."""
        return self.first & RSV1 != 0


def read_header(data: bytes, at: int, end: int) -> Header | None:
    """The header at `data[at]`, or None while it is not whole."""
    if end - at < 2:
        return None
    first, second = data[at], data[at + 1]
    length, size = second & LENGTH, 2
    if length > SHORT_MAX:
        size = 4 if length == 126 else 10
        if end - at < size:
            return None
        length = int.from_bytes(data[at + 2 : at + size], "big")
    if not second & MASKED:
        return Header(first, False, b"", length, size)
    if end - at < size + 4:
        return None
    return Header(first, True, data[at + size : at + size + 4], length, size + 4)


def frame_extent(side: Side, data: bytes, at: int, end: int) -> int:
    """Bytes of the frame at `data[at]`, 0 while that is not known; DecodeError where it is none."""
    header = read_header(data, at, end)
    if header is None:
        return 0
    wrong = header_defects(side, header, may_deflate=True)
    if len(wrong) > ODDITIES_MAX:
        raise DecodeError("bad_frame_header", "; ".join(defect.why for defect in wrong))
    return _bounded(header, limits.WEBSOCKET_MESSAGE_BYTES_MAX)


def strict_extent(side: Side, header: Header, payload_bytes_max: int, *, may_deflate: bool) -> int:
    """Return the bytes of the frame with this header; DecodeError where `side` must not send it."""
    wrong = header_defects(side, header, may_deflate=may_deflate)
    if wrong:
        raise wrong[0]
    return _bounded(header, payload_bytes_max)


def _bounded(header: Header, payload_bytes_max: int) -> int:
    if header.length > payload_bytes_max:
        raise OverLimit("message_too_big", f"a frame of {header.length} bytes")
    return header.size + header.length


def header_defects(side: Side, header: Header, *, may_deflate: bool) -> list[DecodeError]:
    """What is wrong in a header of `side`, whatever came before it."""
    first, is_masked, _, length, _ = header
    if first in _LAWFUL and is_masked is (side == "client") and (length <= SHORT_MAX or first & 8 == 0):
        return []
    wrong: list[DecodeError] = []
    opcode = header.opcode
    if opcode not in OPCODES:
        wrong.append(DecodeError("reserved_opcode", f"opcode {opcode} means nothing"))
    if header.first & RSV23 or (header.is_compressed and not (may_deflate and opcode in (1, 2))):
        wrong.append(DecodeError("reserved_bits", f"reserved bits {(header.first >> 4) & 7:03b} are set"))
    if side == "client" and not header.is_masked:
        wrong.append(DecodeError("unmasked_client_frame", "a client must mask its frames", offset=1))
    if side == "server" and header.is_masked:
        wrong.append(DecodeError("masked_server_frame", "a server must not mask its frames", offset=1))
    if header.is_control and header.length > SHORT_MAX:
        wrong.append(DecodeError("control_too_long", f"a control frame with {header.length} bytes", offset=1))
    if header.is_control and not header.is_final:
        wrong.append(DecodeError("control_fragmented", "a control frame that is not its last fragment"))
    return wrong


def unmasked(payload: bytes, mask: bytes) -> bytes:
    """The payload with the mask taken off, or put on: it is the same."""
    if not any(mask):
        return payload
    count = len(payload)
    key = (mask * (count // 4 + 1))[:count]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(count, "big")


def payload_of(header: Header, data: bytes, at: int, end: int) -> bytes:
    """What the frame `data[at:end]` carries, without mask."""
    return unmasked(data[at + header.size : end], header.mask)


def frame_bytes(first: int, payload: bytes, mask: bytes | None) -> bytes:
    """A frame with that first byte; `mask` is None for a server's."""
    count = len(payload)
    bit = MASKED if mask is not None else 0
    if count <= SHORT_MAX:
        head = bytes((first, bit | count))
    elif count < 0x1_0000:
        head = bytes((first, bit | 126)) + count.to_bytes(2, "big")
    else:
        head = bytes((first, bit | 127)) + count.to_bytes(8, "big")
    if mask is None:
        return head + payload
    if len(mask) != 4:
        raise EncodeError(f"a mask has 4 bytes, not {len(mask)}")
    return head + mask + unmasked(payload, mask)


# -- HTTP or a frame -------------------------------------------------------------------------------------------------


def is_http(side: Side, data: bytes, at: int, end: int) -> bool | None:
    """Whether an HTTP head begins at `data[at]` and no frame does; None while too few bytes are there to tell."""
    if end - at < 2:
        return None
    if side == "client":
        return b"A" <= data[at : at + 1] <= b"Z" and data[at + 1] < MASKED
    return data[at : at + 2] == b"HT"
