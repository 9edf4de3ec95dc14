"""The commands of table segments: keys, values and versions."""

from typing import Annotated

from wiretool.codec.message import Doc, IfLeft, Issued, Message, Since, Unit, message
from wiretool.codec.types import I32, I64, Bytes32, Flag, Int, ListOf
from wiretool.protocols.pravega.structures import (
    CONTINUATION,
    VERSION,
    KeyList,
    LateRollover,
    LateTableOffset,
    NestedArgs,
    NestedEntries,
    Offset,
    RequestId,
    SegmentName,
    TablePosition,
    Token,
)

_Continuation = Annotated[Bytes32, Doc("opaque: where the next request goes on"), CONTINUATION]
#: A place in the log of the table segment that the field `segment_name` names.
_OF_NAMED = Issued("table position", "segment_name", besides=(-1, 0))


@message(type_id=68, spec="WireCommands.java GetTableSegmentInfo", sender="client", since=12)
class GetTableSegmentInfo(Message, frozen=True, kw_only=True):
    """Asks how large a table segment is."""

    request_id: RequestId
    segment_name: SegmentName
    delegation_token: Token = ""


@message(type_id=69, spec="WireCommands.java TableSegmentInfo", sender="server", since=12)
class TableSegmentInfo(Message, frozen=True, kw_only=True):
    """The current properties of the table segment."""

    request_id: RequestId
    segment_name: SegmentName
    start_offset: Annotated[Offset, _OF_NAMED]
    length: Annotated[I64, Unit("bytes"), _OF_NAMED]
    entry_count: Annotated[I64, Unit("entries")]
    key_length: Annotated[I32, Unit("bytes"), Doc("of every key; 0 where keys may be of any length")]


@message(type_id=70, spec="WireCommands.java CreateTableSegment", sender="client", since=7)
class CreateTableSegment(Message, frozen=True, kw_only=True):
    """Makes a table segment."""

    request_id: RequestId
    segment: SegmentName
    delegation_token: Token = ""
    sorted_deprecated: Annotated[Flag, IfLeft(1), Doc("read and ignored")] = False
    key_length: Annotated[I32, Since(12), IfLeft(4), Unit("bytes"), Doc("1 to 256 fixes the length of all keys")] = 0
    rollover_size_bytes: LateRollover = 0


@message(type_id=71, spec="WireCommands.java DeleteTableSegment", sender="client", since=7)
class DeleteTableSegment(Message, frozen=True, kw_only=True):
    """Removes a table segment."""

    request_id: RequestId
    segment: SegmentName
    must_be_empty: Flag
    delegation_token: Token = ""


@message(type_id=74, spec="WireCommands.java UpdateTableEntries", sender="client", since=7)
class UpdateTableEntries(Message, frozen=True, kw_only=True):
    """Puts entries into a table: all of them, or none where a version does not match."""

    request_id: RequestId
    segment: SegmentName
    delegation_token: Token = ""
    table_entries: NestedEntries
    table_segment_offset: LateTableOffset = -1


@message(type_id=75, spec="WireCommands.java TableEntriesUpdated", sender="server", since=7)
class TableEntriesUpdated(Message, frozen=True, kw_only=True):
    """The versions that the entries have now, in their order."""

    request_id: RequestId
    updated_versions: Annotated[tuple[int, ...], ListOf(Int("i64", "q")), VERSION]


@message(type_id=76, spec="WireCommands.java RemoveTableKeys", sender="client", since=7)
class RemoveTableKeys(Message, frozen=True, kw_only=True):
    """Removes keys from a table: all of them, or none where a version does not match."""

    request_id: RequestId
    segment: SegmentName
    delegation_token: Token = ""
    keys: KeyList
    table_segment_offset: LateTableOffset = -1


@message(type_id=77, spec="WireCommands.java TableKeysRemoved", sender="server", since=7)
class TableKeysRemoved(Message, frozen=True, kw_only=True):
    """The keys are gone."""

    request_id: RequestId
    segment: SegmentName


@message(type_id=78, spec="WireCommands.java ReadTable", sender="client", since=7)
class ReadTable(Message, frozen=True, kw_only=True):
    """Asks for the values of keys; their versions do not matter."""

    request_id: RequestId
    segment: SegmentName
    delegation_token: Token = ""
    keys: KeyList


@message(type_id=79, spec="WireCommands.java TableRead", sender="server", since=7)
class TableRead(Message, frozen=True, kw_only=True):
    """The entries of the keys, in their order; one that is missing has version -1 and an empty value."""

    request_id: RequestId
    segment: SegmentName
    entries: NestedEntries


@message(type_id=83, spec="WireCommands.java ReadTableKeys", sender="client", since=7)
class ReadTableKeys(Message, frozen=True, kw_only=True):
    """Asks for some keys of a table, from a point on."""

    request_id: RequestId
    segment: SegmentName
    delegation_token: Token = ""
    suggested_key_count: Annotated[I32, Unit("keys")]
    args: NestedArgs


@message(type_id=84, spec="WireCommands.java TableKeysRead", sender="server", since=7)
class TableKeysRead(Message, frozen=True, kw_only=True):
    """Some keys of the table, and where to go on."""

    request_id: RequestId
    segment: SegmentName
    keys: KeyList
    continuation_token: _Continuation


@message(type_id=85, spec="WireCommands.java ReadTableEntries", sender="client", since=7)
class ReadTableEntries(Message, frozen=True, kw_only=True):
    """Asks for some entries of a table, from a point on."""

    request_id: RequestId
    segment: SegmentName
    delegation_token: Token = ""
    suggested_entry_count: Annotated[I32, Unit("entries")]
    args: NestedArgs


@message(type_id=86, spec="WireCommands.java TableEntriesRead", sender="server", since=7)
class TableEntriesRead(Message, frozen=True, kw_only=True):
    """Some entries of the table, and where to go on."""

    request_id: RequestId
    segment: SegmentName
    entries: NestedEntries
    continuation_token: _Continuation


@message(type_id=87, spec="WireCommands.java TableEntriesDeltaRead", sender="server", since=10)
class TableEntriesDeltaRead(Message, frozen=True, kw_only=True):
    """The changes of the table since the position; the reply has a lower code than its request."""

    request_id: RequestId
    segment: SegmentName
    entries: NestedEntries
    should_clear: Annotated[Flag, Doc("the position was removed from the table: start again with these")]
    reached_end: Flag
    last_position: Annotated[TablePosition, Doc("where to go on; 0 in an empty page")]


@message(type_id=88, spec="WireCommands.java ReadTableEntriesDelta", sender="client", since=10)
class ReadTableEntriesDelta(Message, frozen=True, kw_only=True):
    """Asks for the changes of a table since a position."""

    request_id: RequestId
    segment: SegmentName
    delegation_token: Token = ""
    from_position: TablePosition
    suggested_entry_count: Annotated[I32, Unit("entries")]


MESSAGES: tuple[type[Message], ...] = (
    GetTableSegmentInfo,
    TableSegmentInfo,
    CreateTableSegment,
    DeleteTableSegment,
    UpdateTableEntries,
    TableEntriesUpdated,
    RemoveTableKeys,
    TableKeysRemoved,
    ReadTable,
    TableRead,
    ReadTableKeys,
    TableKeysRead,
    ReadTableEntries,
    TableEntriesRead,
    TableEntriesDeltaRead,
    ReadTableEntriesDelta,
)
