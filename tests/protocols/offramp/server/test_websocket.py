"""What a client may do to its frames, and with which code it is shown the door."""

import zlib

import pytest
from wsproto import events as ws

from tests.protocols.offramp.server.network import Network, deflate, kinds, opened
from wiretool import limits
from wiretool.protocols.offramp.framing import frame_bytes
from wiretool.protocols.offramp.server import OfframpMock

MASK = b"\x37\xfa\x21\x3d"
FIN, RSV1, TEXT, BINARY = 0x80, 0x40, 1, 2
REQUEST = b'{"type":"REQUEST","count":0}'
LONGEST = limits.OFFRAMP_CLIENT_MESSAGE_BYTES_MAX


def frame(first: int, payload: bytes = b"") -> bytes:
    return frame_bytes(first, payload, MASK)


def bomb() -> bytes:
    squeezer = zlib.compressobj(wbits=-15)
    return (squeezer.compress(b" " * 1_000_000) + squeezer.flush(zlib.Z_SYNC_FLUSH))[:-4]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame_bytes(FIN | TEXT, REQUEST, None), 1002),
        (frame(FIN | 3), 1002),
        (frame(FIN | 0x20 | TEXT, REQUEST), 1002),
        (frame(FIN | RSV1 | TEXT, REQUEST), 1002),
        (frame(FIN, REQUEST), 1002),
        (frame(TEXT, b"{") + frame(FIN | TEXT, REQUEST), 1002),
        (frame(9), 1002),
        (frame(FIN | 9, b"x" * 126), 1002),
        (frame(FIN | 8, b"\x03"), 1002),
        (frame(FIN | 8, b"\x03\xe7"), 1002),
        (frame(FIN | 8, b"\x03\xf4"), 1002),
        (frame(FIN | 8, b"\x03\xe8\xff"), 1002),
        (frame(FIN | TEXT, b'{"\xff"}'), 1007),
        (frame(FIN | TEXT, b" " * (LONGEST + 1)), 1009),
        (frame(FIN | BINARY, b" " * (LONGEST + 1)), 1009),
        (b"\x82\xff" + (2**40).to_bytes(8, "big") + MASK, 1009),
        (frame(TEXT, b" ") + frame(0, b" " * 20_000) * 2, 1009),
    ],
)
def test_broken_rules_end_the_connection_at_once(data: bytes, code: int) -> None:
    network = Network(OfframpMock(client_message_bytes_max=LONGEST))
    client = opened(network)
    network.send(0, data + frame(FIN | TEXT, REQUEST))
    (close,) = client.take()
    assert isinstance(close, ws.CloseConnection)
    assert close.code == code
    assert network.closed[0]
    assert network.mock.outbox.counts["client", "REQUEST"] == 0


@pytest.mark.parametrize(
    "data",
    [
        frame(FIN | TEXT, REQUEST),
        frame(FIN | BINARY, REQUEST),
        frame(TEXT, REQUEST[:5]) + frame(FIN | 9, b"?") + frame(0) + frame(FIN, REQUEST[5:]),
        b"\x81\xff" + len(REQUEST).to_bytes(8, "big") + bytes(4) + REQUEST,
        frame(FIN | TEXT, b'{"type":"REQUEST","count":0,"x":"' + "€".encode() * 8_000 + b'"}'),
        frame(FIN | 10, b"alive") + frame(FIN | TEXT) + frame(FIN | TEXT, REQUEST),
    ],
)
def test_what_is_taken(data: bytes) -> None:
    network = Network(OfframpMock())
    opened(network)
    network.send(0, data)
    assert not network.closed
    assert network.mock.outbox.counts["client", "REQUEST"] == 1


@pytest.mark.parametrize(("payload", "code"), [(b"\xff\xff", 1007), (bomb(), 1009)])
def test_what_does_not_inflate_or_grows_too_large(payload: bytes, code: int) -> None:
    network = Network(OfframpMock(client_message_bytes_max=LONGEST))
    client = opened(network, extensions=deflate())
    network.send(0, frame(FIN | RSV1 | TEXT, payload))
    assert [close.code for close in client.take()] == [code]
    assert network.closed[0]


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, limits.OFFRAMP_MOCK_CLIENT_MESSAGE_BYTES_MAX),
        ({"like_real": True}, LONGEST),
        ({"client_message_bytes_max": 100}, 100),
        ({"like_real": True, "client_message_bytes_max": 20_000}, 20_000),
    ],
)
@pytest.mark.parametrize("is_deflated", [False, True])
def test_how_long_a_message_may_be(options: dict[str, int], most: int, is_deflated: bool) -> None:
    for size in (most, most + 1):
        network = Network(OfframpMock(**options))  # type: ignore[arg-type]
        client = opened(network, extensions=deflate() if is_deflated else ())
        client.send(REQUEST.decode().ljust(size))
        assert network.mock.outbox.counts["client", "REQUEST"] == (size == most)
        assert [event.code for event in client.take()] == ([] if size == most else [1009])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (b"{", "malformed_json"),
        (b"not json", "malformed_json"),
        (b"[]", "not_an_object"),
        (b'{"type":"NOPE"}', "unknown_type"),
        (b'{"type":"REBALANCE","assignment":[]}', "wrong_direction"),
        (b'{"type":"REQUEST","count":"1"}', "bad_field_type"),
    ],
)
def test_what_is_no_event_is_1011_and_waits_for_the_answer(wrong: bytes, why: str) -> None:
    network = Network(OfframpMock())
    client = opened(network)
    network.send(0, frame(FIN | TEXT, wrong) + frame(FIN | 9) + frame(FIN | TEXT, REQUEST))
    assert client.take() == [ws.CloseConnection(code=1011, reason="")]
    assert not network.closed
    client.close(1011)
    assert network.closed[0].startswith(f"{why}: ")
    assert client.take() == []


def test_a_client_that_never_answers_is_reset_for_what_was_wrong() -> None:
    network = Network(OfframpMock())
    opened(network)
    network.send(0, frame(FIN | BINARY, b"\xff"))
    network.wait(limits.OFFRAMP_SILENCE_S + 1)
    assert network.closed[0].startswith("malformed_utf8: ")
    assert network.aborted == {0}


def test_the_answer_may_come_with_what_was_wrong() -> None:
    network = Network(OfframpMock())
    opened(network)
    network.send(0, frame(FIN | TEXT, b"{") + frame(FIN | 8, b"\x03\xe8"))
    assert network.closed[0].startswith("malformed_json: ")


def test_more_wrong_frames_instead_of_the_answer() -> None:
    network = Network(OfframpMock())
    client = opened(network)
    network.send(0, frame(FIN | TEXT, b"{") + frame(FIN | 3))
    assert client.take() == [ws.CloseConnection(code=1011, reason="")]
    assert network.closed[0].startswith("malformed_json: ")


def test_a_failed_consumer_leaves_its_stream_at_once() -> None:
    network = Network(OfframpMock(partitions=2))
    first, second = opened(network), opened(network)
    for client in (first, second):
        client.request(1)
    first.take()
    second.send("{")
    assert first.take() == [{"type": "REBALANCE", "assignment": [0, 1]}]


@pytest.mark.parametrize(
    ("payload", "echo"),
    [(b"", b"\x03\xe8"), (b"\x03\xe9", b"\x03\xe9"), (b"\x0f\xa0why", b"\x0f\xa0why")],
)
def test_a_close_is_answered(payload: bytes, echo: bytes) -> None:
    network = Network(OfframpMock())
    opened(network)
    before = len(network.got[0])
    network.send(0, frame(FIN | 8, payload) + frame(FIN | TEXT, REQUEST))
    assert network.got[0][before:] == frame_bytes(FIN | 8, echo, None)
    assert network.closed == {0: ""}


def test_tcp_that_ends_without_a_close() -> None:
    network = Network(OfframpMock())
    client = opened(network)
    network.end(0)
    assert kinds(client.take()) == ["CloseConnection"]
    assert network.closed == {0: "the client has ended TCP without a Close"}
