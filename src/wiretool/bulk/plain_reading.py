"""Reads the plain segments of many connections together: frames, numbers and fields as columns."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wiretool import limits
from wiretool.batches.batch import Ends, FrameRun
from wiretool.bulk.late import Late
from wiretool.bulk.numbering import Numbers
from wiretool.bulk.pace import TINY_BYTES, Pace
from wiretool.bulk.pending_output import PendingOutput
from wiretool.bulk.placing import Pieces, PlacedFrames, brought, in_order
from wiretool.bulk.watch import BulkWatch, EndedBulkWatch
from wiretool.capture.items import Connection
from wiretool.capture.plain_segments import PlainSegments
from wiretool.capture.runs import Run
from wiretool.codec.columns import Flags, Integers, begins_of
from wiretool.codec.framing import Mark
from wiretool.codec.hops import FrameBoundaries
from wiretool.codec.message import Side
from wiretool.protocols.bulk import Frames, ProtocolColumns
from wiretool.watch import SIDES


class _Flows(NamedTuple):
    """The flows of some connections, adjacent in one buffer: the bytes of an unfinished frame, then the new bytes."""

    plain: PlainSegments
    watches: Sequence[BulkWatch]
    #: By flow: its index in the segments, the index of its watch, and the bytes of its unfinished frame.
    places: Integers
    owner: Integers
    is_server: Flags
    held: Sequence[bytes]
    #: Its start and end in the buffer, and the offset of its first byte in the flow.
    begins: Integers
    stops: Integers
    offsets: Integers
    #: Pieces, and the flow of each.
    pieces: Pieces
    flow_of: Integers


def read_plain_segments(
    plain: PlainSegments,
    watch_of: Callable[[Connection], BulkWatch | EndedBulkWatch],
    numbers: Numbers,
    pace: Pace,
    output: PendingOutput,
) -> list[Run]:
    """Read the connections that are in step; return the runs of the others.

    Return the runs of all where they have so many frames that they must be read in parts.
    """
    left: list[Run] = []
    if not len(plain.rows):
        return left
    by_protocol: dict[ProtocolColumns, list[int]] = {}
    sizes = _sizes_by_side(plain)
    first_packet = int(plain.table.numbers[plain.rows.min()])
    firsts = _first_rows(plain)
    for index, connection in enumerate(plain.connections):
        watch = watch_of(connection)
        assert isinstance(watch, BulkWatch), "a plain connection has not ended"
        if not watch.has_begun:
            row, is_server = firsts[index]
            watch.begin(SIDES[is_server], plain.table.payload(row))
        protocol = watch.together(sizes[index], first_packet)
        if protocol is None:
            left.append(plain.run(index))
        else:
            by_protocol.setdefault(protocol, []).append(index)
    for protocol, indices in by_protocol.items():
        left += _read(protocol, plain, np.array(indices), numbers, pace, output)
    return left


def _first_rows(plain: PlainSegments) -> list[tuple[int, bool]]:
    """Return the first row of each connection, and whether it is the server's."""
    rows = plain.rows[plain.bounds[:-1]]
    order = np.lexsort((rows, plain.connection_of))
    firsts = order[begins_of(plain.connection_of[order])]
    return list(zip(rows[firsts].tolist(), plain.is_server[firsts].tolist(), strict=True))


def _sizes_by_side(plain: PlainSegments) -> list[Mapping[Side, int]]:
    sizes = np.zeros((len(plain.connections), 2), np.int64)
    sizes[plain.connection_of, plain.is_server.astype(np.int64)] = plain.sizes
    return [{"client": client, "server": server} for client, server in sizes.tolist()]


def _read(
    protocol: ProtocolColumns,
    plain: PlainSegments,
    indices: Integers,
    numbers: Numbers,
    pace: Pace,
    output: PendingOutput,
) -> list[Run]:
    data, flows = _join_flows(plain, indices)
    found = protocol.find_boundaries(data, flows.begins, flows.stops, flows.is_server, flows.pieces.ends[:-1])
    tiny = int(np.count_nonzero(np.diff(found.starts) < TINY_BYTES))
    if pace.is_much([(len(found.starts), tiny)]) or _expand(protocol, data, flows, found):
        return [plain.run(index) for index in indices.tolist()]
    is_whole = np.ones(len(flows.watches), np.bool_)
    is_whole[flows.owner[found.is_broken]] = False
    placed = _placed(data, flows, found, is_whole, numbers)
    _pass(data, flows, found, is_whole)
    if len(placed.offsets):
        _read_frames(protocol, flows, placed, output)
    return [plain.run(index) for index in indices[~is_whole].tolist()]


def _expand(protocol: ProtocolColumns, data: bytes, flows: _Flows, found: FrameBoundaries) -> bool:
    """Return whether packed messages come to more than a batch may have."""
    most = limits.BATCH_BYTES_MAX
    frames = Frames(data, found.starts, _ends_of(found), flows.is_server[found.range_of], found.starts)
    talks = [watch.conversation for watch in flows.watches]
    return protocol.expanded_bytes(frames, flows.owner[found.range_of], talks, most) > most


def _join_flows(plain: PlainSegments, indices: Integers) -> tuple[bytes, _Flows]:
    """Return the flows of some connections, and the buffer."""
    owner_of = np.full(len(plain.connections), -1)
    owner_of[indices] = np.arange(len(indices))
    places = np.flatnonzero(owner_of[plain.connection_of] >= 0)
    owner, is_server = owner_of[plain.connection_of[places]], plain.is_server[places]
    watches = [plain.connections[index].reader for index in indices.tolist()]
    sides = [SIDES[side] for side in is_server.tolist()]
    holds = [watches[at].holds(side) for at, side in zip(owner.tolist(), sides, strict=True)]
    held = [data for data, _ in holds]
    counts = np.diff(plain.bounds)[places]
    rows = plain.rows if len(places) == len(plain.bounds) - 1 else plain.rows[_spans(plain.bounds[places], counts)]
    held_bytes = np.array([len(each) for each in held], np.int64)
    sizes = held_bytes + plain.sizes[places]
    stops = np.cumsum(sizes)
    begins = stops - sizes
    flow_of = np.repeat(np.arange(len(places)), counts)
    table = plain.table
    ends = np.cumsum(table.lengths[rows]) + np.cumsum(held_bytes)[flow_of]
    packets = table.numbers[rows]
    pieces = Pieces(ends, packets, table.times[rows], packets)
    offsets = plain.offsets[places] - held_bytes
    if held_bytes.any():
        pieces, flow_of = _with_marks(pieces, flow_of, [marks for _, marks in holds], begins - offsets)
    data = b"".join(_parts(plain, rows, held, np.append(0, np.cumsum(counts))))
    return data, _Flows(plain, watches, places, owner, is_server, held, begins, stops, offsets, pieces, flow_of)


def _spans(starts: Integers, counts: Integers) -> Integers:
    behind = np.cumsum(counts)
    every: Integers = np.arange(int(counts.sum())) + np.repeat(starts - (behind - counts), counts)
    return every


def _parts(plain: PlainSegments, rows: Integers, held: Sequence[bytes], bounds: Integers) -> list[bytes | memoryview]:
    if not any(held):
        return plain.table.payloads(rows)
    data = memoryview(plain.table.data)
    starts, lengths = plain.table.starts[rows], plain.table.lengths[rows]
    each = [data[start:stop] for start, stop in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]
    parts: list[bytes | memoryview] = []
    for before, first, last in zip(held, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if before:
            parts.append(before)
        parts += each[first:last]
    return parts


def _with_marks(
    pieces: Pieces, flow_of: Integers, marks: Sequence[Sequence[Mark]], base: Integers
) -> tuple[Pieces, Integers]:
    """Insert the pieces of the unfinished frame of each flow before its new ones."""
    early = [(flow, *mark) for flow, each in enumerate(marks) for mark in each]
    flows, ends, packets, times = np.array(early, np.int64).reshape(-1, 4).T
    order = np.argsort(np.concatenate((2 * flows, 2 * flow_of + 1)), kind="stable")
    columns = (ends + base[flows], packets, times, packets)
    both = (np.concatenate(pair)[order] for pair in zip(columns, pieces, strict=True))
    return Pieces(*both), np.concatenate((flows, flow_of))[order]


def _placed(data: bytes, flows: _Flows, found: FrameBoundaries, is_whole: Flags, numbers: Numbers) -> PlacedFrames:
    pieces, flow_of = flows.pieces, flows.flow_of
    starts = found.starts
    ends = _ends_of(found)
    if not is_whole.all():
        kept = is_whole[flows.owner[found.range_of]]
        starts, ends = starts[kept], ends[kept]
        is_mine = is_whole[flows.owner[flow_of]]
        pieces, flow_of = Pieces(*(column[is_mine] for column in pieces)), flow_of[is_mine]
    of_flow = flows.is_server, flows.owner, flows.offsets - flows.begins
    return in_order(data, brought(pieces, flow_of, *of_flow, starts, ends), starts, ends, numbers)


def _ends_of(found: FrameBoundaries) -> Integers:
    """Return the end of each frame: the start of the next one in its flow, or the end of the last one."""
    ends = np.append(found.starts[1:], 0)[: len(found.starts)]
    is_last = np.append(found.range_of[1:] != found.range_of[:-1], True)[: len(found.starts)]
    ends[is_last] = found.ends[found.range_of[is_last]]
    return ends


def _pass(data: bytes, flows: _Flows, found: FrameBoundaries, is_whole: Flags) -> None:
    """Update the splitters as if they had found the frames."""
    pieces, bounds = flows.pieces, np.searchsorted(flows.flow_of, np.arange(len(flows.places) + 1)).tolist()
    sizes = flows.plain.sizes[flows.places]
    base = flows.offsets - flows.begins
    columns = flows.owner, flows.is_server, flows.stops, found.ends, found.needs, base, sizes
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for index, (owner, side, stop, end, need, to_offset, size) in enumerate(rows):
        if not is_whole[owner]:
            continue
        watch = flows.watches[owner]
        marks: list[Mark] = []
        if end < stop:
            first, last = bounds[index : index + 2]
            first += int(np.searchsorted(pieces.ends[first:last], end, "right"))
            waiting = pieces.ends[first:last] + to_offset, pieces.packets[first:last], pieces.times[first:last]
            marks = [Mark(*each) for each in zip(*(column.tolist() for column in waiting), strict=True)]
        watch.pass_to(SIDES[side], size, end + to_offset, data[end:stop], marks, need)


class _SingleFrames:
    """Reads frames of several connections by themselves; those of a connection are in order."""

    def __init__(self, watches: Sequence[BulkWatch], placed: PlacedFrames, output: PendingOutput) -> None:
        self._watches = watches
        self._placed = placed
        self._output = output
        self._order = np.argsort(placed.owner, kind="stable")
        self._bounds: list[int] = np.searchsorted(placed.owner[self._order], np.arange(len(watches) + 1)).tolist()
        #: By connection, from its first single frame on: its frames, and which of them are late.
        self.started: dict[int, tuple[PlacedFrames, Late]] = {}
        self._place_of = np.empty(0, np.int64)

    def rows_of(self, index: int) -> Integers:
        """Return the frames of a connection."""
        return self._order[self._bounds[index] : self._bounds[index + 1]]

    def read(self, row: int) -> None:
        """Read a frame."""
        index = int(self._placed.owner[row])
        if not self.started:
            self._place_of = np.empty(len(self._order), np.int64)
            self._place_of[self._order] = np.arange(len(self._order))
        if index not in self.started:
            mine = self._placed.of_owner(self.rows_of(index))
            self.started[index] = mine, self._watches[index].late(mine)
        mine, late = self.started[index]
        self._watches[index].read_one(mine, int(self._place_of[row]) - self._bounds[index], late, self._output)


def _read_frames(protocol: ProtocolColumns, flows: _Flows, placed: PlacedFrames, output: PendingOutput) -> None:
    watches = flows.watches
    singles = _SingleFrames(watches, placed, output)
    talks = [watch.conversation for watch in watches]
    groups, is_read = protocol.read(placed.frames, placed.owner, talks, singles.read)
    if groups:
        ends = [Ends(each.connection.id, each.connection.client, each.connection.server) for each in watches]
        frames, offsets, first, last, times, owner, _ = placed
        output.runs.append(FrameRun(ends, owner, watches[0].protocol, frames, offsets, first, last, times, groups))
    rows_read = np.concatenate([_NO_ROWS, *(group.rows for group in groups)])
    owner = placed.owner[rows_read]
    sizes = (placed.frames.ends - placed.frames.starts)[rows_read]
    counts = np.bincount(owner, minlength=len(watches)).tolist()
    frame_bytes = np.bincount(owner, sizes, len(watches)).astype(np.int64).tolist()
    is_first = np.zeros(len(placed.owner), np.bool_)
    is_first[placed.stretches] = True
    for index, watch in enumerate(watches):
        rows = singles.rows_of(index)
        if not len(rows):
            continue
        if not is_read[index]:
            watch.read_frames(placed.of_owner(rows), output)
            watch.note_unfinished()
        elif index in singles.started:
            _, late = singles.started[index]
            watch.count_frames(counts[index], frame_bytes[index], late.catch_up(len(rows)), [], [])
            watch.note_unfinished()
        else:
            begins = rows[is_first[rows]][-limits.REMEMBERED_STRETCHES_MAX :]
            latest = int(placed.first[rows].max())
            firsts = placed.frames.numbers[begins].tolist(), placed.first[begins].tolist()
            watch.count_frames(counts[index], frame_bytes[index], latest, *firsts)


_NO_ROWS = np.zeros(0, np.int64)
