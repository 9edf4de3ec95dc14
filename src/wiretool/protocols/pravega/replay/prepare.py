"""Brings a store where a recording begins, through its own protocol, and later does what others did meanwhile."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import msgspec

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.protocols.pravega.messages import AppendBlockEnd, AppendSetup, DataAppended, Hello, SetupAppend
from wiretool.protocols.pravega.replay.state import (
    Before,
    Change,
    Create,
    Delete,
    Extend,
    Held,
    Past,
    Put,
    Remove,
    Seal,
    SetAttribute,
    Truncate,
)
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    DeleteSegment,
    GetSegmentAttribute,
    GetStreamSegmentInfo,
    SealSegment,
    SegmentAttribute,
    StreamSegmentInfo,
    TruncateSegment,
    UpdateSegmentAttribute,
)
from wiretool.protocols.pravega.session import SEGMENT_FIELD
from wiretool.protocols.pravega.structures import NAME, NONE_I64, TableEntries, TableEntry, TableKey, TableValue
from wiretool.protocols.pravega.tables import (
    CreateTableSegment,
    GetTableSegmentInfo,
    RemoveTableKeys,
    TableEntriesUpdated,
    TableSegmentInfo,
    UpdateTableEntries,
)
from wiretool.records import Record
from wiretool.replay.adapter import Talk
from wiretool.replay.playing.id_map import Values

#: What we are called as a writer.
WRITER = "7265706c-6179-4000-8000-776972657400"
HELLO = Hello(high_version=17, low_version=5)
#: Messages that are said at once, and bytes of an append and of entries.
_BATCH = 64
_APPEND_BYTES = 1024 * 1024
_ENTRIES_BYTES = 512 * 1024

T = TypeVar("T")
#: Says messages and in the end has something to give.
Saying = Generator[Sequence[Message], Sequence[Record], T]


def prepared(past: Past, values: Values) -> Talk:
    """Make what was there before the recording; where it lies otherwise now, `values` learns it."""
    yield [HELLO]
    named = dict.fromkeys((*past.segments, *past.before))
    names = [name for name in named if name not in past.before or not past.before[name].is_table]
    found = yield from _infos([name for name in names if name not in past.made_up])
    for name in names:
        info = found.get(name)
        before = past.before.get(name)
        if before is None:
            values.shift("segment", name, 0)
        else:
            yield from _segment(past, before, info, values)
    for before in past.before.values():
        if before.is_table:
            yield from _table(before, values)


def done(changes: Iterable[Change], values: Values) -> Talk:
    """Do what others did."""
    for change in changes:
        match change:
            case Create(segment):
                yield [_creation(segment)]
            case Extend(segment, data, skipped):
                if skipped:
                    values.shift("segment", segment, values.shift_of("segment", segment) - skipped)
                yield from _append(segment, data)
            case Seal(segment):
                yield [SealSegment(request_id=1, segment=segment)]
            case Delete(segment):
                yield [DeleteSegment(request_id=1, segment=segment)]
            case Truncate(segment, offset):
                at = offset + values.shift_of("segment", segment)
                yield [TruncateSegment(request_id=1, segment=segment, truncation_offset=at)]
            case SetAttribute(segment, attribute, value):
                yield from _set_attribute(segment, attribute, value)
            case Put(segment, key, held):
                yield from _put(segment, [(key, held)], values)
            case Remove(segment, key):
                yield from _remove(segment, [key])


def renamed(talk: Talk, values: Values) -> Talk:
    """The same with what segments are called now, where a controller has made them."""
    try:
        messages = next(talk)
        while True:
            recorded: dict[str, str] = {}
            now = partial(_live_name, values=values, recorded=recorded)
            said = [_with_name(message, now) for message in messages]
            heard = yield said
            messages = talk.send([_with_recorded_name(reply, recorded) for reply in heard] if recorded else heard)
    except StopIteration:
        return


def _live_name(name: str, values: Values, recorded: dict[str, str]) -> str:
    live: str = values.live_of(NAME, None, name)
    if live != name:
        recorded[live] = name
    return live


def _with_name(message: Message, name_of: Callable[[str], str]) -> Message:
    field = SEGMENT_FIELD.get(type(message))
    name = getattr(message, field) if field is not None else ""
    now = name_of(name) if name else name
    return message if now == name or field is None else msgspec.structs.replace(message, **{field: now})


def _with_recorded_name(reply: Record, recorded: dict[str, str]) -> Record:
    if not isinstance(reply.fields, Message):
        return reply
    return msgspec.structs.replace(reply, fields=_with_name(reply.fields, lambda name: recorded.get(name, name)))


def _infos(names: Iterable[str]) -> Saying[dict[str, StreamSegmentInfo]]:
    """Which of the segments are there already, and what they are like."""
    found: dict[str, StreamSegmentInfo] = {}
    for batch in _batches(names):
        asked = [GetStreamSegmentInfo(request_id=n, segment_name=name) for n, name in enumerate(batch, 1)]
        for reply in (yield asked):
            if isinstance(reply.fields, StreamSegmentInfo):
                found[reply.fields.segment_name] = reply.fields
    return found


# -- plain segments ----------------------------------------------------------------------------------------------------


def _segment(past: Past, before: Before, info: StreamSegmentInfo | None, values: Values) -> Talk:
    name, is_new = before.name, info is None
    there = 0 if info is None else info.write_offset
    if is_new:
        yield [_creation(name)]
    first = _first_needed(past, before, is_new=is_new)
    yield from _append(name, past.contents.fill(name, first, before.length))
    shift = there - first
    values.shift("segment", name, shift)
    yield from _attributes(before, is_new=is_new)
    start = 0 if info is None else info.start_offset
    if before.start > first and before.start + shift > start:
        start = before.start + shift
        yield [TruncateSegment(request_id=1, segment=name, truncation_offset=start)]
    values.bind("segment start", name, before.start, start)
    if before.is_sealed and not (info is not None and info.is_sealed):
        yield [SealSegment(request_id=1, segment=name)]


def _first_needed(past: Past, before: Before, *, is_new: bool) -> int:
    """From where on the old contents have to be there: all of them, if they are not too many."""
    needed = min(past.lowest.get(before.name, before.length), before.start or before.length, before.length)
    first = 0 if is_new and before.length <= limits.REPLAY_UNREAD_BYTES_MAX else needed
    return max(first, before.length - limits.REPLAY_OLD_BYTES_MAX)


def _attributes(before: Before, *, is_new: bool) -> Talk:
    """What writers are known to have appended; of a segment that was there already, also that others have not."""
    wanted = {name: value for name, value in before.attributes.items() if not is_new or value != NONE_I64}
    for attribute, value in wanted.items():
        if is_new:
            yield [_attribute(before.name, attribute, value, NONE_I64)]
        else:
            yield from _set_attribute(before.name, attribute, value)


def _set_attribute(segment: str, attribute: str, value: int) -> Talk:
    replies = yield [GetSegmentAttribute(request_id=1, segment_name=segment, attribute_id=attribute)]
    now = next((each.fields.value for each in replies if isinstance(each.fields, SegmentAttribute)), NONE_I64)
    if now != value:
        yield [_attribute(segment, attribute, value, now)]


def _attribute(segment: str, attribute: str, value: int, expected: int) -> Message:
    return UpdateSegmentAttribute(
        request_id=1, segment_name=segment, attribute_id=attribute, new_value=value, expected_value=expected
    )


def _append(segment: str, data: bytes) -> Talk:
    """Append bytes, as a writer of our own."""
    if not data:
        return
    replies = yield [SetupAppend(request_id=1, writer_id=WRITER, segment=segment)]
    told = [each.fields.last_event_number for each in replies if isinstance(each.fields, AppendSetup)]
    number = max([*told, 0])
    for at in range(0, len(data), _APPEND_BYTES):
        part = data[at : at + _APPEND_BYTES]
        number += 1
        replies = yield [
            AppendBlockEnd(
                writer_id=WRITER,
                size_of_whole_events=len(part),
                data=part,
                num_events=1,
                last_event_number=number,
                request_id=number,
            )
        ]
        if replies and not any(isinstance(each.fields, DataAppended) for each in replies):
            return


def _creation(segment: str) -> Message:
    return CreateSegment(request_id=1, segment=segment, target_rate=0, scale_type=0)


# -- tables ------------------------------------------------------------------------------------------------------------


def _table(before: Before, values: Values) -> Talk:
    name = before.name
    replies = yield [CreateTableSegment(request_id=1, segment=name, key_length=before.key_length)]
    if any(reply.message == "SegmentAlreadyExists" for reply in replies) and before.absent:
        yield from _remove(name, sorted(before.absent))
    entries = sorted(before.entries.items(), key=lambda each: -1 if each[1].version is None else each[1].version)
    for position in sorted(before.positions):
        earlier = [each for each in entries if each[1].version is None or each[1].version < position]
        entries = entries[len(earlier) :]
        yield from _put(name, earlier, values)
        for reply in (yield [GetTableSegmentInfo(request_id=1, segment_name=name)]):
            if isinstance(reply.fields, TableSegmentInfo):
                values.bind("table position", name, position, reply.fields.length)
    yield from _put(name, entries, values)
    if before.is_sealed:
        yield [SealSegment(request_id=1, segment=name)]


def _put(segment: str, entries: Sequence[tuple[bytes, Held]], values: Values) -> Talk:
    """Put entries into a table, whatever it has; `values` learns which versions they have now."""
    for batch in _sized(entries):
        made = tuple(
            TableEntry(key=TableKey(data=key, key_version=NONE_I64), value=TableValue(data=held.value))
            for key, held in batch
        )
        request = UpdateTableEntries(request_id=1, segment=segment, table_entries=TableEntries(entries=made))
        for reply in (yield [request]):
            if isinstance(reply.fields, TableEntriesUpdated):
                for (_, held), version in zip(batch, reply.fields.updated_versions, strict=False):
                    if held.version is not None:
                        values.bind("table version", segment, held.version, version)


def _remove(segment: str, keys: Sequence[bytes]) -> Talk:
    for batch in _batches(keys):
        yield [RemoveTableKeys(request_id=1, segment=segment, keys=tuple(TableKey(data=key) for key in batch))]


def _sized(entries: Sequence[tuple[bytes, Held]]) -> Iterator[list[tuple[bytes, Held]]]:
    """The entries in batches that are not too large."""
    batch: list[tuple[bytes, Held]] = []
    size = 0
    for key, held in entries:
        batch.append((key, held))
        size += len(key) + len(held.value)
        if size > _ENTRIES_BYTES or len(batch) == _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _batches(names: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(names)
    while batch := list(islice(rest, _BATCH)):
        yield batch
