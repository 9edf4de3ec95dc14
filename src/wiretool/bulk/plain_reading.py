"""Reads the plain segments of many connections together: frames, numbers and fields as columns."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from wiretool import limits
from wiretool.batches.batch import FrameRun
from wiretool.bulk.beginnings import NO_BEGINNINGS, Beginnings, begin
from wiretool.bulk.late import Late
from wiretool.bulk.numbering import Numbers
from wiretool.bulk.pace import TINY_BYTES, Pace
from wiretool.bulk.pending_output import PendingOutput
from wiretool.bulk.placing import Pieces, PlacedFrames, brought, in_order
from wiretool.bulk.steady_watches import Marks, SteadyWatches
from wiretool.bulk.watch import BulkWatch, EndedBulkWatch
from wiretool.capture.items import Connection
from wiretool.capture.plain_runs import PlainSegments
from wiretool.capture.runs import Run
from wiretool.codec.columns import Flags, Integers, items_of
from wiretool.codec.hops import FrameBoundaries
from wiretool.protocols.bulk import Frames, ProtocolColumns, SteadyReader


class _Flows(NamedTuple):
    """The flows of some connections, adjacent in one buffer: the bytes of an unfinished frame, then the new bytes."""

    #: By connection.
    slots: Integers
    #: By flow: its index among steady flows, that of its connection in `slots`, and its new bytes.
    indices: Integers
    owner: Integers
    is_server: Flags
    sizes: Integers
    #: Its start and end in the buffer, and the offset of its first byte in the flow.
    begins: Integers
    stops: Integers
    offsets: Integers
    #: Pieces, and the flow of each.
    pieces: Pieces
    flow_of: Integers


class _Found(NamedTuple):
    """The frames of the connections with these indices in the segments, by one reader."""

    reader: SteadyReader
    indices: Integers
    data: bytes
    flows: _Flows
    boundaries: FrameBoundaries
    #: How many of them are tiny, and bytes that packed messages may come to.
    tiny: int
    expanded_bytes: int


def read_plain_segments(
    plain: PlainSegments,
    steady: SteadyWatches,
    watch_of: Callable[[Connection], BulkWatch | EndedBulkWatch],
    numbers: Numbers,
    pace: Pace,
    output: PendingOutput,
) -> list[Run]:
    """Read the connections that are in step, which `steady` takes over; return the runs of the others.

    Return the runs of all where they have so many frames that they must be read in parts.
    """
    if not len(plain.rows):
        return []
    plain, beginnings = _take_over(plain, steady, watch_of)
    reader_of, readers = steady.readers(plain.slots)
    is_read = reader_of >= 0
    flows = 2 * plain.slots[plain.connection_of] + plain.is_server
    first_packet = int(plain.table.numbers[plain.rows.min()])
    is_read[plain.connection_of[~steady.may_go_on(flows, plain.sizes, first_packet)]] = False
    indices = [np.flatnonzero(is_read & (reader_of == code)) for code in range(len(readers))]
    found = [
        _find_frames(reader, plain, each, steady) for reader, each in zip(readers, indices, strict=True) if len(each)
    ]
    pace.note_frames(sum(int(each.flows.sizes.sum()) for each in found), *_count(found))
    if pace.is_much([_count(found)]) or sum(each.expanded_bytes for each in found) > limits.BATCH_BYTES_MAX:
        is_read[:] = False
        found = []
    for each in found:
        is_read[each.indices] = _read(plain, each, steady, numbers, output)
    steady.release(plain.slots[~is_read])
    beginnings.settle(is_read)
    is_read[list(beginnings.holding)] = True
    return [plain.run(index) for index in np.flatnonzero(~is_read).tolist()]


def _take_over(
    plain: PlainSegments, steady: SteadyWatches, watch_of: Callable[[Connection], BulkWatch | EndedBulkWatch]
) -> tuple[PlainSegments, Beginnings]:
    """Have those connections taken over that can be read together; return when the frames of all are emitted."""
    others = np.flatnonzero(steady.readers(plain.slots)[0] < 0).tolist()
    if not others:
        return plain, NO_BEGINNINGS
    watches = {index: _watch(watch_of, plain.connections[index]) for index in others}
    new = {index: watch for index, watch in watches.items() if not watch.is_settled}
    plain, beginnings = begin(plain, new) if new else (plain, NO_BEGINNINGS)
    sizes = np.zeros((len(plain.connections), 2), np.int64)
    sizes[plain.connection_of, plain.is_server.astype(np.int64)] = plain.sizes
    found = list[tuple[int, BulkWatch, ProtocolColumns]]()
    for index, watch in watches.items():
        columns = watch.columns(sizes[index].tolist())
        if columns is not None:
            found.append((int(plain.slots[index]), watch, columns))
    if found:
        steady.take_over(*zip(*found, strict=True))
    return plain, beginnings


def _watch(watch_of: Callable[[Connection], BulkWatch | EndedBulkWatch], connection: Connection) -> BulkWatch:
    watch = watch_of(connection)
    assert isinstance(watch, BulkWatch), "a plain connection has not ended"
    return watch


def _find_frames(reader: SteadyReader, plain: PlainSegments, indices: Integers, steady: SteadyWatches) -> _Found:
    """Find the frames of some connections."""
    data, flows = _join_flows(plain, indices, steady)
    found = reader.columns.find_boundaries(data, flows.begins, flows.stops, flows.is_server, flows.pieces.ends[:-1])
    tiny = int(np.count_nonzero(np.diff(found.starts) < TINY_BYTES))
    expanded = _expanded_bytes(reader, data, flows, found) if reader.columns.may_expand else 0
    return _Found(reader, indices, data, flows, found, tiny, expanded)


def _expanded_bytes(reader: SteadyReader, data: bytes, flows: _Flows, found: FrameBoundaries) -> int:
    """Return how many bytes packed messages come to, any larger number for more than a batch may have."""
    frames = Frames(data, found.starts, found.frame_ends, flows.is_server[found.range_of], found.starts)
    talks = reader.conversations(flows.slots)
    return reader.columns.expanded_bytes(frames, flows.owner[found.range_of], talks, limits.BATCH_BYTES_MAX)


def _count(found: Sequence[_Found]) -> tuple[int, int]:
    """Return the number of frames, and of tiny ones."""
    return sum(len(each.boundaries.starts) for each in found), sum(each.tiny for each in found)


def _read(
    plain: PlainSegments, frames: _Found, steady: SteadyWatches, numbers: Numbers, output: PendingOutput
) -> Flags:
    """Read the frames of some connections; return which of them were read."""
    reader, indices, data, flows, found, *_ = frames
    is_whole = np.ones(len(indices), np.bool_)
    is_whole[flows.owner[found.is_broken]] = False
    placed = _placed(data, flows, found, is_whole, numbers)
    _pass(data, flows, found, is_whole, steady)
    if len(placed.offsets):
        _read_frames(reader, [plain.connections[index] for index in indices.tolist()], flows, placed, steady, output)
    return is_whole


def _join_flows(plain: PlainSegments, indices: Integers, steady: SteadyWatches) -> tuple[bytes, _Flows]:
    """Return the flows of some connections, and the buffer."""
    owner_of = np.full(len(plain.connections), -1)
    owner_of[indices] = np.arange(len(indices))
    places = np.flatnonzero(owner_of[plain.connection_of] >= 0)
    owner, is_server = owner_of[plain.connection_of[places]], plain.is_server[places]
    slots = plain.slots[indices]
    flows = 2 * slots[owner] + is_server
    held, marks = steady.held(flows)
    counts = np.diff(plain.bounds)[places]
    rows = plain.rows if len(places) == len(plain.bounds) - 1 else plain.rows[items_of(plain.bounds[places], counts)]
    new = plain.sizes[places]
    stops = np.cumsum(held + new)
    begins = stops - held - new
    flow_of = np.repeat(np.arange(len(places)), counts)
    table = plain.table
    ends = np.cumsum(table.lengths[rows]) + np.cumsum(held)[flow_of]
    packets = table.numbers[rows]
    pieces = Pieces(ends, packets, table.times[rows], packets if plain.emitted_at is None else plain.emitted_at[rows])
    offsets = steady.offsets(flows)
    if len(marks.flows):
        pieces, flow_of = _with_marks(pieces, flow_of, marks, begins - offsets)
    if plain.emitted_from is not None:
        emitted_from = plain.emitted_from[indices[owner[flow_of]]]
        pieces = pieces._replace(emitted_at=np.maximum(pieces.emitted_at, emitted_from))
    rests = {at: steady.rest(int(flows[at])) for at in np.flatnonzero(held).tolist()}
    data = b"".join(_parts(plain, rows, rests, np.cumsum(counts) - counts))
    return data, _Flows(slots, flows, owner, is_server, new, begins, stops, offsets, pieces, flow_of)


def _parts(
    plain: PlainSegments, rows: Integers, rests: Mapping[int, bytes], firsts: Integers
) -> list[bytes | memoryview]:
    """Return the payloads of rows, and before the first one of some flows its unfinished frame."""
    if not rests:
        return plain.table.payloads(rows)
    data = memoryview(plain.table.data)
    starts, lengths = plain.table.starts[rows], plain.table.lengths[rows]
    each = [data[start:stop] for start, stop in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]
    parts: list[bytes | memoryview] = []
    done = 0
    for flow, rest in rests.items():
        first = int(firsts[flow])
        parts += each[done:first]
        parts.append(rest)
        done = first
    return parts + each[done:]


def _with_marks(pieces: Pieces, flow_of: Integers, marks: Marks, base: Integers) -> tuple[Pieces, Integers]:
    """Insert the pieces of the unfinished frame of each flow before its new ones."""
    flows, ends, packets, times = marks
    order = np.argsort(np.concatenate((2 * flows, 2 * flow_of + 1)), kind="stable")
    columns = (ends + base[flows], packets, times, packets)
    both = (np.concatenate(pair)[order] for pair in zip(columns, pieces, strict=True))
    return Pieces(*both), np.concatenate((flows, flow_of))[order]


def _placed(data: bytes, flows: _Flows, found: FrameBoundaries, is_whole: Flags, numbers: Numbers) -> PlacedFrames:
    pieces, flow_of = flows.pieces, flows.flow_of
    starts = found.starts
    ends = found.frame_ends
    if not is_whole.all():
        kept = is_whole[flows.owner[found.range_of]]
        starts, ends = starts[kept], ends[kept]
        is_mine = is_whole[flows.owner[flow_of]]
        pieces, flow_of = Pieces(*(column[is_mine] for column in pieces)), flow_of[is_mine]
    of_flow = flows.is_server, flows.owner, flows.offsets - flows.begins
    return in_order(data, brought(pieces, flow_of, *of_flow, starts, ends), starts, ends, numbers)


def _pass(data: bytes, flows: _Flows, found: FrameBoundaries, is_whole: Flags, steady: SteadyWatches) -> None:
    """Note the bytes after the frames."""
    pieces, flow_of, base = flows.pieces, flows.flow_of, flows.offsets - flows.begins
    is_mine = is_whole[flows.owner]
    rows = np.flatnonzero((pieces.ends > found.ends[flow_of]) & is_mine[flow_of])
    of = flow_of[rows]
    marks = Marks(flows.indices[of], pieces.ends[rows] + base[of], pieces.packets[rows], pieces.times[rows])
    open_ones = np.flatnonzero((found.ends < flows.stops) & is_mine)
    columns = flows.indices[open_ones], found.ends[open_ones], flows.stops[open_ones]
    rests = {flow: data[end:stop] for flow, end, stop in zip(*(column.tolist() for column in columns), strict=True)}
    indices, sizes, offsets = flows.indices[is_mine], flows.sizes[is_mine], (found.ends + base)[is_mine]
    steady.pass_bytes(indices, sizes, offsets, found.needs[is_mine], rests, marks)


class _SingleFrames:
    """Reads frames of several connections by themselves; those of a connection are in order."""

    def __init__(self, connections: Sequence[Connection], placed: PlacedFrames, output: PendingOutput) -> None:
        self._connections = connections
        self._placed = placed
        self._output = output
        #: By connection, from its first single frame on: its frames, and which of them are late.
        self.started: dict[int, tuple[PlacedFrames, Late]] = {}

    @cached_property
    def _order(self) -> Integers:
        return np.argsort(self._placed.owner, kind="stable")

    @cached_property
    def _bounds(self) -> list[int]:
        bounds: list[int] = np.searchsorted(
            self._placed.owner[self._order], np.arange(len(self._connections) + 1)
        ).tolist()
        return bounds

    @cached_property
    def _place_of(self) -> Integers:
        place_of = np.empty(len(self._order), np.int64)
        place_of[self._order] = np.arange(len(self._order))
        return place_of

    def watch(self, index: int) -> BulkWatch:
        """Return the watch over a connection."""
        watch = self._connections[index].reader
        assert isinstance(watch, BulkWatch), "a plain connection has not ended"
        return watch

    def rows_of(self, index: int) -> Integers:
        """Return the frames of a connection."""
        return self._order[self._bounds[index] : self._bounds[index + 1]]

    def read(self, row: int) -> None:
        """Read a frame."""
        index = int(self._placed.owner[row])
        if index not in self.started:
            mine = self._placed.of_owner(self.rows_of(index))
            self.started[index] = mine, self.watch(index).late(mine)
        mine, late = self.started[index]
        self.watch(index).read_one(mine, int(self._place_of[row]) - self._bounds[index], late, self._output)


def _read_frames(
    reader: SteadyReader,
    connections: Sequence[Connection],
    flows: _Flows,
    placed: PlacedFrames,
    steady: SteadyWatches,
    output: PendingOutput,
) -> None:
    is_left = np.zeros(len(connections), np.bool_)

    def leave(those: Flags) -> None:
        is_left[those] = True
        steady.release(flows.slots[those])

    singles = _SingleFrames(connections, placed, output)
    ends = steady.ends(flows.slots)
    groups, is_read = reader.read(placed.frames, placed.owner, flows.slots, leave, singles.read)
    leave(~is_read)
    if groups:
        frames, offsets, first, last, times, owner, _ = placed
        output.runs.append(
            FrameRun(ends, owner, singles.watch(0).protocol, frames, offsets, first, last, times, groups)
        )
    rows_read = np.concatenate([_NO_ROWS, *(group.rows for group in groups)])
    owner = placed.owner[rows_read]
    sizes = (placed.frames.ends - placed.frames.starts)[rows_read]
    counts = np.bincount(owner, minlength=len(connections))
    frame_bytes = np.bincount(owner, sizes, len(connections)).astype(np.int64)
    steady.count_frames(flows.slots[~is_left], counts[~is_left], frame_bytes[~is_left])
    is_first = np.zeros(len(placed.owner), np.bool_)
    is_first[placed.stretches] = True
    mine = ~is_left[placed.owner]
    steady.note_frames(flows.slots[placed.owner[mine]], placed.first[mine], is_first[mine], placed.frames.numbers[mine])
    for index in np.flatnonzero(is_left).tolist():
        watch, rows = singles.watch(index), singles.rows_of(index)
        if not len(rows):
            continue
        if not is_read[index]:
            watch.read_frames(placed.of_owner(rows), output)
        else:
            watch.count(0, int(counts[index]), int(frame_bytes[index]))
        if index in singles.started:
            _, late = singles.started[index]
            watch.note_latest(late.catch_up(len(rows)))
        elif is_read[index]:
            begins = rows[is_first[rows]][-limits.REMEMBERED_STRETCHES_MAX :]
            watch.note_latest(int(placed.first[rows].max()))
            watch.note_groups(placed.frames.numbers[begins].tolist(), placed.first[begins].tolist())
        watch.note_unfinished()


_NO_ROWS = np.zeros(0, np.int64)
