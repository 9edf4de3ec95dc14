"""One connection to the controller: h2 as the client, every byte in memory."""

from collections.abc import Iterable

import h2.events
import pytest
from google.protobuf.message import Message
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.settings import SettingCodes, Settings
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.pravega_controller.server.world import NOW, World
from wiretool import limits
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.grpc_messages import framed
from wiretool.protocols.pravega_controller.server.link import ControllerLink
from wiretool.protocols.pravega_controller.server.service import PATH
from wiretool.server.mock import Close, Outbox, Send


class Client:
    """An HTTP/2 client that collects what each stream was told."""

    def __init__(self, *, window: int = 65_535) -> None:
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.local_settings = Settings(client=True, initial_values={SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.h2.initiate_connection()
        self.headers: dict[int, dict[str, str]] = {}
        self.data: dict[int, bytes] = {}
        self.ended: list[int] = []
        self.resets: dict[int, int] = {}
        self.pings: list[bytes] = []
        self.goodbyes: list[int | ErrorCodes] = []
        self.takes_data = True

    def ask(self, method: str, body: bytes, *, ends: bool = True, extra: Iterable[tuple[str, str]] = ()) -> int:
        headers = {":method": "POST", ":scheme": "http", ":path": PATH + method, ":authority": "c"}
        headers |= {"content-type": "application/grpc", "te": "trailers"} | dict(extra)
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, list(headers.items()))
        for at in range(0, len(body), 16_384):
            self.h2.send_data(stream, body[at : at + 16_384])
        if ends:
            self.h2.end_stream(stream)
        return stream

    def call(self, method: str, request: Message) -> int:
        return self.ask(method, framed(request.SerializeToString()))

    def hear(self, data: bytes) -> None:
        for event in self.h2.receive_data(data):
            match event:
                case h2.events.ResponseReceived() | h2.events.TrailersReceived():
                    self.headers.setdefault(event.stream_id, {}).update(event.headers)  # type: ignore[arg-type]
                case h2.events.DataReceived():
                    self.data[event.stream_id] = self.data.get(event.stream_id, b"") + event.data
                    if self.takes_data:
                        self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case h2.events.StreamEnded():
                    self.ended.append(event.stream_id)
                case h2.events.StreamReset():
                    self.resets[event.stream_id] = event.error_code
                case h2.events.PingAckReceived():
                    self.pings.append(event.ping_data)
                case h2.events.ConnectionTerminated():
                    self.goodbyes.append(event.error_code or 0)


class Wire:
    """A link and what it has said, which the client hears if there is one."""

    def __init__(self, client: Client | None) -> None:
        self.world = World()
        self.outbox = Outbox()
        self.link = ControllerLink(1, self.world.service, self.outbox)
        self.client = client or Client()
        self.is_heard = client is not None
        self.closes: list[Close] = []
        self.sent = b""
        self.listen()

    def exchange(self) -> None:
        """Pass bytes both ways until both have said all."""
        while data := self.client.h2.data_to_send():
            self.feed(data)

    def feed(self, data: bytes) -> None:
        self.link.feed(data, NOW)
        self.listen()

    def listen(self) -> None:
        for action in self.outbox.take():
            match action:
                case Send():
                    self.sent += action.data
                    if self.is_heard:
                        self.client.hear(action.data)
                case Close():
                    self.closes.append(action)


@pytest.fixture
def wire() -> Wire:
    return Wire(Client())


SCOPE = pb.ScopeInfo(scope="s")


def test_a_call_is_answered_with_headers_message_and_trailers(wire: Wire) -> None:
    stream = wire.client.call("createScope", SCOPE)
    again = wire.client.call("createScope", SCOPE)
    wire.exchange()
    assert wire.client.ended == [stream, again]
    assert wire.client.headers[stream] == {
        ":status": "200",
        "content-type": "application/grpc",
        "grpc-encoding": "identity",
        "grpc-accept-encoding": "identity",
        "grpc-status": "0",
    }
    assert wire.client.data[stream] == framed(b"")
    assert pb.CreateScopeStatus.FromString(wire.client.data[again][5:]).status == pb.CreateScopeStatus.SCOPE_EXISTS
    assert wire.outbox.counts == {("client", "createScope"): 2, ("server", "createScope"): 2}


def test_a_failure_is_told_in_trailers_alone(wire: Wire) -> None:
    stream = wire.client.call("getCurrentSegments", pb.StreamInfo(scope="ä", stream="s"))
    wire.exchange()
    assert wire.client.headers[stream]["grpc-status"] == "5"
    assert wire.client.headers[stream]["grpc-message"] == "get entry: key: %C3%A4 table: _system/_tables/scopes"
    assert stream not in wire.client.data
    assert wire.outbox.counts["server", "getCurrentSegments NOT_FOUND"] == 1


def test_methods_that_clients_make_up_are_counted_together(wire: Wire) -> None:
    for number in range(300):
        wire.client.ask(f"method{number}", framed(b""))
        wire.exchange()
    wire.client.ask("createScope", b"\0\0\0\0\x09a")
    wire.exchange()
    assert wire.outbox.counts == {
        ("client", "Unknown"): 300,
        ("server", "Unknown UNIMPLEMENTED"): 300,
        ("server", "createScope INTERNAL"): 1,
    }


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({":path": "/other.Service/createScope"}, {"grpc-status": "12"}),
        ({":path": PATH + "nothing"}, {"grpc-status": "12"}),
        ({":method": "GET"}, {":status": "405"}),
        ({"content-type": "text/plain"}, {":status": "415"}),
    ],
)
@pytest.mark.parametrize("ends", [True, False])
def test_what_is_no_call_is_refused(wire: Wire, extra: dict[str, str], expected: dict[str, str], ends: bool) -> None:
    stream = wire.client.ask("createScope", framed(b""), extra=extra.items(), ends=ends)
    wire.exchange()
    if not ends and extra == {":path": PATH + "nothing"}:
        assert stream not in wire.client.headers
        wire.client.h2.end_stream(stream)
        wire.exchange()
    assert expected.items() <= wire.client.headers[stream].items()
    assert not wire.closes
    other = wire.client.call("createScope", SCOPE)
    wire.exchange()
    assert wire.client.headers[other]["grpc-status"] == "0"


def test_a_broken_message_fails_its_call_alone(wire: Wire) -> None:
    bad, good = wire.client.ask("createScope", b"\0\0\0\0\x09a"), wire.client.call("createScope", SCOPE)
    wire.exchange()
    assert wire.client.headers[bad]["grpc-status"] == "13"
    assert wire.client.headers[good]["grpc-status"] == "0"


def test_calls_may_be_under_way_at_once(wire: Wire) -> None:
    body = framed(SCOPE.SerializeToString())
    first = wire.client.ask("createScope", body[:3], ends=False)
    second = wire.client.call("createScope", SCOPE)
    wire.exchange()
    assert wire.client.ended == [second]
    wire.client.h2.send_data(first, body[3:], end_stream=True)
    wire.exchange()
    assert wire.client.ended == [second, first]


def test_a_request_that_is_too_long_is_refused_and_forgotten(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONTROLLER_REQUEST_BYTES_MAX", 100)
    stream = wire.client.ask("createScope", b"x" * 90, ends=False)
    wire.exchange()
    assert stream not in wire.client.headers
    wire.client.h2.send_data(stream, b"x" * 90)
    wire.exchange()
    assert wire.client.headers[stream]["grpc-status"] == "8"
    assert wire.client.resets[stream] == ErrorCodes.NO_ERROR
    good = wire.client.call("createScope", SCOPE)
    wire.exchange()
    assert wire.client.headers[good]["grpc-status"] == "0"


def test_requests_larger_than_the_window_come_through(wire: Wire) -> None:
    config = pb.StreamConfig(tags=pb.Tags(tag=["t" * 1000] * 200))
    body = framed(config.SerializeToString())
    stream = wire.client.ask("createStream", b"", ends=False)
    while body:
        wire.exchange()
        room = min(wire.client.h2.local_flow_control_window(stream), 16_384)
        assert room > 0
        wire.client.h2.send_data(stream, body[:room])
        body = body[room:]
    wire.client.h2.end_stream(stream)
    wire.exchange()
    assert wire.client.headers[stream]["grpc-status"] == "0"


def test_an_answer_waits_for_the_clients_windows() -> None:
    wire = Wire(Client(window=10))
    wire.client.takes_data = False
    wire.world.make_stream(segments=20)
    stream = wire.client.call("getCurrentSegments", pb.StreamInfo(scope="s", stream="t"))
    wire.exchange()
    assert len(wire.client.data[stream]) == 10
    wire.client.h2.increment_flow_control_window(50, stream)
    wire.exchange()
    assert len(wire.client.data[stream]) == 60
    wire.client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 65_000})
    wire.exchange()
    assert wire.client.ended == [stream]
    assert len(pb.SegmentRanges.FromString(wire.client.data[stream][5:]).segmentRanges) == 20


def test_a_call_that_the_client_gives_up_is_dropped() -> None:
    wire = Wire(Client(window=10))
    wire.world.make_stream(segments=20)
    wire.client.takes_data = False
    waiting = wire.client.call("getCurrentSegments", pb.StreamInfo(scope="s", stream="t"))
    unfinished = wire.client.ask("createScope", b"\0", ends=False)
    wire.exchange()
    for stream in (waiting, unfinished):
        wire.client.h2.reset_stream(stream, ErrorCodes.CANCEL)
    wire.client.h2.increment_flow_control_window(10_000)
    good = wire.client.call("createScope", pb.ScopeInfo(scope="new"))
    wire.exchange()
    assert len(wire.client.data[waiting]) == 10
    assert wire.client.headers[good]["grpc-status"] == "0"


def test_a_ping_is_answered(wire: Wire) -> None:
    wire.client.h2.ping(b"12345678")
    wire.exchange()
    assert wire.client.pings == [b"12345678"]


def test_stopping_says_goodbye(wire: Wire) -> None:
    wire.exchange()
    wire.link.stop(NOW)
    wire.listen()
    assert wire.client.goodbyes == [0]
    wire.feed(b"anything")
    assert not wire.closes


def test_the_clients_end_ends_the_connection_quietly(wire: Wire) -> None:
    wire.exchange()
    wire.client.call("createScope", SCOPE)
    wire.client.h2.close_connection()
    wire.is_heard = False
    wire.exchange()
    assert wire.closes == [Close(1, "")]
    other = Wire(Client())
    other.link.end(NOW)
    other.link.end(NOW)
    other.listen()
    assert other.closes == [Close(1, "")]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (
            b"GET / HTTP/1.1\r\n\r\n",
            "bad-preface at byte 0: this is HTTP, expected the preface of HTTP/2",
        ),
        (
            b"\x16\x03\x01\x02\x00\x01\x00",
            "bad-preface at byte 0: this is TLS, expected the preface of HTTP/2",
        ),
        (
            b"quit\n",
            "bad-preface at byte 0: this is not HTTP/2 (71 75 69 74 0a), expected the preface of HTTP/2",
        ),
        (
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff\0\0\0\0\0\0\0\0",
            "frame_size at byte 0 (length): a frame of",
        ),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\x04\x00\0\0\0\0\x01aaaa", "ProtocolError"),
        (
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\x00\x04\0\0\0\0\x00" + b"\0\0\x01\x01\x05\0\0\0\x01\xff",
            "Error",
        ),
    ],
)
def test_what_is_not_http2_closes_the_connection(data: bytes, why: str) -> None:
    wire = Wire(Client())
    wire.feed(data)
    (close,) = wire.closes
    assert why in close.why
    assert not close.is_abort
    assert len(wire.client.goodbyes) == 1
    wire.feed(b"more")
    assert len(wire.closes) == 1


def test_frames_wait_while_too_many_bytes_have_not_left(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(Client())
    wire.exchange()
    monkeypatch.setattr(limits, "MOCK_REPLY_BYTES_MAX", 100)
    streams = [wire.client.call("createScope", pb.ScopeInfo(scope=f"s{number}")) for number in range(5)]
    wire.exchange()
    assert 0 < len(wire.client.ended) < 5
    for _ in range(5):
        wire.link.drained(NOW)
        wire.listen()
    assert wire.client.ended == streams


def conversation() -> bytes:
    """What a client says that does not wait for answers."""
    client = Client()
    client.ask("createScope", framed(SCOPE.SerializeToString()), ends=False)
    client.h2.ping(b"12345678")
    client.h2.end_stream(1)
    for method in ("createScope", "checkScopeExists", "deleteScope", "nothing"):
        client.call(method, SCOPE)
    client.h2.reset_stream(client.ask("createScope", b"\0", ends=False))
    return client.h2.data_to_send()


SAID = conversation()


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, len(SAID)), max_size=40))
def test_the_same_bytes_are_sent_however_they_came(cuts: list[int]) -> None:
    whole, pieces = Wire(None), Wire(None)
    whole.feed(SAID)
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(SAID)], strict=True):
        if begin < end:
            pieces.feed(SAID[begin:end])
    assert pieces.sent == whole.sent
    assert pieces.closes == whole.closes == []


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_any_bytes_are_answered_or_close_the_connection(data: st.DataObject) -> None:
    at = data.draw(st.integers(24, len(SAID)))
    junk = data.draw(st.binary(max_size=40))
    wire = Wire(None)
    wire.feed(SAID[:at] + junk + SAID[at + data.draw(st.integers(0, 40)) :])
    assert len(wire.closes) <= 1
