"""Which replies may answer which requests of Pravega's protocol, whatever the store holds (§3.7, §5.1, §5.2)."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec.message import Message
from wiretool.protocols.pravega import failures, messages, segments, tables

_APPENDS = (messages.AppendBlockEnd, messages.ConditionalAppend, messages.ConditionalBlockEnd)
_OF_TABLES = (
    tables.UpdateTableEntries,
    tables.RemoveTableKeys,
    tables.ReadTable,
    tables.ReadTableKeys,
    tables.ReadTableEntries,
    tables.ReadTableEntriesDelta,
)
#: Failures that only some requests meet; others meet every request.
_ASKED: Mapping[type[Message], tuple[type[Message], ...]] = {
    failures.SegmentIsSealed: (
        *_APPENDS,
        *_OF_TABLES,
        messages.ReadSegment,
        segments.SealSegment,
        segments.UpdateSegmentPolicy,
        segments.UpdateSegmentAttribute,
        segments.TruncateSegment,
        segments.MergeSegments,
        segments.MergeSegmentsBatch,
        segments.LocateOffset,
    ),
    failures.SegmentAlreadyExists: (
        segments.CreateSegment,
        segments.CreateTransientSegment,
        tables.CreateTableSegment,
    ),
    failures.SegmentIsTruncated: (messages.ReadSegment, segments.TruncateSegment, *_OF_TABLES),
    failures.InvalidEventNumber: _APPENDS,
    messages.ConditionalCheckFailed: (messages.ConditionalAppend, messages.ConditionalBlockEnd),
    failures.TableSegmentNotEmpty: (tables.DeleteTableSegment,),
    failures.TableKeyDoesNotExist: (tables.UpdateTableEntries, tables.RemoveTableKeys),
    failures.TableKeyBadVersion: (tables.UpdateTableEntries, tables.RemoveTableKeys),
}
#: The wire versions that servers speak, and the oldest one that all of them understand (§4.1).
SERVED_VERSIONS, OLDEST_VERSION = range(15, 18), 5
#: Fields by which requests name a place, which a failure repeats.
_PLACES = ("offset", "truncation_offset", "target_offset", "table_segment_offset", "from_position")


def may_answer(request: Any, reply: Any) -> bool:
    """Return whether a store may say this to a request: a failure that it can meet, about no place that it lacks."""
    asked = _ASKED.get(type(reply))
    if asked is not None and not isinstance(request, asked):
        return False
    if isinstance(reply, messages.Hello):
        return reply.low_version == OLDEST_VERSION and reply.high_version in SERVED_VERSIONS
    if isinstance(reply, segments.StreamSegmentInfo):
        return reply.exists and not reply.is_deleted and 0 <= reply.start_offset <= reply.write_offset
    if isinstance(request, messages.ReadSegment) and isinstance(reply, failures.NoSuchSegment):
        return reply.offset == request.offset
    is_placed = isinstance(request, _APPENDS) or any(hasattr(request, field) for field in _PLACES)
    is_failure = isinstance(reply, failures.NoSuchSegment | failures.SegmentIsSealed)
    return is_placed or not is_failure or reply.offset == -1
