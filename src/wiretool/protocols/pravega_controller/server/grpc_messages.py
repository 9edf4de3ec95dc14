"""What gRPC puts around a message, and between the headers of HTTP/2: for unary calls without compression."""

from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code

#: Flag (0: not compressed) and length, before every message.
_PREFIX_BYTES = 5
Headers = list[tuple[str, str]]

RESPONSE_HEADERS: Headers = [
    (":status", "200"),
    ("content-type", "application/grpc"),
    ("grpc-encoding", "identity"),
    ("grpc-accept-encoding", "identity"),
]
OK_TRAILERS: Headers = [("grpc-status", str(int(Code.OK)))]
#: Characters that stand for themselves in `grpc-message`: all that are printable in ASCII, but the percent sign.
_PLAIN = frozenset(range(0x20, 0x7F)) - {ord("%")}


def framed(message: bytes) -> bytes:
    """A message as it lies in DATA."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def message_in(body: bytes) -> bytes:
    """The one message of a request. CallFailed: there is not just one, or it is compressed."""
    length = int.from_bytes(body[1:_PREFIX_BYTES], "big")
    if len(body) < _PREFIX_BYTES or len(body) != _PREFIX_BYTES + length:
        raise CallFailed(Code.INTERNAL, f"{len(body)} bytes of request are not one message")
    if body[0]:
        raise CallFailed(Code.UNIMPLEMENTED, "Compressed messages are not supported")
    return body[_PREFIX_BYTES:]


def failure_headers(failed: CallFailed) -> Headers:
    """The headers, and trailers in one, of a call that has no answer."""
    text = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in failed.text.encode())
    return [
        (":status", "200"),
        ("content-type", "application/grpc"),
        ("grpc-status", str(int(failed.code))),
        ("grpc-message", text),
    ]
