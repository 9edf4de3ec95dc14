"""Offramp conversations made for tests: messages of every kind, sessions, and a connection to say them on."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from wiretool.codec.frames.splitter import Piece, Splitter
from wiretool.codec.json_types import (
    JsonBool,
    JsonInt,
    JsonList,
    JsonName,
    JsonSet,
    JsonText,
    JsonType,
    JsonValue,
)
from wiretool.codec.message import Message, Side, fields_of
from wiretool.protocols.base.conversation import Reading
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.connection import Connection
from wiretool.protocols.offramp.deflate import TAIL
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.handshake import request, response
from wiretool.protocols.offramp.messages import (
    EVENTS,
    CancelEvent,
    Close,
    CommitEvent,
    CommitResponseEvent,
    ConnectionEvent,
    MessageEvent,
    PartitionOffsets,
    Ping,
    Pong,
    RebalanceEvent,
    RequestEvent,
)

TARGET = "/offramp/v2/roads/bookings/streams/s/messages?defaultOffset=EARLIEST"
UPGRADE = (
    ("Host", "localhost"),
    ("Upgrade", "websocket"),
    ("Connection", "Upgrade"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
)
MASK = b"\x37\xfa\x21\x3d"
#: Bytes of a client that are neither HTTP nor a frame.
NO_FRAME = b"~" * 10
TEXT, BINARY, FIN, RSV1 = 1, 2, 0x80, 0x40

# -- strategies ------------------------------------------------------------------------------------------------------

numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | st.text(max_size=8)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def values(wire: JsonType) -> st.SearchStrategy[Any]:
    """What a member of this type may hold."""
    if isinstance(wire, JsonInt):
        made: st.SearchStrategy[Any] = st.integers(wire.low, wire.high)
    elif isinstance(wire, JsonName):
        made = st.just(wire.text)
    elif isinstance(wire, JsonText):
        made = st.text(st.characters(), max_size=12)
    elif isinstance(wire, JsonBool):
        made = st.booleans()
    elif isinstance(wire, JsonSet):
        made = st.sets(values(wire.element), max_size=5).map(lambda given: tuple(sorted(given)))
    elif isinstance(wire, JsonList):
        made = st.lists(values(wire.element), max_size=3).map(tuple)
    elif isinstance(wire, PartitionOffsets):
        made = st.dictionaries(st.integers(0, 2**31 - 1).map(str), st.integers(-(2**63), 2**63 - 1), max_size=4)
    else:
        assert isinstance(wire, JsonValue)
        made = json_values
    return made | st.none() if wire.nullable else made


def event_of(cls: type[Message]) -> st.SearchStrategy[Message]:
    """Every event of a class."""
    members = {}
    for field in fields_of(cls):
        assert isinstance(field.wire, JsonType)
        members[field.name] = values(field.wire)
    return st.fixed_dictionaries(members).map(lambda fields: cls(**fields))


every_event = st.sampled_from(EVENTS).flatmap(event_of)


def side_of(message: Message) -> Side:
    """Who sends it; the client, where both may."""
    return "server" if message.declaration.sender == "server" else "client"


# -- bytes -----------------------------------------------------------------------------------------------------------


def frame(side: Side, first: int, payload: bytes, mask: bytes = MASK) -> bytes:
    """One frame of that side."""
    return framing.frame_bytes(first, payload, mask if side == "client" else None)


def asking(extensions: str = "") -> bytes:
    """A handshake."""
    return encode(request(TARGET, (*UPGRADE, *offer(extensions))), "client")


def upgrading(extensions: str = "") -> bytes:
    """The answer to it."""
    return encode(response(101, (("Upgrade", "websocket"), ("Connection", "upgrade"), *offer(extensions))), "server")


def offer(extensions: str) -> tuple[tuple[str, str], ...]:
    return (("Sec-WebSocket-Extensions", extensions),) if extensions else ()


class Deflater:
    """Compresses the messages of one side."""

    def __init__(self, *, resets: bool = False) -> None:
        self.resets = resets
        self._made = zlib.compressobj(6, zlib.DEFLATED, -15)

    def __call__(self, message: bytes) -> bytes:
        if self.resets:
            self._made = zlib.compressobj(6, zlib.DEFLATED, -15)
        return (self._made.compress(message) + self._made.flush(zlib.Z_SYNC_FLUSH)).removesuffix(TAIL)


def road_message(offset: int) -> MessageEvent:
    """One of many similar messages."""
    payload = {"hotel": f"Bären {offset % 7}", "price": offset / 8, "note": "àéî" * (offset % 5)}
    return MessageEvent(partition=offset % 3, offset=offset, schema=1, timestampMs=1_600_000 + offset, payload=payload)


def session(messages: int = 6) -> list[tuple[Side, bytes]]:
    """A session in which everything occurs that a good one has, a frame or head each."""
    said: list[tuple[Side, bytes]] = [("client", asking()), ("server", upgrading())]
    said.append(("server", encode(ConnectionEvent(agentName="offramp-0"), "server")))
    said.append(("client", encode(RequestEvent(count=messages), "client", mask=MASK)))
    said.append(("server", encode(RebalanceEvent(assignment=(0, 1)), "server")))
    said += [("server", encode(road_message(offset), "server")) for offset in range(messages)]
    said += [
        ("client", frame("client", TEXT, b'{"type":"COM')),
        ("client", encode(Ping(payload=b"between"), "client", mask=MASK)),
        ("client", frame("client", 0, b'MIT","correlationId":"\xc3')),
        ("client", frame("client", FIN, b'\xa9","offsets":{"0":6}}')),
        ("server", encode(Pong(payload=b"between"), "server")),
        ("client", frame("client", FIN | TEXT, b"")),
        ("server", encode(CommitResponseEvent(correlationId="é", success=True), "server")),
        ("client", encode(CommitEvent(offsets={}), "client", mask=MASK)),
        ("server", encode(CommitResponseEvent(success=False), "server")),
        ("client", encode(CancelEvent(), "client", mask=MASK)),
        ("client", encode(Close(code=1000, reason="ade"), "client", mask=MASK)),
        ("server", encode(Close(code=1000, reason="ade"), "server")),
    ]
    return said


# -- a connection ----------------------------------------------------------------------------------------------------


class Talk:
    """A connection that numbers its frames."""

    def __init__(self, *, from_start: bool = True, extensions: str | None = None) -> None:
        self.connection = Connection(from_start=from_start)
        self.n = 0
        if extensions is not None:
            self.say("client", asking(extensions))
            self.say("server", upgrading(extensions))

    def say(self, side: Side, data: bytes) -> Reading:
        """What one whole frame says."""
        self.n += 1
        assert self.connection.extent(side, data, 0, len(data)) == len(data)
        return self.connection.read(side, data, 0, len(data), self.n)

    def text(self, side: Side, text: str | bytes) -> Reading:
        """What a message with that text says."""
        data = text if isinstance(text, bytes) else text.encode()
        return self.say(side, frame(side, FIN | (TEXT if side == "client" else BINARY), data))

    def event(self, side: Side, event: Message) -> Reading:
        return self.say(side, encode(event, side))


def opened(extensions: str = "") -> Talk:
    """A connection on which events may flow."""
    talk = Talk(extensions=extensions)
    talk.event("server", ConnectionEvent(agentName="offramp-0"))
    return talk


def kinds(reading: Reading) -> list[str]:
    """The names of its defects."""
    return [defect.kind for defect in reading.defects]


class Watched:
    """A connection cut into frames as the dissector does it: what is told of either side."""

    def __init__(self, *, from_start: bool = True) -> None:
        self.connection = Connection(from_start=from_start)
        sides: Sequence[Side] = ("client", "server")
        self.splitters = {side: Splitter(self.connection, side, from_start=from_start) for side in sides}
        self.pieces: list[tuple[Side, Piece]] = []
        self.readings: list[tuple[Side, Piece, Reading]] = []

    def feed(self, side: Side, data: bytes) -> None:
        self._take(side, self.splitters[side].feed(data))

    def gap(self, side: Side, length: int) -> None:
        self._take(side, self.splitters[side].gap(length))

    def end(self) -> None:
        for side, splitter in self.splitters.items():
            self._take(side, splitter.end())
            self.connection.end(side)

    def _take(self, side: Side, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            self.pieces.append((side, piece))
            if piece.kind == "gap":
                self.connection.hole(side)
            if piece.kind == "lost":
                self.connection.lost(side)
            if piece.kind == "frame":
                n = len(self.readings) + 1
                reading = self.connection.read(side, piece.data, piece.at, piece.end, n)
                self.readings.append((side, piece, reading))

    def told(self, side: Side) -> Iterator[tuple[int, int, Any]]:
        """Place, length and meaning of each frame of a side."""
        for its_side, piece, reading in self.readings:
            if its_side == side:
                fields = reading.fields if isinstance(reading.fields, Message) else dict(_mapping(reading.fields))
                yield piece.offset, piece.length, (reading.message, fields, kinds(reading))


def _mapping(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    return fields
