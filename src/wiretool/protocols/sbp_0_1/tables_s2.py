"""The tables of the batch style after six weeks of use (S2), in its order; not wire compatible with S1."""

from __future__ import annotations

from typing import Annotated

from wiretool.codec.flatbuffers.declaration import (
    Boolean,
    Bytes,
    Int8,
    Int16,
    Int32,
    Int64,
    Many,
    One,
    RequiredMany,
    RequiredOne,
    RequiredString,
    Scalar,
    String,
    Table,
)
from wiretool.codec.message import Varies, message
from wiretool.protocols.sbp.roles import Address, ServerId, StreamId, StreamIds

SPEC = "elastic-stream rpc.fbs @cb3b50c1"

ErrorCode = Annotated[
    int,
    Scalar(
        "i16 ErrorCode",
        "h",
        {
            0: "ERROR_CODE_UNSPECIFIED",
            1: "ENCODE",
            2: "DECODE",
            1200: "OK",
            1204: "NO_NEW_RECORD",
            1400: "BAD_REQUEST",
            1401: "UNAUTHORIZED",
            1402: "PAYMENT_REQUIRED",
            1403: "FORBIDDEN",
            1404: "NOT_FOUND",
            1405: "METHOD_NOT_ALLOWED",
            1412: "PRECONDITION_FAILED",
            1413: "PAYLOAD_TOO_LARGE",
            1429: "TOO_MANY_REQUESTS",
            1431: "HEADER_FIELDS_TOO_LARGE",
            1451: "UNAVAILABLE_FOR_LEGAL_REASONS",
            1460: "RANGE_ALREADY_SEALED",
            1461: "OFFSET_OVERFLOW",
            1462: "RANGE_NOT_FOUND",
            1463: "OFFSET_OUT_OF_RANGE_BOUNDS",
            1499: "UNKNOWN_OPERATION",
            1500: "PM_INTERNAL_SERVER_ERROR",
            1501: "PM_NOT_IMPLEMENTED",
            1502: "PM_NO_AVAILABLE_DN",
            1503: "PM_NOT_LEADER",
            1510: "PM_SEAL_RANGE_NOT_FOUND",
            1511: "PM_SEAL_RANGE_NO_DN_RESPONDED",
            2500: "DN_INTERNAL_SERVER_ERROR",
            2501: "DN_NOT_IMPLEMENTED",
            2502: "DN_NOT_LEADER_RANGE",
        },
    ),
]
ClientRole = Annotated[
    int,
    Scalar(
        "i8 ClientRole",
        "b",
        {
            0: "CLIENT_ROLE_UNSPECIFIED",
            1: "CLIENT_ROLE_PM",
            2: "CLIENT_ROLE_DATA_NODE",
            3: "CLIENT_ROLE_CUSTOMER",
        },
    ),
]


class Status(Table, frozen=True, kw_only=True):
    """How a request went: a code, a sentence, and for some codes a nested buffer."""

    code: ErrorCode = 0
    message: String = None
    detail: Bytes = None


class PlacementManagerCluster(Table, frozen=True, kw_only=True):
    """The nodes of the placement manager."""

    nodes: RequiredMany[PlacementManagerNode] = None


class PlacementManagerNode(Table, frozen=True, kw_only=True):
    """One node of the placement manager."""

    name: Annotated[RequiredString, Varies()] = None
    advertise_addr: Annotated[RequiredString, Varies()] = None
    is_leader: Boolean = False


@message(type_id=-1, name="SystemErrorResponse", sender="server", spec=SPEC)
class SystemErrorResponse(Table, frozen=True, kw_only=True):
    """The header of any response that carries the system error flag."""

    status: RequiredOne[Status] = None


@message(type_id=0x0003, name="HEARTBEAT", sender="client", spec=SPEC)
class HeartbeatRequest(Table, frozen=True, kw_only=True):
    """A keep-alive with the role of the sender."""

    client_id: String = None
    client_role: ClientRole = 0
    data_node: One[DataNode] = None


@message(type_id=0x0003, name="HEARTBEAT", sender="server", spec=SPEC)
class HeartbeatResponse(Table, frozen=True, kw_only=True):
    """The echoed heartbeat, as far as the server returns it."""

    client_id: String = None
    client_role: ClientRole = 0
    data_node: One[DataNode] = None
    status: RequiredOne[Status] = None


@message(type_id=0x0004, name="ALLOCATE_ID", sender="client", spec=SPEC)
class IdAllocationRequest(Table, frozen=True, kw_only=True):
    """Ask for the id of a new server."""

    timeout_ms: Int32 = 0
    host: String = None


@message(type_id=0x0004, name="ALLOCATE_ID", sender="server", spec=SPEC)
class IdAllocationResponse(Table, frozen=True, kw_only=True):
    """The id that was given out."""

    id: ServerId = 0
    status: RequiredOne[Status] = None


@message(type_id=0x1001, name="APPEND", sender="client", spec=SPEC)
class AppendRequest(Table, frozen=True, kw_only=True):
    """Append the batches in the payload."""

    timeout_ms: Int32 = 0
    append_requests: Many[AppendInfo] = None


class AppendInfo(Table, frozen=True, kw_only=True):
    """Where one batch of the payload goes, and how many bytes it takes."""

    range: One[Range] = None
    request_index: Int32 = 0
    batch_length: Int32 = 0


@message(type_id=0x1001, name="APPEND", sender="server", spec=SPEC)
class AppendResponse(Table, frozen=True, kw_only=True):
    """The result of each batch."""

    throttle_time_ms: Int32 = 0
    append_responses: Many[AppendResult] = None
    status: RequiredOne[Status] = None


class AppendResult(Table, frozen=True, kw_only=True):
    """What became of one batch."""

    stream_id: StreamId = -1
    request_index: Int32 = 0
    base_offset: Int64 = 0
    stream_append_time_ms: Annotated[Int64, Varies()] = 0
    status: RequiredOne[Status] = None


@message(type_id=0x1002, name="FETCH", sender="client", spec=SPEC)
class FetchRequest(Table, frozen=True, kw_only=True):
    """Ask for record batches."""

    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    fetch_requests: Many[FetchInfo] = None


class FetchInfo(Table, frozen=True, kw_only=True):
    """What to fetch from one stream."""

    range: One[Range] = None
    request_index: Int32 = 0
    fetch_offset: Int64 = 0
    batch_max_bytes: Int32 = 0


@message(type_id=0x1002, name="FETCH", sender="server", spec=SPEC)
class FetchResponse(Table, frozen=True, kw_only=True):
    """The batches found, as the payload."""

    throttle_time_ms: Int32 = 0
    fetch_responses: Many[FetchResult] = None
    status: RequiredOne[Status] = None


class FetchResult(Table, frozen=True, kw_only=True):
    """The batches found in one stream."""

    stream_id: StreamId = -1
    request_index: Int32 = 0
    batch_count: Int32 = 0
    status: RequiredOne[Status] = None


class RangeCriteria(Table, frozen=True, kw_only=True):
    """Which ranges to list: of a data node or of a stream."""

    data_node: One[DataNode] = None
    stream_id: StreamId = -1


class DataNode(Table, frozen=True, kw_only=True):
    """A data node by id and address."""

    node_id: ServerId = -1
    advertise_addr: Address = None


@message(type_id=0x2001, name="LIST_RANGES", sender="client", spec=SPEC)
class ListRangesRequest(Table, frozen=True, kw_only=True):
    """Ask for the ranges of several streams or data nodes."""

    timeout_ms: Int32 = 0
    range_criteria: Many[RangeCriteria] = None


@message(type_id=0x2001, name="LIST_RANGES", sender="server", spec=SPEC)
class ListRangesResponse(Table, frozen=True, kw_only=True):
    """The ranges, one result for each that was asked for."""

    throttle_time_ms: Int32 = 0
    list_responses: Many[ListRangesResult] = None
    status: RequiredOne[Status] = None


class ListRangesResult(Table, frozen=True, kw_only=True):
    """The ranges of one stream or data node."""

    range_criteria: One[RangeCriteria] = None
    ranges: Many[Range] = None
    status: RequiredOne[Status] = None


class Range(Table, frozen=True, kw_only=True):
    """A stretch of a stream and the servers that keep it."""

    stream_id: StreamId = -1
    range_index: Int32 = -1
    start_offset: Int64 = 0
    end_offset: Int64 = 0
    next_offset: Int64 = 0
    replica_nodes: Many[ReplicaNode] = None


class ReplicaNode(Table, frozen=True, kw_only=True):
    """A data node that keeps a replica."""

    data_node: One[DataNode] = None
    is_primary: Boolean = False


@message(type_id=0x2002, name="SEAL_RANGES", sender="client", spec=SPEC)
class SealRangesRequest(Table, frozen=True, kw_only=True):
    """Close ranges to appends."""

    timeout_ms: Int32 = 0
    ranges: Many[RangeId] = None


class RangeId(Table, frozen=True, kw_only=True):
    """A range by stream and index."""

    stream_id: StreamId = -1
    range_index: Int32 = -1


@message(type_id=0x2002, name="SEAL_RANGES", sender="server", spec=SPEC)
class SealRangesResponse(Table, frozen=True, kw_only=True):
    """The result of each range."""

    throttle_time_ms: Int32 = 0
    seal_responses: Many[SealRangesResult] = None
    status: RequiredOne[Status] = None


class SealRangesResult(Table, frozen=True, kw_only=True):
    """What became of one range."""

    range: One[Range] = None
    status: RequiredOne[Status] = None


@message(type_id=0x2003, name="SYNC_RANGES", sender="client", spec=SPEC)
class SyncRangesRequest(Table, frozen=True, kw_only=True):
    """Announce new ranges to a data node."""

    timeout_ms: Int32 = 0
    stream_ranges: Many[StreamRanges] = None


class StreamRanges(Table, frozen=True, kw_only=True):
    """The ranges of one stream."""

    stream_id: StreamId = -1
    ranges: Many[Range] = None


@message(type_id=0x2003, name="SYNC_RANGES", sender="server", spec=SPEC)
class SyncRangesResponse(Table, frozen=True, kw_only=True):
    """Which ranges were taken over."""

    throttle_time_ms: Int32 = 0
    sync_responses: Many[SyncRangesResult] = None
    status: RequiredOne[Status] = None


class SyncRangesResult(Table, frozen=True, kw_only=True):
    """The ranges of one stream that were taken over."""

    stream_id: StreamId = -1
    ranges: Many[Range] = None
    status: RequiredOne[Status] = None


@message(type_id=0x2004, name="DESCRIBE_RANGES", sender="client", spec=SPEC)
class DescribeRangesRequest(Table, frozen=True, kw_only=True):
    """Ask how far ranges have got."""

    timeout_ms: Int32 = 0
    ranges: Many[RangeId] = None


@message(type_id=0x2004, name="DESCRIBE_RANGES", sender="server", spec=SPEC)
class DescribeRangesResponse(Table, frozen=True, kw_only=True):
    """How far each range has got."""

    throttle_time_ms: Int32 = 0
    describe_responses: Many[DescribeRangeResult] = None
    status: RequiredOne[Status] = None


class DescribeRangeResult(Table, frozen=True, kw_only=True):
    """How far one range has got."""

    stream_id: StreamId = -1
    range: One[Range] = None
    status: RequiredOne[Status] = None


class Stream(Table, frozen=True, kw_only=True):
    """A stream and how it is kept."""

    stream_id: StreamId = -1
    replica_num: Int8 = 0
    retention_period_ms: Int64 = 0


@message(type_id=0x3001, name="CREATE_STREAMS", sender="client", spec=SPEC)
class CreateStreamsRequest(Table, frozen=True, kw_only=True):
    """Make streams; their ids are given by the server."""

    timeout_ms: Int32 = 0
    streams: Many[Stream] = None


@message(type_id=0x3001, name="CREATE_STREAMS", sender="server", spec=SPEC)
class CreateStreamsResponse(Table, frozen=True, kw_only=True):
    """The streams that were made."""

    throttle_time_ms: Int32 = 0
    create_responses: Many[CreateStreamResult] = None
    status: RequiredOne[Status] = None


class CreateStreamResult(Table, frozen=True, kw_only=True):
    """One stream that was made."""

    stream: One[Stream] = None
    range: One[Range] = None
    status: RequiredOne[Status] = None


@message(type_id=0x3002, name="DELETE_STREAMS", sender="client", spec=SPEC)
class DeleteStreamsRequest(Table, frozen=True, kw_only=True):
    """Remove streams."""

    timeout_ms: Int32 = 0
    streams: Many[Stream] = None


@message(type_id=0x3002, name="DELETE_STREAMS", sender="server", spec=SPEC)
class DeleteStreamsResponse(Table, frozen=True, kw_only=True):
    """The streams that were removed."""

    throttle_time_ms: Int32 = 0
    delete_responses: Many[DeleteStreamResult] = None
    status: RequiredOne[Status] = None


class DeleteStreamResult(Table, frozen=True, kw_only=True):
    """One stream that was removed."""

    deleted_stream: One[Stream] = None
    status: RequiredOne[Status] = None


@message(type_id=0x3003, name="UPDATE_STREAMS", sender="client", spec=SPEC)
class UpdateStreamsRequest(Table, frozen=True, kw_only=True):
    """Overwrite the records of streams."""

    timeout_ms: Int32 = 0
    streams: Many[Stream] = None


@message(type_id=0x3003, name="UPDATE_STREAMS", sender="server", spec=SPEC)
class UpdateStreamsResponse(Table, frozen=True, kw_only=True):
    """The streams as they were updated."""

    throttle_time_ms: Int32 = 0
    update_responses: Many[UpdateStreamResult] = None
    status: RequiredOne[Status] = None


class UpdateStreamResult(Table, frozen=True, kw_only=True):
    """One stream as it was updated."""

    stream: One[Stream] = None
    status: RequiredOne[Status] = None


@message(type_id=0x3004, name="DESCRIBE_STREAMS", sender="client", spec=SPEC)
class DescribeStreamsRequest(Table, frozen=True, kw_only=True):
    """Ask for the records of streams."""

    timeout_ms: Int32 = 0
    stream_ids: StreamIds = None


@message(type_id=0x3004, name="DESCRIBE_STREAMS", sender="server", spec=SPEC)
class DescribeStreamsResponse(Table, frozen=True, kw_only=True):
    """The records of the streams."""

    throttle_time_ms: Int32 = 0
    describe_responses: Many[DescribeStreamResult] = None
    status: RequiredOne[Status] = None


class DescribeStreamResult(Table, frozen=True, kw_only=True):
    """The record of one stream."""

    stream: One[Stream] = None
    status: RequiredOne[Status] = None


@message(type_id=0x3005, name="TRIM_STREAMS", sender="client", spec=SPEC)
class TrimStreamsRequest(Table, frozen=True, kw_only=True):
    """Drop all records before an offset in each stream."""

    timeout_ms: Int32 = 0
    trimmed_streams: Many[TrimmedStream] = None


class TrimmedStream(Table, frozen=True, kw_only=True):
    """A stream and the offset in front of which it is trimmed."""

    stream_id: StreamId = -1
    trim_offset: Int64 = 0


@message(type_id=0x3005, name="TRIM_STREAMS", sender="server", spec=SPEC)
class TrimStreamsResponse(Table, frozen=True, kw_only=True):
    """The rest of each stream."""

    throttle_time_ms: Int32 = 0
    trim_responses: Many[TrimStreamResult] = None
    status: RequiredOne[Status] = None


class TrimStreamResult(Table, frozen=True, kw_only=True):
    """The rest of one stream."""

    trimmed_stream: One[Stream] = None
    range: One[Range] = None
    status: RequiredOne[Status] = None


@message(type_id=0x4001, name="REPORT_METRICS", sender="client", spec=SPEC)
class ReportMetricsRequest(Table, frozen=True, kw_only=True):
    """Load figures of a server."""

    data_node: One[DataNode] = None
    disk_in_rate: Int64 = 0
    disk_out_rate: Int64 = 0
    disk_free_space: Int64 = 0
    disk_unindexed_data_size: Int64 = 0
    memory_used: Int64 = 0
    uring_task_rate: Int16 = 0
    uring_inflight_task_cnt: Int16 = 0
    uring_pending_task_cnt: Int32 = 0
    uring_task_avg_latency: Int16 = 0
    network_append_rate: Int16 = 0
    network_fetch_rate: Int16 = 0
    network_failed_append_rate: Int16 = 0
    network_failed_fetch_rate: Int16 = 0
    network_append_avg_latency: Int16 = 0
    network_fetch_avg_latency: Int16 = 0
    range_missing_replica_cnt: Int16 = 0
    range_active_cnt: Int16 = 0


@message(type_id=0x4001, name="REPORT_METRICS", sender="server", spec=SPEC)
class ReportMetricsResponse(Table, frozen=True, kw_only=True):
    """That the report arrived."""

    data_node: One[DataNode] = None
    status: RequiredOne[Status] = None


@message(type_id=0x4002, name="DESCRIBE_PM_CLUSTER", sender="client", spec=SPEC)
class DescribePlacementManagerClusterRequest(Table, frozen=True, kw_only=True):
    """Ask for the nodes of the placement manager."""

    data_node: RequiredOne[DataNode] = None
    timeout_ms: Int32 = 0


@message(type_id=0x4002, name="DESCRIBE_PM_CLUSTER", sender="server", spec=SPEC)
class DescribePlacementManagerClusterResponse(Table, frozen=True, kw_only=True):
    """The placement manager's nodes."""

    status: RequiredOne[Status] = None
    cluster: RequiredOne[PlacementManagerCluster] = None
