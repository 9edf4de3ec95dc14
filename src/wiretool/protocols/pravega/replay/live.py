"""The live run so far: what clients sent, what the servers acknowledged, and what therefore is in their segments."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from wiretool.analysis.dialogues import Dialogue, Told
from wiretool.protocols.pravega.failures import NoSuchSegment, SegmentIsSealed
from wiretool.protocols.pravega.messages import DataAppended
from wiretool.protocols.pravega.replay.acks import Acks
from wiretool.protocols.pravega.replay.answers import may_answer
from wiretool.protocols.pravega.replay.appends import Append, AppendReader
from wiretool.protocols.pravega.replay.content import Contents
from wiretool.protocols.pravega.segments import (
    SegmentCreated,
    SegmentDeleted,
    SegmentsBatchMerged,
    SegmentSealed,
    SegmentsMerged,
    StreamSegmentInfo,
)
from wiretool.records import Record


class Extent(NamedTuple):
    """Where an ack says that an append lies in its segment; `n` is the number of the ack."""

    start: int
    end: int
    n: int


class LiveHistory:
    """The records of a live run, in order. They are evaluated when something is asked of them."""

    def __init__(self) -> None:
        self._acks = Acks()
        self._waiting: list[Record] = []
        self._connections: dict[int, Dialogue] = {}
        self._reader = AppendReader()
        self._requests: dict[int, Record] = {}
        self._contents = Contents()
        self._extents: defaultdict[str, list[Extent]] = defaultdict(list)
        #: Segment -> bytes of appends whose place no ack tells (yet).
        self._unplaced: defaultdict[str, int] = defaultdict(int)
        #: Segment -> the record that says that it is sealed, or gone.
        self._sealed: dict[str, int] = {}
        self._gone: dict[str, int] = {}
        self._created: set[str] = set()
        self._pairs: dict[int, Record] = {}
        #: Number of the last record.
        self.last_n = 0

    def pair(self, request: Record, live: Record) -> None:
        """Note the live request that stands for a recorded one."""
        self._pairs[request.n] = live

    def note(self, record: Record) -> None:
        """Take the next record, of either side."""
        if record.side == "server":
            self._acks.hear(record)
        self._waiting.append(record)
        self.last_n = max(self.last_n, record.n)

    # -- questions -----------------------------------------------------------------------------------------------------

    def number_before(self, ack: Record) -> int | None:
        """Return the writer's number that was acknowledged last before an ack; None where that was not heard."""
        return self._acks.before(ack)

    def request_of(self, reply: Record) -> Record | None:
        """Return the live request that a live reply answers."""
        self._evaluate()
        return self._requests.get(reply.reply_to or 0)

    def live_of(self, request: Record) -> Record | None:
        """Return the live request that stands for a recorded one."""
        return self._pairs.get(request.n)

    def is_answer(self, reply: Record) -> bool:
        """Return whether a reply may answer its request, and names no other segments and writers than that."""
        request = self.request_of(reply)
        if request is None or not may_answer(request.fields, reply.fields):
            return False
        asked, told = _names_in(request.fields), _names_in(reply.fields)
        append = self._reader.log.of.get(request.n)
        if append is not None:
            asked |= {append.segment, append.writer}
        is_known = not isinstance(reply.fields, StreamSegmentInfo) or self._is_known_length(reply.fields, reply.n)
        return is_known and told <= asked | {f"{name}#index" for name in asked}

    def _is_known_length(self, told: StreamSegmentInfo, n: int) -> bool:
        """Return whether a segment may be that long by now: the run made it, so that all appends to it are known."""
        name = told.segment_name
        if name not in self._created:
            return True
        length = self.length(name, n)
        return length <= told.write_offset <= length + self._unplaced[name]

    def append_of(self, reply: Record) -> Append | None:
        """Return the live append that a live reply answers."""
        self._evaluate()
        return self._reader.log.of.get(reply.reply_to or 0)

    def find_unknown(self, segment: str, offset: int, data: bytes) -> list[slice] | None:
        """Return the parts of bytes that no ack shows to be there; None where acks show others."""
        self._evaluate()
        return self._contents.find_unknown(segment, offset, data)

    def length(self, segment: str, before: int) -> int:
        """Return how long a segment is at least, by what was acknowledged before a record."""
        self._evaluate()
        return max((extent.end for extent in self._extents[segment] if extent.n < before), default=0)

    def is_inside(self, segment: str, offset: int) -> bool:
        """Return whether a place is inside an append that was acknowledged."""
        self._evaluate()
        return any(each.start < offset < each.end for each in self._overlapping(segment, offset - 1, offset))

    def is_sealed(self, segment: str, before: int) -> bool:
        """Return whether a server said before a record that a segment is sealed."""
        self._evaluate()
        return self._sealed.get(segment, before) < before

    def is_gone(self, segment: str, before: int) -> bool:
        """Return whether a server said before a record that a segment is no longer there."""
        self._evaluate()
        return self._gone.get(segment, before) < before

    def is_alone(self, ack: Record) -> bool:
        """Return whether no other ack says that other bytes are where this one says that its append lies."""
        append, message = self.append_of(ack), ack.fields
        if append is None or append.segment is None or not isinstance(message, DataAppended):
            return False
        end = message.current_segment_write_offset
        start = end - append.length
        return start >= 0 and not any(each.n != ack.n for each in self._overlapping(append.segment, start, end))

    def is_joined(self, ack: Record) -> bool:
        """Return whether an append lies where others end, as far as those that are not placed leave room for it."""
        append, message = self.append_of(ack), ack.fields
        if append is None or append.segment is None or not isinstance(message, DataAppended):
            return False
        start = message.current_segment_write_offset - append.length
        ends = [each.end for each in self._extents[append.segment] if each.n != ack.n and each.end <= start]
        if not ends and append.segment not in self._created:
            return True  # nothing tells where the segment began
        return start - max(ends, default=0) <= self._unplaced[append.segment]

    def _overlapping(self, segment: str, start: int, end: int) -> Iterator[Extent]:
        extents = self._extents[segment]
        at = bisect_left(extents, Extent(start, 0, 0))
        for extent in extents[max(at - 1, 0) :]:
            if extent.start >= end:
                return
            if extent.end > start:
                yield extent

    # -- what the records say ------------------------------------------------------------------------------------------

    def _evaluate(self) -> None:
        waiting, self._waiting = self._waiting, []
        for record in waiting:
            if record.kind in ("frame", "gap"):
                self._take(record)

    def _take(self, record: Record) -> None:
        number, log = record.connection, self._reader.log
        if number not in self._connections:
            self._connections[number] = Dialogue(number, record.client, record.server, "pravega", is_opened=True)
        self._reader.read(Told(record.time_ns, self._connections[number], record))
        if record.side == "client":
            self._requests[record.n] = record
            append = log.of.get(record.n)
            if append is not None and append.segment is not None:
                self._unplaced[append.segment] += append.length
        elif isinstance(record.fields, DataAppended):
            self._place(record, record.fields)
        elif record.kind == "frame":
            self._hear(record, record.fields)

    def _place(self, record: Record, ack: DataAppended) -> None:
        """Note where an ack says that the last of its appends lies; the others may have any between them."""
        last = next(reversed(self._reader.log.acked.get(record.n, [])), None)
        if last is None or last.segment is None or not last.data or ack.current_segment_write_offset < last.length:
            return
        start = ack.current_segment_write_offset - last.length
        self._add(last.segment, start, last.data, record.n)
        self._unplaced[last.segment] -= last.length

    def _add(self, segment: str, start: int, data: bytes, n: int) -> None:
        if not any(True for _ in self._overlapping(segment, start, start + len(data))):
            self._contents.add(segment, start, data)
        insort(self._extents[segment], Extent(start, start + len(data), n))

    def _hear(self, record: Record, reply: Any) -> None:
        if isinstance(reply, SegmentCreated):
            self._begin(reply.segment)
            self._created.add(reply.segment)
        elif isinstance(reply, SegmentDeleted | NoSuchSegment):
            self._begin(reply.segment)
            self._gone[reply.segment] = record.n
        elif isinstance(reply, SegmentSealed | SegmentIsSealed):
            self._sealed.setdefault(reply.segment, record.n)
        elif isinstance(reply, SegmentsMerged):
            self._merge(reply.target, reply.source, reply.new_target_write_offset, record.n)
        elif isinstance(reply, SegmentsBatchMerged):
            for each in reply.merged:
                self._merge(reply.target, each.source, each.new_target_write_offset, record.n)

    def _begin(self, segment: str) -> None:
        """Forget what is known of a segment: another of its name may follow."""
        self._contents.forget(segment)
        for known in (self._extents, self._unplaced, self._sealed, self._gone):
            known.pop(segment, None)
        self._created.discard(segment)

    def _merge(self, target: str, source: str, end: int, n: int) -> None:
        """Note that what is known of a source is the end of its target now."""
        length = max((extent.end for extent in self._extents.pop(source, ())), default=0)
        for start, run in list(self._contents.runs(source, 0, length)):
            self._add(target, end - length + start, run, n)


def _names_in(message: Any) -> set[str | None]:
    """Return the segments and writers that a message names."""
    fields = ("segment", "segment_name", "target", "source", "target_segment_id", "writer_id")
    found = {getattr(message, field) for field in fields if hasattr(message, field)}
    return found | set(getattr(message, "source_segment_ids", ()))
