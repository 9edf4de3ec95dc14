"""The splitter on a small protocol of its own: 0xAA, u8 length, payload, u8 sum of the payload."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.frames.splitter import Piece, Splitter
from wiretool.codec.message import Side
from wiretool.errors import DecodeError


class Toy:
    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        if data[at] != 0xAA:
            raise DecodeError("bad-mark", f"0x{data[at]:02x}", offset=at)
        return data[at + 1] + 3 if end - at > 1 else 0

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        while (at := data.find(b"\xaa", at, end)) >= 0:
            yield at
            at += 1

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        return 2 if sum(data[at + 2 : end - 1]) & 0xFF == data[end - 1] else 0


def frame(payload: bytes) -> bytes:
    return bytes((0xAA, len(payload))) + payload + bytes((sum(payload) & 0xFF,))


#: Payloads that look like frames themselves are the hard ones.
payloads = st.one_of(
    st.binary(max_size=40), st.lists(st.binary(max_size=5), max_size=4).map(lambda p: b"".join(map(frame, p)))
)
streams = st.lists(payloads, min_size=1, max_size=12).map(lambda parts: [frame(part) for part in parts])


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def frames_of(pieces: list[Piece]) -> list[tuple[int, bytes]]:
    return [(piece.offset, piece.data[piece.at : piece.end]) for piece in pieces if piece.kind == "frame"]


def assert_tiles(pieces: list[Piece], length: int) -> None:
    at = 0
    for piece in sorted(pieces, key=lambda piece: piece.offset):
        assert piece.offset == at
        at += piece.length
    assert at == length


@given(streams, st.lists(st.integers(0, 10_000), max_size=20))
def test_any_cut_gives_the_same_frames(frames: list[bytes], places: list[int]) -> None:
    stream = b"".join(frames)
    splitter = Splitter(Toy(), "client")
    pieces = [piece for part in cut(stream, places) for piece in splitter.feed(part)] + splitter.end()
    assert [data for _, data in frames_of(pieces)] == frames
    assert_tiles(pieces, len(stream))


@given(streams, st.integers(0, 10_000), st.integers(1, 60), st.lists(st.integers(0, 10_000), max_size=8))
def test_a_hole_costs_no_byte_its_account(frames: list[bytes], start: int, length: int, places: list[int]) -> None:
    stream = b"".join(frames)
    start %= len(stream)
    length = min(length, len(stream) - start)
    splitter = Splitter(Toy(), "client")
    pieces = [piece for part in cut(stream[:start], places) for piece in splitter.feed(part)]
    pieces += splitter.gap(length)
    pieces += [
        piece for part in cut(stream[start + length :], places) for piece in splitter.feed(part)
    ] + splitter.end()
    assert_tiles(pieces, len(stream))
    assert [piece.length for piece in pieces if piece.kind == "gap"] == [length]


@given(st.binary(max_size=300), st.lists(st.integers(0, 10_000), max_size=8), st.booleans())
def test_any_bytes_are_told(stream: bytes, places: list[int], from_start: bool) -> None:
    splitter = Splitter(Toy(), "server", from_start=from_start)
    pieces = [piece for part in cut(stream, places) for piece in splitter.feed(part)] + splitter.end()
    assert_tiles(pieces, len(stream))


def test_a_hole_inside_a_frame_keeps_the_step() -> None:
    frames = [frame(b"first"), frame(b"x" * 30), frame(b"third")]
    stream = b"".join(frames)
    splitter = Splitter(Toy(), "client")
    pieces = splitter.feed(stream[:12]) + splitter.gap(10) + splitter.feed(stream[22:]) + splitter.end()
    assert [data for _, data in frames_of(pieces)] == [frames[0], frames[2]]
    assert not splitter.is_searching
    assert [(piece.kind, piece.length) for piece in pieces if piece.kind != "frame"] == [
        ("lost", 4),
        ("gap", 10),
        ("lost", 19),
    ]


@pytest.mark.parametrize("missing", range(1, 9))
def test_after_a_lost_header_reading_goes_on_at_the_next_frame(missing: int) -> None:
    frames = [frame(bytes((number,)) * 12) for number in range(10)]
    splitter = Splitter(Toy(), "client")
    pieces = [piece for each in frames[:missing] for piece in splitter.feed(each)]
    pieces += splitter.gap(len(frames[missing]))
    for each in frames[missing + 1 :]:
        pieces += splitter.feed(each)
    pieces += splitter.end()
    assert [data for _, data in frames_of(pieces)] == frames[:missing] + frames[missing + 1 :]


def test_frames_inside_a_payload_are_not_taken_for_frames() -> None:
    """The hole swallows the header of a frame whose payload is frames: their chain breaks at the payload's end."""
    inner = b"".join(frame(b"inner%d" % number) for number in range(6))
    outer = frame(inner)
    after = [frame(b"after%d" % number) for number in range(6)]
    splitter = Splitter(Toy(), "client")
    pieces = splitter.feed(frame(b"before")) + splitter.gap(2) + splitter.feed(outer[2:])
    for each in after:
        pieces += splitter.feed(each)
    pieces += splitter.end()
    assert [data for _, data in frames_of(pieces)] == [frame(b"before"), *after]


def test_bytes_that_begin_no_frame_are_lost_up_to_the_next() -> None:
    frames = [frame(b"one"), b"garbage", *[frame(b"more%d" % number) for number in range(5)]]
    splitter = Splitter(Toy(), "client")
    pieces = splitter.feed(b"".join(frames)) + splitter.end()
    lost = [piece for piece in pieces if piece.kind == "lost"]
    assert [(piece.offset, piece.length, piece.error) for piece in lost] == [(len(frames[0]), 7, "bad-mark")]
    assert len(frames_of(pieces)) == 6


def test_packets_and_times_are_those_of_the_bytes() -> None:
    whole = frame(b"0123456789")
    splitter = Splitter(Toy(), "client")
    pieces = (
        splitter.feed(whole[:4], 3, 30) + splitter.feed(whole[4:8], 4, 40) + splitter.feed(whole[8:] + whole, 5, 50)
    )
    assert [(piece.first_packet, piece.last_packet, piece.time_ns) for piece in pieces] == [(3, 5, 50), (5, 5, 50)]


def test_what_is_cut_off_is_incomplete() -> None:
    splitter = Splitter(Toy(), "client")
    assert splitter.feed(frame(b"abc")[:4]) == []
    assert [(piece.kind, piece.error, piece.length) for piece in splitter.end()] == [("lost", "incomplete", 4)]


def test_what_is_given_up_is_told_as_at_the_end_and_the_search_goes_on() -> None:
    splitter = Splitter(Toy(), "client")
    assert splitter.feed(b"xyz") == []
    (lost,) = splitter.give_up()
    assert (lost.kind, lost.offset, lost.length, lost.error, lost.why) == ("lost", 0, 3, "bad-mark", "at byte 0: 0x78")
    assert splitter.give_up() == []
    told = splitter.feed(b"uv" + frame(b"one") + frame(b"two"))
    assert told == []
    told = splitter.give_up()
    assert [(piece.kind, piece.offset, piece.length) for piece in told] == [
        ("lost", 3, 2),
        ("frame", 5, 6),
        ("frame", 11, 6),
    ]
    assert not splitter.is_searching


def test_a_frame_that_is_not_whole_is_given_up_for_the_reason_given() -> None:
    splitter = Splitter(Toy(), "client")
    assert splitter.feed(frame(b"one")[:4]) == []
    (lost,) = splitter.give_up("foreign", "something else")
    assert (lost.length, lost.error, lost.why) == (4, "foreign", "something else")
    told = splitter.feed(b"e" + frame(b"two") + frame(b"three") + frame(b"four"))
    assert [piece.kind for piece in told + splitter.end()] == ["lost", "frame", "frame", "frame"]


class CountingToy(Toy):
    """Notes where it was asked for the extent of a frame."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        self.asked.append(at)
        return super().extent(side, data, at, end)


def test_the_extent_of_each_frame_is_asked_for_once() -> None:
    one, other = frame(b"one"), frame(b"other")
    toy = CountingToy()
    splitter = Splitter(toy, "client")
    pieces = splitter.feed(one, 1, 10) + splitter.feed(one + other, 2, 20)
    assert toy.asked == [0, 0, len(one)]
    assert frames_of(pieces) == [(0, one), (len(one), one), (2 * len(one), other)]
    assert [(piece.first_packet, piece.time_ns) for piece in pieces] == [(1, 10), (2, 20), (2, 20)]
    assert (splitter.offset, splitter.held, splitter.end()) == (2 * len(one) + len(other), 0, [])


def test_a_beginning_in_step_is_what_a_search_finds() -> None:
    data = frame(b"abc") + frame(b"de") + frame(b"fgh")[:4]
    searched, in_step = Splitter(Toy(), "client", from_start=False), Splitter(Toy(), "client", from_start=False)
    in_step.begin_in_step()
    assert in_step.is_in_step
    for part in (data, frame(b"fgh")[4:], b"???", frame(b"ij") * 9):
        assert in_step.feed(part, 7, 8) == searched.feed(part, 7, 8)
        assert (in_step.holds(), in_step.wanted, in_step.is_searching) == (
            searched.holds(),
            searched.wanted,
            searched.is_searching,
        )
