"""Many connections on their way to columns together, as far as all that they say is plain."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wiretool import limits
from wiretool.batches.batch import Ends, FrameRun
from wiretool.bulk.numbering import Numbers
from wiretool.bulk.pace import TINY_BYTES, Pace
from wiretool.bulk.placing import Pieces, PlacedFrames, brought, in_order
from wiretool.bulk.told import Told
from wiretool.bulk.watch import BulkWatch
from wiretool.capture.runs import Run
from wiretool.capture.sweep import Sweep
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.framing import Mark
from wiretool.codec.hops import ManyHops, hop_each
from wiretool.codec.message import Side
from wiretool.protocols.bulk import BulkProtocol
from wiretool.watch import SIDES


class _Streams(NamedTuple):
    """The streams of some connections of a sweep, what each holds from before in front of its new bytes."""

    sweep: Sweep
    watches: Sequence[BulkWatch]
    #: By stream: its place in the sweep, the index of its watch, and the bytes that it holds.
    places: Integers
    owner: Integers
    is_server: Flags
    held: Sequence[bytes]
    #: Where in the data it begins and ends, and the stream offset of the first byte.
    begins: Integers
    stops: Integers
    offsets: Integers
    #: Pieces, and the stream of each.
    pieces: Pieces
    stream_of: Integers


def read_sweep(sweep: Sweep, numbers: Numbers, pace: Pace, told: Told) -> list[Run]:
    """Read what is plain of a sweep; what each of the other connections has is given back.

    That is what all have, where so much comes of it that it has to be read in parts.
    """
    left: list[Run] = []
    by_protocol: dict[BulkProtocol, list[int]] = {}
    sizes = _sizes_by_side(sweep)
    first_packet = int(sweep.table.numbers[sweep.rows.min()])
    for index, connection in enumerate(sweep.connections):
        watch = connection.reader
        assert isinstance(watch, BulkWatch), "a plain connection has not ended"
        protocol = watch.together(sizes[index], first_packet)
        if protocol is None:
            left.append(sweep.run(index))
        else:
            by_protocol.setdefault(protocol, []).append(index)
    for protocol, indices in by_protocol.items():
        left += _read(protocol, sweep, np.array(indices), numbers, pace, told)
    return left


def _sizes_by_side(sweep: Sweep) -> list[Mapping[Side, int]]:
    sizes = np.zeros((len(sweep.connections), 2), np.int64)
    sizes[sweep.connection_of, sweep.is_server.astype(np.int64)] = sweep.sizes
    return [{"client": client, "server": server} for client, server in sizes.tolist()]


def _read(
    protocol: BulkProtocol, sweep: Sweep, indices: Integers, numbers: Numbers, pace: Pace, told: Told
) -> list[Run]:
    data, streams = _streams_of(sweep, indices)
    prefixes = [protocol.prefixes["client"], protocol.prefixes["server"]]
    begins = streams.pieces.ends[:-1]
    hops = hop_each(data, streams.begins, streams.stops, prefixes, streams.is_server.astype(np.int64), begins)
    tiny = int(np.count_nonzero(np.diff(hops.starts) < TINY_BYTES))
    if pace.is_much([(len(hops.starts), tiny)]):
        return [sweep.run(index) for index in indices.tolist()]
    is_whole = np.ones(len(streams.watches), np.bool_)
    is_whole[streams.owner[hops.is_broken]] = False
    placed = _placed(data, streams, hops, is_whole, numbers)
    _pass(data, streams, hops, is_whole)
    if len(placed.offsets):
        _read_frames(protocol, streams, placed, told)
    return [sweep.run(index) for index in indices[~is_whole].tolist()]


def _streams_of(sweep: Sweep, indices: Integers) -> tuple[bytes, _Streams]:
    """Return the bytes of all streams of some connections one behind the other, and the streams."""
    owner_of = np.full(len(sweep.connections), -1)
    owner_of[indices] = np.arange(len(indices))
    places = np.flatnonzero(owner_of[sweep.connection_of] >= 0)
    owner, is_server = owner_of[sweep.connection_of[places]], sweep.is_server[places]
    watches = [sweep.connections[index].reader for index in indices.tolist()]
    sides = [SIDES[side] for side in is_server.tolist()]
    holds = [watches[at].holds(side) for at, side in zip(owner.tolist(), sides, strict=True)]
    held = [data for data, _ in holds]
    counts = np.diff(sweep.bounds)[places]
    rows = sweep.rows if len(places) == len(sweep.bounds) - 1 else sweep.rows[_spans(sweep.bounds[places], counts)]
    held_bytes = np.array([len(each) for each in held], np.int64)
    sizes = held_bytes + sweep.sizes[places]
    stops = np.cumsum(sizes)
    begins = stops - sizes
    stream_of = np.repeat(np.arange(len(places)), counts)
    table = sweep.table
    ends = np.cumsum(table.lengths[rows]) + np.cumsum(held_bytes)[stream_of]
    packets = table.numbers[rows]
    pieces = Pieces(ends, packets, table.times[rows], packets)
    offsets = sweep.offsets[places] - held_bytes
    if held_bytes.any():
        pieces, stream_of = _with_marks(pieces, stream_of, [marks for _, marks in holds], begins - offsets)
    data = b"".join(_parts(sweep, rows, held, np.append(0, np.cumsum(counts))))
    return data, _Streams(sweep, watches, places, owner, is_server, held, begins, stops, offsets, pieces, stream_of)


def _spans(starts: Integers, counts: Integers) -> Integers:
    behind = np.cumsum(counts)
    every: Integers = np.arange(int(counts.sum())) + np.repeat(starts - (behind - counts), counts)
    return every


def _parts(sweep: Sweep, rows: Integers, held: Sequence[bytes], bounds: Integers) -> list[bytes | memoryview]:
    if not any(held):
        return sweep.table.payloads(rows)
    data = memoryview(sweep.table.data)
    starts, lengths = sweep.table.starts[rows], sweep.table.lengths[rows]
    each = [data[start:stop] for start, stop in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]
    parts: list[bytes | memoryview] = []
    for before, first, last in zip(held, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if before:
            parts.append(before)
        parts += each[first:last]
    return parts


def _with_marks(
    pieces: Pieces, stream_of: Integers, marks: Sequence[Sequence[Mark]], base: Integers
) -> tuple[Pieces, Integers]:
    """Put in front of the pieces of each stream what came before of the bytes that it holds."""
    early = [(stream, *mark) for stream, each in enumerate(marks) for mark in each]
    streams, ends, packets, times = np.array(early, np.int64).reshape(-1, 4).T
    order = np.argsort(np.concatenate((2 * streams, 2 * stream_of + 1)), kind="stable")
    columns = (ends + base[streams], packets, times, packets)
    both = (np.concatenate(pair)[order] for pair in zip(columns, pieces, strict=True))
    return Pieces(*both), np.concatenate((streams, stream_of))[order]


def _placed(data: bytes, streams: _Streams, hops: ManyHops, is_whole: Flags, numbers: Numbers) -> PlacedFrames:
    pieces, stream_of = streams.pieces, streams.stream_of
    starts = hops.starts
    ends = _ends_of(hops)
    if not is_whole.all():
        kept = is_whole[streams.owner[hops.stretch_of]]
        starts, ends = starts[kept], ends[kept]
        is_mine = is_whole[streams.owner[stream_of]]
        pieces, stream_of = Pieces(*(column[is_mine] for column in pieces)), stream_of[is_mine]
    of_stream = streams.is_server, streams.owner, streams.offsets - streams.begins
    return in_order(data, brought(pieces, stream_of, *of_stream, starts, ends), starts, ends, numbers)


def _ends_of(hops: ManyHops) -> Integers:
    """Return where each frame ends: where the next one of its stretch begins, or the frames of that end."""
    ends = np.append(hops.starts[1:], 0)[: len(hops.starts)]
    is_last = np.append(hops.stretch_of[1:] != hops.stretch_of[:-1], True)[: len(hops.starts)]
    ends[is_last] = hops.ends[hops.stretch_of[is_last]]
    return ends


def _pass(data: bytes, streams: _Streams, hops: ManyHops, is_whole: Flags) -> None:
    """Leave the splitters as if they had found the frames themselves."""
    pieces, bounds = streams.pieces, np.searchsorted(streams.stream_of, np.arange(len(streams.places) + 1)).tolist()
    sizes = streams.sweep.sizes[streams.places]
    base = streams.offsets - streams.begins
    columns = streams.owner, streams.is_server, streams.stops, hops.ends, hops.needs, base, sizes
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for stream, (owner, side, stop, end, need, to_offset, size) in enumerate(rows):
        if not is_whole[owner]:
            continue
        watch = streams.watches[owner]
        marks: list[Mark] = []
        if end < stop:
            first, last = bounds[stream : stream + 2]
            first += int(np.searchsorted(pieces.ends[first:last], end, "right"))
            waiting = pieces.ends[first:last] + to_offset, pieces.packets[first:last], pieces.times[first:last]
            marks = [Mark(*each) for each in zip(*(column.tolist() for column in waiting), strict=True)]
        watch.pass_to(SIDES[side], size, end + to_offset, data[end:stop], marks, need)


def _read_frames(protocol: BulkProtocol, streams: _Streams, placed: PlacedFrames, told: Told) -> None:
    watches = streams.watches
    groups, is_read = protocol.read(placed.frames, placed.owner, [watch.conversation for watch in watches])
    if groups:
        ends = [Ends(each.connection.id, each.connection.client, each.connection.server) for each in watches]
        frames, offsets, first, last, times, owner, _ = placed
        told.runs.append(FrameRun(ends, owner, watches[0].protocol, frames, offsets, first, last, times, groups))
    order = np.argsort(placed.owner, kind="stable")
    bounds = np.searchsorted(placed.owner[order], np.arange(len(watches) + 1)).tolist()
    sizes = placed.frames.ends - placed.frames.starts
    frame_bytes = np.bincount(placed.owner, sizes, len(watches)).astype(np.int64).tolist()
    is_stretch = np.zeros(len(order), np.bool_)
    is_stretch[placed.stretches] = True
    for index, watch in enumerate(watches):
        rows = order[bounds[index] : bounds[index + 1]]
        if not len(rows):
            continue
        if not is_read[index]:
            watch.read_frames(placed.of_owner(rows), told)
            watch.note_unfinished()
            continue
        begins = rows[is_stretch[rows]][-limits.REMEMBERED_STRETCHES_MAX :]
        watch.note_told(
            len(rows),
            frame_bytes[index],
            int(placed.first[rows].max()),
            placed.frames.numbers[begins].tolist(),
            placed.first[begins].tolist(),
        )
