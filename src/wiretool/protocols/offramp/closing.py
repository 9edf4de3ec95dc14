"""Close frames: their body, which codes a peer may send, and with which code a defect ends a connection."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from wsproto.frame_protocol import CloseReason

from wiretool.codec.message import Side
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.offramp.messages import Close

#: Codes that a peer never sends (RFC 6455 §7.4.1), or that the server of the reference answers with 1002.
_CLIENT_CODES = frozenset({1000, 1001, 1002, 1003, *range(1007, 1012)})
_SERVER_CODES = _CLIENT_CODES | {1012, 1013, 1014}
_APPLICATION_CODES = range(3000, 5000)

_CODE_OF: Mapping[str, CloseReason] = {
    "bad_utf8": CloseReason.INVALID_FRAME_PAYLOAD_DATA,
    "bad_deflate": CloseReason.INVALID_FRAME_PAYLOAD_DATA,
    "message_too_big": CloseReason.MESSAGE_TOO_BIG,
    "reserved_opcode": CloseReason.PROTOCOL_ERROR,
    "reserved_bits": CloseReason.PROTOCOL_ERROR,
    "unmasked_client_frame": CloseReason.PROTOCOL_ERROR,
    "masked_server_frame": CloseReason.PROTOCOL_ERROR,
    "control_too_long": CloseReason.PROTOCOL_ERROR,
    "control_fragmented": CloseReason.PROTOCOL_ERROR,
    "bad_frame_header": CloseReason.PROTOCOL_ERROR,
    "message_inside_message": CloseReason.PROTOCOL_ERROR,
    "lone_continuation": CloseReason.PROTOCOL_ERROR,
    "bad_close_body": CloseReason.PROTOCOL_ERROR,
    "bad_close_code": CloseReason.PROTOCOL_ERROR,
    "bad_close_reason": CloseReason.PROTOCOL_ERROR,
}


def close_code(defect: DecodeError | ProtocolViolation) -> int:
    """With which code a server ends a connection for `defect`: 1011 where no rule of WebSocket broke."""
    return int(_CODE_OF.get(defect.kind, CloseReason.INTERNAL_ERROR))


class CloseBody(NamedTuple):
    """What a Close says; where something is `wrong` in it, `fields` has its bytes."""

    close: Close
    fields: Mapping[str, Any]
    wrong: DecodeError | None = None


def read_close(side: Side, payload: bytes) -> CloseBody:
    """The Close with this payload."""
    if not payload:
        return CloseBody(Close(), {})
    if len(payload) == 1:
        return _wrong("bad_close_body", "half a code", None, payload)
    code = int.from_bytes(payload[:2], "big")
    if code not in _APPLICATION_CODES and code not in (_CLIENT_CODES if side == "client" else _SERVER_CODES):
        return _wrong("bad_close_code", f"{code} is not a code that a {side} may send", code, payload)
    try:
        return CloseBody(Close(code=code, reason=payload[2:].decode("utf-8")), {})
    except UnicodeDecodeError as err:
        return _wrong("bad_close_reason", f"{err.reason} in the reason", code, payload)


def _wrong(kind: str, why: str, code: int | None, payload: bytes) -> CloseBody:
    return CloseBody(Close(), {"code": code, "data": payload.hex()}, DecodeError(kind, why))
