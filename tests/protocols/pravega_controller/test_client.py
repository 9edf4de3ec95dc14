"""The client's end of HTTP/2 against the mock's: calls go out as far as windows and streams let them."""

import pytest

from wiretool.errors import EncodeError
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega.server.mock import PravegaMock
from wiretool.protocols.pravega_controller.client import Client, Part
from wiretool.protocols.pravega_controller.encoding import encode
from wiretool.protocols.pravega_controller.messages import GoAway, Settings, WindowUpdate
from wiretool.server.mock import Send

SERVICE = "/io.pravega.controller.stream.api.grpc.v1.ControllerService/"
MESSAGE = b"\0\0\0\0\x04\x0a\x02sc"


def headers(method: str) -> list[tuple[str, str]]:
    return [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", SERVICE + method),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]


class Talk:
    """A client and a mock, and what each says to the other until both are silent."""

    def __init__(self) -> None:
        self.client = Client()
        self.mock = PravegaMock()
        self.heard = b"".join(act.data for act in self.mock.opened(1, "controller", 0) if isinstance(act, Send))
        self.said = b""

    def say(self, parts: list[Part]) -> None:
        while parts:
            data = b"".join(part.data for part in parts)
            self.said += data
            answer = b"".join(act.data for act in self.mock.received(1, data, 0) if isinstance(act, Send))
            self.heard += answer
            parts = self.client.receive(answer) if answer else []


def test_a_call_is_answered() -> None:
    talk = Talk()
    talk.say(talk.client.call(1, headers("createScope"), MESSAGE))
    assert talk.mock.outbox.counts["server", "createScope"] == 1
    assert b"PRI * HTTP/2.0" in talk.said


def test_a_message_longer_than_the_window_goes_on_as_that_opens() -> None:
    talk = Talk()
    long = b"s" * 200_000
    body = b"\x0a" + bytes((len(long) & 0x7F | 0x80, len(long) >> 7 & 0x7F | 0x80, len(long) >> 14)) + long
    first = talk.client.call(1, headers("createScope"), b"\0" + len(body).to_bytes(4, "big") + body)
    assert len(b"".join(part.data for part in first)) < 70_000
    talk.say(first)
    assert talk.mock.outbox.counts["client", "createScope"] == 1


def test_more_calls_than_the_server_takes_at_once_wait() -> None:
    client = Client()
    few = encode(Settings(settings={"MAX_CONCURRENT_STREAMS": 1}), "server")
    client.call(1, headers("createScope"), MESSAGE)
    client.receive(few)
    assert client.call(2, headers("createScope"), MESSAGE) == []
    (said,) = [part for part in client.cancel(1) if part.call is None]
    assert said.data
    assert [part.call for part in client.receive(encode(Settings(settings={}), "server"))] == [None, 2]


def test_a_server_that_goes_away_takes_no_more_calls() -> None:
    client = Client()
    client.call(1, headers("createScope"), MESSAGE)
    client.receive(encode(Settings(settings={}), "server"))
    client.receive(encode(GoAway(last_stream_id=1, error_code="NO_ERROR"), "server"))
    with pytest.raises(EncodeError, match="GOAWAY"):
        client.call(2, headers("createScope"), MESSAGE)


def long_message(size: int = 200_000) -> bytes:
    body = b"\x0a" + bytes((size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14)) + b"s" * size
    return b"\0" + len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("last_stream", [1, 2, 2**31 - 1])
@pytest.mark.parametrize("step", [1, 1_000])
def test_a_server_that_goes_away_brings_to_its_end_what_it_serves(last_stream: int, step: int) -> None:
    client = Client()
    client.call(1, headers("createScope"), long_message())
    goodbye = GoAway(last_stream_id=last_stream, error_code="NO_ERROR", debug_data=b"later")
    room = [WindowUpdate(stream_id=stream, window_increment=1_000_000) for stream in (0, 1)]
    heard = b"".join(encode(said, "server") for said in (Settings(settings={}), goodbye, *room))
    pieces = [heard[at : at + step] for at in range(0, len(heard), step)]
    said = [part for piece in pieces for part in client.receive(piece) if part.call == 1]
    assert len(b"".join(part.data for part in said)) > 130_000
    assert client.why_lost(1) == ""
    assert "GOAWAY" in client.why_lost(2)


def test_calls_behind_the_last_stream_are_lost() -> None:
    client = Client()
    client.receive(encode(Settings(settings={}), "server"))
    for call in (1, 2, 3):
        client.call(call, headers("createScope"), MESSAGE)
    assert [client.why_lost(call) for call in (1, 2, 3)] == [""] * 3
    lost = []
    for last_stream in (2**31 - 1, 3, 1, 5):
        client.receive(encode(GoAway(last_stream_id=last_stream, error_code="NO_ERROR"), "server"))
        lost.append([call for call in (1, 2, 3) if client.why_lost(call)])
    assert lost == [[], [3], [2, 3], [2, 3]]


def test_a_server_that_goes_away_with_an_error_answers_nothing() -> None:
    client = Client()
    client.call(1, headers("createScope"), MESSAGE)
    client.receive(encode(Settings(settings={}), "server"))
    client.receive(encode(GoAway(last_stream_id=1, error_code="INTERNAL_ERROR"), "server"))
    assert "GOAWAY" in client.why_lost(1)
    assert client.receive(encode(Settings(settings={}), "server")) == []
    assert client.cancel(1) == []


@pytest.mark.parametrize("bad", [b"\0\0\4\7\0\0\0\0\0\0\0\0\1", b"\0\0\x08\7\0\0\0\0\1\0\0\0\1\0\0\0\0"])
def test_a_goodbye_that_is_none_ends_the_calls(bad: bytes) -> None:
    client = Client()
    client.call(1, headers("createScope"), MESSAGE)
    client.receive(encode(Settings(settings={}), "server") + bad)
    assert "the server violates HTTP/2" in client.why_lost(1)


def test_what_is_no_http_ends_the_calls() -> None:
    client = Client()
    client.call(1, headers("createScope"), MESSAGE)
    assert client.receive(b"\0\0\1\0\0\0\0\0\7x") == []  # on a stream that nobody has opened
    assert "the server violates HTTP/2" in client.why_gone


def test_a_client_that_has_left_makes_no_calls() -> None:
    client = Client()
    (said,) = client.leave()
    assert said.data
    assert client.leave() == []
    with pytest.raises(EncodeError, match="no more calls"):
        client.call(1, headers("createScope"), MESSAGE)


def test_what_it_says_is_what_the_protocol_reads() -> None:
    """Whoever reads along sees the call by its name."""
    talk = PROTOCOLS["pravega-controller"].open(True)
    data = b"".join(part.data for part in Client().call(1, headers("createScope"), MESSAGE))
    names: list[str] = []
    at = 0
    while at < len(data):
        end = at + talk.extent("client", data, at, len(data))
        names.append(talk.read("client", data, at, end, len(names)).message)
        at = end
    assert names == ["Preface", "Settings", "Headers", "createScope"]
