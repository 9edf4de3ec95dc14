"""Reads as frames, and answers that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.segments import pieces_of
from wiretool.codec.message import Message
from wiretool.load.following import Piece
from wiretool.load.link import Failed
from wiretool.protocols.pravega.failures import NoSuchSegment
from wiretool.protocols.pravega.framing import encode, parse
from wiretool.protocols.pravega.load.segment_reader import READ_BYTES, Reads
from wiretool.protocols.pravega.messages import KeepAlive, ReadSegment, SegmentRead

SEGMENT = "bench-run/load/0.#epoch.0"
ALIVE = encode(KeepAlive(), "server")


def reply(offset: int, data: bytes = b"data", segment: str = SEGMENT, *, is_sealed: bool = False) -> bytes:
    said = SegmentRead(
        segment=segment, offset=offset, at_tail=False, end_of_segment=is_sealed, data=data, request_id=offset
    )
    return encode(said, "server")


@given(st.lists(st.integers(0, 2**62), max_size=5))
def test_the_frame_is_what_encoding_gives(offsets: list[int]) -> None:
    reads = Reads(SEGMENT)
    for offset in offsets:
        request = ReadSegment(segment=SEGMENT, offset=offset, suggested_length=READ_BYTES, request_id=offset)
        assert parse(bytes(reads.at(offset))) == request
        assert reads.at(offset) == encode(request, "client")


@given(st.binary(max_size=300), st.lists(st.integers(0, 500), max_size=4))
def test_an_answer_may_be_cut_anywhere(data: bytes, cuts: list[int]) -> None:
    reads = Reads(SEGMENT)
    reads.at(7)
    pieces = pieces_of(reads, ALIVE + reply(7, data), cuts)
    assert pieces[-1] == Piece(data, 7 + len(data), is_all=False)
    assert not any(pieces[:-1])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (reply(8), "a read of .* at byte 7 was answered with .* at byte 8"),
        (reply(7, segment="other"), "a read of .* at byte 7 was answered with other at byte 7"),
        (reply(7, is_sealed=True), f"{SEGMENT} is sealed"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "a read got a reply that is no Pravega"),
        (b"\x7f\0\0\0\0\0\0\x04abcd", "a read got a reply that is no Pravega"),
        (reply(7)[:4] + b"\0\0\0\x04abcd", "a read got a reply that is no Pravega: truncated"),
    ],
)
def test_what_is_no_answer_is_told(said: bytes, why: str) -> None:
    reads = Reads(SEGMENT)
    reads.at(7)
    with pytest.raises(Failed, match=why):
        reads.feed(said)


def test_another_answer_is_told() -> None:
    said: Message = NoSuchSegment(request_id=7, segment=SEGMENT)
    with pytest.raises(Failed, match="a read was answered with NoSuchSegment") as caught:
        Reads(SEGMENT).feed(encode(said, "server"))
    assert caught.value.kind == "a read answered with NoSuchSegment"
