"""Frames of both sides of a connection, put in the order in which they are emitted."""

from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import NO_INTEGERS, Flags, Integers, begins_of, items_of
from wiretool.dissect.columns.numbering import PACKET_SHIFT, RANK_SHIFT, Numbers
from wiretool.protocols.base.columns import Frames


class Brought(NamedTuple):
    """The pieces that completed frames, a row each: `first_frames[i]` is the first, `counts[i]` the number of them.

    Where the first of these began in an earlier piece, `low` and `high` packet and `latest` time are of all its pieces.
    """

    is_server: Flags
    #: The index of its connection, where there are several.
    owner: Integers
    #: What is to be added to a place in the data for the stream offset.
    base: Integers
    first_frames: Integers
    counts: Integers
    emitted_at: Integers
    turns: Integers
    packets: Integers
    times: Integers
    low: Integers
    high: Integers
    latest: Integers


class PlacedFrames(NamedTuple):
    """Frames in the order of their records; offsets, first and last packets, times, indices of connections.

    `stretches` are the first frames of each piece that completed any.
    """

    frames: Frames
    offsets: Integers
    first: Integers
    last: Integers
    times: Integers
    owner: Integers
    stretches: Integers

    def of_owner(self, rows: Integers) -> "PlacedFrames":
        """Return the frames of one connection, at these rows."""
        is_first = np.zeros(len(self.offsets), np.bool_)
        is_first[self.stretches] = True
        columns = (self.offsets, self.first, self.last, self.times)
        none = np.zeros(len(rows), np.int64)
        offsets, first, last, times = (column[rows] for column in columns)
        stretches = np.flatnonzero(is_first[rows])
        return PlacedFrames(self.frames.take(rows), offsets, first, last, times, none, stretches)


def in_order(data: bytes, pieces: Brought, starts: Integers, ends: Integers, taken: Numbers) -> PlacedFrames:
    """Return the frames with these starts and ends in the order of their records."""
    # What a piece completed is emitted together, so it is enough to put these in order.
    order = np.argsort(pieces.emitted_at, kind="stable")
    if (pieces.emitted_at != pieces.packets).any():
        order = np.lexsort((pieces.turns, pieces.emitted_at))
    pieces = Brought._make(column[order] for column in pieces)
    firsts = np.cumsum(pieces.counts) - pieces.counts
    frames = items_of(pieces.first_frames, pieces.counts)
    starts, ends = starts[frames], ends[frames]
    offsets = np.repeat(pieces.base, pieces.counts) + starts
    is_server, times = np.repeat(pieces.is_server, pieces.counts), np.repeat(pieces.times, pieces.counts)
    first = last = np.repeat(pieces.packets, pieces.counts)
    if (pieces.low != pieces.packets).any() or (pieces.high != pieces.packets).any():
        first = last.copy()
        first[firsts], last[firsts] = pieces.low, pieces.high
    times[firsts] = pieces.latest
    numbers = _numbers_of(pieces, firsts, taken)
    owner = np.repeat(pieces.owner, pieces.counts)
    emitted = Frames(data, starts, ends, is_server, numbers)
    return PlacedFrames(emitted, offsets, first, last, times, owner, firsts)


def _numbers_of(pieces: Brought, firsts: Integers, taken: Numbers) -> Integers:
    """The numbers of frames in order: those that are emitted at one packet have a rank each."""
    if not len(pieces.emitted_at):
        return NO_INTEGERS
    begins = begins_of(pieces.emitted_at)
    counts = np.diff(begins, append=len(firsts))
    base = (pieces.emitted_at << PACKET_SHIFT) - np.repeat(firsts[begins] << RANK_SHIFT, counts)
    packets = pieces.emitted_at[begins]
    for packet in taken.begun(int(packets[0]), int(packets[-1])):
        at = int(np.searchsorted(packets, packet))
        if packets[at] == packet:
            base[begins[at] : begins[at] + counts[at]] += taken.first_free(packet) - (packet << PACKET_SHIFT)
    numbers = np.repeat(base, pieces.counts)
    numbers += np.arange(len(numbers)) << RANK_SHIFT
    taken.used_to(int(numbers[-1]))
    return numbers


class Pieces(NamedTuple):
    """The end of each piece in the data, its packet and time, the packet at which its frames are emitted, and its turn.

    What is emitted at one packet is in the order of turns; those of a flow do not fall.
    """

    ends: Integers
    packets: Integers
    times: Integers
    emitted_at: Integers
    turns: Integers


def brought(
    pieces: Pieces,
    stream_of: Integers,
    is_server: Flags,
    owner: Integers,
    base: Integers,
    starts: Integers,
    ends: Integers,
) -> Brought:
    """Return the pieces that complete frames, by the starts and ends of these.

    The flows are adjacent in the data; side, connection and base are by flow.
    """
    done = np.searchsorted(ends, pieces.ends, "right")
    counts = np.diff(done, prepend=0)
    rows = np.flatnonzero(counts)
    counts, streams = counts[rows], stream_of[rows]
    frames = done[rows] - counts
    packets, times = pieces.packets[rows], pieces.times[rows]
    low, high, latest = packets, packets, times
    began = np.searchsorted(pieces.ends, starts[frames], "right")
    several = np.flatnonzero(began != rows)
    if len(several):
        # Every other stretch is that of a frame: from its first piece to after its last.
        bounds = np.stack((began[several], rows[several] + 1), 1).reshape(-1)
        low, high, latest = low.copy(), low.copy(), times.copy()
        low[several] = _each_other(np.minimum, pieces.packets, bounds)
        high[several] = _each_other(np.maximum, pieces.packets, bounds)
        latest[several] = _each_other(np.maximum, pieces.times, bounds)
    of_stream = is_server[streams], owner[streams], base[streams]
    return Brought(
        *of_stream, frames, counts, pieces.emitted_at[rows], pieces.turns[rows], packets, times, low, high, latest
    )


def _each_other(function: np.ufunc, values: Integers, bounds: Integers) -> Integers:
    reduced: Integers = function.reduceat(np.append(values, values[-1:]), bounds)[::2]
    return reduced
