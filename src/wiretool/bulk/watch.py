"""One connection on its way to columns: plain runs as arrays, everything else as `Watch` does it."""

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from wiretool import limits
from wiretool.batches.batch import FrameRun
from wiretool.bulk.numbering import PACKET_SHIFT, RANK_SHIFT, Numbers
from wiretool.capture.items import Data, Item
from wiretool.capture.runs import RUN_SEGMENTS_MIN, Run, run_of
from wiretool.codec.columns import Flags, Integers, begins_of, items_of
from wiretool.codec.framing import Mark, Piece
from wiretool.codec.hops import Hops
from wiretool.codec.message import Side, other_side
from wiretool.protocols.bulk import NO_REPLY, BulkConversation, Frames, Group
from wiretool.protocols.bulks import bulk_of
from wiretool.protocols.conversation import Conversation, Protocol
from wiretool.records import Record
from wiretool.watch import SIDES, Watch


class Told(NamedTuple):
    """What was told: columns, and what was read one by one."""

    runs: list[FrameRun]
    records: list[Record]


class SideFrames(NamedTuple):
    """The frames that one side completed in a run, and what waits behind them."""

    side: Side
    hops: Hops
    start: int
    end: int
    #: The stream offset of `start`.
    offset: int
    #: What came when: where each piece ends in the data, its packet and time.
    piece_ends: Integers
    packets: Integers
    times: Integers
    #: The packet at which each piece is told, if it completes a frame.
    told: Integers

    @property
    def ends(self) -> Integers:
        """Where each frame ends."""
        return np.append(self.hops.starts[1:], self.hops.end)[: len(self.hops.starts)]


class Brought(NamedTuple):
    """The pieces of one side that completed frames: a row each, for the frames `first_frames[i]` and those behind it.

    Where the first of these began in an earlier piece, `low` and `high` packet and `latest` time are of all its pieces.
    """

    is_server: Flags
    #: What is to be added to a place in the data for the stream offset.
    base: Integers
    first_frames: Integers
    counts: Integers
    told: Integers
    packets: Integers
    times: Integers
    low: Integers
    high: Integers
    latest: Integers


class PlacedFrames(NamedTuple):
    """Frames of both sides in the order in which they are told; offsets, first and last packets, times.

    `stretches` are the first frames of each piece that completed any.
    """

    frames: Frames
    offsets: Integers
    first: Integers
    last: Integers
    times: Integers
    stretches: Integers


class BulkWatch(Watch):
    """Turns the runs and items of one connection into columns and records."""

    def __init__(self, numbers: Numbers, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._numbers = numbers
        self._bulk: BulkConversation | None = None
        #: Items, each with the packet at which it was given out.
        self._put_off: list[tuple[int, Data]] = []

    def may_wait_with(self, items: Sequence[Item]) -> bool:
        """Whether the items that a packet gave can be read later, together with what comes then."""
        side = items[0].side
        return self._is_settled and all(
            isinstance(item, Data) and item.side == side and item.connection is self._connection for item in items
        )

    def put_off(self, number: int, items: Sequence[Item]) -> None:
        """Read them, which were given out at that packet, before whatever else comes."""
        self._put_off += [(number, item) for item in items if isinstance(item, Data)]

    def take_together(self, number: int, items: Sequence[Item], told: Told) -> None:
        """Add what bytes of one stream give that were given out together, at that packet."""
        if len(items) >= RUN_SEGMENTS_MIN and self._is_settled:
            self.put_off(number, items)
            self.catch_up(told)
        else:
            for item in items:
                told.records.extend(self.take(item))

    def catch_up(self, told: Told) -> None:
        """Add what the items give that were put off."""
        if not self._put_off:
            return
        items, self._put_off = self._put_off, []
        if len(items) >= RUN_SEGMENTS_MIN:
            self.take_run(run_of(items), told)
        else:
            for number, item in items:
                self._one(number, item, told)

    def take_run(self, run: Run, told: Told) -> None:
        """Add what the run gives to `told`: of its beginning records, where need be, and of the rest columns."""
        self.catch_up(told)
        is_small = len(run.client.rows) + len(run.server.rows) < RUN_SEGMENTS_MIN
        if is_small or not self._may_pass(run):
            for row, item in run.told_items():
                self._one(int(run.told_at(row)), item, told)
                rest = run.behind(row) if self._is_settled and not is_small else None
                if rest is not None and self._may_pass(rest):
                    run = rest
                    break
            else:
                return
        if run.client.size or run.server.size:
            self._pass(run, told)

    def _one(self, number: int, item: Data, told: Told) -> None:
        self._numbers.at_packet(number)
        told.records.extend(self.take(item))

    def _speak(self, protocol: Protocol, trial: Conversation | None) -> None:
        super()._speak(protocol, trial)
        assert self._conversation is not None
        self._bulk = bulk_of(protocol.name, self._conversation)

    def _may_pass(self, run: Run) -> bool:
        """Whether both sides are in step, so that nothing has to be looked for or waited for."""
        if not self._is_settled:
            return False
        if self._conversation is None:
            return True
        if self._bulk is None or not self._bulk.is_ready() or self._waiting:
            return False
        return all(
            self._splitters[side].is_in_step if run.side(side).size else not self._is_looking(side) for side in SIDES
        )

    # -- a protocol of ours ----------------------------------------------------------------------------------------

    def _pass(self, run: Run, told: Told) -> None:
        if self._conversation is None:
            self._pass_foreign(run)
            return
        run = self._held_back(run, told)
        if not run.client.size and not run.server.size:
            return
        data, sides = self._split(run)
        if any(each.hops.is_broken for each in sides):
            for row, item in run.told_items():
                self._one(int(run.told_at(row)), item, told)
            return
        for each in sides:
            self._account.payload_bytes += run.side(each.side).size
            self._pass_splitter(each, data)
        placed = _merged(data, sides, self._numbers)
        if len(placed.offsets):
            self._read_frames(placed, told)

    def _held_back(self, run: Run, told: Told) -> Run:
        """The run without a side that does not complete its frame: to join what is held each time would be slow."""
        for side in SIDES:
            splitter, size = self._splitters[side], run.side(side).size
            if size and splitter.held + size < splitter.wanted:
                for _, item in run.only(side).told_items():
                    told.records.extend(self.take(item))
                run = run.only(other_side(side))
        return run

    def _split(self, run: Run) -> tuple[bytes, list[SideFrames]]:
        """The bytes of both sides, those held before the new ones, and the frames in them."""
        assert self._bulk is not None
        sides = [side for side in SIDES if run.side(side).size]
        held = {side: self._splitters[side].holds() for side in sides}
        data = b"".join(chain.from_iterable(_parts(held[side][0], run, side) for side in sides))
        out, start = [], 0
        for side in sides:
            waiting, marks = held[side]
            rows, offset = run.side(side).rows, self._splitters[side].offset
            ends = start + len(waiting) + np.cumsum(run.table.lengths[rows])
            guesses = ends - run.table.lengths[rows]
            hops = self._bulk.split(side, data, start, int(ends[-1]), guesses)
            early = np.array(marks, np.int64).reshape(-1, 3)
            out.append(
                SideFrames(
                    side,
                    hops,
                    start,
                    int(ends[-1]),
                    offset,
                    np.concatenate((early[:, 0] - offset + start, ends)),
                    np.concatenate((early[:, 1], run.table.numbers[rows])),
                    np.concatenate((early[:, 2], run.table.times[rows])),
                    np.concatenate((early[:, 1], run.told_at(rows))),
                )
            )
            start = int(ends[-1])
        return data, out

    def _pass_splitter(self, each: SideFrames, data: bytes) -> None:
        """Leave the splitter as if it had found the frames itself."""
        end = each.hops.end
        waits = each.piece_ends > end
        base = each.offset - each.start
        columns = (each.piece_ends[waits] + base, each.packets[waits], each.times[waits])
        marks = [Mark(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
        self._splitters[each.side].pass_to(end + base, data[end : each.end], marks, each.hops.need)

    def _read_frames(self, placed: PlacedFrames, told: Told) -> None:
        assert self._bulk is not None
        frames, offsets, first, last, times, _ = placed
        late = _Late(placed, self._latest_packet, self._stretches)

        def read_one(row: int) -> None:
            start, end = int(frames.starts[row]), int(frames.ends[row])
            place = int(offsets[row]), end - start, int(first[row]), int(last[row]), int(times[row])
            self._latest_packet = late.catch_up(row)
            self._numbers.at_frame(int(frames.numbers[row]))
            piece = Piece("frame", frames.data, start, end, *place)
            told.records.extend(self._records("server" if frames.is_server[row] else "client", [piece]))

        groups = [late.without(group) for group in self._bulk.read(frames, read_one) if len(group.rows)]
        sizes = frames.ends - frames.starts
        count = sum(len(group.rows) for group in groups)
        self._account.frames += count
        is_every = count == len(sizes)
        parts = [sizes] if is_every else [sizes[group.rows] for group in groups]
        self._account.frame_bytes += sum(int(part.sum()) for part in parts)
        self._latest_packet = late.catch_up(len(offsets))
        if groups:
            connection = self._connection
            place = connection.id, connection.client, connection.server, self._protocol
            told.runs.append(FrameRun(*place, frames, offsets, first, last, times, groups))

    # -- nothing of ours -------------------------------------------------------------------------------------------

    def _pass_foreign(self, run: Run) -> None:
        for side in SIDES:
            rows, size = run.side(side).rows, run.side(side).size
            if size:
                self._account.payload_bytes += size
                self._account.other_bytes += size
                first, last = run.item(int(rows[0]), side, run.side(side).offset), int(rows[-1])
                self._strangers[side].add(first)
                self._strangers[side].extend(
                    size - len(first.data), int(run.table.numbers[last]), int(run.table.times[last])
                )


class _Late:
    """Which of the frames were told behind a hole, so late that what they seem to answer came after them.

    As `Watch._records` finds it; it brings what that looks at up to date, and has the frames that it did not see.
    """

    def __init__(self, placed: PlacedFrames, latest: int, stretches: deque[tuple[int, int]]) -> None:
        self._placed = placed
        self._latest = latest
        self._stretches = stretches
        self._done = 0
        #: The latest packet in which a frame up to each begins.
        self._running = np.maximum.accumulate(np.maximum(placed.first, latest))
        self._is_late = placed.last < self._running
        self._every = [*stretches, *self._new(0, len(placed.stretches))] if self._is_late.any() else []

    def _new(self, start: int, stop: int) -> list[tuple[int, int]]:
        begins = self._placed.stretches[start:stop]
        columns = self._placed.frames.numbers[begins].tolist(), self._placed.first[begins].tolist()
        return list(zip(*columns, strict=True))

    def catch_up(self, row: int) -> int:
        """The stretches in front of that of a row are told; the latest packet in which a frame before it begins."""
        stop = int(np.searchsorted(self._placed.stretches, row, "right")) - (row < len(self._running))
        start = max(self._done, stop - limits.REMEMBERED_STRETCHES_MAX)
        if stop > start:
            self._stretches.extend(self._new(start, stop))
            self._done = stop
        return int(self._running[row - 1]) if row else self._latest

    def without(self, group: Group) -> Group:
        """The group without replies to what came after them."""
        if not self._every or group.reply_to is None:
            return group
        rows = group.rows
        late = np.flatnonzero(self._is_late[rows] & (group.reply_to != NO_REPLY))
        wrong = [
            at
            for at in late.tolist()
            if self._packet_of(int(group.reply_to[at]), int(rows[at])) > self._placed.last[rows[at]]
        ]
        if not wrong:
            return group
        reply_to = group.reply_to.copy()
        reply_to[wrong] = NO_REPLY
        return replace(group, reply_to=reply_to)

    def _packet_of(self, n: int, row: int) -> int:
        """As `Watch._packet_of` says it when the row is told."""
        old = len(self._every) - len(self._placed.stretches)
        end = old + int(np.searchsorted(self._placed.stretches, row, "right")) - 1
        at = bisect_right(self._every, n, hi=end, key=itemgetter(0))
        return self._every[at - 1][1] if at > max(end - limits.REMEMBERED_STRETCHES_MAX, 0) else 0


def _merged(data: bytes, sides: Sequence[SideFrames], taken: Numbers) -> PlacedFrames:
    """The frames of both sides, with the numbers that follow on those that were taken."""
    counts = [len(each.hops.starts) for each in sides]
    brought = [_brought_by(each, before) for each, before in zip(sides, np.cumsum([0, *counts]).tolist(), strict=False)]
    pieces = Brought._make(np.concatenate(same) for same in zip(*brought, strict=True))
    # What a piece completed is told together, so it is enough to put these in order.
    order = np.argsort(pieces.told, kind="stable")
    pieces = Brought._make(column[order] for column in pieces)
    stretches = np.cumsum(pieces.counts) - pieces.counts
    frames = items_of(pieces.first_frames, pieces.counts)
    starts = np.concatenate([each.hops.starts for each in sides])[frames]
    ends = np.concatenate([each.ends for each in sides])[frames]
    offsets = np.repeat(pieces.base, pieces.counts) + starts
    is_server, times = np.repeat(pieces.is_server, pieces.counts), np.repeat(pieces.times, pieces.counts)
    first = last = np.repeat(pieces.packets, pieces.counts)
    if (pieces.low != pieces.packets).any() or (pieces.high != pieces.packets).any():
        first = last.copy()
        first[stretches], last[stretches] = pieces.low, pieces.high
    times[stretches] = pieces.latest
    numbers = _numbers_of(pieces, stretches, taken)
    return PlacedFrames(Frames(data, starts, ends, is_server, numbers), offsets, first, last, times, stretches)


def _numbers_of(pieces: Brought, stretches: Integers, taken: Numbers) -> Integers:
    """The numbers of frames in order: those that are told at one packet have a rank each."""
    if not len(pieces.told):
        return _NONE
    begins = begins_of(pieces.told)
    counts = np.diff(begins, append=len(stretches))
    base = (pieces.told << PACKET_SHIFT) - np.repeat(stretches[begins] << RANK_SHIFT, counts)
    packet = int(pieces.told[0])
    base[: counts[0]] += taken.first_free(packet) - (packet << PACKET_SHIFT)
    numbers = np.repeat(base, pieces.counts)
    numbers += np.arange(len(numbers)) << RANK_SHIFT
    taken.used_to(int(numbers[-1]))
    return numbers


def _brought_by(each: SideFrames, before: int) -> Brought:
    """The pieces that completed frames; `before` those of this side are so many others."""
    done = np.searchsorted(each.ends, each.piece_ends, "right")
    counts = np.diff(done, prepend=0)
    rows = np.flatnonzero(counts)
    counts = counts[rows]
    frames = done[rows] - counts
    packets, times = each.packets[rows], each.times[rows]
    low, high, latest = packets, packets, times
    began = np.searchsorted(each.piece_ends, each.hops.starts[frames], "right")
    several = np.flatnonzero(began != rows)
    if len(several):
        # Every other stretch is that of a frame: from its first piece to behind its last.
        bounds = np.stack((began[several], rows[several] + 1), 1).reshape(-1)
        low, high, latest = low.copy(), low.copy(), times.copy()
        low[several] = _each_other(np.minimum, each.packets, bounds)
        high[several] = _each_other(np.maximum, each.packets, bounds)
        latest[several] = _each_other(np.maximum, each.times, bounds)
    is_server = np.full(len(rows), each.side == "server")
    base = np.full(len(rows), each.offset - each.start)
    return Brought(is_server, base, frames + before, counts, each.told[rows], packets, times, low, high, latest)


_NONE = np.zeros(0, np.int64)


def _parts(held: bytes, run: Run, side: Side) -> list[bytes | memoryview]:
    return [held, *run.table.payloads(run.side(side).rows)]


def _each_other(function: np.ufunc, values: Integers, bounds: Integers) -> Integers:
    reduced: Integers = function.reduceat(np.append(values, values[-1:]), bounds)[::2]
    return reduced
