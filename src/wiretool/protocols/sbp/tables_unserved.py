"""The rest of the newest schema (L): objects and resources, and the key-value tables that no operation code carries."""

from __future__ import annotations

from typing import Annotated

from wiretool.codec.flatbuffers.compiled import decode_root
from wiretool.codec.flatbuffers.declaration import (
    Boolean,
    Bytes,
    Int32,
    Int64,
    Many,
    One,
    RequiredOne,
    Scalar,
    ScalarsSlot,
    Table,
    UInt8,
    UnionSlot,
)
from wiretool.codec.message import message
from wiretool.protocols.sbp.roles import StreamId
from wiretool.protocols.sbp.tables import SPEC, Range, Status, Stream

_RESOURCE_TYPE = Scalar("i8 ResourceType", "b", {0: "UNKNOWN", 1: "STREAM", 2: "RANGE", 3: "OBJECT"})
ResourceType = Annotated[int, _RESOURCE_TYPE]
ResourceTypes = Annotated[tuple[int, ...] | None, ScalarsSlot(_RESOURCE_TYPE)]
EventType = Annotated[int, Scalar("i8 EventType", "b", {0: "UNKNOWN", 1: "ADDED", 2: "MODIFIED", 3: "DELETED"})]
RequestOpType = Annotated[int, Scalar("u8 RequestOpType", "B", {0: "RANGE", 1: "PUT", 2: "DELETE_RANGE", 3: "TXN"})]
ResponseOpType = Annotated[int, Scalar("u8 ResponseOpType", "B", {0: "RANGE", 1: "PUT", 2: "DELETE_RANGE", 3: "TXN"})]
CompareResult = Annotated[int, Scalar("u8 CompareResult", "B", {0: "EQUAL", 1: "GREATER", 2: "LESS", 3: "NOT_EQUAL"})]
CompareTarget = Annotated[int, Scalar("u8 CompareTarget", "B", {0: "VALUE"})]


class Obj(Table, frozen=True, kw_only=True):
    """An object in object storage."""

    stream_id: StreamId = -1
    range_index: Int32 = -1
    epoch: Int64 = -1
    start_offset: Int64 = -1
    end_offset_delta: Int32 = -1
    data_len: Int32 = -1
    sparse_index: Bytes = None


@message(type_id=0x5001, name="COMMIT_OBJECT", sender="client", spec=SPEC)
class CommitObjectRequest(Table, frozen=True, kw_only=True):
    """Make an object known."""

    timeout_ms: Int32 = 0
    object: One[Obj] = None


@message(type_id=0x5001, name="COMMIT_OBJECT", sender="server", spec=SPEC)
class CommitObjectResponse(Table, frozen=True, kw_only=True):
    """Whether the object is known now."""

    status: RequiredOne[Status] = None
    throttle_time_ms: Int32 = 0


class Resource(Table, frozen=True, kw_only=True):
    """A stream, range or object by its type; `data` is a nested buffer."""

    type: ResourceType = 0
    data: Bytes = None


class ResourceEvent(Table, frozen=True, kw_only=True):
    """A change of a resource."""

    type: EventType = 0
    resource: One[Resource] = None


@message(type_id=0x6001, name="LIST_RESOURCE", sender="client", spec=SPEC)
class ListResourceRequest(Table, frozen=True, kw_only=True):
    """Ask for resources, page by page."""

    timeout_ms: Int32 = 0
    resource_type: ResourceTypes = None
    limit: Int32 = 0
    continuation: Bytes = None


@message(type_id=0x6001, name="LIST_RESOURCE", sender="server", spec=SPEC)
class ListResourceResponse(Table, frozen=True, kw_only=True):
    """One page of resources."""

    status: RequiredOne[Status] = None
    throttle_time_ms: Int32 = 0
    resources: Many[Resource] = None
    resource_version: Int64 = 0
    continuation: Bytes = None


@message(type_id=0x6002, name="WATCH_RESOURCE", sender="client", spec=SPEC)
class WatchResourceRequest(Table, frozen=True, kw_only=True):
    """Ask for changes from a version on."""

    timeout_ms: Int32 = 0
    resource_type: ResourceTypes = None
    resource_version: Int64 = 0


@message(type_id=0x6002, name="WATCH_RESOURCE", sender="server", spec=SPEC)
class WatchResourceResponse(Table, frozen=True, kw_only=True):
    """The changes."""

    status: RequiredOne[Status] = None
    throttle_time_ms: Int32 = 0
    events: Many[ResourceEvent] = None
    resource_version: Int64 = 0


class KeyValue(Table, frozen=True, kw_only=True):
    """A key and its value."""

    key: Bytes = None
    value: Bytes = None


@message(type_id=-1, name="RangeRequest", sender="client", spec=SPEC)
class RangeRequest(Table, frozen=True, kw_only=True):
    """Ask for the values of a span of keys."""

    timeout_ms: Int32 = 0
    key: Bytes = None
    range_end: Bytes = None
    limit: Int64 = 0


@message(type_id=-1, name="RangeResponse", sender="server", spec=SPEC)
class RangeResponse(Table, frozen=True, kw_only=True):
    """The values that were found."""

    status: RequiredOne[Status] = None
    kvs: Many[KeyValue] = None
    more: Boolean = False
    count: Int64 = 0


@message(type_id=-1, name="PutRequest", sender="client", spec=SPEC)
class PutRequest(Table, frozen=True, kw_only=True):
    """Set the value of a key."""

    timeout_ms: Int32 = 0
    key: Bytes = None
    value: Bytes = None


@message(type_id=-1, name="PutResponse", sender="server", spec=SPEC)
class PutResponse(Table, frozen=True, kw_only=True):
    """Whether it was set."""

    status: RequiredOne[Status] = None


@message(type_id=-1, name="DeleteRangeRequest", sender="client", spec=SPEC)
class DeleteRangeRequest(Table, frozen=True, kw_only=True):
    """Remove a span of keys."""

    timeout_ms: Int32 = 0
    key: Bytes = None
    range_end: Bytes = None


@message(type_id=-1, name="DeleteRangeResponse", sender="server", spec=SPEC)
class DeleteRangeResponse(Table, frozen=True, kw_only=True):
    """How many keys were removed."""

    status: RequiredOne[Status] = None
    deleted: Int64 = 0


class RequestOp(Table, frozen=True, kw_only=True):
    """One step of a transaction."""

    type: RequestOpType = 0
    range_request: One[RangeRequest] = None
    put_request: One[PutRequest] = None
    delete_range_request: One[DeleteRangeRequest] = None
    txn_request: One[TxnRequest] = None


class ResponseOp(Table, frozen=True, kw_only=True):
    """The answer to one step of a transaction."""

    type: ResponseOpType = 0
    range_response: One[RangeResponse] = None
    put_response: One[PutResponse] = None
    delete_range_response: One[DeleteRangeResponse] = None
    txn_response: One[TxnResponse] = None


class CompareTargetValue(Table, frozen=True, kw_only=True):
    """The value that a key is compared with."""

    value: Bytes = None


class Compare(Table, frozen=True, kw_only=True):
    """A condition of a transaction."""

    result: CompareResult = 0
    target: CompareTarget = 0
    key: Bytes = None
    target_union_type: UInt8 = 0
    target_union: Annotated[CompareTargetValue | None, UnionSlot("target_union_type", {1: "CompareTargetValue"})] = None


@message(type_id=-1, name="TxnRequest", sender="client", spec=SPEC)
class TxnRequest(Table, frozen=True, kw_only=True):
    """Do one list of steps if all conditions hold, else the other."""

    timeout_ms: Int32 = 0
    compare: Many[Compare] = None
    success: Many[RequestOp] = None
    failure: Many[RequestOp] = None


@message(type_id=-1, name="TxnResponse", sender="server", spec=SPEC)
class TxnResponse(Table, frozen=True, kw_only=True):
    """Which list was done, and its answers."""

    status: RequiredOne[Status] = None
    succeeded: Boolean = False
    responses: Many[ResponseOp] = None


def nested_resource(resource: Resource) -> Table | None:
    """The stream, range or object that the bytes of `resource` are, by its type; DecodeError where they are none."""
    roots: dict[int, type[Table]] = {1: Stream, 2: Range, 3: Obj}
    cls = roots.get(resource.type)
    if cls is None or resource.data is None:
        return None
    table: Table = decode_root(cls, resource.data)
    return table
