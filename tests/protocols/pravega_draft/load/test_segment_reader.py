"""Reads of the 2017 draft as frames, against its mock, and answers that are none."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.mock_stage import Place
from tests.load.segments import pieces_of
from wiretool.load.events import Filler, Maker, writer_of
from wiretool.load.following import Piece
from wiretool.load.link import Failed
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.load.client import HEAD, Appends, Store, segment_name
from wiretool.protocols.pravega_draft.load.segment_reader import READ_BYTES, Reads
from wiretool.protocols.pravega_draft.messages import KeepAlive, NoSuchSegment, ReadSegment, SegmentRead
from wiretool.protocols.pravega_draft.server.appends import message_of
from wiretool.protocols.pravega_draft.server.mock import DraftMock

SEGMENT = segment_name("run", 0)
KEY = writer_of("run", 0, 0)
ALIVE = encode(KeepAlive(data=b""))


def reply(offset: int, data: bytes = b"data", segment: str = SEGMENT, *, is_sealed: bool = False) -> bytes:
    return encode(SegmentRead(segment=segment, offset=offset, at_tail=False, end_of_segment=is_sealed, data=data))


@given(st.lists(st.integers(0, 2**62), max_size=5))
def test_the_frame_is_what_encoding_gives(offsets: list[int]) -> None:
    reads = Reads(SEGMENT)
    for offset in offsets:
        request = ReadSegment(segment=SEGMENT, offset=offset, suggested_length=READ_BYTES)
        assert message_of(bytes(reads.at(offset))) == request


def test_a_read_waits_at_the_end_until_something_is_written() -> None:
    place = Place(DraftMock())
    link, other, reads = place.wire(), place.wire(), Reads(SEGMENT)
    Store(other).set_up(str(UUID(int=1 << 64)), SEGMENT)
    other.send(reads.at(0))
    assert other.receive_within(1.0) == b""
    writer = str(UUID(int=KEY))
    source = Appends(writer, Maker(KEY, head=HEAD, filler=Filler(0)), events=2, size=100)
    Store(link).set_up(writer, SEGMENT)
    frames = bytes(source.next())
    link.send(frames)
    piece = reads.feed(other.receive())
    assert piece == Piece(Maker(KEY, head=HEAD, filler=Filler(0)).batch([100, 100], 1), 216, is_all=True)
    other.send(reads.at(216))
    assert other.receive_within(1.0) == b""


@given(st.binary(max_size=300), st.lists(st.integers(0, 500), max_size=4))
def test_an_answer_may_be_cut_anywhere(data: bytes, cuts: list[int]) -> None:
    reads = Reads(SEGMENT)
    reads.at(7)
    pieces = pieces_of(reads, ALIVE + reply(7, data), cuts)
    assert pieces[-1] == Piece(data, 7 + len(data), is_all=False)
    assert not any(pieces[:-1])


def test_a_reply_to_an_older_read_is_passed_over() -> None:
    reads = Reads(SEGMENT)
    reads.at(7)
    assert reads.feed(reply(3) + reply(0, b"")) is None
    assert reads.feed(reply(7, b"x")) == Piece(b"x", 8, is_all=False)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(1, 6), st.data())
def test_a_read_may_be_answered_in_several_parts(sizes: list[int], most: int, data: st.DataObject) -> None:
    """Each read asks for what is behind the first part of the one before it; the others are still on the way."""
    stored = bytes(range(256)) * 5
    stored = stored[: sum(sizes)]
    reads, came, at, heard = Reads(SEGMENT), b"", 0, b""
    while at < len(stored):
        reads.at(at)
        start = at
        for size in data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=most)):
            heard += reply(start, stored[start : start + size])
            start += size
            if start >= len(stored):
                break
        piece = reads.feed(heard)
        heard = b""
        assert piece is not None
        assert piece.behind == at + len(piece.data)
        came, at = came + piece.data, piece.behind
    assert came == stored


def test_of_an_answer_counts_what_did_not_come_before() -> None:
    reads = Reads(SEGMENT)
    reads.at(0)
    assert reads.feed(reply(0, b"abc") + reply(3, b"def")) == Piece(b"abc", 3, is_all=False)
    reads.at(3)
    assert reads.feed(b"") == Piece(b"def", 6, is_all=False)
    reads.at(6)
    assert reads.feed(reply(3, b"defghi")) == Piece(b"ghi", 9, is_all=False)
    reads.at(9)
    assert reads.feed(reply(6, b"ghi")) is None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (reply(8), "a read of .* at byte 7 was answered with .* at byte 8"),
        (reply(6, segment="other"), "a read of .* at byte 7 was answered with other at byte 6"),
        (reply(7, segment="other"), "a read of .* at byte 7 was answered with other at byte 7"),
        (reply(7, is_sealed=True), f"{SEGMENT} is sealed"),
        (encode(NoSuchSegment(segment=SEGMENT)), "a read was answered with NoSuchSegment"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "a read got a reply that is none of the draft"),
    ],
)
def test_what_is_no_answer_is_told(said: bytes, why: str) -> None:
    reads = Reads(SEGMENT)
    reads.at(7)
    with pytest.raises(Failed, match=why):
        reads.feed(said)
