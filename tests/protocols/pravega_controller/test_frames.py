"""Where frames begin and end, and how sure that is."""

import random

import pytest

from tests.protocols.pravega_controller.talk import (
    ACK,
    ANSWER,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    PRIORITY,
    PUSH,
    RST,
    SETTING,
    WINDOW,
    Peer,
    body,
    frame,
    request,
    talk,
)
from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.protocols.pravega_controller import PROTOCOL
from wiretool.protocols.pravega_controller.frames import PREFACE, begins, frame_candidates, frame_extent
from wiretool.protocols.pravega_controller.headers import path_of
from wiretool.protocols.pravega_controller.trust import trust_frame


def trust(side: Side, data: bytes) -> int:
    return trust_frame(side, data, 0, len(data), 16_384)


def test_the_preface_is_told_from_a_frame() -> None:
    for size in range(3, len(PREFACE) + 1):
        assert frame_extent("client", PREFACE[:size], 0, size, 16_384) == len(PREFACE)
    assert frame_extent("client", b"PR", 0, 2, 16_384) == 0
    with pytest.raises(DecodeError, match="a frame of 5263945 bytes, 16384 are allowed"):
        frame_extent("server", PREFACE, 0, len(PREFACE), 16_384)


def test_how_a_connection_begins() -> None:
    settings = frame(SETTING, 0, 0, bytes(6))
    assert begins("client", PREFACE + settings)
    assert begins("client", PREFACE[:10])
    assert not begins("client", settings)
    assert begins("server", settings)
    assert not begins("server", frame(SETTING, ACK, 0))
    assert PROTOCOL.begins is begins


@pytest.mark.parametrize(
    ("side", "data", "points"),
    [
        ("client", PREFACE, 4),
        ("client", PREFACE[:-1], 0),
        ("server", PREFACE, 0),
        ("client", b"\0\0\0", 0),
        ("client", frame(SETTING, 0, 0, bytes.fromhex("000400400000 000500400000")), 4),
        ("client", frame(SETTING, 0, 0, bytes.fromhex("000500000000")), 0),
        ("client", frame(SETTING, 0, 0, bytes.fromhex("f00500000000 f00600000000")), 0),
        ("client", frame(SETTING, ACK, 0), 2),
        ("client", frame(PING, 0, 0, bytes(8)), 2),
        ("client", frame(PING, 0, 1, bytes(8)), 0),
        ("client", frame(PING, 2, 0, bytes(8)), 0),
        ("client", frame(PING, 0, 0, bytes(9)), 0),
        ("client", frame(WINDOW, 0, 0, bytes.fromhex("00000009")), 2),
        ("client", frame(WINDOW, 0, 2, bytes.fromhex("00000009")), 2),
        ("client", frame(RST, 0, 1, bytes.fromhex("00000008")), 2),
        ("client", frame(RST, 0, 1, bytes.fromhex("00000088")), 0),
        ("client", frame(GOAWAY, 0, 0, bytes(8)), 2),
        ("client", frame(PRIORITY, 0, 1, bytes(5)), 1),
        ("client", frame(DATA, 0, 1, body("createScope", "client", {"scope": "x"})), 2),
        ("client", frame(DATA, END_STREAM, 1), 1),
        ("client", frame(DATA, 0, 2, b"x"), 0),
        ("client", frame(DATA, 0, 2**31 + 1, b"x"), 0),
        ("client", frame(DATA, 0, 1, bytes(16_385)), 0),
        ("client", Peer("client").headers(1, request(path_of("getURI")))[1], 4),
        ("client", frame(HEADERS, END_HEADERS, 1, b"\x83\x86"), 2),
        ("client", frame(HEADERS, END_HEADERS, 1, b"\xc6"), 1),
        ("client", frame(HEADERS, END_HEADERS, 1, b"\x80"), 0),
        ("client", frame(HEADERS, END_HEADERS, 1, b"\x00\x01X\x01y"), 0),
        ("client", frame(HEADERS, 0, 1, b"\x83"), 1),
        ("client", frame(CONTINUATION, END_HEADERS, 1, b"\x83"), 1),
        ("client", frame(PUSH, END_HEADERS, 1, bytes(3) + b"\x02\x83"), 0),
        ("server", frame(PUSH, END_HEADERS, 1, bytes(3) + b"\x02\x83"), 1),
        ("server", Peer("server").headers(1, ANSWER)[1], 4),
        ("client", frame(0x0C, 0, 1), 0),
    ],
)
def test_how_sure_it_is_that_bytes_are_a_frame(side: Side, data: bytes, points: int) -> None:
    assert trust(side, data) == points


def test_frames_are_found_where_they_begin() -> None:
    sent = list(talk(random.Random(5), 200))
    for side in ("client", "server"):
        data, starts = b"\xee" * 11, []
        for sender, raw in sent:
            if sender == side:
                starts.append(len(data))
                data += raw
        found = set(frame_candidates(data, 3, len(data)))
        assert found >= {3, *starts}
        assert len(found) < 1.5 * len(starts), "too many misses"


def test_every_other_type_is_found() -> None:
    kinds = [
        frame(PRIORITY, 0, 5, bytes(5)),
        frame(RST, 0, 5, bytes(4)),
        frame(GOAWAY, 0, 0, bytes(20)),
        frame(CONTINUATION, END_HEADERS, 5, bytes(3)),
        frame(PUSH, END_HEADERS, 5, bytes(5)),
        frame(DATA, 0, 5, bytes(16_384)),
    ]
    for raw in kinds:
        assert 2 in set(frame_candidates(b"\xee\xee" + raw, 0, len(raw) + 2)), raw[:9]
    assert list(frame_candidates(b"", 0, 0)) == []
