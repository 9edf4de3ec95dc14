"""The WebSocket of one client as a server keeps it: frames in, messages out, and the other way round.

Built from the protocol's own frame, message and close rules and not from wsproto: those give every defect its name and
the code with which the server closes, take lengths in a longer form than needed, and refuse the close codes that the
server refuses; wsproto decides all three otherwise.
"""

from wiretool.codec.message import Message
from wiretool.errors import OverLimit
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.closing import read_close
from wiretool.protocols.offramp.handshake import Deflate
from wiretool.protocols.offramp.messages import Close, Ping, Pong
from wiretool.protocols.offramp.messaging import Joiner
from wiretool.protocols.offramp.server.deflate import Deflater

_BINARY, _CLOSE, _PING = 2, 8, 9
#: A deflated event beyond this goes out in fragments of it, as the real server's do; a plain one is always one frame.
_FRAGMENT_BYTES = 8_192


class Receiver:
    """The client's frames. Each DecodeError is the end of the connection, with closing.close_code of it."""

    def __init__(self, deflate: Deflate | None, message_bytes_max: int) -> None:
        self._may_deflate = deflate is not None
        self._joiner = Joiner("client", is_certain=True, client_message_max=message_bytes_max)
        #: Bytes on the wire of a message that may still be small enough: it is measured in UTF-16 units of up to 3
        #: bytes, or by what it inflates to, and what does not get smaller by deflating gets a little larger.
        self._wire_bytes_max = 3 * message_bytes_max + 64 + message_bytes_max // 1_000
        if deflate is not None:
            self._joiner.inflater.resets = deflate.client_resets
        #: Bytes of the unfinished message.
        self._size = 0

    @property
    def held_bytes(self) -> int:
        """Return the bytes kept of the unfinished message."""
        return self._joiner.held_bytes

    def extent(self, data: bytes, at: int, end: int) -> int:
        """Bytes of the frame at `data[at]`, 0 while that is not known; its header is judged before the rest is in."""
        header = framing.read_header(data, at, end)
        if header is None:
            return 0
        return framing.strict_extent("client", header, self._wire_bytes_max, may_deflate=self._may_deflate)

    def take(self, frame: bytes) -> Message | bytes | None:
        """What a whole frame says: a control message, the bytes of the message that it completes, or nothing yet."""
        header = framing.read_header(frame, 0, len(frame))
        assert header is not None
        payload = framing.payload_of(header, frame, 0, len(frame))
        if header.is_control:
            return _control(header.opcode, payload)
        self._size += len(payload)
        if self._size > self._wire_bytes_max:
            raise OverLimit("message_too_big", f"fragments of more than {self._wire_bytes_max} bytes")
        if header.is_final:
            self._size = 0
        joined = self._joiner.join(header, payload)
        if joined.defects:
            raise joined.defects[0]
        return joined.content


def _control(opcode: int, payload: bytes) -> Message:
    if opcode == _PING:
        return Ping(payload=payload)
    if opcode != _CLOSE:
        return Pong(payload=payload)
    close = read_close("client", payload)
    if close.wrong is not None:
        raise close.wrong
    return close.close


def answer_to(close: Close) -> Close:
    """The Close that answers a client's: the same, and 1000 to an empty one."""
    return Close(code=1000) if close.code is None else close


class Sender:
    """The server's events as frames."""

    def __init__(self, deflate: Deflate | None) -> None:
        self._deflater = None if deflate is None else Deflater(resets=deflate.server_resets)

    def event(self, text: bytes) -> bytes:
        """An event, given as its text: one binary frame; deflated, as many as it takes."""
        if self._deflater is None:
            return framing.frame_bytes(framing.FIN | _BINARY, text, None)
        data = self._deflater.deflate(text)
        pieces = [data[at : at + _FRAGMENT_BYTES] for at in range(0, len(data), _FRAGMENT_BYTES)]
        last = len(pieces) - 1
        firsts = [framing.FIN * (n == last) | (framing.RSV1 | _BINARY) * (n == 0) for n in range(len(pieces))]
        return b"".join(framing.frame_bytes(first, piece, None) for first, piece in zip(firsts, pieces, strict=True))
