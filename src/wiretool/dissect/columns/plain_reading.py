"""Reads the plain segments of many connections together: frames, numbers and fields as columns."""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np

from wiretool import limits
from wiretool.batches.batch import FrameRun
from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.tcp.stream_events import Connection
from wiretool.codec.columns import NO_INTEGERS, Flags, Integers
from wiretool.codec.frames.boundaries import FrameBoundaries
from wiretool.dissect.columns.joined_flows import JoinedFlows, join_flows, note_rests, place_frames
from wiretool.dissect.columns.late import Late, without_replies
from wiretool.dissect.columns.numbering import Numbers
from wiretool.dissect.columns.pace import TINY_BYTES, Pace
from wiretool.dissect.columns.pending_output import PendingOutput
from wiretool.dissect.columns.placing import PlacedFrames
from wiretool.dissect.columns.recognition import NO_NEW_WATCHES, NewWatches, recognise_new
from wiretool.dissect.columns.steady_watches import SteadyWatches
from wiretool.dissect.columns.watch import BulkWatch, EndedBulkWatch
from wiretool.protocols.base.columns import NO_REPLY, Frames, Group, ProtocolColumns, SteadyReader


class _Found(NamedTuple):
    """The frames of the connections with these indices in the segments, by one reader."""

    reader: SteadyReader
    indices: Integers
    data: bytes
    flows: JoinedFlows
    boundaries: FrameBoundaries
    #: How many of them are tiny, and bytes that packed messages may come to.
    tiny: int
    expanded_bytes: int


class ReadSegments(NamedTuple):
    """By connection whether its segments were read; and whether they were not as all have too many frames."""

    are_read: Flags
    is_much: bool


def read_plain_segments(
    plain: PlainSegments,
    steady: SteadyWatches,
    watch_of: Callable[[Connection], BulkWatch | EndedBulkWatch],
    numbers: Numbers,
    pace: Pace,
    output: PendingOutput,
    *,
    is_least: bool = False,
) -> ReadSegments:
    """Read the connections that are in step, which `steady` takes over; return which were read.

    Read none where they have so many frames that they must be read in parts, unless `is_least`.
    """
    if not len(plain.rows):
        return ReadSegments(np.zeros(0, np.bool_), is_much=False)
    plain, slots, new = _take_over(plain, steady, watch_of)
    is_read = slots >= 0
    reader_of, readers = steady.readers(slots)
    is_known = is_read[plain.connection_of]
    flows = (2 * slots[plain.connection_of] + plain.is_server)[is_known]
    is_read[plain.connection_of[is_known][~steady.may_go_on(flows, plain.sizes[is_known])]] = False
    indices = [np.flatnonzero(is_read & (reader_of == code)) for code in range(len(readers))]
    found = [
        _find_frames(reader, plain, each, slots[each], steady)
        for reader, each in zip(readers, indices, strict=True)
        if len(each)
    ]
    pace.note_frames(sum(int(each.flows.sizes.sum()) for each in found), *_count(found))
    is_much = pace.is_much(*_count(found)) or sum(each.expanded_bytes for each in found) > limits.BATCH_BYTES_MAX
    is_much &= not is_least
    if is_much:
        is_read[:] = False
        found = []
    for each in found:
        is_read[each.indices] = _read(plain, each, steady, numbers, output)
    steady.release(compress(plain.connections, (~is_read).tolist()))
    new.settle(is_read)
    is_read[list(new.holding)] = True
    return ReadSegments(is_read, is_much)


def _take_over(
    plain: PlainSegments, steady: SteadyWatches, watch_of: Callable[[Connection], BulkWatch | EndedBulkWatch]
) -> tuple[PlainSegments, Integers, NewWatches]:
    """Have those connections taken over that can be read together.

    Return when the frames of all are emitted, and the slot of each connection, -1 of those that were not taken over.
    """
    slots = steady.slots_of(plain.connections)
    others = np.flatnonzero(slots < 0).tolist()
    if not others:
        return plain, slots, NO_NEW_WATCHES
    watches = {index: _watch(watch_of, plain.connections[index]) for index in others}
    unknown = {index: watch for index, watch in watches.items() if not watch.is_settled}
    plain, new = recognise_new(plain, unknown) if unknown else (plain, NO_NEW_WATCHES)
    sizes = np.zeros((len(plain.connections), 2), np.int64)
    sizes[plain.connection_of, plain.is_server.astype(np.int64)] = plain.sizes
    found = list[tuple[int, BulkWatch, ProtocolColumns]]()
    for index, watch in watches.items():
        columns = watch.columns(sizes[index].tolist())
        if columns is not None:
            found.append((index, watch, columns))
    if found:
        indices, mine, columns_of = zip(*found, strict=True)
        slots[list(indices)] = steady.take_over(mine, columns_of)
    return plain, slots, new


def _watch(watch_of: Callable[[Connection], BulkWatch | EndedBulkWatch], connection: Connection) -> BulkWatch:
    watch = watch_of(connection)
    assert isinstance(watch, BulkWatch), "a plain connection has not ended"
    return watch


def _find_frames(
    reader: SteadyReader, plain: PlainSegments, indices: Integers, slots: Integers, steady: SteadyWatches
) -> _Found:
    """Find the frames of some connections, which are in these slots."""
    data, flows = join_flows(plain, indices, slots, steady)
    found = reader.columns.find_boundaries(data, flows.begins, flows.stops, flows.is_server, flows.pieces.ends[:-1])
    tiny = int(np.count_nonzero(np.diff(found.starts) < TINY_BYTES))
    expanded = _expanded_bytes(reader, data, flows, found) if reader.columns.may_expand else 0
    return _Found(reader, indices, data, flows, found, tiny, expanded)


def _expanded_bytes(reader: SteadyReader, data: bytes, flows: JoinedFlows, found: FrameBoundaries) -> int:
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
    placed = place_frames(data, flows, found, is_whole, numbers)
    note_rests(data, flows, found, is_whole, steady)
    numbers.leave_frames(placed.frames.numbers, plain.shared)
    if len(placed.offsets):
        connections = [plain.connections[index] for index in indices.tolist()]
        _read_frames(reader, connections, flows, placed, steady, output, in_order=plain.emitted_at is None)
    return is_whole


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

    def without_late(
        self, groups: Sequence[Group], latest: Integers, leave: Callable[[Flags], None]
    ) -> Sequence[Group]:
        """Return the groups without replies to what came after them: of frames that were emitted after a gap.

        `latest` is by connection the latest packet in which an earlier frame began. Connections with such frames are
        left.
        """
        is_late = self._are_late(latest)
        owner, is_asked = self._placed.owner, np.zeros(len(self._connections), np.bool_)
        late_of = [NO_INTEGERS if group.reply_to is None else _late_replies(group, is_late) for group in groups]
        for group, late in zip(groups, late_of, strict=True):
            is_asked[owner[group.rows[late]]] = True
        if not is_asked.any():
            return groups
        leave(is_asked)
        return [self._without(group, late) if len(late) else group for group, late in zip(groups, late_of, strict=True)]

    def _without(self, group: Group, late: Integers) -> Group:
        assert group.reply_to is not None
        rows = group.rows[late]
        wrong = [NO_INTEGERS]
        for index in np.unique(self._placed.owner[rows]).tolist():
            mine = np.flatnonzero(self._placed.owner[rows] == index)
            places = self._place_of[rows[mine]] - self._bounds[index]
            if index in self.started:
                _, those = self.started[index]
            else:
                those = self.watch(index).late(self._placed.of_owner(self.rows_of(index)))
            wrong.append(late[mine[those.are_wrong(places, group.reply_to[late[mine]])]])
        return without_replies(group, np.concatenate(wrong))

    def _are_late(self, latest: Integers) -> Flags:
        """Return whether each frame ends before one of its connection began that was emitted earlier."""
        order = self._order
        owner, first, last = self._placed.owner[order], self._placed.first[order], self._placed.last[order]
        base = owner * (int(max(first.max(initial=0), latest.max(initial=0))) + 1)
        is_late = np.empty(len(order), np.bool_)
        is_late[order] = base + last < np.maximum.accumulate(base + np.maximum(first, latest[owner]))
        return is_late

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
    flows: JoinedFlows,
    placed: PlacedFrames,
    steady: SteadyWatches,
    output: PendingOutput,
    *,
    in_order: bool,
) -> None:
    is_left = np.zeros(len(connections), np.bool_)

    def leave(those: Flags) -> None:
        is_left[those] = True
        steady.release(compress(connections, those.tolist()))

    singles = _SingleFrames(connections, placed, output)
    ends, protocol = steady.ends(flows.slots), steady.protocol(int(flows.slots[0]))
    latest = steady.latest(flows.slots)
    groups = reader.read(placed.frames, placed.owner, flows.slots, leave, singles.read)
    if not in_order:
        groups = singles.without_late(groups, latest, leave)
    if groups:
        frames, offsets, first, last, times, owner, _ = placed
        output.runs.append(FrameRun(ends, owner, protocol, frames, offsets, first, last, times, groups))
    rows_read = np.concatenate([NO_INTEGERS, *(group.rows for group in groups)])
    owner = placed.owner[rows_read]
    sizes = (placed.frames.ends - placed.frames.starts)[rows_read]
    counts = np.bincount(owner, minlength=len(connections))
    frame_bytes = np.bincount(owner, sizes, len(connections)).astype(np.int64)
    steady.note_frames(flows.slots, placed, ~is_left)
    is_first = np.zeros(len(placed.owner), np.bool_)
    is_first[placed.stretches] = True
    for index in np.flatnonzero(is_left).tolist():
        watch, rows = singles.watch(index), singles.rows_of(index)
        if not len(rows):
            continue
        watch.count(0, int(counts[index]), int(frame_bytes[index]))
        if index in singles.started:
            _, late = singles.started[index]
            watch.note_latest(late.catch_up(len(rows)))
        else:
            begins = rows[is_first[rows]][-limits.REMEMBERED_STRETCHES_MAX :]
            watch.note_latest(int(placed.first[rows].max()))
            watch.note_groups(placed.frames.numbers[begins].tolist(), placed.first[begins].tolist())
        watch.note_unfinished()


def _late_replies(group: Group, is_late: Flags) -> Integers:
    """Return the places in a group of replies that are late."""
    return np.flatnonzero(is_late[group.rows] & (group.reply_to != NO_REPLY))
