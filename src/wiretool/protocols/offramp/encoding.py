"""Messages to the bytes that carry them: a WebSocket frame, or an HTTP head."""

from wsproto.frame_protocol import Opcode

from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.offramp import events, framing
from wiretool.protocols.offramp.closing import read_close
from wiretool.protocols.offramp.handshake import completed, read_handshake
from wiretool.protocols.offramp.http import header_values, http_extent
from wiretool.protocols.offramp.messages import EVENTS, Close, HandshakeRequest, HandshakeResponse, Ping, Pong

#: A mask that changes nothing. Whoever talks to a real server may give another.
ZERO_MASK = bytes(4)


def encode(message: Message, side: Side, *, mask: bytes = ZERO_MASK, opcode: int | None = None) -> bytes:
    """The frame or head that carries `message`. Events go as TEXT from a client and as BINARY from a server.

    EncodeError where that side sends no such message.
    """
    sender = message.declaration.sender
    if sender not in (side, "both"):
        raise EncodeError(f"a {side} sends no {message.declaration.name}")
    if isinstance(message, HandshakeRequest | HandshakeResponse):
        return _http_bytes(message, side)
    kind, payload = _payload(message, side)
    if opcode is not None and isinstance(message, EVENTS):
        kind = opcode
    return framing.frame_bytes(framing.FIN | kind, payload, mask if side == "client" else None)


def _payload(message: Message, side: Side) -> tuple[int, bytes]:
    if isinstance(message, Ping | Pong):
        return (Opcode.PING if isinstance(message, Ping) else Opcode.PONG), _short(message.payload, message)
    if isinstance(message, Close):
        return Opcode.CLOSE, _short(_close_payload(message, side), message)
    return (Opcode.TEXT if side == "client" else Opcode.BINARY), events.encode(message)


def _short(payload: bytes, message: Message) -> bytes:
    if len(payload) > framing.SHORT_MAX:
        why = f"a control frame takes {framing.SHORT_MAX} bytes, not {len(payload)}"
        raise EncodeError(why, path=message.declaration.name)
    return payload


def _close_payload(message: Close, side: Side) -> bytes:
    if message.code is None:
        if message.reason:
            raise EncodeError("a reason needs a code", path="Close.reason")
        return b""
    try:
        payload = message.code.to_bytes(2, "big") + message.reason.encode("utf-8")
    except (OverflowError, UnicodeEncodeError) as err:
        raise EncodeError(str(err), path="Close") from err
    wrong = read_close(side, payload).wrong
    if wrong is not None:
        raise EncodeError(wrong.why, path="Close.code")
    return payload


def _http_bytes(message: HandshakeRequest | HandshakeResponse, side: Side) -> bytes:
    """The head and body; EncodeError where a reader would make something else of them."""
    if isinstance(message, HandshakeRequest):
        first = f"{message.method} {message.target} {message.version}"
    else:
        first = f"{message.version} {message.status} {message.reason}"
    lines = [first, *(f"{name}: {value}" for name, value in message.headers), "", ""]
    path = message.declaration.name
    try:
        raw = "\r\n".join(lines).encode("latin-1") + _body_bytes(message)
    except UnicodeEncodeError as err:
        raise EncodeError(f"a head is Latin-1: {err}", path=path) from err
    try:
        size = http_extent(side, raw, 0, len(raw), answers_head=False, is_over=True)
        read = read_handshake(side, raw, 0, len(raw)).message if size == len(raw) else None
    except DecodeError as err:
        raise EncodeError(f"makes no HTTP message: {err}", path=path) from err
    if read != completed(message):
        raise EncodeError("does not read back as it is: a body without its length, or characters of HTTP", path=path)
    return raw


def _body_bytes(message: HandshakeRequest | HandshakeResponse) -> bytes:
    """The body, as one chunk where the headers say chunked."""
    if "chunked" not in header_values(message.headers, "Transfer-Encoding"):
        return message.body
    chunk = b"%x\r\n%s\r\n" % (len(message.body), message.body) if message.body else b""
    return chunk + b"0\r\n\r\n"
