"""Infers from a recording what it takes for granted: the requests are done to a model of the store, in their order.

Where a reply shows more than the model has, it was there before the recording, if nothing was known of it yet, or
others have done it meanwhile: a controller whose connections were not recorded, or a part of the store itself.
"""

from collections.abc import Callable, Mapping
from typing import Any

from wiretool import limits
from wiretool.analysis.dialogues import Recording
from wiretool.codec.message import Message
from wiretool.protocols.pravega import failures, messages, segments
from wiretool.protocols.pravega.replay.appends import Append, Fate, append_log, frames_of
from wiretool.protocols.pravega.replay.calls import CONTROLLER, Calls
from wiretool.protocols.pravega.replay.initial_tables import TABLE_REQUESTS, TablesPast
from wiretool.protocols.pravega.replay.lengths import first_lengths
from wiretool.protocols.pravega.replay.skipped import leave_out, tears_in
from wiretool.protocols.pravega.replay.state import (
    Before,
    Change,
    Create,
    Delete,
    Extend,
    Past,
    Plain,
    Seal,
    SetAttribute,
    Truncate,
)
from wiretool.protocols.pravega.session import SEGMENT_FIELD
from wiretool.protocols.pravega.structures import NONE_I64
from wiretool.protocols.pravega_controller.replay.names import stream_of
from wiretool.records import Record


def past_of(recording: Recording) -> Past:
    """What a recording takes for granted."""
    historian = _Historian(recording)
    for event in frames_of(recording, "pravega", CONTROLLER):
        historian.take(event.record)
    historian.settle()
    return historian.past


class _Historian:
    """Does what was recorded to a model."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.past = Past(log=append_log(recording))
        self._requests: dict[int, Record] = {}
        self._replies: dict[int, Record] = {}
        for event in frames_of(recording):
            record = event.record
            if record.side == "client":
                self._requests[record.n] = record
            elif record.reply_to is not None:
                self._replies.setdefault(record.reply_to, record)
        self._calls = Calls(recording)
        self._tables = TablesPast(self.past, self._requests, self._replies, self._calls)
        self._lengths = first_lengths(recording, self.past.log)
        self._plain: dict[str, Plain] = {}
        #: Segment -> the first request that merges it into another.
        self._merges: dict[str, int] = {}

    def take(self, record: Record) -> None:
        """The next frame of either side."""
        message = record.fields
        if record.n in self._calls.commits:
            self._commit(record, *self._calls.commits[record.n])
        if not isinstance(message, Message) or record.protocol != "pravega":
            return
        self._note_names(record, message)
        if record.side == "client":
            if not self._tables.say(record):
                self._say(record)
        elif (request := self._requests.get(record.reply_to or 0)) and not self._tables.hear(record, request):
            self._hear(record, request)

    def settle(self) -> None:
        """All is heard."""
        self._tables.settle()
        for tear in tears_in(self._recording, CONTROLLER).values():
            self.past.tear(filter(self._calls.is_about, self._plain), tear)
        committed = {stream for stream, _ in self._calls.commits.values()}
        for tear in tears_in(self._recording, "pravega").values():  # some of what was committed may be missing
            self.past.tear((name for name in self._plain if stream_of(name) in committed), tear)
        leave_out(self.past, self._recording, self._replies, self._tables.has)

    def _note_names(self, record: Record, message: Any) -> None:
        name = getattr(message, SEGMENT_FIELD.get(type(message), ""), None)
        if name and not isinstance(message, TABLE_REQUESTS):
            self.past.segments.setdefault(name)
        request = self._requests.get(record.reply_to or 0)
        is_made_up = request is not None and isinstance(request.fields, segments.CreateTransientSegment)
        if is_made_up and isinstance(message, segments.SegmentCreated):
            self.past.made_up.add(message.segment)
        append = self.past.log.of.get(record.n)
        where = append.segment if append else name
        for field in ("offset", "truncation_offset", "target_offset", "expected_offset"):
            at = getattr(message, field, -1)
            if record.side == "client" and at >= 0 and where is not None:
                self.past.lowest[where] = min(self.past.lowest.get(where, at), at)

    # -- what segments are there -----------------------------------------------------------------------------------

    def _of(self, name: str) -> Plain:
        if name not in self._plain:
            self._plain[name] = Plain(name)
        return self._plain[name]

    def _there(self, name: str, n: int) -> Plain:
        """The segment, which is there by now."""
        plain = self._of(name)
        if plain.exists is None and self._calls.makes(name, n):
            plain.was_open = True
            if self._calls.creates(name, n):
                self._note_creation(name)
        elif plain.exists is None:
            length = self._lengths.get(name, 0)
            plain.before = self.past.before[name] = Before(name, length=length)
            plain.length = length
        elif not plain.exists:
            self._change(n, Create(name))
            self._note_creation(name)
            plain.length = plain.start = 0
            plain.is_sealed = False
            plain.attributes = {}
            plain.before = None
        plain.exists = True
        return plain

    def _gone(self, name: str, n: int) -> None:
        """The segment is not there by now."""
        plain = self._of(name)
        if plain.exists:
            self._change(n, Delete(name))
        plain.exists = False

    def _change(self, n: int, change: Change) -> None:
        if self._calls.does(change, n):
            return
        self.past.changes.setdefault(n, []).append(change)

    # -- what is evident of them -----------------------------------------------------------------------------------

    def _reaches(self, plain: Plain, length: int, n: int) -> None:
        """The segment is so long by now."""
        if length <= plain.length:
            return
        begin = max(plain.length, length - limits.REPLAY_OLD_BYTES_MAX + plain.extended)
        plain.extended += length - begin
        data = self.past.contents.fill(plain.name, begin, length)
        self._change(n, Extend(plain.name, data, skipped=begin - plain.length))
        plain.length = length

    def _is_sealed(self, plain: Plain, n: int) -> None:
        if plain.is_sealed:
            return
        plain.is_sealed = True
        self.past.ended.add(plain.name)
        if plain.before is not None and not plain.was_open:
            plain.before.is_sealed = True
        else:
            self._change(n, Seal(plain.name))

    def _begins(self, plain: Plain, start: int, n: int) -> None:
        """What is before an offset was dropped by now."""
        if start <= plain.start:
            return
        self._reaches(plain, start, n)
        if plain.before is not None and plain.start == 0 and start <= plain.before.length:
            plain.before.start = start
        else:
            self._change(n, Truncate(plain.name, start))
        plain.start = start

    def _has(self, plain: Plain, attribute: str, value: int, n: int) -> None:
        """An attribute has this value by now."""
        known = plain.attributes.get(attribute)
        if known is None and plain.before is not None:
            plain.before.attributes[attribute] = value
        elif (NONE_I64 if known is None else known) != value:
            self._change(n, SetAttribute(plain.name, attribute, value))
        plain.attributes[attribute] = value

    # -- what is said ----------------------------------------------------------------------------------------------

    def _say(self, record: Record) -> None:
        """What a request does, as far as its reply says that it was done."""
        append = self.past.log.of.get(record.n)
        if append is not None:
            self._append(append)
            return
        reply = self._replies.get(record.n)
        if reply is None and isinstance(record.fields, messages.ReadSegment):
            self._wait(record.fields, record.n)
        if reply is None and isinstance(record.fields, segments.CreateSegment):
            self._try(record.fields.segment)
        if isinstance(record.fields, segments.MergeSegments):
            self._note_merge(record, record.fields.source)
        act = _ACTS.get(type(record.fields))  # type: ignore[arg-type]
        if reply is None or act is None or not isinstance(reply.fields, Message):
            return
        if not reply.fields.declaration.is_failure:
            act(self, record, record.fields, reply.fields)

    def _note_merge(self, record: Record, source: str) -> None:
        """Note a request to merge what was merged before."""
        earlier = self._merges.setdefault(source, record.n)
        if self._of(source).was_merged:
            self.past.merged_again[record.n] = earlier

    def _wait(self, read: messages.ReadSegment, n: int) -> None:
        """A read that was not answered waits at the end of a segment."""
        if self._of(read.segment).exists is None:
            self._there(read.segment, n).was_open = True

    def _try(self, name: str) -> None:
        """It was not recorded what was said to who made a segment: it is there now, by him or before."""
        if not self._of(name).exists:
            self._plain[name] = Plain(name)
            self._plain[name].exists = self._plain[name].was_open = True

    def _append(self, append: Append) -> None:
        if append.segment is None or self._tables.has(append.segment):
            return
        plain = self._of(append.segment)
        if append.fate is Fate.OPEN and (plain.is_sealed or plain.was_deleted):
            self.past.vain.add(append.record.n)
        if append.record.n in self.past.vain or append.fate not in (Fate.STORED, Fate.OPEN):
            return
        self._there(plain.name, append.record.n)
        plain.length += append.length
        plain.was_open = True
        if append.writer in plain.attributes:
            plain.attributes[append.writer] = append.number

    def _create(self, record: Record, request: Any, reply: Any) -> None:
        plain = self._of(reply.segment)
        if plain.exists:
            self._change(record.n, Delete(plain.name))
        plain = self._plain[plain.name] = Plain(plain.name)
        plain.exists = plain.was_open = True
        self._note_creation(plain.name)

    def _note_creation(self, name: str) -> None:
        """Note a segment that is new, unless one of that name was there before the recording."""
        if name not in self.past.before:
            self.past.created.add(name)

    def _delete(self, record: Record, request: Any, reply: Any) -> None:
        self._there(request.segment, record.n).exists = False
        self._of(request.segment).was_deleted = True

    def _seal(self, record: Record, request: Any, reply: Any) -> None:
        self._there(request.segment, record.n).is_sealed = True
        self.past.ended.add(request.segment)

    def _truncate(self, record: Record, request: Any, reply: Any) -> None:
        plain = self._there(request.segment, record.n)
        self._reaches(plain, request.truncation_offset, record.n)
        plain.start = max(plain.start, request.truncation_offset)

    def _merge(self, record: Record, request: Any, reply: Any) -> None:
        if isinstance(reply, segments.SegmentAttributeUpdated):
            self._there(request.target, record.n)
            return
        self._merge_one(record, request.target, request.source)

    def _merge_batch(self, record: Record, request: Any, reply: Any) -> None:
        self._there(request.target_segment_id, record.n)
        ends = self.past.merge_ends[record.n] = []
        for source in request.source_segment_ids:
            self._merge_one(record, request.target_segment_id, source)
            ends.append(self._of(request.target_segment_id).length)

    def _merge_one(self, record: Record, target: str, source: str) -> None:
        into = self._there(target, record.n)
        taken = self._of(source)
        if taken.exists is False and taken.was_deleted:
            return  # merged before: nothing happens
        taken = self._there(source, record.n)
        begin = into.length
        self._copy(source, taken.start, taken.length, target, begin)
        into.length += taken.length - taken.start
        into.was_open = True
        taken.exists, taken.was_deleted, taken.was_merged = False, True, True

    def _copy(self, source: str, start: int, stop: int, target: str, at: int) -> None:
        """What a segment holds from `start` to `stop` another holds too, from `at` on; of too much only the end."""
        begin = max(start, stop - limits.REPLAY_OLD_BYTES_MAX)
        for first, run in list(self.past.contents.runs(source, begin, stop)):
            self.past.contents.add(target, at + first - start, run, is_sure=False)

    def _commit(self, record: Record, stream: str, suffix: str) -> None:
        """The controller puts what is in a transaction into its stream."""
        for name in [name for name, plain in self._plain.items() if name.endswith(suffix) and plain.exists]:
            if stream_of(name) == stream:
                self._merge_one(record, name.removesuffix(suffix), name)

    def _touch(self, record: Record, request: Any, reply: Any) -> None:
        """It is there, and not more."""
        self._there(getattr(request, SEGMENT_FIELD[type(request)]), record.n)

    def _set_attribute(self, record: Record, request: Any, reply: Any) -> None:
        plain = self._there(request.segment_name, record.n)
        if reply.success:
            self._has(plain, request.attribute_id, request.expected_value, record.n)
            plain.attributes[request.attribute_id] = request.new_value
        plain.was_open = True

    def _set_up(self, record: Record, request: Any, reply: Any) -> None:
        plain = self._there(request.segment, record.n)
        self._has(plain, request.writer_id, reply.last_event_number, record.n)

    def _get_attribute(self, record: Record, request: Any, reply: Any) -> None:
        self._has(self._there(request.segment_name, record.n), request.attribute_id, reply.value, record.n)

    # -- what is heard ---------------------------------------------------------------------------------------------

    def _hear(self, record: Record, request: Record) -> None:
        """What a reply shows that may be because of what was said after its request."""
        hear = _HEARD.get(type(record.fields))  # type: ignore[arg-type]
        if hear is not None:
            hear(self, record, request, record.fields)

    def _acked(self, record: Record, request: Record, ack: Any) -> None:
        append = self.past.log.of.get(request.n)
        if append is None or append.segment is None or self._tables.has(append.segment):
            return
        plain = self._there(append.segment, request.n)
        self._reaches(plain, ack.current_segment_write_offset, request.n)
        if append.writer not in plain.attributes:
            if plain.before is not None:
                plain.before.attributes[append.writer] = ack.previous_event_number
            plain.attributes[append.writer] = append.number

    def _told(self, record: Record, request: Record, info: Any) -> None:
        plain = self._of(info.segment_name)
        self._reaches(plain, info.write_offset, request.n)
        self._begins(plain, info.start_offset, request.n)
        if info.is_sealed:
            self._is_sealed(plain, request.n)
        else:
            plain.was_open = True

    def _read(self, record: Record, request: Record, reply: Any) -> None:
        plain = self._of(reply.segment)
        self._reaches(plain, reply.offset + len(reply.data), record.n)
        if reply.end_of_segment:
            self._is_sealed(plain, request.n)
        elif reply.at_tail:
            plain.was_open = True

    def _located(self, record: Record, request: Record, reply: Any) -> None:
        self._reaches(self._of(reply.segment), reply.offset, request.n)

    def _sealed(self, record: Record, request: Record, reply: Any) -> None:
        is_read = isinstance(request.fields, messages.ReadSegment)
        name = request.fields.target if isinstance(request.fields, segments.MergeSegments) else reply.segment
        plain = self._there(name, request.n)
        if is_read:
            plain.was_open = True
        self._is_sealed(plain, record.n if is_read else request.n)

    def _missing(self, record: Record, request: Record, reply: Any) -> None:
        self._gone(reply.segment, request.n)

    def _exists(self, record: Record, request: Record, reply: Any) -> None:
        if not (self._of(reply.segment).exists is False and self._of(reply.segment).was_deleted):
            self._there(reply.segment, request.n)

    def _truncated(self, record: Record, request: Record, reply: Any) -> None:
        plain = self._there(reply.segment, request.n)
        if 0 <= reply.offset < reply.start_offset:
            self._begins(plain, reply.start_offset, request.n)

    def _merged(self, record: Record, request: Record, reply: Any) -> None:
        self._ends(reply.target, reply.source, reply.new_target_write_offset, request)

    def _batch_merged(self, record: Record, request: Record, reply: Any) -> None:
        for each in reply.merged[-1:]:
            self._ends(reply.target, each.source, each.new_target_write_offset, request)

    def _ends(self, target: str, source: str, length: int, request: Record) -> None:
        """A merge left the target so long: what is not known to have been in it, was in the source."""
        into, taken = self._of(target), self._of(source)
        more = length - into.length
        if more > 0 and taken.before is not None and source not in self._lengths:
            self._copy(target, into.length, length, source, taken.before.length)
            taken.before.length += more
            into.length = length
        self._reaches(into, length, request.n)


_Act = Callable[[_Historian, Record, Any, Any], None]
_ACTS: Mapping[type[Message], _Act] = {
    messages.SetupAppend: _Historian._set_up,
    messages.ReadSegment: _Historian._touch,
    segments.GetStreamSegmentInfo: _Historian._touch,
    segments.CreateSegment: _Historian._create,
    segments.CreateTransientSegment: _Historian._create,
    segments.SealSegment: _Historian._seal,
    segments.DeleteSegment: _Historian._delete,
    segments.UpdateSegmentPolicy: _Historian._touch,
    segments.GetSegmentAttribute: _Historian._get_attribute,
    segments.UpdateSegmentAttribute: _Historian._set_attribute,
    segments.TruncateSegment: _Historian._truncate,
    segments.LocateOffset: _Historian._touch,
    segments.MergeSegments: _Historian._merge,
    segments.MergeSegmentsBatch: _Historian._merge_batch,
}
_HEARD: Mapping[type[Message], Callable[[_Historian, Record, Record, Any], None]] = {
    messages.DataAppended: _Historian._acked,
    messages.SegmentRead: _Historian._read,
    segments.StreamSegmentInfo: _Historian._told,
    segments.OffsetLocated: _Historian._located,
    segments.SegmentsMerged: _Historian._merged,
    segments.SegmentsBatchMerged: _Historian._batch_merged,
    failures.SegmentIsSealed: _Historian._sealed,
    failures.NoSuchSegment: _Historian._missing,
    failures.SegmentAlreadyExists: _Historian._exists,
    failures.SegmentIsTruncated: _Historian._truncated,
}
