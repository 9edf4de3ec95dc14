"""Conversations of HTTP/2 frames: what each says, and what answers what."""

import h2.config
import h2.connection

from tests.protocols.pravega_controller.readings import OPENING, STREAM, URI, after_opening, field, names, opened
from tests.protocols.pravega_controller.talk import (
    ACK,
    ANSWER,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PRIORITY,
    PUSH,
    RST,
    WINDOW,
    Peer,
    Sent,
    body,
    call,
    frame,
    read_all,
    request,
)
from wiretool.codec.frames.splitter import Splitter
from wiretool.codec.message import Side
from wiretool.protocols.pravega_controller.connection import Connection
from wiretool.protocols.pravega_controller.headers import path_of
from wiretool.protocols.pravega_controller.messages import Data, Headers, Settings, Unknown


def test_a_call_is_named_by_its_method_and_its_answer_tied_to_it() -> None:
    sent = [*OPENING, *call(Peer("client"), Peer("server"), 1, "getURI", {"streamInfo": STREAM}, URI)]
    readings = read_all(sent)
    first = len(OPENING) + 1
    assert names(readings[first - 1 :]) == ["Headers", "getURI", "Headers", "getURI", "Headers"]
    assert readings[first].fields == {"streamInfo": {**STREAM, "accessOperation": "UNSPECIFIED"}, "segmentId": 0}
    assert readings[first + 2].fields == URI
    assert [reading.reply_to for reading in readings[first - 1 :]] == [None, None, None, first + 1, None]
    assert not any(reading.defects for reading in readings)
    assert field(readings[first - 1], "method") == "getURI"
    assert field(readings[-1], "grpc_status") == "OK"


def test_settings_and_pings_are_tied_to_what_they_acknowledge() -> None:
    readings = read_all(
        [*OPENING, Sent("server", frame(PING, 0, 0, b"12345678")), Sent("client", frame(PING, ACK, 0, b"12345678"))]
    )
    ties = [(reading.message, reading.reply_to) for reading in readings if reading.reply_to]
    assert ties == [("Settings", 3), ("Settings", 2), ("Ping", len(OPENING) + 1)]
    assert readings[1].fields == Settings(settings={"ENABLE_PUSH": 0, "INITIAL_WINDOW_SIZE": 2_097_152})


def test_a_call_that_fails_is_answered_by_its_trailers() -> None:
    client, server, sent = opened()
    sent.append(client.says(1, "getURI", {"streamInfo": STREAM}, end=True))
    sent.append(server.headers(1, (*ANSWER, ("grpc-status", "5"), ("grpc-message", "no%20stream")), end=True))
    reading = after_opening(*sent)[-1]
    assert (reading.message, reading.reply_to, reading.defects) == ("Headers", len(OPENING) + 2, [])
    assert (field(reading, "grpc_status"), field(reading, "grpc_message")) == ("NOT_FOUND", "no stream")


def test_a_call_that_is_refused_is_answered_by_the_reset() -> None:
    _, _, sent = opened()
    sent.append(Sent("server", frame(RST, 0, 1, (7).to_bytes(4, "big"))))
    reading = after_opening(*sent)[-1]
    assert (reading.message, reading.reply_to) == ("RstStream", len(OPENING) + 1)
    assert field(reading, "error_code") == "REFUSED_STREAM"


def test_answers_come_in_any_order() -> None:
    client, server = Peer("client"), Peer("server")
    shuffled = [
        *(client.asks(1, "getURI"), client.says(1, "getURI", {}, end=True)),
        *(client.asks(3, "getURI"), client.says(3, "getURI", {}, end=True)),
        *(server.headers(3, ANSWER), server.headers(1, ANSWER)),
        *(server.says(3, "getURI", URI), server.says(1, "getURI", URI), server.trails(3), server.trails(1)),
    ]
    readings = after_opening(*shuffled)
    start = len(OPENING)
    assert [reading.reply_to for reading in readings[6:8]] == [start + 4, start + 2]
    assert not any(reading.defects for reading in readings)


def test_a_message_in_several_frames_is_told_by_the_last() -> None:
    _, _, sent = opened()
    raw = body("getURI", "client", {"streamInfo": STREAM})
    parts = [raw[:3], raw[3:7], raw[7:-1], b"", raw[-1:]]
    sent += [Sent("client", frame(DATA, 0, 1, part)) for part in parts]
    sent.append(Sent("client", frame(DATA, END_STREAM, 1)))
    readings = after_opening(*sent)
    assert names(readings) == ["Headers", *["Data"] * 4, "getURI", "Data"]
    assert readings[1].fields == Data(stream_id=1, data=raw[:3])
    assert not any(reading.defects for reading in readings)


def test_padding_is_left_out() -> None:
    _, _, sent = opened()
    raw = body("getURI", "client", {"streamInfo": STREAM})
    sent.append(Sent("client", frame(DATA, END_STREAM | PADDED, 1, b"\x04" + raw + bytes(4))))
    assert after_opening(*sent)[-1].message == "getURI"


def test_fields_of_a_newer_schema_are_kept() -> None:
    _, _, sent = opened("createScope")
    raw = b"\0\0\0\0\x07\x0a\x02sc\xf8\x07\x05"
    sent.append(Sent("client", frame(DATA, END_STREAM, 1, raw)))
    reading = after_opening(*sent)[-1]
    assert (reading.message, reading.fields, reading.left_over) == ("createScope", {"scope": "sc"}, b"\xf8\x07\x05")


def test_continuations_are_told_by_the_last() -> None:
    client = Peer("client")
    block = client.block(request(path_of("sealStream")))
    sent = [
        Sent("client", frame(HEADERS, 0, 1, block[:5])),
        Sent("client", frame(CONTINUATION, 0, 1, block[5:9])),
        Sent("client", frame(CONTINUATION, END_HEADERS, 1, block[9:])),
        client.says(1, "sealStream", STREAM, end=True),
    ]
    readings = after_opening(*sent)
    assert names(readings) == ["Headers", "Continuation", "Continuation", "sealStream"]
    assert [field(reading, "headers") is None for reading in readings[:3]] == [True, True, False]
    assert field(readings[2], "method") == "sealStream"
    assert not any(reading.defects for reading in readings)


def test_calls_of_another_service_are_shown_as_data() -> None:
    client, server = Peer("client"), Peer("server")
    sent = [
        client.headers(1, request("/grpc.health.v1.Health/Check")),
        Sent("client", frame(DATA, END_STREAM, 1, b"\0\0\0\0\0")),
        server.headers(1, ANSWER),
        Sent("server", frame(DATA, 0, 1, b"\0\0\0\0\x02\x08\x01")),
        server.trails(1),
    ]
    readings = after_opening(*sent)
    assert names(readings) == ["Headers", "Data", "Headers", "Data", "Headers"]
    assert (":path", "/grpc.health.v1.Health/Check") in field(readings[0], "headers")
    assert field(readings[3], "data") == b"\0\0\0\0\x02\x08\x01"
    assert not any(reading.defects for reading in readings)
    assert readings[4].reply_to == len(OPENING) + 1


def test_a_method_that_is_not_known_is_shown_as_data() -> None:
    sent = [Peer("client").asks(1, "createEverything"), Sent("client", frame(DATA, END_STREAM, 1, b"\0\0\0\0\0"))]
    readings = after_opening(*sent)
    assert field(readings[0], "method") == "createEverything"
    assert names(readings) == ["Headers", "Data"]


def test_whose_calls_they_are() -> None:
    connection = Connection(from_start=True)
    client = Peer("client")
    read_all(OPENING, connection)
    assert not connection.is_decided
    assert connection.doubt == "no call of the controller's service was seen on it"
    read_all([client.headers(1, request("/grpc.health.v1.Health/Check"))], connection)
    assert connection.doubt == "it calls '/grpc.health.v1.Health/Check', no method of the controller's service"
    read_all([client.asks(3, "getURI")], connection)
    assert (connection.doubt, connection.is_decided) == ("", True)


def test_other_frames_by_their_names() -> None:
    _, server, sent = opened()
    sent += [
        Sent("client", frame(PRIORITY, 0, 1, bytes.fromhex("80000003 0f"))),
        Sent("client", frame(WINDOW, 0, 1, bytes.fromhex("00000009"))),
        Sent("server", frame(PUSH, END_HEADERS, 1, bytes(3) + b"\x02" + server.block(ANSWER))),
        Sent("server", frame(0x42, 7, 1, b"what")),
        Sent("server", frame(GOAWAY, 0, 0, bytes.fromhex("00000001 0000000b") + b"calm")),
        Sent("client", frame(RST, 0, 1, bytes.fromhex("00000063"))),
    ]
    readings = after_opening(*sent)[1:]
    assert names(readings) == ["Priority", "WindowUpdate", "PushPromise", "Unknown", "GoAway", "RstStream"]
    assert not any(reading.defects for reading in readings)
    assert (field(readings[0], "depends_on"), field(readings[0], "weight"), field(readings[0], "exclusive")) == (
        3,
        15,
        True,
    )
    assert field(readings[2], "promised_stream_id") == 2
    assert readings[3].fields == Unknown(type=0x42, flags=7, stream_id=1, data=b"what")
    assert (field(readings[4], "error_code"), field(readings[4], "debug_data")) == ("ENHANCE_YOUR_CALM", b"calm")
    assert field(readings[5], "error_code") == 99


def test_headers_are_shown_whole() -> None:
    client = Peer("client")
    reading = after_opening(client.asks(1, "getURI"))[0]
    assert reading.fields == Headers(stream_id=1, method="getURI", headers=tuple(request(path_of("getURI"))))


# -- a peer that is not ours -------------------------------------------------------------------------------------------


def h2_side(*, client: bool) -> h2.connection.H2Connection:
    config = h2.config.H2Configuration(client_side=client, header_encoding="utf-8")
    return h2.connection.H2Connection(config)


def test_what_h2_says_is_read() -> None:
    """Frames that h2 makes, in whatever order it likes, with a block so big that it goes on, and with padding."""
    client, server = h2_side(client=True), h2_side(client=False)
    client.initiate_connection()
    server.initiate_connection()
    said: list[tuple[Side, bytes]] = []

    def pass_on() -> None:
        for side, mine, peer in (("client", client, server), ("server", server, client)):
            data = mine.data_to_send()
            if data:
                said.append((side, data))  # type: ignore[arg-type]
                peer.receive_data(data)

    for _ in range(3):
        pass_on()
    for stream in (1, 3):
        client.send_headers(stream, [*request(path_of("createScope")), ("x-long", "x" * 30_000)])
        raw = body("createScope", "client", {"scope": f"scope-{stream}"})
        client.send_data(stream, raw[:6], pad_length=3)
        client.send_data(stream, raw[6:], end_stream=True)
        pass_on()
        server.send_headers(stream, ANSWER)
        server.send_data(stream, body("createScope", "server", {"status": "SCOPE_EXISTS"}))
        server.send_headers(stream, [("grpc-status", "0")], end_stream=True)
        pass_on()
    connection, n = Connection(from_start=True), 0
    splitters: dict[Side, Splitter] = {side: Splitter(connection, side) for side in ("client", "server")}
    readings = []
    for side, data in said:
        for piece in splitters[side].feed(data):
            assert piece.kind == "frame"
            n += 1
            readings.append(connection.read(side, piece.data, piece.at, piece.end, n))
    assert not any(reading.defects for reading in readings)
    calls = [(reading.fields, reading.reply_to) for reading in readings if reading.message == "createScope"]
    assert [fields for fields, _ in calls] == [
        {"scope": "scope-1"},
        {"status": "SCOPE_EXISTS"},
        {"scope": "scope-3"},
        {"status": "SCOPE_EXISTS"},
    ]
    assert all(calls[index][1] for index in (1, 3))
    assert "Continuation" in names(readings)
