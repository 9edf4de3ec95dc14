"""Boundaries of frames with their length in the header: all of a stretch of a stream at once."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import NO_INTEGERS, Flags, Integers, overlaid
from wiretool.codec.frames.prefix import Prefix

#: Blocks that are walked through side by side; fewer are faster one after another. The same for ranges.
ABREAST_MIN = 16
RANGES_ABREAST_MIN = 48
#: The greatest length in a header.
_ANY_LENGTH = 0xFFFF_FFFF


class Hops(NamedTuple):
    """Where each whole frame begins, and where the last of them ends.

    `need` is the extent of the frame that begins there, 0 while its header is not whole. `is_broken`: none can.
    """

    starts: Integers
    end: int
    need: int
    is_broken: bool = False


def hop(data: bytes, start: int, end: int, prefix: Prefix, guesses: Integers) -> Hops:
    """The frames of `data[start:end]`, of which one begins at `start`.

    `guesses` are places where one is likely to begin, ascending: where packets begin. A wrong one only costs time.
    """
    guesses = guesses[(guesses > start) & (guesses < end)]
    if len(guesses) + 1 < ABREAST_MIN:
        return _walk(data, start, end, prefix)
    blocks = np.concatenate(([start], guesses, [end]))
    if (blocks[1:] <= blocks[:-1]).any():
        blocks = np.unique(blocks)
        if len(blocks) <= ABREAST_MIN:
            return _walk(data, start, end, prefix)
    starts, block_of, finals = _abreast(data, end, prefix, blocks)
    return _chained(data, end, prefix, blocks, starts, block_of, finals)


def _has_other_magic(data: bytes, begins: Integers, ends: Integers | int, magic: tuple[int, int]) -> Flags:
    """Return which frames have another byte in the place of the magic one, if it is before `ends`."""
    at = begins + magic[0]
    is_there = at < ends
    has_other = is_there.copy()
    has_other[is_there] = np.frombuffer(data, np.uint8)[at[is_there]] != magic[1]
    return has_other


def _walk(data: bytes, at: int, end: int, prefix: Prefix, stops: set[int] | None = None) -> Hops:
    """One frame after another; to the first of `stops` behind a frame, if there are any."""
    starts: list[int] = []
    append, unpack = starts.append, Struct(prefix.order + "I").unpack_from
    length_at, counted_from = prefix.length_at, prefix.counted_from
    low, high, header_bytes = prefix.length_min, prefix.length_max, prefix.header_bytes
    need, is_broken = 0, False
    while at + header_bytes <= end:
        length = unpack(data, at + length_at)[0]
        if not low <= length <= high:
            is_broken = True
            break
        stop = at + counted_from + length
        if stop > end:
            need = stop - at
            break
        append(at)
        at = stop
        if stops is not None and at in stops:
            break
    return Hops(np.array(starts, np.int64), at, need, is_broken)


def _abreast(data: bytes, end: int, prefix: Prefix, blocks: Integers) -> tuple[Integers, Integers, Integers]:
    """Walk through all blocks side by side, as if a frame began with each: frames, their blocks, where each ends."""
    finals, active, at = blocks[:-1].copy(), np.arange(len(blocks) - 1), blocks[:-1]
    # A block is done where no header begins in it any more.
    limit = np.minimum(blocks[1:], end - prefix.header_bytes + 1)
    # Each header from here on is whole, so its length can be taken as it is.
    lengths = overlaid(data, np.dtype(prefix.order + "u4"))[prefix.length_at :]
    found: list[Integers] = []
    found_in: list[Integers] = []
    while len(active) >= ABREAST_MIN:
        goes_on = at < limit
        if np.count_nonzero(goes_on) < len(active):
            finals[active] = at
            active, at, limit = active[goes_on], at[goes_on], limit[goes_on]
        length = lengths[at].astype(np.int64)
        stop = at + length
        stop += prefix.counted_from
        fits = stop <= end
        if prefix.length_max < _ANY_LENGTH:
            fits &= length <= prefix.length_max
        if prefix.length_min:
            fits &= length >= prefix.length_min
        if np.count_nonzero(fits) < len(active):
            finals[active] = at
            active, at, limit, stop = active[fits], at[fits], limit[fits], stop[fits]
        found.append(at)
        found_in.append(active)
        at = stop
    finals[active] = at
    # The rest goes on from its `finals` one by one; a block that is done begins after its end there.
    return np.concatenate(found), np.concatenate(found_in), finals


def _chained(
    data: bytes, end: int, prefix: Prefix, blocks: Integers, starts: Integers, block_of: Integers, finals: Integers
) -> Hops:
    """The frames of those blocks that do begin with one: that to which another chain leads, from the first on."""
    broken = np.flatnonzero(finals != blocks[1:])
    is_true = np.zeros(len(finals), np.bool_)
    walked: list[Integers] = []
    block, count = 0, len(finals)
    stops: set[int] | None = None
    while True:
        index = int(np.searchsorted(broken, block))
        last = int(broken[index]) if index < len(broken) else count - 1
        is_true[block : last + 1] = True
        at = int(finals[last])
        if index == len(broken):
            walk = Hops(NO_INTEGERS, at, 0)
            break
        if stops is None:
            stops = set(blocks[:-1].tolist())
        walk = _walk(data, at, end, prefix, stops)
        walked.append(walk.starts)
        if walk.end not in stops or not len(walk.starts):
            break
        block = int(np.searchsorted(blocks, walk.end))
    true = np.concatenate([starts if is_true.all() else starts[is_true[block_of]], *walked])
    true.sort()
    return walk._replace(starts=true)


class FrameBoundaries(NamedTuple):
    """The complete frames in many ranges of bytes: the start of each, ascending, and its range.

    By range: the end of its last complete frame, the length of the next one (0 if unknown), and whether it is invalid.
    """

    starts: Integers
    range_of: Integers
    ends: Integers
    needs: Integers
    is_broken: Flags

    @property
    def frame_ends(self) -> Integers:
        """Return the end of each frame: the start of the next one in its range, or the end of the last one."""
        ends = np.append(self.starts[1:], 0)[: len(self.starts)]
        is_last = np.append(self.range_of[1:] != self.range_of[:-1], True)[: len(self.starts)]
        ends[is_last] = self.ends[self.range_of[is_last]]
        return ends


def find_boundaries(
    data: bytes, begins: Integers, stops: Integers, prefixes: Sequence[Prefix], prefix_of: Integers, guesses: Integers
) -> FrameBoundaries:
    """Find the frames of each `data[begins[i] : stops[i]]`; the first one starts at its first byte.

    The ranges ascend. Each has one of the prefixes, which differ only in the greatest length. `guesses` are likely
    starts of frames, ascending.
    """
    found = walk_ranges(data, begins, stops, PrefixedHeaders(prefixes, prefix_of, guesses))
    magic = prefixes[0].magic
    if magic is not None:
        found.is_broken[_has_other_magic(data, found.ends, stops, magic)] = True
        has_other = _has_other_magic(data, found.starts, len(data), magic)
        found.is_broken[found.range_of[has_other]] = True
    return found


class Headers(ABC):
    """Headers of frames in ranges of bytes, with the length of each frame."""

    @abstractmethod
    def ends(self, data: bytes, starts: Integers, stops: Integers, ranges: Integers) -> Integers:
        """Return the end of the frame at each of the starts, which are in these ranges with these stops.

        It is after the stop where the frame is not complete, or its range has to be walked from there on.
        """

    @abstractmethod
    def walk(self, data: bytes, start: int, stop: int, index: int) -> Hops:
        """Return the frames of `data[start:stop]`, the rest of a range; one begins at `start`."""


class PrefixedHeaders(Headers):
    """Headers that are prefixes."""

    def __init__(self, prefixes: Sequence[Prefix], prefix_of: Integers, guesses: Integers) -> None:
        self._prefixes = prefixes
        self._prefix_of = prefix_of
        self._guesses = guesses
        self._most = np.array([each.length_max for each in prefixes], np.int64)

    def ends(self, data: bytes, starts: Integers, stops: Integers, ranges: Integers) -> Integers:
        prefix = self._prefixes[0]
        ends = stops + 1
        is_there = starts + prefix.header_bytes <= stops
        at = starts if is_there.all() else starts[is_there]
        length = overlaid(data, np.dtype(prefix.order + "u4"))[at + prefix.length_at].astype(np.int64)
        fits = (length >= prefix.length_min) & (length <= self._most[self._prefix_of[ranges[is_there]]])
        ends[is_there] = np.where(fits, at + (length + prefix.counted_from), ends[is_there])
        return ends

    def walk(self, data: bytes, start: int, stop: int, index: int) -> Hops:
        first, last = np.searchsorted(self._guesses, (start, stop)).tolist()
        return hop(data, start, stop, self._prefixes[self._prefix_of[index]], self._guesses[first:last])


def walk_ranges(data: bytes, begins: Integers, stops: Integers, headers: Headers) -> FrameBoundaries:
    """Find the frames of each `data[begins[i] : stops[i]]` by their headers; the first one starts at its first byte."""
    at, active, steps = begins.copy(), np.arange(len(begins)), list[tuple[Integers, Integers]]()
    while len(active) >= RANGES_ABREAST_MIN:
        starts = at[active]
        ends = headers.ends(data, starts, stops[active], active)
        fits = ends <= stops[active]
        if not fits.all():
            active, starts, ends = active[fits], starts[fits], ends[fits]
        at[active] = ends
        steps.append((active, starts))
    return _finish_ranges(data, at, stops, headers, steps)


def _finish_ranges(
    data: bytes, at: Integers, stops: Integers, headers: Headers, steps: Sequence[tuple[Integers, Integers]]
) -> FrameBoundaries:
    """Walk the rest of each range; `steps` has the frames of all ranges so far."""
    count = len(at)
    found = np.bincount(np.concatenate([NO_INTEGERS, *(active for active, _ in steps)]), minlength=count)
    needs, is_broken, rest = np.zeros(count, np.int64), np.zeros(count, np.bool_), dict[int, Integers]()
    for index in np.flatnonzero(at < stops).tolist():
        found_in = headers.walk(data, int(at[index]), int(stops[index]), index)
        at[index], needs[index], is_broken[index] = found_in.end, found_in.need, found_in.is_broken
        if len(found_in.starts):
            rest[index] = found_in.starts
    total = found.copy()
    for index, starts in rest.items():
        total[index] += len(starts)
    first = np.cumsum(total) - total
    out = np.empty(int(total.sum()), np.int64)
    for step, (active, starts) in enumerate(steps):
        out[first[active] + step] = starts
    for index, starts in rest.items():
        begin = int(first[index] + found[index])
        out[begin : begin + len(starts)] = starts
    return FrameBoundaries(out, np.repeat(np.arange(count), total), at, needs, is_broken)
