"""Conversations with a controller, and strategies of what is said in them."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hpack import Encoder
from hypothesis import strategies as st

from wiretool.codec.json_types import JsonBool, JsonInt, JsonList, JsonText
from wiretool.codec.jsonform import fields_from_json
from wiretool.codec.message import Message, Side, fields_of
from wiretool.codec.types import RestBytes, WireType
from wiretool.protocols.base.conversation import Reading
from wiretool.protocols.pravega_controller.calls import CALLS, write_body
from wiretool.protocols.pravega_controller.connection import Connection
from wiretool.protocols.pravega_controller.encoding import encode
from wiretool.protocols.pravega_controller.frames import PREFACE
from wiretool.protocols.pravega_controller.headers import completed, path_of
from wiretool.protocols.pravega_controller.messages import (
    ERRORS,
    FRAMES,
    Data,
    GoAway,
    Headers,
    NamedNumber,
    Ping,
    Preface,
    Priority,
    RstStream,
    Settings,
    Unknown,
    WindowUpdate,
)
from wiretool.protocols.pravega_controller.protobuf_types import Double, MapOf, Structure

DATA, HEADERS, PRIORITY, RST, SETTING, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
Pairs = Sequence[tuple[str, str]]


class Sent(NamedTuple):
    """Bytes of one side."""

    side: Side
    data: bytes


def frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    """A frame, whatever is wrong with it."""
    return len(body).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + body


def body(method: str, side: Side, fields: Mapping[str, Any]) -> bytes:
    """A message of a call, with its prefix."""
    return write_body(fields_from_json(CALLS[method, side].declared, dict(fields)))


class Peer:
    """One side of a connection, with the table of the header fields that it has said."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._encoder = Encoder()

    def block(self, headers: Pairs) -> bytes:
        """A header block."""
        return self._encoder.encode(list(headers))

    def headers(self, stream: int, headers: Pairs, *, end: bool = False) -> Sent:
        """A HEADERS frame."""
        return Sent(self.side, frame(HEADERS, END_HEADERS | end, stream, self.block(headers)))

    def asks(self, stream: int, method: str) -> Sent:
        """The headers of a call."""
        return self.headers(stream, request(path_of(method)))

    def says(self, stream: int, method: str, fields: Mapping[str, Any], *, end: bool = False) -> Sent:
        """The message of a call."""
        return Sent(self.side, frame(DATA, END_STREAM if end else 0, stream, body(method, self.side, fields)))

    def trails(self, stream: int, status: int = 0, text: str = "") -> Sent:
        """The end of an answer."""
        return self.headers(stream, (("grpc-status", str(status)), ("grpc-message", text)), end=True)


def request(path: str) -> Pairs:
    """The fields that open a call."""
    fields = ((":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "127.0.0.1:9090"))
    return (*fields, ("te", "trailers"), ("content-type", "application/grpc"), ("user-agent", "test/1"))


ANSWER: Pairs = ((":status", "200"), ("content-type", "application/grpc"))


def opening() -> Iterator[Sent]:
    """What both sides say first."""
    yield Sent("client", PREFACE)
    yield Sent("client", frame(SETTING, 0, 0, bytes.fromhex("000200000000 000400200000")))
    yield Sent("server", frame(SETTING, 0, 0, bytes.fromhex("000400400000 000500400000")))
    yield Sent("client", frame(SETTING, ACK, 0))
    yield Sent("server", frame(SETTING, ACK, 0))
    yield Sent("server", frame(WINDOW, 0, 0, (4_128_769).to_bytes(4, "big")))


def call(client: Peer, server: Peer, stream: int, method: str, asked: Any, answered: Any) -> Iterator[Sent]:
    """One call that succeeds."""
    yield client.asks(stream, method)
    yield client.says(stream, method, asked, end=True)
    yield server.headers(stream, ANSWER)
    yield server.says(stream, method, answered)
    yield server.trails(stream)


def talk(rng: random.Random, frames: int = 1_000) -> Iterator[Sent]:
    """A client with many calls of three methods, and pings between them."""
    client, server = Peer("client"), Peer("server")
    yield from opening()
    for number in range(frames // 6):
        stream = {"scope": "sc", "stream": f"stream-{rng.randrange(1_000)}"}
        where = {"streamInfo": stream, "segmentId": rng.randrange(2**33)}
        method, asked, answered = rng.choice(
            (
                ("getURI", where, {"endpoint": "127.0.0.1", "port": 12345}),
                ("sealStream", stream, {"status": "STREAM_NOT_FOUND"}),
                (
                    "getCurrentSegments",
                    stream,
                    {"segmentRanges": [{"segmentId": where, "minKey": 0.25, "maxKey": 1.0}]},
                ),
            )
        )
        yield from call(client, server, 2 * number + 1, method, asked, answered)
        ping = rng.randbytes(8)
        yield Sent("server", frame(PING, 0, 0, ping))
        yield Sent("client", frame(PING, ACK, 0, ping))


def read_all(sent: Sequence[Sent], connection: Connection | None = None) -> list[Reading]:
    """What each frame of a connection says; record numbers count from 1."""
    connection = connection or Connection(from_start=True)
    out = []
    for n, (side, data) in enumerate(sent, 1):
        assert connection.extent(side, data, 0, len(data)) == len(data)
        out.append(connection.read(side, data, 0, len(data), n))
    return out


def before(message: Message) -> list[Sent]:
    """What has to be said before the frame of a message tells what it is."""
    if isinstance(message, FRAMES):
        return []
    headers = Headers(stream_id=1, headers=tuple(request(path_of(message.declaration.name))))
    return [Sent("client", encode(headers, "client"))]


# -- strategies --------------------------------------------------------------------------------------------------------

_VALUES: Sequence[tuple[Any, Callable[[Any], st.SearchStrategy[Any]]]] = (
    (NamedNumber, lambda wire: st.integers(0, 20).map(lambda number: wire.check(number, ""))),
    (JsonInt, lambda wire: st.integers(wire.low, wire.high)),
    (JsonText, lambda wire: st.text(st.characters(exclude_categories=["Cs"]), max_size=12)),
    (JsonBool, lambda wire: st.booleans()),
    (
        Double,
        lambda wire: st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["NaN", "Infinity"])),
    ),
    (JsonList, lambda wire: st.lists(_values(wire.element), max_size=3).map(tuple)),
    (MapOf, lambda wire: st.dictionaries(_values(wire.key).map(str), _values(wire.element), max_size=3)),
    (Structure, lambda wire: said(wire.cls)),
    (RestBytes, lambda wire: st.binary(max_size=30)),
)


def _values(wire: WireType) -> st.SearchStrategy[Any]:
    return next(made for kind, made in _VALUES if isinstance(wire, kind))(wire)


def said(cls: type[Message]) -> st.SearchStrategy[Message]:
    """Every message of a call, or structure in one."""
    fields = {
        field.name: st.one_of(st.none(), _values(field.wire))
        if isinstance(field.wire, Structure)
        else _values(field.wire)
        for field in fields_of(cls)
    }
    return st.fixed_dictionaries(fields).map(lambda values: cls(**values))


_streams = st.integers(0, 2**29).map(lambda number: 2 * number + 1)
_errors = st.sampled_from([*ERRORS.values(), 99])
_pairs = st.tuples(
    st.text(st.characters(max_codepoint=255), max_size=9), st.text(st.characters(max_codepoint=255), max_size=9)
)
_SETTINGS = {
    **{name: st.integers(0, 2**32 - 1) for name in ("HEADER_TABLE_SIZE", "MAX_CONCURRENT_STREAMS", "61")},
    "ENABLE_PUSH": st.integers(0, 1),
    "INITIAL_WINDOW_SIZE": st.integers(0, 2**31 - 1),
    "MAX_FRAME_SIZE": st.integers(2**14, 2**24 - 1),
}
_FRAMES: Sequence[st.SearchStrategy[Message]] = (
    st.just(Preface()),
    st.builds(Data, stream_id=_streams, end_stream=st.booleans(), data=st.binary(max_size=40)),
    st.builds(
        Headers, stream_id=_streams, end_stream=st.booleans(), headers=st.lists(_pairs, max_size=4).map(tuple)
    ).map(completed),
    st.builds(
        Priority,
        stream_id=_streams,
        depends_on=st.integers(0, 2**31 - 1),
        weight=st.integers(0, 255),
        exclusive=st.booleans(),
    ),
    st.builds(RstStream, stream_id=_streams, error_code=_errors),
    st.builds(Settings, settings=st.fixed_dictionaries({}, optional=_SETTINGS)),
    st.builds(Ping, ack=st.booleans(), opaque_data=st.binary(min_size=8, max_size=8)),
    st.builds(GoAway, last_stream_id=st.integers(0, 2**31 - 1), error_code=_errors, debug_data=st.binary(max_size=9)),
    st.builds(WindowUpdate, stream_id=st.integers(0, 9), window_increment=st.integers(1, 2**31 - 1)),
    st.builds(
        Unknown,
        type=st.integers(10, 255),
        flags=st.integers(0, 255),
        stream_id=st.integers(0, 9),
        data=st.binary(max_size=9),
    ),
)


def sayings() -> st.SearchStrategy[tuple[Side, Message]]:
    """Who sends a message, and the message: frames as they are, and messages of calls."""
    carried = st.sampled_from(sorted(CALLS)).flatmap(lambda key: st.tuples(st.just(key[1]), said(CALLS[key].declared)))
    bare = st.one_of(_FRAMES).map(lambda message: (_sender(message), message))
    return st.one_of(bare, carried)


def _sender(message: Message) -> Side:
    return "server" if message.declaration.sender == "server" else "client"
