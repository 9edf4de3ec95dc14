"""How long segments were before the recording."""

from collections import defaultdict
from typing import Any

from wiretool.analysis.dialogues import Recording
from wiretool.protocols.pravega import failures, messages, segments
from wiretool.protocols.pravega.replay.appends import AppendLog, Fate, frames_of
from wiretool.records import Record


def first_lengths(recording: Recording, log: AppendLog) -> dict[str, int]:
    """The lengths that segments had at first, of those of which anything tells it."""
    surveyor = _Surveyor(log)
    for event in frames_of(recording):
        surveyor.take(event.record)
    return surveyor.lengths()


class _Surveyor:
    """Collects what tells lengths.

    What one append leaves is what was there before it, and the append; the least of all such is what was there first,
    whatever order the store took appends in. Reads only tell what was there at least.
    """

    def __init__(self, log: AppendLog) -> None:
        self._log = log
        self._exact: dict[str, int] = {}
        self._least: dict[str, int] = defaultdict(int)
        #: Bytes that were said until now, and what was said when a request came.
        self._said: dict[str, int] = defaultdict(int)
        self._said_at: dict[int, tuple[str, int]] = {}
        #: Segments that are no longer what they were before the recording.
        self._anew: set[str] = set()

    def take(self, record: Record) -> None:
        """The next frame of either side."""
        if record.side == "client":
            self._say(record)
        else:
            self._hear(record, record.fields)

    def lengths(self) -> dict[str, int]:
        """The lengths, as far as anything is known."""
        return dict(self._least) | self._exact

    def _say(self, record: Record) -> None:
        append = self._log.of.get(record.n)
        if append is not None and append.segment is not None and append.fate is Fate.STORED:
            self._said[append.segment] += append.length
        elif isinstance(record.fields, segments.GetStreamSegmentInfo):
            name = record.fields.segment_name
            self._said_at[record.n] = name, self._said[name]
        elif isinstance(record.fields, messages.ReadSegment):
            self._at_least(record.fields.segment, record.fields.offset)

    def _hear(self, record: Record, reply: Any) -> None:
        if isinstance(reply, messages.DataAppended):
            self._acked(record, reply)
        elif isinstance(reply, segments.StreamSegmentInfo):
            name, said = self._said_at.get(record.reply_to or 0, (reply.segment_name, 0))
            self._exactly(name, reply.write_offset - said)
        elif isinstance(reply, messages.SegmentRead):
            self._at_least(reply.segment, reply.offset + len(reply.data))
        elif isinstance(reply, failures.SegmentIsTruncated):
            self._at_least(reply.segment, reply.start_offset)
        elif isinstance(reply, segments.SegmentCreated | segments.SegmentDeleted):
            self._anew.add(reply.segment)
        elif isinstance(reply, segments.SegmentsMerged):
            self._merged(reply.target, [reply.source], reply.new_target_write_offset)
        elif isinstance(reply, segments.SegmentsBatchMerged):
            last = max((each.new_target_write_offset for each in reply.merged), default=-1)
            self._merged(reply.target, [each.source for each in reply.merged], last)

    def _merged(self, target: str, sources: list[str], length: int) -> None:
        """A target is as long as it was, with its sources; what they held before the recording it may have held."""
        if length >= 0:
            self._exactly(target, length - sum(self._said[source] for source in sources) - self._said[target])
        self._anew |= {target, *sources}

    def _acked(self, record: Record, ack: messages.DataAppended) -> None:
        mine = self._log.acked.get(record.n, [])
        if ack.current_segment_write_offset >= 0 and mine and mine[-1].segment is not None:
            added = sum(append.length for append in mine)
            self._exactly(mine[-1].segment, ack.current_segment_write_offset - added)

    def _exactly(self, name: str, length: int) -> None:
        if name not in self._anew:
            self._exact[name] = max(min(self._exact.get(name, length), length), 0)

    def _at_least(self, name: str, length: int) -> None:
        if name not in self._anew:
            self._least[name] = max(self._least[name], length)
