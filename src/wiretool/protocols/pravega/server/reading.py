"""ReadSegment: exactly one reply each, at the end of an open segment not before something happens there.

The first reply of a connection that ends at the tail waits for events that are written back to back, so that the reader
gets them together. A reader of the real server does so because it takes much longer there to begin.
"""

from typing import Protocol

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.protocols.pravega.failures import SegmentIsSealed, SegmentIsTruncated
from wiretool.protocols.pravega.messages import ReadSegment, SegmentRead
from wiretool.protocols.pravega.server.refusals import violation
from wiretool.protocols.pravega.server.segments import Segment, Segments
from wiretool.server.timers import Timer, Timers

#: What a reply holds, whatever was suggested.
READ_BYTES_MIN = 8
READ_BYTES_MAX = 2 * 1024 * 1024
#: For so long the first reply of a connection that ends at the tail waits for more.
GROUPING_NS = 50_000_000


class Replies(Protocol):
    """Where the replies of a connection go."""

    def reply(self, message: Message) -> None:
        """Send a message."""

    def has_room(self) -> bool:
        """Whether more may be sent before what was sent has left."""


class Reads:
    """The reads of one connection that have no reply yet. `grouping_ns`: see GROUPING_NS; 0 to wait for nothing."""

    def __init__(self, segments: Segments, replies: Replies, timers: Timers, grouping_ns: int = 0) -> None:
        self._segments = segments
        self._replies = replies
        self._timers = timers
        #: Becomes 0 with the first reply that has waited for more.
        self.grouping_ns = grouping_ns
        self._parked: dict[_Parked, None] = {}

    def read(self, request: ReadSegment, now_ns: int) -> None:
        """Answer, or wait for more. SegmentMissing; ProtocolViolation where the real server closes the connection."""
        segment = self._segments.info(request.segment)
        segment.touched_ns = now_ns
        reply = answer(segment, request)
        if reply is None:
            self._park(segment, request)
        elif self._is_fresh_tail(reply, segment, now_ns):
            self.gather(self._park(segment, request), now_ns)
        else:
            self._replies.reply(reply)

    def forget(self) -> None:
        """Drop all reads: the connection is gone."""
        for parked in self._parked:
            parked.leave()
        self._parked.clear()

    def gather(self, parked: "_Parked", now_ns: int) -> None:
        """Answer a read, for which there is something, a little later with all that is there then."""
        if parked.timer is None:
            parked.timer = self._timers.at(now_ns + self.grouping_ns, lambda _: self._answer_group(parked))

    def _answer_group(self, parked: "_Parked") -> None:
        self.grouping_ns = 0
        parked.leave()
        self.wake(parked)

    def _is_fresh_tail(self, reply: Message, segment: Segment, now_ns: int) -> bool:
        """Return whether a reply ends with what has just been appended, on a connection that still waits for more."""
        is_tail = isinstance(reply, SegmentRead) and reply.at_tail
        return is_tail and now_ns - segment.modified_ns < self.grouping_ns

    def _park(self, segment: Segment, request: ReadSegment) -> "_Parked":
        if len(self._parked) >= limits.PRAVEGA_PARKED_READS_MAX:
            why = f"more than {limits.PRAVEGA_PARKED_READS_MAX} reads wait on one connection"
            raise violation("too-many-reads", why, "ReadSegment")
        parked = _Parked(self, segment, request)
        self._parked[parked] = None
        segment.waiters[parked] = None
        return parked

    def wake(self, parked: "_Parked") -> None:
        """A read need not wait any longer. While much is on its way already, its answer is as short as can be."""
        del self._parked[parked]
        size = read_bytes(parked.request.suggested_length) if self._replies.has_room() else READ_BYTES_MIN
        self._replies.reply(answer_parked(parked.segment, parked.request, size))


class _Parked:
    """A read that waits at the end of its segment."""

    __slots__ = ("_reads", "request", "segment", "timer")

    def __init__(self, reads: Reads, segment: Segment, request: ReadSegment) -> None:
        self._reads = reads
        self.segment = segment
        self.request = request
        #: Answers it, where there is something and more may come.
        self.timer: Timer | None = None

    def __call__(self, *, is_idle: bool = False) -> bool:
        """Return whether what happened to the segment ended the wait."""
        segment = self.segment
        has_ended = is_idle or segment.is_sealed or segment.is_gone
        if not has_ended and segment.length <= self.request.offset:
            return False
        if not has_ended and self._reads.grouping_ns:
            self._reads.gather(self, segment.modified_ns)
            return False
        self.leave()
        self._reads.wake(self)
        return True

    def leave(self) -> None:
        """Wait no longer, and have no answer."""
        self.segment.waiters.pop(self, None)
        if self.timer is not None:
            self.timer.cancel()


def read_bytes(suggested_length: int) -> int:
    """How many bytes a reply holds at most."""
    return min(READ_BYTES_MAX, max(READ_BYTES_MIN, suggested_length))


def answer(segment: Segment, request: ReadSegment) -> Message | None:
    """The reply to a read that has just come; None where it has to wait."""
    offset = request.offset
    if offset < 0:
        raise violation("negative-offset", f"a read at {offset}", "ReadSegment")
    if offset < segment.start:
        return _truncated(segment, request)
    if offset >= segment.length and not segment.is_sealed:
        return None
    if offset > segment.length:
        why = f"a read at {offset}, the segment is sealed at {segment.length}"
        raise violation("beyond-the-end", why, "ReadSegment")
    size = read_bytes(request.suggested_length)
    has_room = size > segment.length - offset
    return _read(
        request,
        segment.read(offset, size),
        at_tail=has_room and not segment.is_sealed,
        end_of_segment=has_room and segment.is_sealed,
    )


def answer_parked(segment: Segment, request: ReadSegment, size: int) -> Message:
    """The reply to a read that has waited, by what has become of the segment; `size` bytes at most."""
    if segment.is_gone:
        return _read(request, b"", at_tail=True)
    if request.offset < segment.start:
        return _truncated(segment, request)
    if request.offset < segment.length:
        return _read(request, segment.read(request.offset, size), at_tail=True)
    if segment.is_sealed:
        return SegmentIsSealed(request_id=request.request_id, segment=request.segment, offset=request.offset)
    return _read(request, b"", at_tail=True)


def _read(request: ReadSegment, data: bytes, *, at_tail: bool = False, end_of_segment: bool = False) -> SegmentRead:
    return SegmentRead(
        segment=request.segment,
        offset=request.offset,
        at_tail=at_tail,
        end_of_segment=end_of_segment,
        data=data,
        request_id=request.request_id,
    )


def _truncated(segment: Segment, request: ReadSegment) -> SegmentIsTruncated:
    return SegmentIsTruncated(
        request_id=request.request_id,
        segment=request.segment,
        start_offset=segment.start,
        offset=request.offset,
    )
