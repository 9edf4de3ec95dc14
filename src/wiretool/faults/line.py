"""One connection: its frames are judged, and what becomes of them goes into the lanes of both directions."""

import random
from collections.abc import Callable, Mapping, Sequence

from wiretool import limits
from wiretool.codec.message import SIDES, Side, other_side
from wiretool.dissect.connection import NOT_HELD
from wiretool.errors import EncodeError
from wiretool.faults.actions import Reorder
from wiretool.faults.adapter import FaultAdapter
from wiretool.faults.lane import Kept, Lane
from wiretool.faults.live import LiveWatch
from wiretool.faults.passage import Alteration, Passage, in_order
from wiretool.faults.remnants import Remnants
from wiretool.faults.standing import Standing
from wiretool.protocols.base.recognise import Chunk, describe_foreign
from wiretool.records import Record

#: What a frame takes that waits for others of its message, beside its bytes.
_PART_BYTES = 256
#: First bytes of a stream by which TLS is told.
_TELLING_BYTES = 4


class Held:
    """Bytes on hold, in order; joined once, when they are taken."""

    __slots__ = ("_at", "_parts", "size")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._at = 0
        self.size = 0

    def add(self, data: bytes) -> None:
        """The next bytes."""
        self._parts.append(data)
        self.size += len(data)

    def take(self, count: int) -> bytes:
        """The first `count` of them."""
        if len(self._parts) > 1:
            self._parts = [b"".join([self._parts[0][self._at :], *self._parts[1:]])]
            self._at = 0
        data = self._parts[0] if self._parts else b""
        taken = data if count == len(data) else data[self._at : self._at + count]
        self._at += count
        self.size -= count
        if not self.size:
            self._parts, self._at = [], 0
        return taken


class Direction:
    """What one side has sent: how much of it has gone on, and what waits to be whole."""

    def __init__(self, side: Side, remnants: Remnants, *, is_greeting: bool) -> None:
        self.side: Side = side
        self.remnants = remnants
        self.lane = Lane()
        self.held = Held()
        #: Bytes of the stream that were taken out of `held`, and those up to the end of the last frame.
        self.taken = 0
        self.told = 0
        #: Frames of a message that is not whole yet, and their bytes; too many go on as they are.
        self.parts: list[Record] = []
        self.part_bytes = 0
        #: The rules by which a frame is held back; they have acted when another one has overtaken it.
        self.reorderers: Sequence[Standing] = ()
        #: The beginning of a message has gone on, its end has not.
        self.is_inside_message = False
        #: No frame can be told from the next any more: bytes pass as they are.
        self.is_lost = False
        self.is_greeting = is_greeting
        self._inserts: list[bytes] = []
        self._begun = b""

    def begins_foreign(self, data: bytes) -> bool:
        """Whether these next bytes show that it is TLS: its beginning could be that of a frame not whole for long."""
        if len(self._begun) >= _TELLING_BYTES:
            return False
        self._begun = (self._begun + data)[:_TELLING_BYTES]
        return len(self._begun) == _TELLING_BYTES and describe_foreign([Chunk(self.side, self._begun)]) == "TLS"

    def pass_to(self, end: int, now_ns: int) -> None:
        """The bytes up to there go on as they are."""
        if end > self.taken:
            self.lane.let_go(now_ns)
            self.lane.put(self.take_to(end), now_ns)

    def take_to(self, end: int) -> bytes:
        """The bytes up to there, for whoever has use for them."""
        count, self.taken = end - self.taken, end
        return self.held.take(count)

    def pass_parts(self, now_ns: int) -> None:
        """The frames of an unfinished message go on as they are."""
        parts, self.parts, self.part_bytes = self.parts, [], 0
        if parts:
            self.lane.let_go(now_ns)
            self.lane.put(b"".join(part.raw for part in parts), now_ns)
            self.is_inside_message = True

    def insert(self, data: bytes, now_ns: int) -> None:
        """A frame of this side that it did not send: goes on where no other is under way."""
        if self.is_lost or (self.taken == self.told and not self.is_inside_message):
            self.lane.put(data, now_ns)
        else:
            self._inserts.append(data)

    def insert_waiting(self, now_ns: int) -> None:
        """What waited for the end of a frame goes on, if that is now."""
        if self._inserts and (self.is_lost or not self.is_inside_message):
            inserts, self._inserts = self._inserts, []
            for data in inserts:
                self.lane.put(data, now_ns)


class Line:
    """One connection. Without a watch its bytes only pass."""

    def __init__(
        self,
        number: int,
        dialect: FaultAdapter,
        watch: LiveWatch | None,
        rng: random.Random,
        on_record: Callable[[Record], None],
        note: Callable[[str], None],
        on_hit: Callable[[Standing], None],
    ) -> None:
        self.number = number
        self.protocol = dialect.protocol.name
        self.watch = watch
        self.directions: Mapping[Side, Direction] = {
            side: Direction(side, Remnants(dialect.piece), is_greeting=side in dialect.greets) for side in SIDES
        }
        self._dialect = dialect
        self._rng = rng
        self._on_record = on_record
        self._note = note
        self._on_hit = on_hit
        #: The rules that may act on frames of each side.
        self._standings: Mapping[Side, Sequence[Standing]] = {"client": (), "server": ()}

    def obey(self, standings: Sequence[Standing]) -> None:
        """From the next frame on these are the rules."""
        self._standings = {
            side: [each for each in standings if (self.protocol, side) in each.rule.sides] for side in SIDES
        }

    # -- what is held --------------------------------------------------------------------------------------------------

    def unfinished_cost(self) -> int:
        """Return the memory that unfinished frames and messages take, in bytes."""
        if self.watch is None:
            return 0
        return self.watch.unfinished_cost() + sum(
            direction.held.size + direction.part_bytes for direction in self.directions.values()
        )

    def discard_unfinished(self, now_ns: int) -> None:
        """Pass what is held on, undecoded, to free its memory."""
        if self.watch is None:
            return
        for record in self.watch.discard_unfinished():
            self._tell(self.directions[record.side], record, now_ns)
        for direction in self.directions.values():
            if direction.held.size or direction.parts:
                direction.pass_parts(now_ns)
                direction.pass_to(direction.taken + direction.held.size, now_ns)

    # -- what is said --------------------------------------------------------------------------------------------------

    def feed(self, side: Side, data: bytes, now_ns: int) -> None:
        """The next bytes of a side."""
        direction = self.directions[side]
        if self.watch is None:
            direction.lane.put(data, now_ns)
            return
        direction.held.add(data)
        for record in self.watch.feed(side, data, now_ns):
            self._tell(direction, record, now_ns)
        if direction.begins_foreign(data):
            for record in self.watch.give_up(side, "foreign", "it begins as TLS does"):
                self._tell(direction, record, now_ns)
        if not self._holds(direction):
            direction.pass_parts(now_ns)
            direction.pass_to(direction.taken + direction.held.size, now_ns)

    def end(self, side: Side, now_ns: int) -> None:
        """A side has sent its last byte."""
        direction = self.directions[side]
        if self.watch is not None:
            for record in self.watch.end(side, now_ns):
                self._tell(direction, record, now_ns)
            direction.pass_parts(now_ns)
            direction.pass_to(direction.taken + direction.held.size, now_ns)
        direction.lane.let_go(now_ns)
        direction.lane.end("finish", now_ns)

    def _holds(self, direction: Direction) -> bool:
        """Whether frames of that direction wait until they are whole."""
        if direction.is_lost or direction.lane.is_closed:
            return False
        if self._standings[direction.side] or direction.remnants:
            return True
        return direction.is_greeting and any(self._standings.values())

    def _tell(self, direction: Direction, record: Record, now_ns: int) -> None:
        """A record of that direction: what it is about goes on, or what rules make of it."""
        self._on_record(record)
        if not record.length:
            return
        end = record.offset + record.length
        if record.kind != "frame":
            self._lose(direction, record, now_ns)
        if direction.is_lost or record.offset < direction.taken or not self._holds(direction):
            direction.pass_parts(now_ns)
            direction.pass_to(end, now_ns)
            self._note_message(direction, record)
        else:
            direction.take_to(end)
            self._collect(direction, record, now_ns)
        direction.told = end
        direction.is_greeting = direction.is_greeting and self._dialect.is_greeting(record)
        direction.insert_waiting(now_ns)

    def _note_message(self, direction: Direction, record: Record) -> None:
        """Whether the frame that went on has left a message open."""
        if not self._dialect.is_aside(record):
            direction.is_inside_message = self._dialect.is_part(record)

    def _lose(self, direction: Direction, record: Record, now_ns: int) -> None:
        """From these bytes on all passes; a frame cut off by the end of its side is worth no word."""
        if direction.is_lost:
            return
        direction.is_lost = True
        direction.pass_parts(now_ns)
        direction.insert_waiting(now_ns)
        if record.error != "incomplete":
            why = f"the {direction.side}'s bytes are not understood from byte {record.offset} on"
            if record.error == NOT_HELD:
                why = f"bytes of the {direction.side} from {record.offset} on: {record.why}"
            self._note(f"{why}: passed on{', and no rule sees it' if self._standings[direction.side] else ''}")

    # -- whole messages ------------------------------------------------------------------------------------------------

    def _collect(self, direction: Direction, record: Record, now_ns: int) -> None:
        """Judge a message when it is whole; its frames wait for the last one."""
        is_part, is_aside = self._dialect.is_part(record), self._dialect.is_aside(record)
        if direction.is_inside_message:  # its beginning has gone on
            direction.lane.let_go(now_ns)
            direction.lane.put(record.raw, now_ns)
            direction.is_inside_message = is_part or is_aside
        elif is_part or (is_aside and direction.parts):
            direction.parts.append(record)
            direction.part_bytes += len(record.raw) + _PART_BYTES
            if direction.part_bytes > limits.WEBSOCKET_MESSAGE_BYTES_MAX:
                direction.pass_parts(now_ns)
        else:
            parts, direction.parts, direction.part_bytes = direction.parts, [], 0
            self._judge(direction, record, parts, now_ns)

    def _judge(self, direction: Direction, record: Record, parts: Sequence[Record], now_ns: int) -> None:
        """All rules look at the message as it came; then those that want to act, in order."""
        acting = [standing for standing in self._standings[direction.side] if standing.wants(record)]
        if direction.remnants.takes(record):
            self._credit(direction, record, now_ns)
            return
        opening = self._dialect.opening(record) if direction.is_greeting else None
        if opening is not None:
            self._note("the offer of permessage-deflate was taken out of the request, so that rules can act")
        if not acting and opening is None and not direction.lane.is_holding_back:
            for part in parts:
                direction.lane.put(part.raw, now_ns)
            direction.lane.put(record.raw, now_ns)
            return
        assert self.watch is not None
        passage = Passage(opening or record, parts, self._dialect, self.watch.conversation, self._rng)
        for standing in in_order(acting):
            if isinstance(standing.rule.action, Reorder) and direction.lane.is_holding_back:
                continue  # it overtakes another one already
            self._act(standing, passage, now_ns)
        if passage.alteration is Alteration.TAKEN_OUT:
            direction.remnants.expect(record, is_answered=bool(passage.back))
        self._send(direction, passage, now_ns)
        if passage.alteration is Alteration.TAKEN_OUT:
            self._credit(direction, record, now_ns)

    def _credit(self, direction: Direction, record: Record, now_ns: int) -> None:
        """Say what the receiver of a frame that goes nowhere would have said."""
        credit = self._dialect.credit(record)
        if credit:
            self.directions[other_side(direction.side)].insert(credit, now_ns)

    def _act(self, standing: Standing, passage: Passage, now_ns: int) -> None:
        if passage.alteration >= Alteration.FINAL:
            return
        try:
            passage.apply(standing.rule.action, standing.id)
        except EncodeError as err:
            if standing.failed(str(err)):
                self._note(f"rule {standing.id} ({standing.rule.text}) cannot act on record {passage.record.n}: {err}")
        else:
            if isinstance(standing.rule.action, Reorder):
                passage.reorderers.append(standing)
            else:
                self._hit(standing, now_ns)

    def _hit(self, standing: Standing, now_ns: int) -> None:
        standing.hit(now_ns)
        self._on_hit(standing)

    def _send(self, direction: Direction, passage: Passage, now_ns: int) -> None:
        lane = direction.lane
        for rule, duration_ns in passage.stalls:
            lane.stop(None if duration_ns is None else now_ns + duration_ns, rule)
        data = passage.goes_on + passage.data * passage.copies
        if passage.reorderers and data and not passage.ending:
            lane.hold_back(data, now_ns, passage.reorder_within_ns, passage.delay_ns)
            direction.reorderers = passage.reorderers
        elif data or passage.ending:
            overtaken = direction.reorderers if data and lane.is_holding_back else ()
            if passage.kept is not None and data:
                lane.tell(Kept(passage.kept), now_ns, passage.delay_ns)
            lane.put(data, now_ns, passage.delay_ns)
            lane.let_go(now_ns)
            for standing in overtaken:
                self._hit(standing, now_ns)
        if passage.ending:
            lane.end("reset" if passage.ending == "reset" else "cut", now_ns, passage.delay_ns)
        if passage.back:
            self.directions[other_side(direction.side)].insert(passage.back, now_ns)
