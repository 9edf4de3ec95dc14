"""Frames of a stretch at once are those that are found one by one, and so are their payloads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.offramp.talk import asking, frame, upgrading
from wiretool import limits
from wiretool.codec.hops import Hops
from wiretool.codec.message import Side
from wiretool.errors import DecodeError
from wiretool.protocols.bulk import Frames
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.bulk_frames import Heads, split, unmasked
from wiretool.protocols.offramp.connection import Connection

sides: st.SearchStrategy[Side] = st.sampled_from(["client", "server"])
firsts = st.sampled_from([0x81, 0x82, 0xC1, 0xC2, 0x01, 0x80, 0x89, 0x8A, 0x88, 0xA1, 0x83])
lengths = st.sampled_from([0, 1, 2, 3, 5, 124, 125, 126, 127, 300, 65_535, 65_536])
masks = st.binary(min_size=4, max_size=4)


def one_by_one(side: Side, data: bytes, start: int, end: int) -> Hops | None:
    """The frames as the splitter finds them; None where it begins to search, or meets HTTP."""
    starts: list[int] = []
    at = start
    connection = Connection(from_start=True)
    while at < end:
        if framing.is_http(side, data, at, end):
            return None
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
    hops, wanted = split(side, data, start, end), one_by_one(side, data, start, end)
    assert hops.is_broken == (wanted is None)
    if wanted is not None:
        assert hops.starts.tolist() == wanted.starts.tolist()
        assert (hops.end, hops.need) == (wanted.end, wanted.need)


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


def test_broken_where_a_head_is_none_or_http() -> None:
    good = frame("server", 0x82, b"{}")
    too_long = b"\x82\x7f" + (limits.WEBSOCKET_MESSAGE_BYTES_MAX + 1).to_bytes(8, "big")
    for bad in (b"\xf3\x01a", too_long, upgrading()):
        assert split("server", good + bad, 0, len(good + bad)).is_broken
    good = frame("client", 0x81, b"{}")
    assert split("client", good + asking(), 0, len(good + asking())).is_broken
    assert not split("client", good + b"G", 0, len(good) + 1).is_broken


def heads_of(side: Side, said: list[bytes]) -> Heads:
    data = b"".join(said)
    ends = np.cumsum([len(each) for each in said])
    starts = ends - [len(each) for each in said]
    flags = np.full(len(said), side == "server")
    return Heads(Frames(data, starts, ends, flags, np.arange(len(said))), limits.OFFRAMP_CLIENT_MESSAGE_BYTES_MAX)


@given(sides, st.lists(st.tuples(firsts, st.binary(max_size=300), masks), min_size=1, max_size=8))
def test_payloads(side: Side, parts: list[tuple[int, bytes, bytes]]) -> None:
    said = [frame(side, *part) for part in parts]
    assert heads_of(side, said).payloads(0, len(said)) == [payload for _, payload, _ in parts]


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
