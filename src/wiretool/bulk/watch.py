"""One connection on its way to columns: plain runs as arrays, everything else as `Watch` does it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from wiretool.batches.batch import FrameRun
from wiretool.bulk.late import Late
from wiretool.bulk.numbering import Numbers
from wiretool.bulk.pace import Pace
from wiretool.bulk.placing import PlacedFrames, SideFrames, merged
from wiretool.capture.items import Data, Item
from wiretool.capture.runs import RUN_SEGMENTS_MIN, Part, Run, joined
from wiretool.capture.segments import SegmentTable
from wiretool.codec.framing import Mark, Piece
from wiretool.codec.message import Side, other_side
from wiretool.protocols.bulk import BulkConversation
from wiretool.protocols.bulks import bulk_of
from wiretool.protocols.conversation import Conversation, Protocol
from wiretool.records import Record
from wiretool.watch import SIDES, Watch


class Told(NamedTuple):
    """What was told: columns, and what was read one by one."""

    runs: list[FrameRun]
    records: list[Record]


class BulkWatch(Watch):
    """Turns the runs and items of one connection into columns and records."""

    def __init__(self, numbers: Numbers, pace: Pace, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._numbers = numbers
        self._pace = pace
        self._bulk: BulkConversation | None = None
        #: What was put off, in order: runs, and items each with the packet at which it was given out.
        self._parts: list[Part] = []

    @property
    def growth(self) -> int:
        """How many times as many bytes what is said may come to as there are on the wire."""
        return 1 if self._bulk is None else self._bulk.growth

    def take(self, item: Item) -> list[Record]:
        records = super().take(item)
        if self._is_settled and not self._connection.is_understood:
            self._note_understood()
        return records

    def _note_understood(self) -> None:
        """From now on it may be read in runs, if what was agreed on is known."""
        if self._conversation is None or (self._bulk is not None and self._bulk.is_ready()):
            self._connection.is_understood = True
            self._pace.growth = max(self._pace.growth, self.growth)

    def may_wait_with(self, items: Sequence[Item]) -> bool:
        """Whether the items that a packet gave can be read later, together with what comes then."""
        side = items[0].side
        return self._connection.is_understood and all(
            isinstance(item, Data) and item.side == side and item.connection is self._connection for item in items
        )

    def put_off(self, number: int, items: Iterable[Item]) -> None:
        """Read them, which were given out at that packet, before whatever else comes."""
        self._parts += [(number, item) for item in items if isinstance(item, Data)]

    def put_off_run(self, run: Run) -> None:
        """Read it before whatever else comes."""
        self._parts.append(run)

    def catch_up(self, table: SegmentTable, told: Told) -> None:
        """Add what that gives which was put off, all of it while the table was read."""
        if self._parts:
            parts, self._parts = self._parts, []
            for run in joined(parts, table):
                self._take_run(run, told)
            self._pace.growth = max(self._pace.growth, self.growth)

    def _take_run(self, run: Run, told: Told) -> None:
        """Add what the run gives to `told`: of its beginning records, where need be, and of the rest columns."""
        is_small = len(run.client.rows) + len(run.server.rows) < RUN_SEGMENTS_MIN
        left = {side: run.side(side).size for side in SIDES}
        if is_small or not self._may_pass(left):
            done: Counter[Side] = Counter()
            for row, item in run.told_items():
                self._one(int(run.told_at(row)), item, told)
                done[item.side] += 1
                left[item.side] -= len(item.data)
                if not is_small and self._may_pass(left):
                    run = run.behind(done["client"], done["server"])
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

    def _may_pass(self, sizes: Mapping[Side, int]) -> bool:
        """Whether both sides, of which so many bytes come, are in step: nothing has to be looked for or waited for."""
        if not self._is_settled:
            return False
        if self._conversation is None:
            return True
        if self._bulk is None or not self._bulk.is_ready() or self._waiting:
            return False
        return all(self._splitters[side].is_in_step if sizes[side] else not self._is_looking(side) for side in SIDES)

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
        placed = merged(data, sides, self._numbers)
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
        late = Late(placed, self._latest_packet, self._stretches)

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


def _parts(held: bytes, run: Run, side: Side) -> list[bytes | memoryview]:
    return [held, *run.table.payloads(run.side(side).rows)]
