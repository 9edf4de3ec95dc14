"""Frames of a stretch at once are those that are found one by one, and so are their payloads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.offramp.talk import asking, frame, upgrading
from wiretool import limits
from wiretool.codec.frames import boundaries as hops
from wiretool.codec.frames.boundaries import Hops, walk_ranges
from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.protocols.base.columns import Frames
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.columns.frames import FrameHeaders, Heads, may_expand, split, unmasked
from wiretool.protocols.offramp.connection import Connection

sides: st.SearchStrategy[Side] = st.sampled_from(["client", "server"])
firsts = st.sampled_from([0x81, 0x82, 0xC1, 0xC2, 0x01, 0x80, 0x89, 0x8A, 0x88, 0xA1, 0x83])
lengths = st.sampled_from([0, 1, 2, 3, 5, 124, 125, 126, 127, 300, 65_535, 65_536])
masks = st.binary(min_size=4, max_size=4)


def one_by_one(side: Side, data: bytes, start: int, end: int) -> Hops | None:
    """The frames as the splitter finds them; None where it begins to search."""
    starts: list[int] = []
    at = start
    connection = Connection(from_start=True)
    while at < end:
        try:
            extent = connection.extent(side, data, at, end)
        except DecodeError:
            return None
        if not extent or at + extent > end:
            return Hops(np.array(starts), at, extent)
        starts.append(at)
        at += extent
    return Hops(np.array(starts), at, 0)


def check(side: Side, data: bytes, start: int, end: int) -> None:
    found, wanted = split(side, data, start, end), one_by_one(side, data, start, end)
    assert found.is_broken == (wanted is None)
    if wanted is not None:
        assert found.starts.tolist() == wanted.starts.tolist()
        assert (found.end, found.need) == (wanted.end, wanted.need)


@st.composite
def frames_of(draw: st.DrawFn) -> bytes:
    """A frame of some length, mostly that of its side."""
    mask = draw(st.none() | masks)
    return framing.frame_bytes(draw(firsts), bytes(draw(lengths)), mask)


@given(sides, st.lists(frames_of(), max_size=6), st.binary(max_size=12), st.integers(0, 12), st.integers(0, 20))
def test_split(side: Side, said: list[bytes], rest: bytes, start: int, less: int) -> None:
    own = [each if bool(each[1] & 0x80) is (side == "client") else frame(side, each[0], each[6:]) for each in said]
    for parts in (said, own):
        data = bytes(start) + b"".join(parts) + rest
        check(side, data, start, max(len(data) - less, start))


@given(sides, st.binary(max_size=40))
def test_split_anything(side: Side, data: bytes) -> None:
    check(side, data, 0, len(data))


@pytest.mark.parametrize("side", ["client", "server"])
def test_every_cut(side: Side) -> None:
    data = b"".join(frame(side, 0x82, bytes(length)) for length in (0, 7, 126, 65_536, 3))
    for end in [*range(160), *range(len(data) - 20, len(data) + 1)]:
        check(side, data, 0, end)


def test_lengths_written_too_long() -> None:
    check("server", b"\x82\x7e\x00\x03abc" + b"\x82\x7f" + (3).to_bytes(8, "big") + b"abc\x82", 0, 21)


def test_broken_where_a_head_is_none() -> None:
    good = frame("server", 0x82, b"{}")
    too_long = b"\x82\x7f" + (limits.WEBSOCKET_MESSAGE_BYTES_MAX + 1).to_bytes(8, "big")
    for bad in (b"\xf3\x01a", too_long, b"HTTP/9.9 what\r\n\r\n"):
        assert split("server", good + bad, 0, len(good + bad)).is_broken
    good = frame("client", 0x81, b"{}")
    assert not split("client", good + b"G", 0, len(good) + 1).is_broken


@pytest.mark.parametrize(("side", "head"), [("client", asking()), ("server", upgrading())])
def test_http_without_body_is_a_frame(side: Side, head: bytes) -> None:
    good = frame(side, 0x82, b"{}")
    for end in range(len(head) + len(good) + 1):
        check(side, head + good, 0, end)
    assert split(side, head + good, 0, len(head + good)).starts.tolist() == [0, len(head)]


@pytest.mark.parametrize(
    ("side", "message"),
    [
        ("client", b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nok"),
        ("client", b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("server", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        ("server", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ("server", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    ],
)
def test_broken_where_http_may_have_a_body(side: Side, message: bytes) -> None:
    """The end depends on the request, or on the end of the stream."""
    good = frame(side, 0x82, b"{}")
    found = split(side, good + message, 0, len(good + message))
    assert (found.starts.tolist(), found.end, found.is_broken) == ([0], len(good), True)


@given(st.lists(st.tuples(sides, st.lists(frames_of(), max_size=4), st.binary(max_size=5)), min_size=1, max_size=5))
def test_ranges_abreast(parts: list[tuple[Side, list[bytes], bytes]]) -> None:
    """The frames of many ranges are those of each."""
    data = b"".join(b"".join(said) + rest for _, said, rest in parts)
    stops = np.cumsum([sum(map(len, said)) + len(rest) for _, said, rest in parts])
    begins = np.append(0, stops[:-1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hops, "RANGES_ABREAST_MIN", 1)
        found = walk_ranges(data, begins, stops, FrameHeaders(np.array([side == "server" for side, _, _ in parts])))
    for index, (side, _, _) in enumerate(parts):
        wanted = split(side, data, int(begins[index]), int(stops[index]))
        assert found.starts[found.range_of == index].tolist() == wanted.starts.tolist()
        assert (found.ends[index], found.needs[index], found.is_broken[index]) == wanted[1:]


def test_what_may_expand() -> None:
    firsts = [0x81, 0x01, 0x89, 0x88, 0xC1, 0xC2, 0x41, 0x80, 0x00]
    data = b"".join(frame("server", first, b"a") for first in firsts) + asking() + upgrading()
    starts = np.array([*range(0, 3 * len(firsts), 3), 3 * len(firsts), 3 * len(firsts) + len(asking())])
    assert np.flatnonzero(may_expand(data, starts)).tolist() == [4, 5, 6, 7, 8]


def heads_of(side: Side, said: list[bytes]) -> Heads:
    data = b"".join(said)
    ends = np.cumsum([len(each) for each in said])
    starts = ends - [len(each) for each in said]
    flags = np.full(len(said), side == "server")
    return Heads(Frames(data, starts, ends, flags, np.arange(len(said))))


@given(sides, st.lists(st.tuples(firsts, st.binary(max_size=300), masks), min_size=1, max_size=8))
def test_payloads(side: Side, parts: list[tuple[int, bytes, bytes]]) -> None:
    said = [frame(side, *part) for part in parts]
    assert heads_of(side, said).payloads(np.arange(len(said))) == [payload for _, payload, _ in parts]


def test_which_are_whole_messages() -> None:
    client = [frame("client", 0x81, b"a"), frame("client", 0x81, b""), frame("server", 0x81, b"a")]
    client += [frame("client", 0x82, bytes(8_192)), frame("client", 0x82, bytes(8_193)), frame("client", 0x01, b"a")]
    assert heads_of("client", client).is_whole.tolist() == [True, False, False, True, False, False]
    server = [frame("server", first, b"a" * 9_000) for first in (0x81, 0x82, 0xC1, 0xC2, 0x80, 0x89, 0xA1, 0x91)]
    assert heads_of("server", server).is_whole.tolist() == [True] * 4 + [False] * 4
    assert heads_of("server", server).is_compressed.tolist() == [False, False, True, True] + [False] * 4
    assert heads_of("server", [frame("client", 0x81, b"a")]).is_whole.tolist() == [False]


@given(st.lists(st.tuples(masks, st.binary(min_size=1, max_size=30)), min_size=1, max_size=6), st.randoms())
def test_unmasked_in_any_order(parts: list[tuple[bytes, bytes]], random: object) -> None:
    data = b"".join(mask + framing.unmasked(payload, mask) for mask, payload in parts)
    ends = np.cumsum([4 + len(payload) for _, payload in parts])
    begins = ends - [len(payload) for _, payload in parts]
    order = np.arange(len(parts))[::-1]
    assert unmasked(data, begins[order], ends[order]) == [parts[row][1] for row in order]
