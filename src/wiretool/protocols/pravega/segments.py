"""The commands that make, change, describe and remove segments, and the two of the admin port."""

from typing import Annotated

from wiretool.codec.message import Doc, IfLeft, Message, Position, Since, Unit, Varies, message
from wiretool.codec.nested import Nested
from wiretool.codec.types import I8, I32, I64, Flag, ListOf, Text, Text16, UuidText
from wiretool.protocols.pravega.structures import (
    NAME,
    ChunkInfo,
    ConditionalAttributeUpdate,
    LateRollover,
    MergedSegment,
    Offset,
    RequestId,
    SegmentName,
    SegmentOffset,
    Token,
    WriterId,
)

_TargetRate = Annotated[I32, Doc("load above which the stream should scale; its unit depends on scale_type")]
_ScaleType = Annotated[I8, Doc("0 no scaling, 1 KB/s, 2 events/s")]
#: A place in the segment that the field `segment_name` names.
_OF_NAMED = Position("segment", "segment_name")
_AttributeId = Annotated[UuidText, Doc("names the attribute; a writer's id names its last event number")]
_AttributeValue = Annotated[I64, Doc("-9223372036854775808 stands for an attribute that is absent")]


@message(type_id=-3, spec="WireCommands.java FlushToStorage", sender="client")
class FlushToStorage(Message, frozen=True, kw_only=True):
    """Asks for everything of one container to be written to the storage. Only on the admin port."""

    container_id: I32
    delegation_token: Token = ""
    request_id: RequestId


@message(type_id=-4, spec="WireCommands.java StorageFlushed", sender="server")
class FlushedToStorage(Message, frozen=True, kw_only=True):
    """The container is flushed. The Java class is called StorageFlushed."""

    request_id: RequestId


@message(type_id=-5, spec="WireCommands.java ListStorageChunks", sender="client")
class ListStorageChunks(Message, frozen=True, kw_only=True):
    """Asks for the chunks of a segment. Only on the admin port."""

    segment: SegmentName
    delegation_token: Token = ""
    request_id: RequestId


@message(type_id=-6, spec="WireCommands.java StorageChunksListed", sender="server")
class StorageChunksListed(Message, frozen=True, kw_only=True):
    """The chunks of the segment."""

    request_id: RequestId
    chunks: Annotated[tuple[ChunkInfo, ...], ListOf(Nested(ChunkInfo))]


@message(type_id=11, spec="WireCommands.java GetStreamSegmentInfo", sender="client")
class GetStreamSegmentInfo(Message, frozen=True, kw_only=True):
    """Asks how long a segment is, and whether it is sealed."""

    request_id: RequestId
    segment_name: SegmentName
    delegation_token: Token = ""


@message(type_id=12, spec="WireCommands.java StreamSegmentInfo", sender="server")
class StreamSegmentInfo(Message, frozen=True, kw_only=True):
    """The current properties of the segment."""

    request_id: RequestId
    segment_name: SegmentName
    exists: Flag
    is_sealed: Flag
    is_deleted: Flag
    last_modified: Annotated[I64, Unit("ms since the epoch"), Varies()]
    write_offset: Annotated[Offset, Doc("its length"), _OF_NAMED]
    start_offset: Annotated[
        I64, Since(2), IfLeft(8), Unit("bytes"), Doc("bytes before it were truncated"), _OF_NAMED
    ] = 0


@message(type_id=20, spec="WireCommands.java CreateSegment", sender="client")
class CreateSegment(Message, frozen=True, kw_only=True):
    """Makes a segment."""

    request_id: RequestId
    segment: SegmentName
    target_rate: _TargetRate
    scale_type: _ScaleType
    delegation_token: Token = ""
    rollover_size_bytes: LateRollover = 0


@message(type_id=21, spec="WireCommands.java SegmentCreated", sender="server")
class SegmentCreated(Message, frozen=True, kw_only=True):
    """The segment, table segment or transient segment is there."""

    request_id: RequestId
    segment: Annotated[Text, Doc("its name; of a transient segment the name that the server generated"), NAME]


@message(type_id=28, spec="WireCommands.java SealSegment", sender="client")
class SealSegment(Message, frozen=True, kw_only=True):
    """Ends a segment: nothing can be appended any more."""

    request_id: RequestId
    segment: SegmentName
    delegation_token: Token = ""


@message(type_id=29, spec="WireCommands.java SegmentSealed", sender="server")
class SegmentSealed(Message, frozen=True, kw_only=True):
    """The segment is sealed."""

    request_id: RequestId
    segment: SegmentName


@message(type_id=30, spec="WireCommands.java DeleteSegment", sender="client")
class DeleteSegment(Message, frozen=True, kw_only=True):
    """Removes a segment."""

    request_id: RequestId
    segment: SegmentName
    delegation_token: Token = ""


@message(type_id=31, spec="WireCommands.java SegmentDeleted", sender="server")
class SegmentDeleted(Message, frozen=True, kw_only=True):
    """The segment or table segment is gone."""

    request_id: RequestId
    segment: SegmentName


@message(type_id=32, spec="WireCommands.java UpdateSegmentPolicy", sender="client")
class UpdateSegmentPolicy(Message, frozen=True, kw_only=True):
    """Changes when the segment asks to be scaled."""

    request_id: RequestId
    segment: SegmentName
    target_rate: _TargetRate
    scale_type: _ScaleType
    delegation_token: Token = ""


@message(type_id=33, spec="WireCommands.java SegmentPolicyUpdated", sender="server")
class SegmentPolicyUpdated(Message, frozen=True, kw_only=True):
    """The policy is changed."""

    request_id: RequestId
    segment: SegmentName


@message(type_id=34, spec="WireCommands.java GetSegmentAttribute", sender="client")
class GetSegmentAttribute(Message, frozen=True, kw_only=True):
    """Asks for one attribute of a segment."""

    request_id: RequestId
    segment_name: SegmentName
    attribute_id: _AttributeId
    delegation_token: Token = ""


@message(type_id=35, spec="WireCommands.java SegmentAttribute", sender="server")
class SegmentAttribute(Message, frozen=True, kw_only=True):
    """The value of the attribute."""

    request_id: RequestId
    value: _AttributeValue


@message(type_id=36, spec="WireCommands.java UpdateSegmentAttribute", sender="client")
class UpdateSegmentAttribute(Message, frozen=True, kw_only=True):
    """Sets an attribute if it still has the value that is expected."""

    request_id: RequestId
    segment_name: SegmentName
    attribute_id: _AttributeId
    new_value: _AttributeValue
    expected_value: _AttributeValue
    delegation_token: Token = ""


@message(type_id=37, spec="WireCommands.java SegmentAttributeUpdated", sender="server")
class SegmentAttributeUpdated(Message, frozen=True, kw_only=True):
    """Whether the attribute was set; false also answers a merge whose conditions failed."""

    request_id: RequestId
    success: Flag


@message(type_id=38, spec="WireCommands.java TruncateSegment", sender="client", since=2)
class TruncateSegment(Message, frozen=True, kw_only=True):
    """Drops the beginning of a segment."""

    request_id: RequestId
    segment: SegmentName
    truncation_offset: Annotated[SegmentOffset, Doc("the first byte to keep")]
    delegation_token: Token = ""


@message(type_id=39, spec="WireCommands.java SegmentTruncated", sender="server", since=2)
class SegmentTruncated(Message, frozen=True, kw_only=True):
    """The segment is truncated; as a reply to LocateOffset, the index segment is."""

    request_id: RequestId
    segment: SegmentName


@message(type_id=40, spec="WireCommands.java CreateTransientSegment", sender="client", since=14)
class CreateTransientSegment(Message, frozen=True, kw_only=True):
    """Makes a segment to collect one large event in, to be merged into the parent."""

    request_id: RequestId
    writer_id: WriterId
    parent_segment: SegmentName
    delegation_token: Token = ""


@message(type_id=41, spec="WireCommands.java LocateOffset", sender="client", since=17)
class LocateOffset(Message, frozen=True, kw_only=True):
    """Asks where the next event at or after an offset begins."""

    request_id: RequestId
    segment: SegmentName
    target_offset: SegmentOffset
    delegation_token: Token = ""


@message(type_id=42, spec="WireCommands.java OffsetLocated", sender="server", since=17)
class OffsetLocated(Message, frozen=True, kw_only=True):
    """Where the event begins; the length of the segment when none does."""

    request_id: RequestId
    segment: SegmentName
    offset: SegmentOffset


@message(type_id=58, spec="WireCommands.java MergeSegments", sender="client", since=5)
class MergeSegments(Message, frozen=True, kw_only=True):
    """Appends the whole of one segment to another, and removes it."""

    request_id: RequestId
    target: SegmentName
    source: SegmentName
    delegation_token: Token = ""
    attribute_updates: Annotated[
        tuple[ConditionalAttributeUpdate, ...],
        ListOf(Nested(ConditionalAttributeUpdate), negative_is_empty=True),
        Since(13),
        IfLeft(1),
        Doc("changes of the target's attributes, made with the merge or not at all"),
    ] = ()


@message(type_id=59, spec="WireCommands.java SegmentsMerged", sender="server", since=5)
class SegmentsMerged(Message, frozen=True, kw_only=True):
    """The source is part of the target."""

    request_id: RequestId
    target: SegmentName
    source: SegmentName
    new_target_write_offset: Annotated[
        I64, Since(8), IfLeft(1), Unit("bytes"), Doc("length of the target now"), Position("segment", "target")
    ] = -1


@message(type_id=90, spec="WireCommands.java MergeSegmentsBatch", sender="client", since=15)
class MergeSegmentsBatch(Message, frozen=True, kw_only=True):
    """Appends several segments to one, in this order: how a transaction is committed."""

    request_id: RequestId
    target_segment_id: SegmentName
    source_segment_ids: Annotated[tuple[str, ...], ListOf(Text16()), NAME]
    delegation_token: Token = ""


@message(type_id=91, spec="WireCommands.java SegmentsBatchMerged", sender="server", since=15)
class SegmentsBatchMerged(Message, frozen=True, kw_only=True):
    """The sources are part of the target."""

    request_id: RequestId
    target: SegmentName
    merged: Annotated[tuple[MergedSegment, ...], ListOf(Nested(MergedSegment))]


MESSAGES: tuple[type[Message], ...] = (
    FlushToStorage,
    FlushedToStorage,
    ListStorageChunks,
    StorageChunksListed,
    GetStreamSegmentInfo,
    StreamSegmentInfo,
    CreateSegment,
    SegmentCreated,
    SealSegment,
    SegmentSealed,
    DeleteSegment,
    SegmentDeleted,
    UpdateSegmentPolicy,
    SegmentPolicyUpdated,
    GetSegmentAttribute,
    SegmentAttribute,
    UpdateSegmentAttribute,
    SegmentAttributeUpdated,
    TruncateSegment,
    SegmentTruncated,
    CreateTransientSegment,
    LocateOffset,
    OffsetLocated,
    MergeSegments,
    SegmentsMerged,
    MergeSegmentsBatch,
    SegmentsBatchMerged,
)
