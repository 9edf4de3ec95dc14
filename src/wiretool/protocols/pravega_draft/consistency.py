"""The consistency model of Pravega's 2017 draft: acknowledged events of segments, and reads that contradict them.

An acknowledgement has the bytes that an appender has stored, not their place in the segment: so the events that were
read are counted. That needs a segment that was read from its beginning, up to the end that it had after the
acknowledgement (`at_tail`). Where a segment has a single appender, and is as long as that has come, the places follow.
That a segment does not exist proves nothing: another protocol removes segments. A resent block has the same connection
offset, and is stored once (S14).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wiretool.codec.message import Side
from wiretool.consistency.appended import AppendedBytes
from wiretool.consistency.model import Anomaly, Consistency, Question, ReadTalk
from wiretool.consistency.segment_log import digest_of
from wiretool.consistency.segment_logs import SegmentLogs
from wiretool.consistency.stored_levels import StoredLevels
from wiretool.protocols.pravega.appends import event_frame
from wiretool.protocols.pravega.consistency_writers import event_end
from wiretool.protocols.pravega_draft.messages import (
    AppendSetup,
    DataAppended,
    NoSuchSegment,
    ReadSegment,
    SegmentRead,
)
from wiretool.records import Record

#: What one read of a question asks for, in bytes.
READ_BYTES = 256 * 1024


class _SentBlock(NamedTuple):
    """A block without an acknowledgement: its segment, and the connection offsets where it begins and ends."""

    segment: str
    start: int
    end: int
    append: AppendedBytes
    #: The events of it that a sound store may put there.
    copies: list[bytes]


class _Appender:
    """The only appender of a segment: its acknowledged blocks of unknown place, by where they begin, and its level."""

    def __init__(self, connection_id: str) -> None:
        self.connection_id = connection_id
        self.blocks: dict[AppendedBytes, int] = {}
        self.level = 0


class DraftConsistency(Consistency):
    """The segments of a store."""

    def __init__(self, *, is_new: bool = False) -> None:
        super().__init__(is_new=is_new)
        self._logs = SegmentLogs("segment", event_end, is_new=is_new)
        self._stored = StoredLevels()
        #: Blocks without an acknowledgement, by TCP connection and appender.
        self._waiting: dict[tuple[int, str], list[_SentBlock]] = {}
        #: Segments with a single appender; None for others.
        self._sole: dict[str, _Appender | None] = {}

    @property
    def judged(self) -> int:
        """Return the number of acknowledged events that reads returned or showed to be missing."""
        return self._logs.judged

    def follow(self, record: Record) -> Sequence[Anomaly]:
        if record.kind != "frame" or record.protocol != "pravega-draft":
            return ()
        if record.side == "client":
            self._send(record)
            return ()
        match record.fields:
            case DataAppended() as ack:
                key = (record.connection, ack.connection_id)
                return self._acknowledge(key, ack.connection_offset_ack_level, record.n)
            case AppendSetup() as setup:
                return self._set_up(setup, record)
            case SegmentRead() as read:
                return self._read(read, record)
            case NoSuchSegment() as missing:
                self._drop(missing.segment)
        return ()

    def forget(self, connection: int, side: Side) -> None:
        for key in [key for key in self._waiting if key[0] == connection]:
            del self._waiting[key]
        if side == "client":
            self._logs.doubt_copies()
            self._sole = dict.fromkeys(self._sole)

    def questions(self) -> Iterable[Question]:
        for name, log in self._logs.items():
            if log.has_acknowledged:
                yield Question(log.label, "store", "", _read_back(name))

    def _send(self, record: Record) -> None:
        form = record.append
        if form is None:
            return
        frames = [event_frame(bytes.fromhex(event["data"])) for event in record.events or ()]
        segment, writer_id, offset = form["segment"], form["connection_id"], form["connection_offset"]
        if segment is None or sum(map(len, frames)) != form["length"]:
            self._logs.doubt_copies()
            return
        append = AppendedBytes(record.n, b"".join(frames), len(frames), [digest_of(frame) for frame in frames])
        end = offset + form["length"]
        copies = [] if self._stored.has(segment, writer_id, end) else append.digests
        self._logs.of(segment).send(append, copies)
        sole = self._sole.setdefault(segment, _Appender(writer_id))
        if sole is not None and sole.connection_id != writer_id:
            self._sole[segment] = None
        self._logs.bound_bytes(segment)
        waiting = self._waiting.setdefault((record.connection, writer_id), [])
        waiting.append(_SentBlock(segment, offset, end, append, copies))

    def _acknowledge(self, key: tuple[int, str], level: int, n: int) -> list[Anomaly]:
        """Everything of an appender up to an offset is stored."""
        waiting = self._waiting.get(key, [])
        reached = [block for block in waiting if block.end <= level]
        self._waiting[key] = [block for block in waiting if block.end > level]
        stored = []
        for block in reached:
            if self._stored.has(block.segment, key[1], block.end):  # sent on two connections, stored once (S14)
                self._logs.of(block.segment).retract(block.append, block.copies)
                continue
            stored.append(block)
            self._stored.confirm(block.segment, key[1], block.end)
            sole = self._sole.get(block.segment)
            if sole is not None:
                sole.blocks[block.append] = block.start
                sole.level = max(sole.level, block.end)
        return [anomaly for block in stored for anomaly in self._logs.of(block.segment).note(block.append, n)]

    def _set_up(self, setup: AppendSetup, record: Record) -> list[Anomaly]:
        """The appender goes on from an offset: its other blocks will be sent again, or were refused.

        A block that was sent after the request, on any connection, may yet be acknowledged.
        """
        anomalies = []
        asked = record.reply_to or record.n
        for key in [key for key in self._waiting if key[1] == setup.connection_id]:
            blocks = [block for block in self._waiting[key] if block.segment == setup.segment]
            later = [block for block in blocks if block.append.n > asked]
            self._waiting[key] = [block for block in blocks if block not in later]
            anomalies += self._acknowledge(key, setup.connection_offset_ack_level, record.n)
            for block in self._waiting[key]:
                self._logs.of(block.segment).retract(block.append, block.copies)
            self._waiting[key] = later
        return anomalies

    def _drop(self, segment: str) -> None:
        """The segment does not exist: it may have been removed, for which the draft has no message."""
        self._logs.drop(segment)
        self._stored.forget(segment)
        self._sole[segment] = None
        for key, blocks in self._waiting.items():
            self._waiting[key] = [block for block in blocks if block.segment != segment]

    def _read(self, read: SegmentRead, record: Record) -> list[Anomaly]:
        log = self._logs.find(read.segment)
        if log is None:
            return []
        end = read.offset + len(read.data)
        anomalies = log.read(read.offset, read.data, record.n)
        if (read.at_tail or read.end_of_segment) and record.reply_to is not None:
            anomalies += self._place(read.segment, end)
            anomalies += log.end_at(end, record.reply_to, record.n)
        self._logs.bound_bytes(read.segment)
        return anomalies

    def _place(self, segment: str, end: int) -> list[Anomaly]:
        """A segment that is as long as its only appender has come has the blocks of that at their offsets."""
        sole, log = self._sole.get(segment), self._logs.find(segment)
        if sole is None or log is None or sole.level != end:
            return []
        starts, sole.blocks = sole.blocks, {}
        return log.settle(starts)


def _read_back(segment: str) -> ReadTalk:
    """Read a segment from its beginning until a reply reaches its end: a read there would wait."""
    offset, is_at_end = 0, False
    while not is_at_end:
        replies = yield [ReadSegment(segment=segment, offset=offset, suggested_length=READ_BYTES)]
        reads = [each.fields for each in replies if isinstance(each.fields, SegmentRead)]
        if not any(read.data for read in reads):
            return
        offset = max(read.offset + len(read.data) for read in reads)
        is_at_end = any(read.at_tail or read.end_of_segment for read in reads)


CONSISTENCY = DraftConsistency
