"""Offramp as a load speaks it, against the mock, and against servers that say what they should not."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.offramp.load.roads import RoadWire
from tests.protocols.offramp.server.network import Network
from wiretool.codec.message import Message
from wiretool.load.link import Failed
from wiretool.protocols.offramp import events, framing
from wiretool.protocols.offramp.encoding import encode
from wiretool.protocols.offramp.handshake import stream_path
from wiretool.protocols.offramp.load.client import Answer, Arrival, Assignment, Frames, Stream, target_of
from wiretool.protocols.offramp.messages import (
    Close,
    CommitResponseEvent,
    ConnectionEvent,
    ErrorEvent,
    HandshakeResponse,
    MessageEvent,
    Ping,
    RebalanceEvent,
)
from wiretool.protocols.offramp.server import OfframpMock

MESSAGE = MessageEvent(partition=3, offset=7, schema=1, timestampMs=1_700_000_000_123, payload={"a": [1, {"b": "c"}]})


def stream(wire: RoadWire | None = None, road: str = "one") -> tuple[RoadWire, Stream]:
    wire = wire or RoadWire()
    return wire, Stream(wire, road, "s", random=Random(1))


def said(*messages: Message) -> bytes:
    return b"".join(encode(message, "server") for message in messages)


def test_messages_come_as_they_are_asked_for_and_are_committed() -> None:
    wire, consumer = stream()
    wire.network.publish("one", "a", "b", "c", partition=2)
    wire.send(consumer.request(2))
    assignment, *arrivals = consumer.feed(wire.receive())
    assert assignment == Assignment(partitions=tuple(range(6)))
    assert [(each.partition, each.offset) for each in arrivals if isinstance(each, Arrival)] == [(2, 0), (2, 1)]
    wire.send(consumer.commit("mine", {2: 2}))
    assert consumer.feed(wire.receive()) == [Answer(name="mine", is_success=True)]
    (road,) = wire.network.operate("roads")["roads"]
    assert road["streams"] == [{"stream": "s", "consumers": 1, "committed": {2: 2}}]


def test_frames_are_masked_each_with_another_mask() -> None:
    _, consumer = stream()
    masks = {consumer.request(1)[2:6] for _ in range(5)}
    assert len(masks) == 5


def test_a_ping_is_answered() -> None:
    wire, consumer = stream()
    del wire.sent[:]
    assert consumer.feed(said(Ping(payload=b"there?"))) == []
    (pong,) = wire.sent
    header = framing.read_header(pong, 0, len(pong))
    assert header is not None
    assert (header.opcode, framing.payload_of(header, pong, 0, len(pong))) == (10, b"there?")


@given(st.data())
def test_what_is_heard_may_be_cut_anywhere_and_is_what_the_reference_reads(data: st.DataObject) -> None:
    texts = [events.encode(MESSAGE), events.encode(RebalanceEvent(assignment=(1, 2)))]
    texts += [events.encode(CommitResponseEvent(correlationId=None, success=False)), b"x" * 125, b"x" * 126, b"x" * 300]
    middle = data.draw(st.integers(1, len(texts[0]) - 1))
    frames = [framing.frame_bytes(0x82, text, None) for text in texts]
    parts = [framing.frame_bytes(0x02, texts[0][:middle], None), framing.frame_bytes(0x80, texts[0][middle:], None)]
    whole = b"".join([*frames, parts[0], said(Ping(payload=b"")), parts[1], *frames])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    heard, pings, start = list[bytes](), list[bytes](), 0
    reader = Frames(pings.append)
    for stop in [*cuts, len(whole)]:
        heard += reader.feed(whole[start:stop])
        start = stop
    assert heard == [*texts, texts[0], *texts]
    assert pings == [b""]


@pytest.mark.parametrize("timestamp", [None, -1, 1_700_000_000_123])
def test_of_a_message_place_time_and_size_are_read(timestamp: int | None) -> None:
    _, consumer = stream()
    message = MessageEvent(partition=3, offset=2**62, schema=1, timestampMs=timestamp, payload="\u20ac")
    size = len(events.encode(message))
    assert consumer.feed(said(message)) == [Arrival(3, 2**62, timestamp, size)]
    # What other servers may write: members in any order.
    odd = b'{"offset":8,"type":"MESSAGE","partition":3,"schema":1,"payload":null}'
    assert consumer.feed(framing.frame_bytes(0x82, odd, None)) == [Arrival(3, 8, None, len(odd))]


@pytest.mark.parametrize(
    ("heard", "why"),
    [
        (said(Close(code=1011, reason="\x1b[2J")), r"the server closed the stream with 1011 \\x1b\[2J"),
        (said(Close()), "the server closed the stream without a code"),
        (said(ErrorEvent(reason="no")), "a consumer was answered with ERROR"),
        (framing.frame_bytes(0x82, b'{"type":"NEWS"}', None), "the reply is not Offramp: .*NEWS"),
        (framing.frame_bytes(0x82, b"news", None), "the reply is not Offramp: "),
        (framing.frame_bytes(0x82, b'{"type":"MESSAGE","partition":3}', None), r"not Offramp: .*MESSAGE.offset"),
        (framing.frame_bytes(0x82, b"{}", b"mask"), "the reply is not Offramp: .*a server must not mask"),
        (b"\xc2\x02{}", "the reply is not Offramp: .*reserved bits"),
        (b"\x82\x7f" + bytes([0x7F]) * 8, "the reply is not Offramp: .*a frame of 9"),
        (framing.frame_bytes(0x80, b"{}", None), "the reply is not Offramp: .*it continues no message"),
    ],
)
def test_what_a_server_should_not_say_is_told(heard: bytes, why: str) -> None:
    _, consumer = stream()
    with pytest.raises(Failed, match=why):
        consumer.feed(heard)


def test_a_road_that_is_not_there() -> None:
    wire = RoadWire(Network(OfframpMock(roads=["other"])))
    with pytest.raises(Failed, match=r"the handshake for /offramp/v2/roads/one/.* was answered with 404") as caught:
        stream(wire)
    assert caught.value.kind.startswith("handshake refused: 404")
    with pytest.raises(Failed, match="the server closed the stream with 1000"):
        stream(RoadWire(Network(OfframpMock(roads=["other"], like_real=True))))


class Saying(RoadWire):
    """Says what it is told to, whatever is asked."""

    def __init__(self, *heard: bytes) -> None:
        super().__init__()
        self.heard = [*heard]

    def send(self, data: bytes | bytearray) -> None:
        """Nobody listens."""

    def receive(self) -> bytes:
        return self.heard.pop(0)


@pytest.mark.parametrize(
    ("heard", "why"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "the reply is not Offramp"),
        (said(HandshakeResponse(status=200, headers=(("Content-Length", "0"),))), "was answered with 200"),
        (said(HandshakeResponse(status=101, headers=(("Upgrade", "websocket"),))), "without its key"),
    ],
)
def test_what_is_no_upgrade(heard: bytes, why: str) -> None:
    with pytest.raises(Failed, match=why):
        stream(Saying(heard[:5], heard[5:]))


def test_names_are_in_the_path_as_they_are_read() -> None:
    target = target_of("a road/\u20ac", "s?t&r")
    assert target == "/offramp/v2/roads/a%20road%2F%E2%82%AC/streams/s%3Ft%26r/messages?defaultOffset=EARLIEST"
    path = stream_path(target)
    assert path is not None
    assert path.default_offset == "EARLIEST"


def test_an_event_before_the_first_one_is_told() -> None:
    class Early(RoadWire):
        """Sends a MESSAGE instead of CONNECTION."""

        def receive(self) -> bytes:
            heard = super().receive()
            connection = said(ConnectionEvent(agentName="unknown"))
            assert heard.endswith(connection)
            return heard.removesuffix(connection) + said(MESSAGE)

    with pytest.raises(Failed, match="a handshake was answered with MESSAGE"):
        stream(Early())
