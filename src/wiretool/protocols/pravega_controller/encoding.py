"""Messages to the frames that carry them."""

from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, EncodeError
from wiretool.protocols.pravega_controller import frames
from wiretool.protocols.pravega_controller.calls import PREFIX_BYTES, write_body
from wiretool.protocols.pravega_controller.headers import Pair, write_headers
from wiretool.protocols.pravega_controller.messages import (
    ERROR_CODE,
    FRAMES,
    Continuation,
    Data,
    GoAway,
    Headers,
    Ping,
    Preface,
    Priority,
    PushPromise,
    RstStream,
    Settings,
    Unknown,
    WindowUpdate,
    setting_number,
)

#: A field that no message of the interface has, of those whose tag is one byte; and its type (protobuf, wire type LEN).
FILLER_FIELD = 15
_LENGTH_DELIMITED = 2
#: The stream of a message by itself: the first that a client opens.
FIRST_STREAM = 1


def encode(message: Message, side: Side) -> bytes:
    """The frame that carries `message`; EncodeError where that side sends none.

    Headers mean the same on any connection, whatever was said there. The message of a call becomes a DATA frame on
    stream 1, which ends it for the client; only the Headers before it say which method it is of.
    """
    if message.declaration.sender not in (side, "both"):
        raise EncodeError(f"a {side} sends no {message.declaration.name}")
    if isinstance(message, FRAMES):
        return _frame(message)
    return data_frame(message, FIRST_STREAM, end_stream=side == "client")


def data_frame(message: Message, stream_id: int, *, end_stream: bool) -> bytes:
    """The DATA frame with the message of a call on that stream."""
    return data_frame_with(write_body(message), stream_id, end_stream=end_stream)


def data_frame_with(body: bytes, stream_id: int, *, end_stream: bool) -> bytes:
    """Return the DATA frame with those bytes on that stream."""
    return _checked(frames.DATA, frames.END_STREAM if end_stream else 0, stream_id, body)


def with_message(raw: bytes, message: Message) -> bytes:
    """A DATA frame that carried the message of a call, with another one in its place: same stream, same end.

    Where it would be shorter it carries a field that nobody knows: whoever sent the first has counted all of it
    against the window of the connection (RFC 9113 §6.9.1), and would come to the end of that after enough of them.
    Padding of HTTP/2 would be the plain way, but clients of gRPC refuse it.
    """
    header = frames.read_header(raw, 0)
    if header.type != frames.DATA:
        raise EncodeError(f"a frame of type {header.type} carries no message", path=message.declaration.name)
    body = write_body(message)
    body += _filler(len(raw) - frames.HEADER_BYTES - len(body))
    said = len(body) - PREFIX_BYTES
    body = body[:1] + said.to_bytes(4, "big") + body[PREFIX_BYTES:]
    return _checked(frames.DATA, header.flags & frames.END_STREAM, header.stream_id, body)


def _filler(size: int) -> bytes:
    """An unknown field of so many bytes: its tag, its length and zeros. None of less than two: there is no such."""
    if size < 2:
        return b""
    length_bytes = 1 if size < 2 + 0x80 else 2 if size < 3 + 0x4000 else 3
    length = size - 1 - length_bytes
    groups = [length >> 7 * at & 0x7F for at in range(length_bytes)]
    told = bytes(group | (0x80 if at < length_bytes - 1 else 0) for at, group in enumerate(groups))
    return bytes((FILLER_FIELD << 3 | _LENGTH_DELIMITED,)) + told + bytes(length)


def _frame(message: Message) -> bytes:
    if isinstance(message, Preface):
        return frames.PREFACE
    if isinstance(message, Unknown):
        return _bytes(message.type, message.flags, message.stream_id, message.data)
    if isinstance(message, Data):
        flags = frames.END_STREAM if message.end_stream else 0
        return _checked(frames.DATA, flags, message.stream_id, message.data)
    if isinstance(message, Headers):
        flags = frames.END_STREAM if message.end_stream else 0
        return _with_block(frames.HEADERS, flags, message)
    if isinstance(message, PushPromise | Continuation):
        return _with_block(message.declaration.type_id, 0, message)
    return _control(message)


def _control(message: Message) -> bytes:
    kind = message.declaration.type_id
    if isinstance(message, Priority):
        depends_on = message.depends_on | (2**31 if message.exclusive else 0)
        return _checked(
            kind, 0, message.stream_id, _number(depends_on, 4, message) + _number(message.weight, 1, message)
        )
    if isinstance(message, RstStream):
        return _checked(kind, 0, message.stream_id, _error(message.error_code, message))
    if isinstance(message, Settings):
        pairs = ((setting_number(key, "Settings.settings"), value) for key, value in message.settings.items())
        body = b"".join(_number(number, 2, message) + _number(value, 4, message) for number, value in pairs)
        return _checked(kind, frames.ACK if message.ack else 0, 0, body)
    if isinstance(message, Ping):
        return _checked(kind, frames.ACK if message.ack else 0, 0, message.opaque_data)
    if isinstance(message, GoAway):
        body = _number(message.last_stream_id, 4, message) + _error(message.error_code, message) + message.debug_data
        return _checked(kind, 0, 0, body)
    assert isinstance(message, WindowUpdate)
    return _checked(kind, 0, message.stream_id, _number(message.window_increment, 4, message))


def _with_block(kind: int, flags: int, message: Headers | PushPromise | Continuation) -> bytes:
    """Return a frame with header fields.

    Where they go on in CONTINUATION frames, the last of these carries all of them (RFC 9113 §4.3): the record of that
    frame has them, the records before it have none.
    """
    promised = _number(message.promised_stream_id, 4, message) if isinstance(message, PushPromise) else b""
    if not message.end_headers and not message.headers:
        return _checked(kind, flags, message.stream_id, promised)
    if not message.end_headers or message.headers is None:
        raise EncodeError("its header block goes on in another frame", path=f"{message.declaration.name}.headers")
    headers: tuple[Pair, ...] = message.headers
    return _checked(kind, flags | frames.END_HEADERS, message.stream_id, promised + write_headers(headers))


def _error(code: str | int, message: Message) -> bytes:
    return _number(ERROR_CODE.number_of(code), 4, message)


def _number(value: int, size: int, message: Message) -> bytes:
    try:
        return value.to_bytes(size, "big")
    except OverflowError as err:
        raise EncodeError(f"{value} does not fit {size} bytes", path=message.declaration.name) from err


def _checked(kind: int, flags: int, stream_id: int, body: bytes) -> bytes:
    """The frame; EncodeError where a reader would find something wrong with it."""
    raw = _bytes(kind, flags, stream_id, body)
    try:
        frames.read_frame(raw, 0, len(raw))
    except DecodeError as err:
        raise EncodeError(err.why, path=err.path) from err
    return raw


def _bytes(kind: int, flags: int, stream_id: int, body: bytes) -> bytes:
    try:
        head = len(body).to_bytes(3, "big") + bytes((kind, flags)) + stream_id.to_bytes(4, "big")
    except (OverflowError, ValueError) as err:
        raise EncodeError(f"type {kind}, flags {flags}, stream {stream_id}, {len(body)} bytes: {err}") from err
    return head + body
