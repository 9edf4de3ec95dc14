"""Appends on one connection: who may append where, what is stored, and what is said of it.

The decoder's rules (protocols/pravega/appends.py) come first, then the store's, as AppendProcessor.java and
WriterState.java have them: a writer's number moves by compare-and-set, so no event is stored twice through a new
SetupAppend.
"""

from typing import Protocol

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.appends import Appends, event_frame
from wiretool.protocols.pravega.failures import (
    InvalidEventNumber,
    NoSuchSegment,
    SegmentIsSealed,
)
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    AppendSetup,
    ConditionalAppend,
    ConditionalBlockEnd,
    ConditionalCheckFailed,
    SetupAppend,
)
from wiretool.protocols.pravega.server.acks import ack, ack_head
from wiretool.protocols.pravega.server.refusals import violation
from wiretool.protocols.pravega.server.segments import EVENT_COUNT, NONE_I64, Segment, wrapped
from wiretool.protocols.pravega.server.store import SegmentStore

#: Any length of the segment will do.
_UNCONDITIONAL = -1
_I64_MAX = 2**63 - 1
#: The wire version from which on InvalidEventNumber tells the number.
_EVENT_NUMBER_SINCE = 16


class _Writer:
    """A writer that is set up on this connection, as the store knows it."""

    __slots__ = ("acked", "head", "last", "segment", "turn")

    def __init__(self, setup: SetupAppend, last: int, turn: int) -> None:
        self.segment = setup.segment
        #: The number that the segment must have for it.
        self.last = last
        #: The number that was acknowledged last.
        self.acked = last
        #: When its AppendSetup was sent: what came with the SetupAppend came before that.
        self.turn = turn
        self.head = ack_head(setup.writer_id)


class Replies(Protocol):
    """Where the replies of a connection go."""

    #: Grows with every read from the client.
    turn: int

    def reply(self, message: Message) -> None:
        """Send a message."""

    def reply_frame(self, name: str, frame: bytes) -> None:
        """Send a message that is a frame already."""

    def close(self, why: str) -> None:
        """End the connection behind what was sent."""


class Appending:
    """The writers of one connection. ProtocolViolation: the real server closes the connection without a word."""

    def __init__(self, store: SegmentStore, replies: Replies) -> None:
        self._segments = store.segments
        self._index = store.index
        self._forgets_refused = store.forgets_refused
        self._tells_number = store.wire_version >= _EVENT_NUMBER_SINCE
        self._replies = replies
        self._writers: dict[str, _Writer] = {}
        #: How the next append is to be kept, as a fault wants it; empty for well. What is kept late, by segment.
        self.keeps = ""
        self._late: dict[str, bytes] = {}
        #: What the decoder makes of the frames; its phase moves along the table of the session.
        self.appends = Appends(is_whole=True)

    def bind(self, setup: SetupAppend) -> None:
        """A SetupAppend was decoded: from now on the writer's blocks go there, whatever the answer will be."""
        if len(self._writers) >= limits.WRITERS_MAX and setup.writer_id not in self._writers:
            why = f"more than {limits.WRITERS_MAX} writers on one connection"
            raise violation("too-many-writers", why, "SetupAppend")
        self.appends.set_up(setup)
        self._writers.pop(setup.writer_id, None)

    def set_up(self, setup: SetupAppend, now_ns: int) -> None:
        """Tell a writer what of it is stored; sealed segments tell it too. SegmentMissing."""
        segment = self._segments.info(setup.segment)
        segment.touched_ns = now_ns
        if self._index is not None:
            self._index.ensure(setup.segment, now_ns)
        last = segment.attributes.get(setup.writer_id, NONE_I64)
        self._writers[setup.writer_id] = _Writer(setup, last, self._replies.turn)
        self._replies.reply(
            AppendSetup(
                request_id=setup.request_id,
                segment=setup.segment,
                writer_id=setup.writer_id,
                last_event_number=last,
            )
        )

    def begin(self, block: AppendBlock) -> None:
        """A block begins; it is stored when it ends."""
        self.appends.begin(block)

    def finish(self, end: AppendBlockEnd, now_ns: int) -> None:
        """A block, or an append without one, is whole."""
        _, data = self.appends.finish(end)
        assert data is not None, "no block is lost on a connection that is seen from its beginning"
        self._append(end.writer_id, data, end.num_events, end.last_event_number, _UNCONDITIONAL, end.request_id, now_ns)

    def append_event(self, append: ConditionalAppend, now_ns: int) -> None:
        """One event, stored with its header."""
        self.appends.condition(append)
        data = event_frame(append.event.data)
        self._append(append.writer_id, data, 1, append.event_number, append.expected_offset, append.request_id, now_ns)

    def append_raw(self, append: ConditionalBlockEnd, now_ns: int) -> None:
        """Raw bytes, stored as they are."""
        self.appends.condition(append)
        self._append(
            append.writer_id, append.data, 1, append.event_number, append.expected_offset, append.request_id, now_ns
        )

    def _append(
        self, writer_id: str, data: bytes, events: int, number: int, expected: int, request_id: int, now_ns: int
    ) -> None:
        writer = self._writers.get(writer_id)
        if writer is None or writer.turn == self._replies.turn:
            raise self._violation("append-before-setup", f"writer {writer_id} is not set up")
        if number < writer.last:
            raise self._violation("event-number-backwards", f"event {number} after event {writer.last}")
        segment = self._segments.find(writer.segment)
        if segment is None or segment.is_sealed:
            self._refuse(writer_id, number, request_id, is_sealed=segment is not None)
            return
        attributes = segment.attributes
        if attributes.get(writer_id, NONE_I64) != writer.last:
            self._break(writer_id, number, request_id)
            return
        if expected != segment.data.end and expected != _UNCONDITIONAL:
            failed = ConditionalCheckFailed(writer_id=writer_id, event_number=number, request_id=request_id)
            self._replies.reply(failed)
            return
        attributes[writer_id] = writer.last = number
        count = attributes.get(EVENT_COUNT, 0) + events
        attributes[EVENT_COUNT] = count if count <= _I64_MAX else wrapped(count)
        if self.keeps or self._late:
            length = self._misplace(segment, data, now_ns)
        else:
            length = self._segments.append(segment, data, now_ns)
        if self._index is not None:
            self._index.note(segment, now_ns)
        if number > writer.acked:
            frame = ack(writer.head, number, writer.acked, request_id, length)
            writer.acked = number
            self._replies.reply_frame("DataAppended", frame)

    def _misplace(self, segment: Segment, data: bytes, now_ns: int) -> int:
        """Store it as a fault wants it, and what is late of this segment behind it; the length that is claimed."""
        how, self.keeps = self.keeps, ""
        claimed = segment.data.end + len(data)
        late = self._late.pop(segment.name, b"")
        if how == "late":
            self._late[segment.name] = data
        stored = {"": data, "twice": data + data}.get(how, b"") + late
        if stored:
            self._segments.append(segment, stored, now_ns)
        return claimed

    def _refuse(self, writer_id: str, number: int, request_id: int, *, is_sealed: bool) -> None:
        """The segment takes no appends any more: each one is told so, until the writer is set up elsewhere.

        The real store forgets the writer with the first, and ends the connection with the next. A client that had more
        on the way comes again then, and again, and may never get to hear where to write instead.
        """
        segment = self._writers[writer_id].segment
        if self._forgets_refused:
            del self._writers[writer_id]
        refused: Message
        if is_sealed:
            refused = SegmentIsSealed(request_id=request_id, segment=segment, offset=number)
        else:
            refused = NoSuchSegment(request_id=request_id, segment=segment)
        self._replies.reply(refused)

    def _break(self, writer_id: str, number: int, request_id: int) -> None:
        """Somebody else moved the writer's number on: nothing is stored, and the connection ends."""
        told = number if self._tells_number else -1
        self._replies.reply(InvalidEventNumber(writer_id=writer_id, request_id=request_id, event_number=told))
        self._replies.close(f"the number of writer {writer_id} was moved on by another connection")

    def _violation(self, kind: str, why: str) -> ProtocolViolation:
        return violation(kind, why, "AppendBlockEnd", self.appends.phase)
