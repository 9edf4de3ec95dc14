"""Pravega's consistency model: acknowledged events of segments, and reads that contradict them.

An acknowledgement has the length of the segment after the append (protocols/pravega.md §3.7), so the place of its bytes
is known. One acknowledgement may cover earlier appends of its writer, and an AppendSetup those of earlier connections
(§3.8): their places are open, so their events are counted. The store never takes a number again that it has passed, so
what a writer sends again is stored once. A read proves the bytes that it has; that it has none proves nothing (§5.3),
but the length of the segment does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from wiretool.codec.message import Message, Side
from wiretool.consistency.model import Anomaly, Consistency, Question, ReadTalk
from wiretool.consistency.segment_logs import SegmentLogs
from wiretool.consistency.stored_levels import StoredLevels
from wiretool.protocols.pravega import failures, segments
from wiretool.protocols.pravega.consistency_writers import ConnectionWriters, event_end
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    AppendSetup,
    ConditionalAppend,
    ConditionalBlockEnd,
    ConditionalCheckFailed,
    DataAppended,
    Hello,
    ReadSegment,
    SegmentRead,
)
from wiretool.records import Record

#: What one read of a question asks for, in bytes; and the wire versions that its Hello has.
READ_BYTES = 256 * 1024
_VERSIONS = (16, 5)
#: Part of the names of segments that the store removes by itself (protocols/pravega.md §3.7).
_TRANSIENT = "#transient."


class PravegaConsistency(Consistency):
    """The segments of a store."""

    def __init__(self, *, is_new: bool = False) -> None:
        super().__init__(is_new=is_new)
        self._logs = SegmentLogs("segment", event_end, is_new=is_new)
        self._writers: dict[int, ConnectionWriters] = {}
        self._stored = StoredLevels()
        #: Reads of a segment and of its length, by record.
        self._asked: set[int | None] = set()
        #: Requests to merge segments, by record; the sources of all of them.
        self._merges: dict[int, tuple[str, ...]] = {}
        self._sources: set[str] = set()

    @property
    def judged(self) -> int:
        """Return the number of acknowledged events that reads returned or showed to be missing."""
        return self._logs.judged

    def follow(self, record: Record) -> Sequence[Anomaly]:
        if record.kind != "frame" or record.protocol != "pravega":
            return ()
        handle = _HANDLERS.get(type(record.fields))
        return () if handle is None else handle(self, record, record.fields)

    def forget(self, connection: int, side: Side) -> None:
        if side == "server":
            # Nothing is acknowledged without its reply; a refusal that is missing is one of what waits for a reply.
            if connection in self._writers:
                self._writers[connection].forget_waiting()
            return
        self._writers.clear()
        self._stored.clear()
        self._logs.doubt()

    def questions(self) -> Iterable[Question]:
        for name, log in self._logs.items():
            if log.has_acknowledged:
                yield Question(log.label, "store", "", _read_back(name, log.start))

    # -- appends -----------------------------------------------------------------------------------------------------

    def _writers_on(self, record: Record) -> ConnectionWriters:
        return self._writers.setdefault(record.connection, ConnectionWriters())

    def _begin(self, record: Record, block: AppendBlock) -> Sequence[Anomaly]:
        self._writers_on(record).begin(block)
        return ()

    def _append(self, record: Record, message: Message) -> Sequence[Anomaly]:
        sent = self._writers_on(record).finish(record, self._stored)
        if sent is None:
            self._logs.doubt_copies()
        else:
            self._logs.of(sent.segment).send(sent.append, sent.copies)
            self._logs.bound_bytes(sent.segment)
        return ()

    def _acknowledge(self, record: Record, ack: DataAppended) -> Sequence[Anomaly]:
        """Place the append that is acknowledged; those before it directly in front of it, where nothing else fits."""
        covered = self._writers_on(record).acknowledge(ack.writer_id, ack.event_number, record.reply_to)
        if not covered:
            return ()
        log, end = self._logs.of(covered[-1].segment), ack.current_segment_write_offset
        self._stored.confirm(covered[-1].segment, ack.writer_id, ack.event_number)
        *earlier, last = [sent.append for sent in covered if sent.segment == covered[-1].segment]
        if record.reply_to != last.n or end < 0:
            return [anomaly for append in (*earlier, last) for anomaly in log.note(append, record.n, end)]
        anomalies = log.place(last, record.n, end)
        return [*anomalies, *(each for append in earlier for each in log.note(append, record.n, last.start))]

    def _set_up(self, record: Record, reply: AppendSetup) -> Sequence[Anomaly]:
        """The last number of a writer: its appends on earlier connections are stored up to that, and no others."""
        anomalies: list[Anomaly] = []
        number = reply.last_event_number
        is_known = self._stored.has(reply.segment, reply.writer_id, number)
        is_doubted = self._stored.is_doubted(reply.segment, reply.writer_id)
        self._stored.confirm(reply.segment, reply.writer_id, number)
        for sent in self._writers_on(record).drop_repeated(reply.writer_id, number, record.reply_to):
            # Sent before the client knew its last number: the store may take it as a further append (§3.7).
            self._logs.of(sent.segment).retract(sent.append, sent.copies)
            self._logs.doubt_copies()
        for writers in self._writers.values():
            for sent in writers.waiting_after(reply.writer_id, reply.segment, number):
                if sent.append.n < (record.reply_to or record.n):  # a later one may yet be acknowledged
                    self._logs.of(sent.segment).retract(sent.append, sent.copies)
        holders = [each for each in self._writers.values() if each.has_waiting(reply.writer_id, reply.segment, number)]
        for writers in holders:
            for sent in writers.acknowledge(reply.writer_id, number):
                # Sent on several connections, one of them is stored, and which is not known.
                if len(holders) == 1 and not is_known and not is_doubted:
                    anomalies += self._logs.of(sent.segment).note(sent.append, record.n)
        self._writers_on(record).set_up(reply.writer_id, number, record.reply_to)
        return anomalies

    def _check_failed(self, record: Record, reply: ConditionalCheckFailed) -> Sequence[Anomaly]:
        self._writers_on(record).refuse_one(reply.writer_id, reply.event_number)
        return ()

    def _refuse(self, record: Record, reply: Message) -> Sequence[Anomaly]:
        """An append was refused, or a merge: of several sources some may be merged all the same (§5.2)."""
        self._writers_on(record).refuse(record.reply_to)
        sources = self._merges.pop(record.reply_to or 0, ())
        if len(sources) == 1:
            self._sources.difference_update(sources)
            self._logs.restore(sources)
        return ()

    def _set_attribute(self, record: Record, request: segments.UpdateSegmentAttribute) -> Sequence[Anomaly]:
        """The last number of a writer is an attribute of the segment, which clients may set (§3.5 rule 1)."""
        self._stored.doubt(request.segment_name, request.attribute_id)
        return ()

    # -- reads -------------------------------------------------------------------------------------------------------

    def _read(self, record: Record, reply: SegmentRead) -> Sequence[Anomaly]:
        self._asked.discard(record.reply_to)
        log = self._logs.find(reply.segment)
        if log is None:
            return ()
        anomalies = log.read(reply.offset, reply.data, record.n)
        if reply.end_of_segment and record.reply_to is not None:
            anomalies += log.end_at(reply.offset + len(reply.data), record.reply_to, record.n)
        self._logs.bound_bytes(reply.segment)
        return anomalies

    def _describe(self, record: Record, reply: segments.StreamSegmentInfo) -> Sequence[Anomaly]:
        self._asked.discard(record.reply_to)
        log = self._logs.find(reply.segment_name)
        if log is None or record.reply_to is None or not reply.exists:
            return ()
        log.truncate(reply.start_offset)
        return log.end_at(reply.write_offset, record.reply_to, record.n)

    def _refuse_truncated(self, record: Record, reply: failures.SegmentIsTruncated) -> Sequence[Anomaly]:
        log = self._logs.find(reply.segment)
        if log is not None:
            log.truncate(reply.start_offset)
        return ()

    def _refuse_missing(self, record: Record, reply: failures.NoSuchSegment) -> Sequence[Anomaly]:
        self._refuse(record, reply)
        if record.reply_to not in self._asked or _TRANSIENT in reply.segment:
            return ()
        return self._logs.vanish(reply.segment, record.n)

    def _ask(self, record: Record, request: ReadSegment | segments.GetStreamSegmentInfo) -> Sequence[Anomaly]:
        self._asked.add(record.n)
        return ()

    # -- segments ----------------------------------------------------------------------------------------------------

    def _create(self, record: Record, reply: segments.SegmentCreated) -> Sequence[Anomaly]:
        self._logs.create(reply.segment, record.reply_to)
        self._sources.discard(reply.segment)
        self._stored.forget(reply.segment)
        return ()

    def _delete(self, record: Record, message: segments.DeleteSegment | segments.SegmentDeleted) -> Sequence[Anomaly]:
        self._logs.remove(message.segment, record.reply_to or record.n)
        return ()

    def _truncate(self, record: Record, request: segments.TruncateSegment) -> Sequence[Anomaly]:
        log = self._logs.find(request.segment)
        if log is not None:
            log.truncate(request.truncation_offset)
        return ()

    def _ask_merge(self, record: Record, request: segments.MergeSegments) -> Sequence[Anomaly]:
        for update in request.attribute_updates:
            self._stored.doubt(request.target, update.attribute_id)
        return self._note_merge(record, request.target, (request.source,))

    def _ask_merges(self, record: Record, request: segments.MergeSegmentsBatch) -> Sequence[Anomaly]:
        return self._note_merge(record, request.target_segment_id, request.source_segment_ids)

    def _note_merge(self, record: Record, target: str, sources: Sequence[str]) -> Sequence[Anomaly]:
        """A source that is merged a second time may have been merged long before: then its place is not known."""
        fresh = tuple(source for source in sources if source not in self._sources)
        self._merges[record.n] = fresh
        for source in sources:
            log = self._logs.find(source)
            if log is not None:
                self._logs.of(target).expect(log)
            elif not self.is_new:
                self._logs.of(target).is_whole = False  # its content is not known
        self._sources.update(sources)
        self._logs.leave(sources, record.n)
        return ()

    def _merge(self, record: Record, reply: segments.SegmentsMerged) -> Sequence[Anomaly]:
        return self._merge_one(record, reply.target, reply.source, reply.new_target_write_offset)

    def _merge_batch(self, record: Record, reply: segments.SegmentsBatchMerged) -> Sequence[Anomaly]:
        return [
            anomaly
            for each in reply.merged
            for anomaly in self._merge_one(record, reply.target, each.source, each.new_target_write_offset)
        ]

    def _merge_one(self, record: Record, target: str, source: str, end: int) -> Sequence[Anomaly]:
        """The appends of the source are in the target now, before the offset that is its length.

        Their places are known where the source has no other appends: all are known, or they just fit after the end of
        the target that is known.
        """
        taken = self._logs.remove(source, record.reply_to or record.n)
        is_fresh = record.reply_to is not None and source in self._merges.get(record.reply_to, ())
        if taken is None or not is_fresh or end < 0:
            return ()
        log, length = self._logs.of(target), taken.known_length
        room = end - self._logs.of(target).end
        is_placed = 0 <= length <= room and (taken.is_whole or length == room)
        anomalies = []
        for append in list(taken.acknowledged):
            copy = append.copy()
            log.send(copy, ())
            if is_placed:
                anomalies += log.place(copy, record.n, end - length + append.end)
            else:
                anomalies += log.note(copy, record.n, end)
        return anomalies


def _read_back(segment: str, start: int) -> ReadTalk:
    """Ask for the length of a segment, and read it up to there: a read at its end would wait."""
    high, low = _VERSIONS
    yield [Hello(high_version=high, low_version=low)]
    replies = yield [segments.GetStreamSegmentInfo(request_id=1, segment_name=segment)]
    info = next((each.fields for each in replies if isinstance(each.fields, segments.StreamSegmentInfo)), None)
    if info is None:
        return
    offset, request_id = max(start, info.start_offset), 1
    while offset < info.write_offset:
        request_id += 1
        size = min(READ_BYTES, info.write_offset - offset)
        request = ReadSegment(segment=segment, offset=offset, suggested_length=size, request_id=request_id)
        replies = yield [request]
        read = next(_reads_in(replies), None)
        if read is None or not read.data:
            return
        offset = read.offset + len(read.data)


def _reads_in(replies: Sequence[Record]) -> Iterator[SegmentRead]:
    return (each.fields for each in replies if isinstance(each.fields, SegmentRead))


_HANDLERS: Mapping[type, Any] = {
    AppendBlock: PravegaConsistency._begin,
    AppendBlockEnd: PravegaConsistency._append,
    ConditionalAppend: PravegaConsistency._append,
    ConditionalBlockEnd: PravegaConsistency._append,
    DataAppended: PravegaConsistency._acknowledge,
    AppendSetup: PravegaConsistency._set_up,
    ConditionalCheckFailed: PravegaConsistency._check_failed,
    ReadSegment: PravegaConsistency._ask,
    SegmentRead: PravegaConsistency._read,
    segments.GetStreamSegmentInfo: PravegaConsistency._ask,
    segments.StreamSegmentInfo: PravegaConsistency._describe,
    segments.SegmentCreated: PravegaConsistency._create,
    segments.DeleteSegment: PravegaConsistency._delete,
    segments.SegmentDeleted: PravegaConsistency._delete,
    segments.UpdateSegmentAttribute: PravegaConsistency._set_attribute,
    segments.TruncateSegment: PravegaConsistency._truncate,
    segments.MergeSegments: PravegaConsistency._ask_merge,
    segments.MergeSegmentsBatch: PravegaConsistency._ask_merges,
    segments.SegmentsMerged: PravegaConsistency._merge,
    segments.SegmentsBatchMerged: PravegaConsistency._merge_batch,
    **dict.fromkeys(
        (
            failures.WrongHost,
            failures.SegmentIsSealed,
            failures.InvalidEventNumber,
            failures.OperationUnsupported,
            failures.AuthTokenCheckFailed,
        ),
        PravegaConsistency._refuse,
    ),
    failures.SegmentIsTruncated: PravegaConsistency._refuse_truncated,
    failures.NoSuchSegment: PravegaConsistency._refuse_missing,
}
CONSISTENCY = PravegaConsistency
