"""What is wrong in conversations of HTTP/2 frames, and how much of them is kept."""

import tracemalloc

import pytest

from tests.protocols.pravega_controller.readings import OPENING, after_opening, kinds, names, opened
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
    SETTING,
    WINDOW,
    Peer,
    Sent,
    body,
    frame,
    read_all,
    request,
)
from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.protocols.pravega_controller.connection import Connection
from wiretool.protocols.pravega_controller.frames import PREFACE
from wiretool.protocols.pravega_controller.grpc_messages import Held, Joiner
from wiretool.protocols.pravega_controller.headers import path_of


def test_a_compressed_message_is_a_defect_and_the_next_is_read() -> None:
    _, _, sent = opened("createScope")
    packed = b"\x01\0\0\0\x09"
    sent += [
        Sent("client", frame(DATA, 0, 1, packed + b"1234")),
        Sent("client", frame(DATA, END_STREAM, 1, b"56789" + body("createScope", "client", {"scope": "x"}))),
    ]
    readings = after_opening(*sent)
    assert names(readings) == ["Headers", "Data", "createScope"]
    assert kinds(readings) == [[], ["compressed_message"], []]


def test_a_second_message_is_a_defect_of_a_unary_call() -> None:
    _, _, sent = opened("createScope")
    raw = body("createScope", "client", {"scope": "x"})
    sent.append(Sent("client", frame(DATA, 0, 1, raw + raw)))
    sent.append(Sent("client", frame(DATA, END_STREAM, 1, raw)))
    readings = after_opening(*sent)
    assert names(readings) == ["Headers", "createScope", "createScope"]
    assert kinds(readings) == [[], ["second_message"], ["second_message"]]


@pytest.mark.parametrize(
    ("first", "empty", "name", "kind"),
    [
        (b"", b"\0\0\0\0\0", "createScope", "second_message"),
        (b"\0\0\0\0\x03\x0a\x01x", b"\0\0\0\0\0", "createScope", "second_message"),
        (b"", b"\x01\0\0\0\0", "Data", "compressed_message"),
    ],
)
def test_of_very_many_messages_in_a_frame_there_is_one_defect(first: bytes, empty: bytes, name: str, kind: str) -> None:
    _, _, sent = opened("createScope")
    count = 20_000
    sent.append(Sent("client", frame(DATA, 0, 1, first + empty * count)))
    reading = after_opening(*sent)[-1]
    (defect,) = reading.defects
    assert (reading.message, defect.kind) == (name, kind)
    if kind == "second_message":
        assert f"with this frame there are {count + bool(first)}" in str(defect)
        assert reading.fields == {"scope": "x" if first else ""}


def test_messages_that_nobody_reads_are_not_made() -> None:
    joiner = Joiner(Held(), is_certain=True)
    data = b"\0\0\0\0\0" * 50_000
    tracemalloc.start()
    try:
        joined = joiner.join(data)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (joined.body, joined.messages, joined.defects) == (b"", 50_000, [])
    assert kept < len(data)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x02\0\0\0\x01x", "bad_grpc_prefix"),
        (b"\0" + (limits.GRPC_MESSAGE_BYTES_MAX + 1).to_bytes(4, "big") + b"x", "message_too_big"),
        (b"\0\0\0\0\x09x", "incomplete_message"),
        (b"\0\0", "incomplete_message"),
        (b"\0\0\0\0\x02\x0a\x09", "bad_protobuf"),
        (b"", "missing_message"),
    ],
)
def test_data_that_is_no_message(data: bytes, kind: str) -> None:
    _, _, sent = opened("createScope")
    sent.append(Sent("client", frame(DATA, END_STREAM, 1, data)))
    reading = after_opening(*sent)[-1]
    assert reading.message == "Data"
    assert kind in [defect.kind for defect in reading.defects]


def test_an_answer_that_ends_well_without_a_message() -> None:
    client, server, sent = opened("createScope")
    sent += [client.says(1, "createScope", {}, end=True), server.headers(1, ANSWER), server.trails(1)]
    assert kinds(after_opening(*sent))[-1] == ["missing_message"]


def test_headers_without_a_status_begin_no_response_and_what_follows_is_no_answer() -> None:
    client, server, sent = opened("createScope")
    sent += [
        client.says(1, "createScope", {"scope": "x"}, end=True),
        server.headers(1, request(path_of("createScope"))),
        server.says(1, "createScope", {"status": "SUCCESS"}),
        server.trails(1),
    ]
    readings = after_opening(*sent)
    assert names(readings) == ["Headers", "createScope", "Headers", "Data", "Headers"]
    assert kinds(readings) == [[], [], ["no_status"], [], []]
    asked = len(OPENING) + 2
    assert [reading.reply_to for reading in readings] == [None, None, asked, None, None]


def test_the_headers_of_a_response_may_need_a_continuation_to_be_one() -> None:
    _, server, sent = opened("createScope")
    block = server.block(ANSWER)
    for end in (len(block), 0):  # all of it in the continuation, and none at all
        headers = [
            Sent("server", frame(HEADERS, 0, 1, b"")),
            Sent("server", frame(CONTINUATION, END_HEADERS, 1, block[:end])),
        ]
        assert kinds(after_opening(*sent, *headers)) == [[], [], [] if end else ["no_status"]]


def test_trailers_behind_a_hole_need_no_status() -> None:
    _, server, sent = opened("createScope")
    connection = Connection(from_start=True)
    read_all([*OPENING, *sent], connection)
    connection.hole("server")
    assert kinds(read_all([server.trails(1)], connection)) == [[]]
    echo = [server.headers(1, request(path_of("createScope")))]
    assert kinds(read_all(echo, connection)) == [["frame_after_end", "no_status"]]


def test_an_answer_begins_with_headers() -> None:
    _, server, sent = opened("createScope")
    sent.append(server.says(1, "createScope", {"status": "SUCCESS"}))
    assert kinds(after_opening(*sent)) == [[], ["frame_on_idle_stream"]]


def test_parts_of_messages_are_held_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "GRPC_HELD_BYTES_MAX", 100)
    client = Peer("client")
    part = b"\0\0\0\x01\0" + bytes(45)
    sent = [
        each for n in (1, 3, 5) for each in (client.asks(n, "createScope"), Sent("client", frame(DATA, 0, n, part)))
    ]
    readings = after_opening(*sent)
    assert kinds(readings)[-1] == ["message_not_kept"]
    assert sum(map(len, kinds(readings))) == 1


@pytest.mark.parametrize(
    ("side", "data", "kind"),
    [
        ("server", frame(PING, 0, 0, b"1234567"), "frame_size"),
        ("server", frame(PING, 0, 1, b"12345678"), "bad_frame"),
        ("client", frame(SETTING, ACK, 0, bytes(6)), "bad_frame"),
        ("client", frame(SETTING, 0, 0, bytes(5)), "frame_size"),
        ("client", frame(SETTING, 0, 0, bytes.fromhex("000200000002")), "bad_setting"),
        ("client", frame(SETTING, 0, 0, bytes.fromhex("000500000001")), "bad_setting"),
        ("client", frame(WINDOW, 0, 0, bytes(4)), "bad_frame"),
        ("client", frame(WINDOW, 0, 0, bytes(3)), "frame_size"),
        ("client", frame(RST, 0, 1, bytes(5)), "frame_size"),
        ("client", frame(GOAWAY, 0, 0, bytes(7)), "frame_size"),
        ("client", frame(PRIORITY, 0, 1, bytes(4)), "frame_size"),
        ("client", frame(DATA, 0, 0, b"x"), "bad_frame"),
        ("client", frame(DATA, PADDED, 1, b"\x05x"), "bad_padding"),
        ("client", frame(DATA, PADDED, 1, b""), "frame_size"),
        ("client", frame(HEADERS, END_HEADERS, 1, b"\x80"), "bad_header_block"),
        ("client", frame(HEADERS, END_HEADERS, 0, b"\x83"), "bad_frame"),
        ("client", frame(PUSH, END_HEADERS, 1, bytes(4) + b"\x83"), "bad_frame_order"),
        ("server", frame(PUSH, END_HEADERS, 1, bytes(3) + b"\x01\x83"), "bad_frame"),
        ("client", frame(CONTINUATION, END_HEADERS, 1, b"\x83"), "bad_frame_order"),
        ("client", PREFACE, "bad_frame_order"),
        ("client", frame(DATA, 0, 1, b"x"), "frame_on_idle_stream"),
        ("client", frame(WINDOW, 0, 1, bytes.fromhex("00000009")), "frame_on_idle_stream"),
        ("client", frame(HEADERS, END_HEADERS, 2, b"\x83"), "bad_stream_id"),
    ],
)
def test_frames_that_break_the_rules_are_defects(side: Side, data: bytes, kind: str) -> None:
    reading = after_opening(Sent(side, data))[0]
    assert kind in [defect.kind for defect in reading.defects]
    unreadable = {"frame_size", "bad_frame", "bad_padding"} & {defect.kind for defect in reading.defects}
    assert isinstance(reading.fields, dict) == bool(unreadable), "its bytes are shown as they are"
    assert not after_opening(Sent(side, data), Sent("server", frame(PING, 0, 0, bytes(8))))[1].defects


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (frame(PING, 0, 0, b"1234567"), "a Ping frame does not have 7 bytes with these flags"),
        (frame(PING, 0, 1, b"12345678"), "on stream 1; expected stream 0"),
        (frame(WINDOW, 0, 0, bytes(4)), "on stream 0; expected an increment from 1 to 2^31-1"),
        (frame(DATA, 0, 0, b"x"), "on stream 0; expected a stream other than 0"),
        (frame(DATA, PADDED, 1, b"\x05x"), "the padding does not fit into the 2 bytes of the frame"),
    ],
)
def test_a_defect_is_described_in_own_words(data: bytes, why: str) -> None:
    """The words of a library may change with its version, and those of hyperframe name addresses in memory."""
    assert why in [defect.why for defect in after_opening(Sent("client", data))[0].defects if hasattr(defect, "why")]


def test_frames_behind_the_end_of_a_stream() -> None:
    client, _, sent = opened("createScope")
    sent += [
        client.says(1, "createScope", {"scope": "x"}, end=True),
        client.says(1, "createScope", {"scope": "x"}, end=True),
        Sent("client", frame(WINDOW, 0, 1, bytes.fromhex("00000009"))),
        Sent("client", frame(RST, 0, 1, bytes(4))),
        Sent("client", frame(DATA, 0, 1, b"x")),
    ]
    assert kinds(after_opening(*sent)) == [[], [], ["frame_after_end"], [], [], ["frame_after_reset"]]


def test_an_old_stream_is_not_opened_again() -> None:
    client = Peer("client")
    sent = [client.asks(5, "createScope"), client.asks(3, "createScope")]
    assert kinds(after_opening(*sent)) == [[], ["bad_stream_id"]]


def test_a_connection_begins_with_preface_and_settings() -> None:
    ping = frame(PING, 0, 0, bytes(8))
    readings = read_all([Sent("client", ping), Sent("server", ping), Sent("client", ping), Sent("server", ping)])
    assert kinds(readings) == [["no_settings"], ["no_settings"], [], []]
    readings = read_all([Sent("client", PREFACE), Sent("client", ping)])
    assert kinds(readings) == [[], ["no_settings"]]


def test_nothing_comes_between_a_block_and_its_continuation() -> None:
    client = Peer("client")
    block = client.block(request(path_of("sealStream")))
    begun = Sent("client", frame(HEADERS, 0, 1, block[:5]))
    sent = [
        begun,
        Sent("client", frame(PING, 0, 0, bytes(8))),
        Sent("client", frame(CONTINUATION, END_HEADERS, 1, block[5:])),
    ]
    assert kinds(after_opening(*sent)) == [[], ["block_interrupted"], ["bad_frame_order"]]
    sent = [begun, Sent("client", frame(CONTINUATION, END_HEADERS, 3, block[5:]))]
    assert kinds(after_opening(*sent)) == [[], ["block_interrupted"]]


def test_a_block_without_end_is_not_kept() -> None:
    piece = bytes(16_000)
    sent = [Sent("client", frame(HEADERS, 0, 1, piece))]
    sent += [Sent("client", frame(CONTINUATION, 0, 1, piece)) for _ in range(8)]
    sent.append(Sent("client", frame(CONTINUATION, END_HEADERS, 1, piece)))
    found = kinds(after_opening(*sent))
    assert [kind for each in found for kind in each] == ["headers_too_big"]


def test_a_frame_longer_than_allowed_is_none() -> None:
    connection = Connection(from_start=True)
    read_all(OPENING, connection)
    allowed = {"client": 4_194_304, "server": 16_384}  # as the settings of the other side have it
    for side, length in allowed.items():
        header = frame(DATA, 0, 1, b"")[3:]
        assert connection.extent(side, length.to_bytes(3, "big") + header, 0, 9) == length + 9  # type: ignore[arg-type]
        with pytest.raises(DecodeError, match=f"frame_size .*{length} are allowed"):
            connection.extent(side, (length + 1).to_bytes(3, "big") + header, 0, 9)  # type: ignore[arg-type]


def test_streams_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP2_STREAMS_MAX", 2)
    client = Peer("client")
    sent = [client.asks(number, "createScope") for number in (1, 3, 5)]
    sent.append(client.says(1, "createScope", {"scope": "x"}, end=True))
    readings = after_opening(*sent)
    assert readings[-1].message == "Data"
    assert not any(reading.defects for reading in readings)


def test_pings_and_settings_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP2_UNACKNOWLEDGED_MAX", 1)
    pings = [Sent("client", frame(PING, 0, 0, bytes([n]) * 8)) for n in (1, 2)]
    acks = [Sent("server", frame(PING, ACK, 0, bytes([n]) * 8)) for n in (1, 2)]
    assert [reading.reply_to for reading in after_opening(*pings, *acks)] == [None, None, None, len(OPENING) + 2]
