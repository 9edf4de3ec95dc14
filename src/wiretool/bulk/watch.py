"""One connection on its way to columns: plain runs as arrays, everything else as `Watch` does it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from wiretool import limits
from wiretool.batches.batch import Ends, FrameRun
from wiretool.bulk.beginning_watch import BeginningWatch
from wiretool.bulk.late import Late
from wiretool.bulk.numbering import Numbers
from wiretool.bulk.pace import BYTES_PER_RECORD, FRAME_BYTES, TINY_BYTES, Pace
from wiretool.bulk.pending_output import PendingOutput
from wiretool.bulk.placing import PlacedFrames, SideFrames, merged
from wiretool.capture.items import Connection, Data, End, Item
from wiretool.capture.runs import RUN_SEGMENTS_MIN, Part, Run, SideRun, joined
from wiretool.capture.segments import SegmentTable
from wiretool.codec.framing import Mark, Piece
from wiretool.codec.message import Side, other_side
from wiretool.ended_watch import EndedWatch
from wiretool.protocols.bulk import BulkConversation, ProtocolColumns
from wiretool.protocols.bulks import bulk_of
from wiretool.protocols.conversation import Conversation, Protocol
from wiretool.protocols.recognise import Chunk, verdict_in_step
from wiretool.records import Record
from wiretool.watch import SIDES


class _Ahead(NamedTuple):
    """The frames in what is sent of both sides, found before it is read: the data, and those of each side."""

    client: SideRun
    server: SideRun
    data: bytes
    sides: list[SideFrames]


class BulkWatch(BeginningWatch):
    """Turns the runs and items of one connection into columns and records."""

    _bulk: BulkConversation | None = None
    _ahead: _Ahead | None = None
    #: The value of `growth` that was noted last.
    _growth_then = 1

    def __init__(self, numbers: Numbers, pace: Pace, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._numbers = numbers
        self._pace = pace
        #: What was put off, in order: runs, and items each with the packet at which it was given out.
        self._parts: list[Part] = []
        #: Ends of flows after it.
        self._late_ends: list[End] = []
        #: The runs that `look_ahead` made of it; the frames that it found are `_ahead`.
        self._runs: list[Run] = []

    @property
    def connection(self) -> Connection:
        """Return the connection."""
        return self._connection

    @property
    def protocol(self) -> str:
        """Return the name of the protocol."""
        return self._protocol

    @property
    def conversation(self) -> Conversation:
        """Return the conversation; only after a protocol was recognised."""
        assert self._conversation is not None, "a protocol was recognised"
        return self._conversation

    @property
    def is_single(self) -> bool:
        """Return whether every frame is read by itself, as the protocol has no columns."""
        return self._conversation is not None and self._bulk is None

    @property
    def growth(self) -> int:
        """How many times as many bytes what is said may come to as there are on the wire."""
        return 1 if self._bulk is None else self._bulk.growth

    def after(self) -> "EndedBulkWatch":
        return EndedBulkWatch(self._row, self._next_n)

    def _note_growth(self) -> None:
        if self.growth != self._growth_then:
            self._pace.outgrow(self._growth_then, self.growth)
            self._growth_then = self.growth

    def take(self, item: Item) -> list[Record]:
        records = super().take(item)
        if self._is_settled and not self._connection.is_understood:
            self._note_understood()
        return records

    def _note_understood(self) -> None:
        """From now on it may be read in runs, unless each of its frames is read by itself."""
        if self._conversation is None or self._bulk is not None:
            self._connection.is_understood = True
        self._note_growth()

    def may_wait_with(self, items: Sequence[Item]) -> bool:
        """Whether the items that a packet gave can be read later, together with what comes then."""
        side = items[0].side
        if self._late_ends:
            return False
        return self._connection.is_understood and all(
            isinstance(item, Data) and item.side == side and item.connection is self._connection for item in items
        )

    def put_off(self, number: int, items: Iterable[Item]) -> None:
        """Read them, which were given out at that packet, before whatever else comes."""
        self._parts += [(number, item) for item in items if isinstance(item, Data)]

    def put_off_run(self, run: Run) -> None:
        """Read it before whatever else comes."""
        self._parts.append(run)

    def defer_end(self, end: End) -> None:
        """Take the end of a flow after the deferred items, before whatever else comes."""
        self._late_ends.append(end)

    def catch_up(self, table: SegmentTable, output: PendingOutput, before: int | None = None) -> None:
        """Add what that gives which was put off, all of it while the table was read; or what came before a packet.

        Something stays put off where more records would come of it than a batch is to have.
        """
        if not self.has_deferred:
            return
        runs, self._runs = self._runs_of(table), []
        for at, run in enumerate(runs):
            run, rest = (run, None) if before is None else run.cut(before)
            left = self._take_run(run, output)
            self._runs = [each for each in (left, rest) if each is not None and each.size]
            if self._runs:
                self._runs += runs[at + 1 :]
                break
        self._ahead = None
        self._note_growth()
        while self._late_ends and not self._runs and (before is None or self._late_ends[0].packet < before):
            end = self._late_ends.pop(0)
            self._numbers.at_packet(end.packet)
            output.records.extend(self.take(end))
        self.note_unfinished()

    @property
    def has_deferred(self) -> bool:
        """Whether something is put off."""
        return bool(self._parts or self._runs or self._late_ends)

    @property
    def deferred_bytes(self) -> int:
        """Return the bytes of what was put off."""
        parts = sum(part.size if isinstance(part, Run) else len(part[1].data) for part in self._parts)
        return parts + sum(run.size for run in self._runs)

    @property
    def next_packet(self) -> int:
        """Return the packet at which what was put off is emitted, once it is in runs."""
        if not self._runs:
            return self._late_ends[0].packet
        sides = (self._runs[0].client, self._runs[0].server)
        return min(int(self._runs[0].told_at(side.rows[0])) for side in sides if side.size)

    def _runs_of(self, table: SegmentTable) -> list[Run]:
        """What was put off, as runs."""
        parts, self._parts = self._parts, []
        self._runs += joined(parts, table)
        return self._runs

    # -- a connection without its beginning ------------------------------------------------------------------------

    def may_begin_later(self, item: Item) -> bool:
        """Return whether an item goes on in step, or is the first of its side and proved to be frames.

        It can be read later then. Only where the beginning of the connection is not in the capture, and its frames may
        be read in columns.
        """
        if self._connection.opened or self._waiting or self._late_ends or not isinstance(item, Data):
            return False
        if self._bulk is not None and self._splitters[item.side].is_in_step:
            return True
        if self._is_settled:
            is_proved = self._conversation is not None and self._conversation.is_proved_by_trust
            if self._bulk is None or not is_proved or any(map(self._is_looking, SIDES)):
                return False
            if not self._splitters[item.side].begins_in_step(item.data):
                return False
        elif not self._proves_in_step(item):
            return False
        self._in_doubt = any(each.is_searching for each in self._splitters.values())
        return True

    def _proves_in_step(self, item: Data) -> bool:
        """Recognise the protocol by the first item, if that is frames throughout; return whether it is."""
        verdict = None if self._held or item.offset else verdict_in_step(Chunk(item.side, item.data), self._expected)
        if verdict is None or verdict.protocol is None:
            return False
        self.begin_with(verdict.protocol, verdict.trial)
        self._splitters[item.side].begin_in_step()
        return True

    def take_short_run(self, table: SegmentTable) -> Run | None:
        """Return the deferred bytes, which the caller then reads, if they are one short run of the table, in step.

        Longer runs are read in columns of their own.
        """
        runs = self._runs_of(table)
        if len(runs) != 1 or self._late_ends or self._bulk is None or self._bulk.together is None:
            return None
        (run,) = runs
        if run.table is not table:
            return None
        if len(run.client.rows) + len(run.server.rows) >= RUN_SEGMENTS_MIN:
            return None
        if not self._may_pass({side: run.side(side).size for side in SIDES}):
            return None
        self._runs, self._ahead = [], None
        return run

    # -- together with others --------------------------------------------------------------------------------------

    def columns(self, sizes: Sequence[int]) -> ProtocolColumns | None:
        """Return the reader of so many bytes of each side together with those of other connections.

        None where they are read alone.
        """
        if self._bulk is None or self._bulk.together is None or self.has_deferred or self._waiting:
            return None
        if not self._is_settled:
            return None
        for side, size in zip(SIDES, sizes, strict=True):
            splitter = self._splitters[side]
            if self._is_looking(side) or 0 < size < splitter.wanted - splitter.held:
                return None  # to join what is held each time would be slow
        return self._bulk.together

    # -- what is to come -------------------------------------------------------------------------------------------

    def look_ahead(self, table: SegmentTable) -> tuple[int, int]:
        """How many frames there are at most in what was put off, as far as that is seen without reading it.

        And how many of them are tiny.
        """
        runs = self._runs_of(table)
        if not runs or (self._is_settled and self._conversation is None):
            return 0, 0
        run, later = runs[0], sum(each.size for each in runs[1:])
        if (
            not self._may_pass({side: run.side(side).size for side in SIDES})
            or run.size + later <= self._pace.few_bytes
        ):
            return (run.size + later) // BYTES_PER_RECORD, 0
        for side in self._not_enough(run):
            run = run.only(other_side(side))
        frames, tiny = self._frames_ahead(run)
        return frames + later // FRAME_BYTES, tiny

    def _frames_ahead(self, run: Run) -> tuple[int, int]:
        """How many frames a run has, and how many tiny ones."""
        data, sides = self._split(run)
        self._ahead = _Ahead(run.client, run.server, data, sides)
        self._note_growth()
        starts = [each.hops.starts for each in sides]
        return sum(map(len, starts)), sum(int(np.count_nonzero(np.diff(each) < TINY_BYTES)) for each in starts)

    def _take_run(self, run: Run, output: PendingOutput) -> Run | None:
        """Add what the run gives to the output: of its beginning records, where need be, and of the rest columns.

        What is left is given back where that would be more records than a batch is to have.
        """
        if not run.size:
            return None
        is_small = len(run.client.rows) + len(run.server.rows) < RUN_SEGMENTS_MIN
        left = {side: run.side(side).size for side in SIDES}
        if not is_small and self._may_pass(left):
            return self._pass(run, output)
        run = self._take_each(run, output, lambda left: not is_small and self._may_pass(left))
        if not run.size or not self._may_pass({side: run.side(side).size for side in SIDES}):
            return run
        return run if self._is_too_much(run) else self._pass(run, output)

    def _is_too_much(self, run: Run) -> bool:
        """Whether a run that is in step now is to be read in parts."""
        if self._conversation is None or run.size <= self._pace.few_bytes or self._not_enough(run):
            return False
        return self._pace.is_much([self._frames_ahead(run)]) or self._pace.is_outgrown

    def _take_each(self, run: Run, output: PendingOutput, is_done: Callable[[Mapping[Side, int]], bool]) -> Run:
        """Read items one by one until that is so of what is left, or they make up a batch; what is left."""
        done: Counter[Side] = Counter()
        left = {side: run.side(side).size for side in SIDES}
        most = len(output.records) + limits.BATCH_RECORDS_MAX
        for row, item in run.told_items():
            number = int(run.told_at(row))
            self._one(number, item, output)
            done[item.side] += 1
            left[item.side] -= len(item.data)
            if is_done(left) or len(output.records) >= most:
                # Others may be read before the rest of what was told at this packet.
                self._numbers.leave(number)
                break
        return run.behind(done["client"], done["server"])

    def _one(self, number: int, item: Data, output: PendingOutput) -> None:
        self._numbers.at_packet(number)
        output.records.extend(self.take(item))

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
        if self._bulk is None or self._waiting:
            return False
        return all(self._splitters[side].is_in_step if sizes[side] else not self._is_looking(side) for side in SIDES)

    # -- a protocol of ours ----------------------------------------------------------------------------------------

    def _pass(self, run: Run, output: PendingOutput) -> Run | None:
        if self._conversation is None:
            self._pass_foreign(run)
            return None
        run = self._held_back(run, output)
        if not run.size:
            return None
        ahead = self._ahead
        if ahead is not None and ahead.client is run.client and ahead.server is run.server:
            data, sides = ahead.data, ahead.sides
        else:
            data, sides = self._split(run)
        if any(each.hops.is_broken for each in sides):
            return self._take_each(run, output, lambda left: False)
        for each in sides:
            self._account.payload_bytes += run.side(each.side).size
            self._pass_splitter(each, data)
        placed = merged(data, sides, self._numbers)
        if len(placed.offsets):
            self.read_frames(placed, output)
        return None

    def _held_back(self, run: Run, output: PendingOutput) -> Run:
        """The run without a side that does not complete its frame: to join what is held each time would be slow."""
        for side in self._not_enough(run):
            for _, item in run.only(side).told_items():
                output.records.extend(self.take(item))
            run = run.only(other_side(side))
        return run

    def _not_enough(self, run: Run) -> list[Side]:
        """The sides that send something, though not the end of a frame."""
        sizes = {side: run.side(side).size for side in SIDES}
        held = {side: self._splitters[side] for side in SIDES}
        return [side for side in SIDES if 0 < sizes[side] < held[side].wanted - held[side].held]

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

    def read_frames(self, placed: PlacedFrames, output: PendingOutput) -> None:
        assert self._bulk is not None
        frames, offsets, first, last, times, owner, _ = placed
        late = self.late(placed)
        read = self._bulk.read(frames, lambda row: self.read_one(placed, row, late, output))
        groups = [late.without(group) for group in read if len(group.rows)]
        sizes = frames.ends - frames.starts
        count = sum(len(group.rows) for group in groups)
        self._account.frames += count
        is_every = count == len(sizes)
        parts = [sizes] if is_every else [sizes[group.rows] for group in groups]
        self._account.frame_bytes += sum(int(part.sum()) for part in parts)
        self._latest_packet = late.catch_up(len(offsets))
        if groups:
            connection = self._connection
            ends = [Ends(connection.id, connection.client, connection.server)]
            output.runs.append(FrameRun(ends, owner, self._protocol, frames, offsets, first, last, times, groups))

    def late(self, placed: PlacedFrames) -> Late:
        """Return which of the next frames are late."""
        return Late(placed, self._latest_packet, self._stretches)

    def read_one(self, placed: PlacedFrames, row: int, late: Late, output: PendingOutput) -> None:
        """Read one of the next frames by itself."""
        frames = placed.frames
        start, end = int(frames.starts[row]), int(frames.ends[row])
        place = int(placed.offsets[row]), end - start, int(placed.first[row]), int(placed.last[row])
        self._latest_packet = late.catch_up(row)
        self._numbers.at_frame(int(frames.numbers[row]))
        piece = Piece("frame", frames.data, start, end, *place, int(placed.times[row]))
        output.records.extend(self._records("server" if frames.is_server[row] else "client", [piece]))

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


class EndedBulkWatch(EndedWatch):
    """The same of a watch in bulk, which has read all that was put off."""

    __slots__ = ()
    growth = 1

    def catch_up(self, table: SegmentTable, output: PendingOutput, before: int | None = None) -> None:
        """As of a watch: there is nothing."""


def _parts(held: bytes, run: Run, side: Side) -> list[bytes | memoryview]:
    return [held, *run.table.payloads(run.side(side).rows)]
