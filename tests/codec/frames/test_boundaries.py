"""Hops over frames find what a walk from one to the next finds, wherever packets begin and whatever is broken."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.codec.frames import boundaries as hops
from wiretool.codec.frames.boundaries import ABREAST_MIN, Hops, find_boundaries, hop
from wiretool.codec.frames.prefix import Prefix

PLAIN = Prefix(header_bytes=8, length_at=4, counted_from=8, length_min=0, length_max=300)
#: As in SBP: the length stands first and counts from behind itself.
FIRST = Prefix(header_bytes=4, length_at=0, counted_from=4, length_min=2, length_max=300)


def walked(data: bytes, at: int, end: int, prefix: Prefix) -> Hops:
    """The slow and obvious way."""
    starts: list[int] = []
    while at + prefix.header_bytes <= end:
        length = int.from_bytes(data[at + prefix.length_at : at + prefix.length_at + 4], "big")
        stop = at + prefix.counted_from + length
        if not prefix.length_min <= length <= prefix.length_max:
            return Hops(np.array(starts, np.int64), at, 0, is_broken=True)
        if stop > end:
            return Hops(np.array(starts, np.int64), at, stop - at)
        starts.append(at)
        at = stop
    return Hops(np.array(starts, np.int64), at, 0)


def check(data: bytes, start: int, end: int, prefix: Prefix, guesses: list[int]) -> Hops:
    """AssertionError where the two differ."""
    found = hop(data, start, end, prefix, np.array(guesses, np.int64))
    expected = walked(data, start, end, prefix)
    assert found.starts.tolist() == expected.starts.tolist()
    assert found[1:] == expected[1:]
    return found


def stream(luck: random.Random, prefix: Prefix, frames: int, broken: float) -> tuple[bytes, list[int]]:
    """Frames of any size, now and then one that cannot be; and where they begin."""
    data, starts = bytearray(), []
    for _ in range(frames):
        length = luck.choice([prefix.length_min, 5, 20, luck.randrange(2, 300)])
        if luck.random() < broken:
            length = luck.choice([301, 2**32 - 1, 0 if prefix.length_min else 2**24])
        starts.append(len(data))
        data += luck.randbytes(prefix.length_at) + length.to_bytes(4, "big")
        data += luck.randbytes(prefix.counted_from - prefix.length_at - 4 + min(length, 300))
    return bytes(data), starts


@pytest.mark.parametrize("prefix", [PLAIN, FIRST])
@given(
    seed=st.integers(0, 2**32),
    frames=st.integers(0, 120),
    broken=st.sampled_from([0, 0, 0.02]),
    true=st.floats(0, 1),
    wrong=st.integers(0, 60),
    cut=st.integers(0, 40),
    offset=st.integers(0, 30),
)
def test_hops_are_a_walk(
    prefix: Prefix, seed: int, frames: int, broken: float, true: float, wrong: int, cut: int, offset: int
) -> None:
    luck = random.Random(seed)
    raw, starts = stream(luck, prefix, frames, broken)
    data = luck.randbytes(offset) + raw + luck.randbytes(9)
    end = max(offset, offset + len(raw) - cut)
    guesses = [start + offset for start in starts if luck.random() < true]
    guesses += [luck.randrange(len(data) + 10) for _ in range(wrong)]
    check(data, offset, end, prefix, sorted(guesses))


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=60), st.sampled_from([PLAIN, FIRST]))
def test_any_bytes(data: bytes, guesses: list[int], prefix: Prefix) -> None:
    check(data, 0, len(data), prefix, sorted(guesses))


@pytest.mark.parametrize("step", [1, 3, 50])
def test_frames_longer_than_packets(step: int) -> None:
    """Most packets begin in the middle of a frame, on what looks like one."""
    frame = (200).to_bytes(8, "big") + (b"\0" * 7 + b"\x08") * 25
    data = frame * 60
    found = check(data, 0, len(data) - 1, PLAIN, list(range(0, len(data), step)))
    assert len(found.starts) == 59
    assert found.need == len(frame)
    assert len(range(0, len(data), step)) >= ABREAST_MIN


def test_guesses_that_come_again_are_one() -> None:
    data = b"\0\0\0\1a" * 4
    found = hop(data, 0, len(data), Prefix(4, 0, 4, 0, 9), np.array([5] * 40, np.int64))
    assert found.starts.tolist() == [0, 5, 10, 15]


@pytest.mark.parametrize("prefix", [PLAIN, FIRST])
@pytest.mark.parametrize("abreast", [1, 3, 1_000])
@given(seed=st.integers(0, 2**32), ranges=st.integers(0, 12), broken=st.sampled_from([0, 0.05]))
def test_boundaries_of_many_ranges(prefix: Prefix, abreast: int, seed: int, ranges: int, broken: float) -> None:
    """Each range has the frames that a walk through it alone finds, under its own greatest length."""
    luck = random.Random(seed)
    prefixes = [prefix, replace(prefix, length_max=250)]
    parts = [stream(luck, prefix, luck.randrange(9), broken)[0] for _ in range(ranges)]
    parts = [part[: luck.randrange(len(part) + 1)] if luck.random() < 0.5 else part for part in parts]
    stops = np.cumsum([len(part) for part in parts], dtype=np.int64)
    begins = np.append(0, stops[:-1])[:ranges]
    prefix_of = np.array([luck.randrange(2) for _ in parts], np.int64)
    guesses = np.sort(np.array([luck.randrange(int(stops[-1]) + 1) for _ in range(5 * ranges)], np.int64))
    data = b"".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hops, "RANGES_ABREAST_MIN", abreast)
        found = find_boundaries(data, begins, stops, prefixes, prefix_of, guesses)
    for index in range(ranges):
        expected = walked(data, int(begins[index]), int(stops[index]), prefixes[prefix_of[index]])
        assert found.starts[found.range_of == index].tolist() == expected.starts.tolist()
        assert found.ends[index] == expected.end
        assert found.needs[index] == expected.need
        assert found.is_broken[index] == expected.is_broken
    assert (np.diff(found.starts) > 0).all()


MAGIC = Prefix(header_bytes=4, length_at=0, counted_from=4, length_min=1, length_max=300, magic=(4, 0x17))


@pytest.mark.parametrize("bad", [None, 0, 7, 19])
@pytest.mark.parametrize("abreast", [1, 1_000])
def test_a_frame_without_its_magic_byte_is_broken(
    bad: int | None, abreast: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the unfinished one after the last, if its byte is there."""
    monkeypatch.setattr(hops, "RANGES_ABREAST_MIN", abreast)
    frames = [b"\0\0\0\x02" + (b"\x18" if index == bad else b"\x17") + b"x" for index in range(20)]
    data = b"".join(frames)[:-1]
    bounds = np.array([0, 60]), np.array([60, len(data)])
    found = find_boundaries(data, *bounds, [MAGIC], np.zeros(2, np.int64), np.zeros(0, np.int64))
    assert found.is_broken.tolist() == [bad in (0, 7), bad == 19]
    bounds = bounds[0], bounds[1] - [0, 1]
    unfinished = find_boundaries(data[:-1], *bounds, [MAGIC], np.zeros(2, np.int64), np.zeros(0, np.int64))
    assert unfinished.is_broken.tolist() == [bad in (0, 7), False]
