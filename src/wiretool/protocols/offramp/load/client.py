"""Offramp as a load speaks it: a WebSocket of our own, and messages of which only the place and the time are read."""

import base64
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.errors import DecodeError
from wiretool.load.link import Failed, Link
from wiretool.protocols.offramp import events, framing, http
from wiretool.protocols.offramp.closing import read_close
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.framing import Header
from wiretool.protocols.offramp.handshake import read_handshake, request
from wiretool.protocols.offramp.messages import (
    CommitEvent,
    CommitResponseEvent,
    ConnectionEvent,
    HandshakeResponse,
    MessageEvent,
    Pong,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.protocols.offramp.messaging import Joiner
from wiretool.protocols.offramp.server.upgrade import accept_of
from wiretool.sinks.printable import printable

#: The first byte of a whole message of events, as servers send them.
_WHOLE = framing.FIN | 2
_CLOSE, _PING = 8, 9
#: In the second byte: the length is in the two bytes behind it.
_LONGER = framing.SHORT_MAX + 1
_KEY_BYTES = 16


def _field(name: str, *default: object) -> tuple[Any, ...]:
    """A field of a MESSAGE, as it is declared."""
    return (name, MessageEvent.__annotations__[name], *default)


#: What is read of a MESSAGE: all else in it is passed over, which is twenty times as fast.
_Place = msgspec.defstruct(
    "_Place",
    [_field("partition"), _field("offset"), _field("timestampMs", None)],
    tag_field="type",
    tag=MessageEvent.declaration.name,
)
_place_of: Any = msgspec.json.Decoder(_Place).decode


class Arrival(NamedTuple):
    """A message of the road: where it is, when it came there (milliseconds since 1970), and the bytes of its text."""

    partition: int
    offset: int
    came_ms: int | None
    size: int


class Answer(NamedTuple):
    """What became of the commit of that name."""

    name: str | None
    is_success: bool


class Assignment(NamedTuple):
    """All the partitions that this consumer has now."""

    partitions: tuple[int, ...]


def target_of(road: str, stream: str) -> str:
    """Where a stream of a road is, from its oldest message on where nothing is committed."""
    return f"/offramp/v2/roads/{quote(road, safe='')}/streams/{quote(stream, safe='')}/messages?defaultOffset=EARLIEST"


class Frames:
    """A server's frames, and the messages that they make. `ping` is told what was in a Ping."""

    def __init__(self, ping: Callable[[bytes], None]) -> None:
        self._ping = ping
        self._joiner = Joiner("server", is_certain=True)
        self._parts: list[bytes] = []
        #: Bytes in the parts, and how many it takes to go on: a long frame is joined once, not with every piece.
        self.held = 0
        self._wanted = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are whole by these bytes. DecodeError for what is no frame, Failed for a Close."""
        self._parts.append(data)
        self.held += len(data)
        if self.held < self._wanted:
            return []
        data = b"".join(self._parts) if len(self._parts) > 1 else data
        texts: list[bytes] = []
        at = self._walk(data, texts)
        self._parts = [data[at:]]
        self.held = len(data) - at
        return texts

    @property
    def rest(self) -> bytes:
        """What came last, where it is not whole."""
        return b"".join(self._parts)

    def _walk(self, data: bytes, texts: list[bytes]) -> int:
        """Collect messages; how far it came."""
        at, end, add = 0, len(data), texts.append
        while end - at >= 2:
            if data[at] == _WHOLE and end - at >= 4 and data[at + 1] <= _LONGER and self._joiner.is_between:
                start, length = at + 2, data[at + 1]  # as nearly all are: one frame each, and not a long one
                if length == _LONGER:
                    start, length = at + 4, data[at + 2] << 8 | data[at + 3]
                if start + length <= end:
                    at = start + length
                    add(data[start:at])
                    continue
            header = framing.read_header(data, at, end)
            if header is None:
                break
            size = _extent_of(header)
            self._wanted = size
            if size > end - at:
                return at
            self._take(header, data[at + header.size : at + size], texts)
            at += size
        self._wanted = 0
        return at

    def _take(self, header: Header, payload: bytes, texts: list[bytes]) -> None:
        """Any frame that is whole."""
        if header.is_control:
            self._take_control(header.opcode, payload)
            return
        joined = self._joiner.join(header, payload)
        if joined.defects:
            raise joined.defects[0]
        if joined.content:
            texts.append(joined.content)

    def _take_control(self, opcode: int, payload: bytes) -> None:
        if opcode == _PING:
            self._ping(payload)
        elif opcode == _CLOSE:
            said = read_close("server", payload).close
            why = f"with {said.code} {printable(said.reason)}".rstrip() if said.code is not None else "without a code"
            raise Failed(f"the server closed the stream {why}", kind=f"stream closed {why}")


def _extent_of(header: Header) -> int:
    """Bytes of the frame that begins so; DecodeError where a server sends no such one."""
    return framing.strict_extent("server", header, limits.WEBSOCKET_MESSAGE_BYTES_MAX, may_deflate=False)


def _meaning_of(text: bytes) -> Arrival | Answer | Assignment:
    try:
        place = _place_of(text)
        return Arrival(place.partition, place.offset, place.timestampMs, len(text))
    except msgspec.MsgspecError:
        event = events.decode(text, "server")
    if isinstance(event, CommitResponseEvent):
        return Answer(event.correlationId, event.success)
    if isinstance(event, RebalanceEvent):
        return Assignment(event.assignment)
    raise _refused("a consumer", event)


def _refused(asked: str, said: Message) -> Failed:
    """The server said something else than what was asked for."""
    why = f"{asked} was answered with {said.declaration.name}"
    return Failed(f"{why}: {printable(str(said))}", kind=why)


def _unreadable(err: DecodeError) -> Failed:
    return Failed(f"the reply is not Offramp: {err}", kind=f"not Offramp: {err.kind}")


class Stream:
    """One consumer of a stream, on a connection of its own. Failed wherever the server says what it should not."""

    def __init__(self, link: Link, road: str, stream: str, *, random: Random) -> None:
        self.link = link
        self._random = random
        self._frames = Frames(self._pong)
        #: What came behind the first event with it.
        self._early: list[bytes] = []
        if not isinstance(first := self._first(self._upgrade(target_of(road, stream))), ConnectionEvent):
            raise _refused("a handshake", first)

    # -- what we say -----------------------------------------------------------------------------------------------

    def request(self, count: int) -> bytes:
        """The frame that asks for so many messages more."""
        return self._frame(RequestEvent(count=count))

    def commit(self, name: str, offsets: Mapping[int, int]) -> bytes:
        """The frame that commits the offsets that are wanted next, by partition."""
        said = {str(partition): offset for partition, offset in offsets.items()}
        return self._frame(CommitEvent(correlationId=name, offsets=said))

    def _pong(self, payload: bytes) -> None:
        self.link.send(self._frame(Pong(payload=payload)))

    def _frame(self, message: Message) -> bytes:
        return encode(message, "client", mask=self._random.randbytes(4))

    @property
    def held(self) -> int:
        """Bytes of what came last that are not whole yet."""
        return self._frames.held

    @property
    def rest(self) -> bytes:
        """What came last, where it is not whole."""
        return self._frames.rest

    @staticmethod
    def extent(data: bytes, at: int, end: int) -> int:
        """Bytes of the frame that begins there; DecodeError where no server sends such a one."""
        header = framing.read_header(data, at, end)
        return 0 if header is None else _extent_of(header)

    # -- what we hear ----------------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> list[Arrival | Answer | Assignment]:
        """What the server says in these bytes; a Ping is answered on the way."""
        try:
            texts = self._early + self._frames.feed(data)
            self._early = []
            return [_meaning_of(text) for text in texts]
        except DecodeError as err:
            raise _unreadable(err) from err

    def _first(self, data: bytes) -> Message:
        """The first event, which may have begun with these bytes."""
        try:
            while not (texts := self._frames.feed(data)):
                data = self.link.receive()
            self._early = texts[1:]
            return events.decode(texts[0], "server")
        except DecodeError as err:
            raise _unreadable(err) from err

    def _upgrade(self, target: str) -> bytes:
        """Shake hands; the bytes that have come behind that."""
        key = base64.b64encode(self._random.randbytes(_KEY_BYTES)).decode("ascii")
        headers = (
            ("Host", self.link.name),
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", key),
            ("Sec-WebSocket-Version", "13"),
        )
        self.link.send(encode(request(target, headers), "client"))
        data = b""
        try:
            while not (size := self._size_of(data)) or size > len(data):
                data += self.link.receive()
            reply = read_handshake("server", data, 0, size).message
        except DecodeError as err:
            raise _unreadable(err) from err
        assert isinstance(reply, HandshakeResponse)
        if reply.status != 101:
            said = f"{reply.status} {printable(reply.reason)}".strip()
            raise Failed(f"the handshake for {target} was answered with {said}", kind=f"handshake refused: {said}")
        if http.header_values(reply.headers, "Sec-WebSocket-Accept") != [accept_of(key)]:
            raise Failed("the handshake was answered without its key", kind="handshake without its key")
        return data[size:]

    @staticmethod
    def _size_of(data: bytes) -> int:
        return http.http_extent("server", data, 0, len(data), answers_head=False, is_over=False)
