"""ReadSegment: one SegmentRead each (S18), at the end of an open segment not before something happens there."""

from collections import deque
from typing import Protocol

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.server.reading import read_bytes
from wiretool.protocols.pravega.server.segments import Segment, Segments
from wiretool.protocols.pravega_draft.messages import NoSuchSegment, ReadSegment, SegmentRead


class Replies(Protocol):
    """Where the replies of a connection go."""

    def reply(self, message: Message) -> None:
        """Send a message."""

    def has_room(self) -> bool:
        """Whether more may be sent before what was sent has left."""


class Reads:
    """The reads of one connection that have no reply yet."""

    def __init__(self, segments: Segments, replies: Replies) -> None:
        self._segments = segments
        self._replies = replies
        self._parked: dict[_Parked, None] = {}
        #: Reads that something happened to while the connection had no room.
        self._ready: deque[_Parked] = deque()

    def read(self, request: ReadSegment, now_ns: int) -> None:
        """Answer, or wait for more."""
        segment = self._segments.find(request.segment)
        if segment is None:
            self._replies.reply(NoSuchSegment(segment=request.segment))
            return
        if request.offset < 0 or (segment.is_sealed and request.offset > segment.length):
            why = f"a read at {request.offset}, the segment ends at {segment.length}"
            raise _violation("bad-read-offset", why)
        segment.touched_ns = now_ns
        reply = answer(segment, request.offset, request.suggested_length)
        if reply is None:
            self._park(segment, request)
        else:
            self._replies.reply(reply)

    def resume(self) -> None:
        """There is room again: answer what waited for it."""
        while self._ready and self._replies.has_room():
            self._answer(self._ready.popleft())

    def forget(self) -> None:
        """The connection is gone."""
        for parked in self._parked:
            parked.segment.waiters.pop(parked, None)
        self._parked.clear()
        self._ready.clear()

    def wake(self, parked: "_Parked") -> None:
        """A read need not wait any longer."""
        del self._parked[parked]
        if self._ready or not self._replies.has_room():
            self._ready.append(parked)
        else:
            self._answer(parked)

    def _park(self, segment: Segment, request: ReadSegment) -> None:
        if len(self._parked) + len(self._ready) >= limits.PRAVEGA_PARKED_READS_MAX:
            why = f"more than {limits.PRAVEGA_PARKED_READS_MAX} reads wait on one connection"
            raise _violation("too-many-reads", why)
        parked = _Parked(self, segment, request.offset, request.suggested_length)
        self._parked[parked] = None
        segment.waiters[parked] = None

    def _answer(self, parked: "_Parked") -> None:
        segment, offset = parked.segment, parked.offset
        self._replies.reply(answer(segment, offset, parked.suggested_length) or _read(segment, offset, b""))


class _Parked:
    """A read that waits at the end of its segment; the name of that is kept once, however many wait."""

    __slots__ = ("_reads", "offset", "segment", "suggested_length")

    def __init__(self, reads: Reads, segment: Segment, offset: int, suggested_length: int) -> None:
        self._reads = reads
        self.segment = segment
        self.offset = offset
        self.suggested_length = suggested_length

    def __call__(self, *, is_idle: bool = False) -> bool:
        """Whether what happened to the segment ended the wait; that nothing did never does."""
        if answer(self.segment, self.offset, self.suggested_length) is None:
            return False
        self._reads.wake(self)
        return True


def answer(segment: Segment, offset: int, suggested_length: int) -> Message | None:
    """The reply to a read, None where it has to wait. What is dropped is left out: the reply says where it begins."""
    if segment.is_gone:
        return NoSuchSegment(segment=segment.name)
    offset = max(offset, segment.start)
    if offset < segment.length:
        return _read(segment, offset, segment.read(offset, read_bytes(suggested_length)))
    return _read(segment, offset, b"") if segment.is_sealed else None


def _read(segment: Segment, offset: int, data: bytes) -> SegmentRead:
    offset = max(offset, segment.start)
    is_at_end = offset + len(data) >= segment.length
    return SegmentRead(
        segment=segment.name,
        offset=offset,
        at_tail=is_at_end,
        end_of_segment=is_at_end and segment.is_sealed,
        data=data,
    )


def _violation(kind: str, why: str) -> ProtocolViolation:
    return ProtocolViolation(kind, why, phase="reading", side="client", message="ReadSegment")
