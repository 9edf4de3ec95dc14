"""The tables of the first schema of the batch style (S1), in its order."""

from __future__ import annotations

from typing import Annotated

from wiretool.codec.flatbuffers.declaration import Boolean, Int8, Int16, Int32, Int64, Many, One, Scalar, String, Table
from wiretool.codec.message import Varies, message
from wiretool.protocols.sbp.roles import Address, ServerId, StreamId, StreamIds

SPEC = "elastic-stream rpc.fbs @cd349241"

ErrorCode = Annotated[int, Scalar("i16 ErrorCode", "h", {0: "None", 1: "Unknown", 2: "Invalid_Request"})]
ClientRole = Annotated[
    int, Scalar("i8 ClientRole", "b", {0: "CLIENT_ROLE_UNKNOWN", 1: "CLIENT_ROLE_PM", 2: "CLIENT_ROLE_DATA_NODE"})
]


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


@message(type_id=0x1001, name="APPEND", sender="client", spec=SPEC)
class AppendRequest(Table, frozen=True, kw_only=True):
    """Append the batches in the payload."""

    timeout_ms: Int32 = 0
    append_requests: Many[AppendInfo] = None


class AppendInfo(Table, frozen=True, kw_only=True):
    """Where one batch of the payload goes, and how many bytes it takes."""

    stream_id: StreamId = 0
    request_index: Int32 = 0
    batch_length: Int32 = 0


@message(type_id=0x1001, name="APPEND", sender="server", spec=SPEC)
class AppendResponse(Table, frozen=True, kw_only=True):
    """The result of each batch."""

    throttle_time_ms: Int32 = 0
    append_responses: Many[AppendResult] = None


class AppendResult(Table, frozen=True, kw_only=True):
    """What became of one batch."""

    stream_id: StreamId = 0
    request_index: Int32 = 0
    base_offset: Int64 = 0
    stream_append_time_ms: Annotated[Int64, Varies()] = 0
    error_code: ErrorCode = 0
    error_message: String = None


@message(type_id=0x1002, name="FETCH", sender="client", spec=SPEC)
class FetchRequest(Table, frozen=True, kw_only=True):
    """Ask for record batches."""

    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    fetch_requests: Many[FetchInfo] = None


class FetchInfo(Table, frozen=True, kw_only=True):
    """What to fetch from one stream."""

    stream_id: StreamId = 0
    request_index: Int32 = 0
    fetch_offset: Int64 = 0
    batch_max_bytes: Int32 = 0


@message(type_id=0x1002, name="FETCH", sender="server", spec=SPEC)
class FetchResponse(Table, frozen=True, kw_only=True):
    """The batches found, as the payload."""

    throttle_time_ms: Int32 = 0
    fetch_responses: Many[FetchResult] = None


class FetchResult(Table, frozen=True, kw_only=True):
    """The batches found in one stream."""

    stream_id: StreamId = 0
    request_index: Int32 = 0
    error_code: ErrorCode = 0
    error_message: String = None
    batch_length: Int32 = 0


class RangeOwner(Table, frozen=True, kw_only=True):
    """Whose ranges are meant: a data node's or a stream's."""

    data_node: One[DataNode] = None
    stream_id: StreamId = 0


class DataNode(Table, frozen=True, kw_only=True):
    """A data node by id and address."""

    node_id: ServerId = 0
    advertise_addr: Address = None


@message(type_id=0x2001, name="LIST_RANGES", sender="client", spec=SPEC)
class ListRangesRequest(Table, frozen=True, kw_only=True):
    """Ask for the ranges of several streams or data nodes."""

    timeout_ms: Int32 = 0
    range_owners: Many[RangeOwner] = None


@message(type_id=0x2001, name="LIST_RANGES", sender="server", spec=SPEC)
class ListRangesResponse(Table, frozen=True, kw_only=True):
    """The ranges, one result for each that was asked for."""

    throttle_time_ms: Int32 = 0
    list_responses: Many[ListRangesResult] = None


class ListRangesResult(Table, frozen=True, kw_only=True):
    """The ranges of one stream or data node."""

    range_owner: One[RangeOwner] = None
    error_code: ErrorCode = 0
    error_message: String = None
    ranges: Many[Range] = None


class Range(Table, frozen=True, kw_only=True):
    """A stretch of a stream and the servers that keep it."""

    stream_id: StreamId = 0
    range_index: Int32 = 0
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

    stream_id: StreamId = 0
    range_index: Int32 = 0


@message(type_id=0x2002, name="SEAL_RANGES", sender="server", spec=SPEC)
class SealRangesResponse(Table, frozen=True, kw_only=True):
    """The result of each range."""

    throttle_time_ms: Int32 = 0
    seal_responses: Many[SealRangesResult] = None


class SealRangesResult(Table, frozen=True, kw_only=True):
    """What became of one range."""

    stream_id: StreamId = 0
    error_code: ErrorCode = 0
    error_message: String = None
    ranges: Many[Range] = None


@message(type_id=0x2003, name="SYNC_RANGES", sender="client", spec=SPEC)
class SyncRangesRequest(Table, frozen=True, kw_only=True):
    """Announce new ranges to a data node."""

    timeout_ms: Int32 = 0
    stream_ranges: Many[StreamRanges] = None


class StreamRanges(Table, frozen=True, kw_only=True):
    """The ranges of one stream."""

    stream_id: StreamId = 0
    ranges: Many[Range] = None


@message(type_id=0x2003, name="SYNC_RANGES", sender="server", spec=SPEC)
class SyncRangesResponse(Table, frozen=True, kw_only=True):
    """Which ranges were taken over."""

    throttle_time_ms: Int32 = 0
    sync_responses: Many[SyncRangesResult] = None


class SyncRangesResult(Table, frozen=True, kw_only=True):
    """The ranges of one stream that were taken over."""

    stream_id: StreamId = 0
    error_code: ErrorCode = 0
    error_message: String = None
    ranges: Many[Range] = None


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


class DescribeRangeResult(Table, frozen=True, kw_only=True):
    """How far one range has got."""

    stream_id: StreamId = 0
    error_code: ErrorCode = 0
    error_message: String = None
    ranges: One[Range] = None


class Stream(Table, frozen=True, kw_only=True):
    """A stream and how it is kept."""

    stream_id: StreamId = 0
    replica_nums: Int8 = 0
    retention_period_ms: Int32 = 0


@message(type_id=0x3001, name="CREATE_STREAMS", sender="client", spec=SPEC)
class CreateStreamsRequest(Table, frozen=True, kw_only=True):
    """Make streams; their ids are given by the server."""

    timeout_ms: Int32 = 0
    stremas: Many[Stream] = None


@message(type_id=0x3001, name="CREATE_STREAMS", sender="server", spec=SPEC)
class CreateStreamsResponse(Table, frozen=True, kw_only=True):
    """The streams that were made."""

    throttle_time_ms: Int32 = 0
    create_responses: Many[CreateStreamResult] = None


class CreateStreamResult(Table, frozen=True, kw_only=True):
    """One stream that was made."""

    stream: One[Stream] = None
    error_code: ErrorCode = 0
    error_message: String = None


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


class DeleteStreamResult(Table, frozen=True, kw_only=True):
    """One stream that was removed."""

    deleted_stream: One[Stream] = None
    error_code: ErrorCode = 0
    error_message: String = None


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


class UpdateStreamResult(Table, frozen=True, kw_only=True):
    """One stream as it was updated."""

    stream: One[Stream] = None
    error_code: ErrorCode = 0
    error_message: String = None


@message(type_id=0x3004, name="GET_STREAMS", sender="client", spec=SPEC)
class DescribeStreamsRequest(Table, frozen=True, kw_only=True):
    """Ask for the records of streams."""

    timeout_ms: Int32 = 0
    stream_ids: StreamIds = None


@message(type_id=0x3004, name="GET_STREAMS", sender="server", spec=SPEC)
class DescribeStreamsResponse(Table, frozen=True, kw_only=True):
    """The records of the streams."""

    throttle_time_ms: Int32 = 0
    describe_responses: Many[DescribeStreamResult] = None


class DescribeStreamResult(Table, frozen=True, kw_only=True):
    """The record of one stream."""

    stream: One[Stream] = None
    error_code: ErrorCode = 0
    error_message: String = None


@message(type_id=0x3005, name="TRIM_STREAMS", sender="client", spec=SPEC)
class TrimeStreamsRequest(Table, frozen=True, kw_only=True):
    """Drop all records before an offset in each stream (spelled as in the schema)."""

    timeout_ms: Int32 = 0
    trimmed_streams: Many[TrimmedStream] = None


class TrimmedStream(Table, frozen=True, kw_only=True):
    """A stream and the offset in front of which it is trimmed."""

    stream_id: StreamId = 0
    trim_offset: Int64 = 0


@message(type_id=0x3005, name="TRIM_STREAMS", sender="server", spec=SPEC)
class TrimStreamsResponse(Table, frozen=True, kw_only=True):
    """The rest of each stream."""

    throttle_time_ms: Int32 = 0
    trim_responses: Many[TrimStreamResult] = None


class TrimStreamResult(Table, frozen=True, kw_only=True):
    """The rest of one stream."""

    trimmed_stream: One[Stream] = None
    error_code: ErrorCode = 0
    error_message: String = None
    range: One[Range] = None


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
