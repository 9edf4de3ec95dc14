"""One connection on its way to columns: plain runs as arrays, everything else as `Watch` does it."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from wiretool import limits
from wiretool.batches.batch import FrameRun
from wiretool.bulk.numbering import PACKET_SHIFT, RANK_SHIFT, Numbers
from wiretool.capture.items import Data
from wiretool.capture.runs import RUN_SEGMENTS_MIN, Run
from wiretool.codec.columns import Integers
from wiretool.codec.framing import Mark, Piece
from wiretool.codec.hops import Hops
from wiretool.codec.message import Side
from wiretool.protocols.bulk import BulkConversation, Frames
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


class BulkWatch(Watch):
    """Turns the runs and items of one connection into columns and records."""

    def __init__(self, numbers: Numbers, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._numbers = numbers
        self._bulk: BulkConversation | None = None

    def take_run(self, run: Run, told: Told) -> None:
        """Add what the run gives to `told`: of its beginning records, where need be, and of the rest columns."""
        is_small = len(run.client.rows) + len(run.server.rows) < RUN_SEGMENTS_MIN
        if is_small or not self._may_pass(run):
            for row, item in run.told_items():
                self._one(item, told)
                rest = run.behind(row) if self._is_settled and not is_small else None
                if rest is not None and self._may_pass(rest):
                    run = rest
                    break
            else:
                return
        if run.client.size or run.server.size:
            self._pass(run, told)

    def _one(self, item: Data, told: Told) -> None:
        self._numbers.at_packet(item.packet)
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
        data, sides = self._split(run)
        if any(each.hops.is_broken for each in sides):
            for _, item in run.told_items():
                self._one(item, told)
            return
        for each in sides:
            self._account.payload_bytes += run.side(each.side).size
            self._pass_splitter(each, data)
        frames, offsets, first, last, times = _merged(data, sides)
        if len(offsets):
            self._read_frames(frames, offsets, first, last, times, told)

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

    def _read_frames(
        self, frames: Frames, offsets: Integers, first: Integers, last: Integers, times: Integers, told: Told
    ) -> None:
        assert self._bulk is not None

        def read_one(row: int) -> None:
            start, end = int(frames.starts[row]), int(frames.ends[row])
            place = int(offsets[row]), end - start, int(first[row]), int(last[row]), int(times[row])
            self._numbers.at_frame(int(frames.numbers[row]))
            piece = Piece("frame", frames.data, start, end, *place)
            told.records.extend(self._records("server" if frames.is_server[row] else "client", [piece]))

        groups = [group for group in self._bulk.read(frames, read_one) if len(group.rows)]
        sizes = frames.ends - frames.starts
        for group in groups:
            self._account.frames += len(group.rows)
            self._account.frame_bytes += int(sizes[group.rows].sum())
        self._latest_packet = max(self._latest_packet, int(first.max()))
        begins = np.flatnonzero(np.diff(frames.numbers >> PACKET_SHIFT, prepend=-1))[-limits.REMEMBERED_STRETCHES_MAX :]
        self._stretches.extend(zip(frames.numbers[begins].tolist(), first[begins].tolist(), strict=True))
        if groups:
            connection = self._connection
            told.runs.append(
                FrameRun(
                    connection.id,
                    connection.client,
                    connection.server,
                    self._protocol,
                    frames,
                    offsets,
                    first,
                    last,
                    times,
                    groups,
                )
            )

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


def _merged(data: bytes, sides: Sequence[SideFrames]) -> tuple[Frames, Integers, Integers, Integers, Integers]:
    """The frames of both sides in the order in which they are told; offsets, first and last packets, times."""
    starts = np.concatenate([each.hops.starts for each in sides])
    ends = np.concatenate([np.append(each.hops.starts[1:], each.hops.end)[: len(each.hops.starts)] for each in sides])
    offsets = np.concatenate([each.hops.starts - each.start + each.offset for each in sides])
    counts = [len(each.hops.starts) for each in sides]
    is_server = np.repeat([each.side == "server" for each in sides], counts)
    told, first, last, times = (
        np.concatenate(same) for same in zip(*(_brought_by(each) for each in sides), strict=True)
    )
    order = np.argsort(told, kind="stable")
    told = told[order]
    begins = np.flatnonzero(np.diff(told, prepend=-1))
    rank = np.arange(len(told)) - np.repeat(begins, np.diff(begins, append=len(told)))
    numbers = told << PACKET_SHIFT | rank << RANK_SHIFT
    frames = Frames(data, starts[order], ends[order], is_server[order], numbers)
    return frames, offsets[order], first[order], last[order], times[order]


def _brought_by(each: SideFrames) -> tuple[Integers, Integers, Integers, Integers]:
    """Of each frame the packet that completes it, its first and last packet, and its latest time."""
    starts = each.hops.starts
    ends = np.append(starts[1:], each.hops.end)[: len(starts)]
    first = np.searchsorted(each.piece_ends, starts, "right")
    last = np.searchsorted(each.piece_ends, ends, "left")
    told, times = each.packets[last], each.times[last]
    low, high = told.copy(), told.copy()
    several = np.flatnonzero(first != last)
    if len(several):
        # Every other stretch is that of a frame: from its first piece to behind its last.
        bounds = np.stack((first[several], last[several] + 1), 1).reshape(-1)
        low[several] = _each_other(np.minimum, each.packets, bounds)
        high[several] = _each_other(np.maximum, each.packets, bounds)
        times = times.copy()
        times[several] = _each_other(np.maximum, each.times, bounds)
    return told, low, high, times


def _parts(held: bytes, run: Run, side: Side) -> list[bytes | memoryview]:
    return [held, *run.table.payloads(run.side(side).rows)]


def _each_other(function: np.ufunc, values: Integers, bounds: Integers) -> Integers:
    reduced: Integers = function.reduceat(np.append(values, values[-1:]), bounds)[::2]
    return reduced
