"""One connection on its way to columns: frames as arrays, everything else as `Watch` does it."""

from collections.abc import Sequence
from typing import Any

from wiretool.batches.batch import Ends, FrameRun
from wiretool.bulk.late import Late
from wiretool.bulk.numbering import Numbers
from wiretool.bulk.pace import Pace
from wiretool.bulk.pending_output import PendingOutput
from wiretool.bulk.placing import PlacedFrames
from wiretool.bulk.recognised_watch import RecognisedWatch
from wiretool.capture.items import Connection, Data, Item
from wiretool.capture.runs import Run
from wiretool.codec.framing import Piece
from wiretool.ended_watch import EndedWatch
from wiretool.ledger import ConnectionAccount
from wiretool.protocols.bulk import BulkConversation, ProtocolColumns
from wiretool.protocols.bulks import bulk_of
from wiretool.protocols.conversation import Conversation, Protocol
from wiretool.protocols.recognise import Chunk, verdict_in_step
from wiretool.records import Record
from wiretool.watch import SIDES


class BulkWatch(RecognisedWatch):
    """Turns the frames and items of one connection into columns and records."""

    _bulk: BulkConversation | None = None

    def __init__(self, numbers: Numbers, pace: Pace, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._numbers = numbers
        self._pace = pace

    @property
    def connection(self) -> Connection:
        """Return the connection."""
        return self._connection

    @property
    def account(self) -> ConnectionAccount:
        """Return the account of the connection."""
        return self._row

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
    def is_foreign(self) -> bool:
        """Return whether no protocol was recognised, nor will be."""
        return self._is_settled and self._conversation is None

    @property
    def growth(self) -> int:
        """How many times as many bytes what is said may come to as there are on the wire."""
        return 1 if self._bulk is None else self._bulk.growth

    def after(self) -> "EndedBulkWatch":
        return EndedBulkWatch(self._row, self._next_n)

    def take(self, item: Item) -> list[Record]:
        records = super().take(item)
        if self._is_settled and not self._connection.is_understood:
            self._note_understood()
        self._pace.growth = max(self._pace.growth, self.growth)
        return records

    def _note_understood(self) -> None:
        """From now on it may be read in runs, unless each of its frames is read by itself."""
        if self._conversation is None or self._bulk is not None:
            self._connection.is_understood = True

    # -- a connection without its beginning ------------------------------------------------------------------------

    def resume(self, protocol: Protocol, conversation: Conversation) -> None:
        """Go on with a conversation that was read from its beginning, in step, without this watch."""
        self._speak(protocol, None, conversation)
        for splitter in self._splitters.values():
            splitter.begin_in_step()
        self._is_settled, self._in_doubt = True, False
        self._note_understood()

    def may_begin_later(self, item: Item) -> bool:
        """Return whether an item goes on in step, or is the first of its side and proved to be frames.

        It can be read later then. Only where the beginning of the connection is not in the capture, and its frames may
        be read in columns.
        """
        if self._connection.opened or self._waiting or not isinstance(item, Data):
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

    def begin_run(self, run: Run) -> None:
        """Recognise the protocol by the first item of each side, if these prove it, where the beginning is missing.

        The run begins with these items; it is deferred next.
        """
        if self.has_begun:
            return
        firsts = [(int(run.side(side).rows[0]), side) for side in SIDES if run.side(side).size]
        for row, side in sorted(firsts):
            if not self.may_begin_later(run.item(row, side, run.side(side).offset)):
                return

    def _proves_in_step(self, item: Data) -> bool:
        """Recognise the protocol by the first item, if that is frames throughout; return whether it is."""
        verdict = None if self._held or item.offset else verdict_in_step(Chunk(item.side, item.data), self._expected)
        if verdict is None or verdict.protocol is None:
            return False
        self.begin_with(verdict.protocol, verdict.trial)
        self._splitters[item.side].begin_in_step()
        return True

    # -- together with others --------------------------------------------------------------------------------------

    def columns(self, sizes: Sequence[int]) -> ProtocolColumns | None:
        """Return the reader of so many bytes of each side together with those of other connections.

        None where they are read alone.
        """
        if self._bulk is None or self._waiting or not self._is_settled:
            return None
        for side, size in zip(SIDES, sizes, strict=True):
            splitter = self._splitters[side]
            if self._is_looking(side) or 0 < size < splitter.wanted - splitter.held:
                return None  # to join what is held each time would be slow
        return self._bulk.together

    def _speak(self, protocol: Protocol, trial: Conversation | None, conversation: Conversation | None = None) -> None:
        super()._speak(protocol, trial, conversation)
        assert self._conversation is not None
        self._bulk = bulk_of(protocol.name, self._conversation)

    def _forget_protocol(self) -> None:
        super()._forget_protocol()
        self._bulk = None

    def may_pass(self, sizes: Sequence[int]) -> bool:
        """Return whether both sides, of which so many bytes come, are in step.

        Then nothing has to be looked for or waited for.
        """
        if not self._is_settled or self._bulk is None or self._waiting:
            return False
        return all(
            self._splitters[side].is_in_step if size else not self._is_looking(side)
            for side, size in zip(SIDES, sizes, strict=True)
        )

    # -- a protocol of ours ----------------------------------------------------------------------------------------

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

    def pass_foreign(self, first: Data, size: int, last_packet: int, last_ns: int) -> None:
        """Count so many bytes of a side, from an item up to those of a packet."""
        self._account.payload_bytes += size
        self._account.other_bytes += size
        stranger = self._strangers[first.side]
        stranger.add(first)
        stranger.extend(size - len(first.data), last_packet, last_ns)


class EndedBulkWatch(EndedWatch):
    """The same of a watch in bulk, which has read all that was deferred."""

    __slots__ = ()
    growth = 1
