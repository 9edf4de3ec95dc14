"""The requests that make, change, describe, merge and remove segments: one reply each."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from wiretool.codec.message import Message
from wiretool.protocols.pravega.failures import ErrorMessage
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    CreateTransientSegment,
    DeleteSegment,
    FlushedToStorage,
    FlushToStorage,
    GetSegmentAttribute,
    GetStreamSegmentInfo,
    ListStorageChunks,
    LocateOffset,
    MergeSegments,
    MergeSegmentsBatch,
    OffsetLocated,
    SealSegment,
    SegmentAttribute,
    SegmentAttributeUpdated,
    SegmentCreated,
    SegmentDeleted,
    SegmentPolicyUpdated,
    SegmentsBatchMerged,
    SegmentSealed,
    SegmentsMerged,
    SegmentTruncated,
    StorageChunksListed,
    StreamSegmentInfo,
    TruncateSegment,
    UpdateSegmentAttribute,
    UpdateSegmentPolicy,
)
from wiretool.protocols.pravega.server.index import SegmentIndex, is_index
from wiretool.protocols.pravega.server.refusals import violation
from wiretool.protocols.pravega.server.segments import (
    Kind,
    SegmentExists,
    Segments,
    Update,
)
from wiretool.protocols.pravega.structures import ConditionalAttributeUpdate, MergedSegment

#: Attributes that a segment's policy is kept in (Attributes.java).
SCALE_POLICY_TYPE = "80000000-0000-0000-0000-000000000002"
SCALE_POLICY_RATE = "80000000-0000-0000-0000-000000000003"
ROLLOVER_SIZE = "80000000-0000-0000-0000-000000000004"
_NS_PER_MS = 1_000_000
#: Containers of the store: as many as a plain server has.
_CONTAINERS = 4
_KINDS = {int(kind): kind for kind in Kind}


class Store(Protocol):
    """What the answers need of the store."""

    segments: Segments
    #: None before wire version 17.
    index: SegmentIndex | None

    def is_name_free(self, name: str, now_ns: int) -> bool:
        """Whether a segment may be made under this name."""

    def random_hex(self) -> str:
        """32 random digits."""


#: The reply to a request. Refusal: the failure that says so; ProtocolViolation: none, the connection ends.
Answer = Callable[[Store, Any, int], Message]


def _info(store: Store, request: GetStreamSegmentInfo, now_ns: int) -> Message:
    segment = store.segments.info(request.segment_name)
    return StreamSegmentInfo(
        request_id=request.request_id,
        segment_name=request.segment_name,
        exists=True,
        is_sealed=segment.is_sealed,
        is_deleted=False,
        last_modified=segment.modified_ns // _NS_PER_MS,
        write_offset=segment.length,
        start_offset=segment.start,
    )


def _create(store: Store, request: CreateSegment, now_ns: int) -> Message:
    name = request.segment
    if not name:
        raise violation("empty-name", "a segment needs a name", "CreateSegment")
    if not store.is_name_free(name, now_ns):
        raise SegmentExists(name)
    policy = {
        SCALE_POLICY_TYPE: request.scale_type,
        SCALE_POLICY_RATE: request.target_rate,
        ROLLOVER_SIZE: max(0, request.rollover_size_bytes),
    }
    store.segments.create_segment(name, now_ns, policy)
    if store.index is not None:
        store.index.create(name, now_ns)
    return SegmentCreated(request_id=request.request_id, segment=name)


def _create_transient(store: Store, request: CreateTransientSegment, now_ns: int) -> Message:
    """The parent need not exist."""
    writer = request.writer_id.replace("-", "")
    name = f"{request.parent_segment}#transient.{writer}.{store.random_hex()}"
    store.segments.create_segment(name, now_ns)
    return SegmentCreated(request_id=request.request_id, segment=name)


def _seal(store: Store, request: SealSegment, now_ns: int) -> Message:
    store.segments.seal(request.segment, now_ns)
    return SegmentSealed(request_id=request.request_id, segment=request.segment)


def _delete(store: Store, request: DeleteSegment, now_ns: int) -> Message:
    """An index that is deleted by its own name is gone, yet an error is the answer."""
    store.segments.delete(request.segment, now_ns)
    if store.index is not None:
        if is_index(request.segment):
            why = f"{request.segment} is an index segment"
            return ErrorMessage(request_id=request.request_id, segment=request.segment, message=why, error_code=0)
        store.index.delete(request.segment, now_ns)
    return SegmentDeleted(request_id=request.request_id, segment=request.segment)


def _truncate(store: Store, request: TruncateSegment, now_ns: int) -> Message:
    if request.truncation_offset < 0:
        raise violation("negative-offset", f"truncation at {request.truncation_offset}", "TruncateSegment")
    store.segments.truncate(request.segment, request.truncation_offset, now_ns)
    if store.index is not None:
        store.index.truncate(request.segment, request.truncation_offset, now_ns)
    return SegmentTruncated(request_id=request.request_id, segment=request.segment)


def _update_policy(store: Store, request: UpdateSegmentPolicy, now_ns: int) -> Message:
    policy = ((SCALE_POLICY_TYPE, request.scale_type), (SCALE_POLICY_RATE, request.target_rate))
    updates = [Update(attribute, value, kind=Kind.REPLACE) for attribute, value in policy]
    store.segments.update_attributes(request.segment, updates, now_ns)
    return SegmentPolicyUpdated(request_id=request.request_id, segment=request.segment)


def _get_attribute(store: Store, request: GetSegmentAttribute, now_ns: int) -> Message:
    value = store.segments.attribute(request.segment_name, request.attribute_id)
    return SegmentAttribute(request_id=request.request_id, value=value)


def _update_attribute(store: Store, request: UpdateSegmentAttribute, now_ns: int) -> Message:
    update = Update(request.attribute_id, request.new_value, request.expected_value)
    store.segments.update_attributes(request.segment_name, [update], now_ns)
    return SegmentAttributeUpdated(request_id=request.request_id, success=True)


def _merge(store: Store, request: MergeSegments, now_ns: int) -> Message:
    updates = [_update(update) for update in request.attribute_updates]
    length = store.segments.merge(request.target, request.source, now_ns, updates)
    _merged(store, request.target, request.source, now_ns)
    return SegmentsMerged(
        request_id=request.request_id,
        target=request.target,
        source=request.source,
        new_target_write_offset=length,
    )


def _update(update: ConditionalAttributeUpdate) -> Update:
    kind = _KINDS.get(update.attribute_update_type)
    if kind is None:
        why = f"attribute update of type {update.attribute_update_type}"
        raise violation("bad-attribute-update", why, "MergeSegments")
    return Update(update.attribute_id, update.new_value, update.old_value, kind)


def _merge_batch(store: Store, request: MergeSegmentsBatch, now_ns: int) -> Message:
    """A source that is not there counts as merged before."""
    target = store.segments.info(request.target_segment_id)
    merged: list[MergedSegment] = []
    for source in request.source_segment_ids:
        if store.segments.exists(source):
            store.segments.merge(target.name, source, now_ns)
            _merged(store, target.name, source, now_ns)
        merged.append(MergedSegment(source=source, new_target_write_offset=target.length))
    return SegmentsBatchMerged(request_id=request.request_id, target=target.name, merged=tuple(merged))


def _merged(store: Store, target: str, source: str, now_ns: int) -> None:
    if store.index is not None:
        store.index.note(store.segments.info(target), now_ns)
        store.index.delete(source, now_ns)


def _locate(store: Store, request: LocateOffset, now_ns: int) -> Message:
    segment = store.segments.info(request.segment)
    assert store.index is not None, "older servers know no LocateOffset"
    offset = store.index.locate(segment, request.target_offset)
    return OffsetLocated(request_id=request.request_id, segment=request.segment, offset=offset)


def _flush(store: Store, request: FlushToStorage, now_ns: int) -> Message:
    if not 0 <= request.container_id < _CONTAINERS:
        raise violation("no-container", f"container {request.container_id} is not here", "FlushToStorage")
    return FlushedToStorage(request_id=request.request_id)


def _list_chunks(store: Store, request: ListStorageChunks, now_ns: int) -> Message:
    """All is in memory, so there are none."""
    if not store.segments.exists(request.segment):
        raise violation("no-segment", f"there is no segment {request.segment}", "ListStorageChunks")
    return StorageChunksListed(request_id=request.request_id, chunks=())


ANSWERS: Mapping[type[Message], Answer] = {
    GetStreamSegmentInfo: _info,
    CreateSegment: _create,
    CreateTransientSegment: _create_transient,
    SealSegment: _seal,
    DeleteSegment: _delete,
    TruncateSegment: _truncate,
    UpdateSegmentPolicy: _update_policy,
    GetSegmentAttribute: _get_attribute,
    UpdateSegmentAttribute: _update_attribute,
    MergeSegments: _merge,
    MergeSegmentsBatch: _merge_batch,
    LocateOffset: _locate,
}
#: Those of the admin port.
ADMIN_ANSWERS: Mapping[type[Message], Answer] = {FlushToStorage: _flush, ListStorageChunks: _list_chunks}
