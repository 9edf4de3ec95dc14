"""The tables of the newest schema (L), in its order, up to objects and resources (tables_unserved)."""

from __future__ import annotations

from typing import Annotated

from wiretool.codec.flatbuffers.compiled import decode_root
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
from wiretool.protocols.sbp.roles import RequiredAddress, ServerId, StreamId

SPEC = "elastic-stream components/protocol rpc.fbs @ed91db3c"

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
            1464: "APPEND_TO_COMMITTED_OFFSET",
            1465: "APPEND_TO_PENDING_OFFSET",
            1466: "APPEND_TO_OVERTAKEN_OFFSET",
            1470: "CREATE_RANGE_BEFORE_SEAL",
            1471: "EXPIRED_RANGE_EPOCH",
            1498: "UNSUPPORTED_OPERATION",
            1499: "UNKNOWN_OPERATION",
            1500: "PD_INTERNAL_SERVER_ERROR",
            1501: "PD_NOT_IMPLEMENTED",
            1502: "PD_NO_AVAILABLE_RS",
            1503: "PD_NOT_LEADER",
            2500: "RS_INTERNAL_SERVER_ERROR",
            2501: "RS_NOT_IMPLEMENTED",
            2502: "RS_DATA_CORRUPTED",
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
            1: "CLIENT_ROLE_PD",
            2: "CLIENT_ROLE_RANGE_SERVER",
            3: "CLIENT_ROLE_FRONTEND",
        },
    ),
]
SealKind = Annotated[int, Scalar("i8 SealKind", "b", {0: "UNSPECIFIED", 1: "RANGE_SERVER", 2: "PLACEMENT_DRIVER"})]


class Status(Table, frozen=True, kw_only=True):
    """How a request went: a code, a sentence, and for some codes a nested buffer."""

    code: ErrorCode = 0
    message: String = None
    detail: Bytes = None


class PlacementDriverCluster(Table, frozen=True, kw_only=True):
    """The nodes of the placement driver."""

    nodes: RequiredMany[PlacementDriverNode] = None


class PlacementDriverNode(Table, frozen=True, kw_only=True):
    """One node of the placement driver."""

    name: Annotated[RequiredString, Varies()] = None
    advertise_addr: Annotated[RequiredString, Varies()] = None
    is_leader: Boolean = False


@message(type_id=-1, name="SystemError", sender="server", spec=SPEC)
class SystemError(Table, frozen=True, kw_only=True):
    """The header of any response that carries the system error flag."""

    status: RequiredOne[Status] = None


@message(type_id=0x0003, name="HEARTBEAT", sender="client", spec=SPEC)
class HeartbeatRequest(Table, frozen=True, kw_only=True):
    """A keep-alive with the role of the sender."""

    client_id: String = None
    client_role: ClientRole = 0
    range_server: One[RangeServer] = None


@message(type_id=0x0003, name="HEARTBEAT", sender="server", spec=SPEC)
class HeartbeatResponse(Table, frozen=True, kw_only=True):
    """The echoed heartbeat, as far as the server returns it."""

    client_id: String = None
    client_role: ClientRole = 0
    range_server: One[RangeServer] = None
    status: RequiredOne[Status] = None


@message(type_id=0x0004, name="ALLOCATE_ID", sender="client", spec=SPEC)
class IdAllocationRequest(Table, frozen=True, kw_only=True):
    """Ask for the id of a new server."""

    timeout_ms: Int32 = 0
    host: RequiredString = None


@message(type_id=0x0004, name="ALLOCATE_ID", sender="server", spec=SPEC)
class IdAllocationResponse(Table, frozen=True, kw_only=True):
    """The id that was given out."""

    status: RequiredOne[Status] = None
    id: ServerId = 0


@message(type_id=0x1001, name="APPEND", sender="client", spec=SPEC)
class AppendRequest(Table, frozen=True, kw_only=True):
    """Append the batches in the payload."""

    timeout_ms: Int32 = 0


@message(type_id=0x1001, name="APPEND", sender="server", spec=SPEC)
class AppendResponse(Table, frozen=True, kw_only=True):
    """The result of each batch."""

    status: RequiredOne[Status] = None
    entries: Many[AppendResultEntry] = None
    throttle_time_ms: Int32 = 0


class AppendResultEntry(Table, frozen=True, kw_only=True):
    """What became of one entry, in the order of the payload."""

    status: RequiredOne[Status] = None
    timestamp_ms: Annotated[Int64, Varies()] = 0


@message(type_id=0x1002, name="FETCH", sender="client", spec=SPEC)
class FetchRequest(Table, frozen=True, kw_only=True):
    """Ask for record batches."""

    max_wait_ms: Int32 = 0
    range: RequiredOne[Range] = None
    offset: Int64 = 0
    limit: Int64 = 0
    min_bytes: Int32 = -1
    max_bytes: Int32 = -1


@message(type_id=0x1002, name="FETCH", sender="server", spec=SPEC)
class FetchResponse(Table, frozen=True, kw_only=True):
    """The batches found, as the payload."""

    status: RequiredOne[Status] = None
    throttle_time_ms: Int32 = 0
    object_metadata_list: Many[ObjectMetadata] = None


class ObjectMetadata(Table, frozen=True, kw_only=True):
    """One stored object that covers part of what was asked for."""

    key: RequiredString = None
    start_offset: Int64 = -1
    end_offset_delta: Int32 = -1
    data_len: Int32 = -1
    sparse_index: Bytes = None


class ListRangeCriteria(Table, frozen=True, kw_only=True):
    """Which ranges to list: of a server, of a stream, or both."""

    server_id: ServerId = -1
    stream_id: StreamId = -1


class RangeServer(Table, frozen=True, kw_only=True):
    """A range server by id and address."""

    server_id: ServerId = -1
    advertise_addr: RequiredAddress = None


@message(type_id=0x2001, name="LIST_RANGE", sender="client", spec=SPEC)
class ListRangeRequest(Table, frozen=True, kw_only=True):
    """Ask for the ranges of a stream or a server."""

    timeout_ms: Int32 = 0
    criteria: RequiredOne[ListRangeCriteria] = None


@message(type_id=0x2001, name="LIST_RANGE", sender="server", spec=SPEC)
class ListRangeResponse(Table, frozen=True, kw_only=True):
    """The ranges that were found."""

    status: RequiredOne[Status] = None
    throttle_time_ms: Int32 = 0
    ranges: RequiredMany[Range] = None


class OffloadOwner(Table, frozen=True, kw_only=True):
    """Which server moves the range to object storage."""

    server_id: ServerId = -1
    epoch: Int64 = -1


class Range(Table, frozen=True, kw_only=True):
    """A stretch of a stream and the servers that keep it."""

    stream_id: StreamId = -1
    epoch: Int64 = -1
    index: Int32 = -1
    start: Int64 = -1
    end: Int64 = -1
    servers: Many[RangeServer] = None
    replica_count: Int8 = -1
    ack_count: Int8 = -1
    offload_owner: One[OffloadOwner] = None


@message(type_id=0x2004, name="CREATE_RANGE", sender="client", spec=SPEC)
class CreateRangeRequest(Table, frozen=True, kw_only=True):
    """Make a range: at the placement driver first, then on its servers."""

    timeout_ms: Int32 = 0
    range: RequiredOne[Range] = None


@message(type_id=0x2004, name="CREATE_RANGE", sender="server", spec=SPEC)
class CreateRangeResponse(Table, frozen=True, kw_only=True):
    """The range that was made."""

    status: RequiredOne[Status] = None
    range: One[Range] = None
    throttle_time_ms: Int32 = 0


@message(type_id=0x2002, name="SEAL_RANGE", sender="client", spec=SPEC)
class SealRangeRequest(Table, frozen=True, kw_only=True):
    """Close a range to appends; `kind` is the kind of server addressed."""

    timeout_ms: Int32 = 0
    kind: SealKind = 0
    range: RequiredOne[Range] = None


@message(type_id=0x2002, name="SEAL_RANGE", sender="server", spec=SPEC)
class SealRangeResponse(Table, frozen=True, kw_only=True):
    """The range that was sealed, with its end."""

    status: RequiredOne[Status] = None
    range: One[Range] = None
    throttle_time_ms: Int32 = 0


class Stream(Table, frozen=True, kw_only=True):
    """A stream and how it is kept."""

    stream_id: StreamId = -1
    replica: Int8 = 0
    ack_count: Int8 = 0
    retention_period_ms: Int64 = 0


@message(type_id=0x3001, name="CREATE_STREAM", sender="client", spec=SPEC)
class CreateStreamRequest(Table, frozen=True, kw_only=True):
    """Make a stream; its id is given by the server."""

    timeout_ms: Int32 = 0
    stream: RequiredOne[Stream] = None


@message(type_id=0x3001, name="CREATE_STREAM", sender="server", spec=SPEC)
class CreateStreamResponse(Table, frozen=True, kw_only=True):
    """The stream that was made."""

    status: RequiredOne[Status] = None
    stream: One[Stream] = None
    throttle_time_ms: Int32 = 0


@message(type_id=0x3002, name="DELETE_STREAM", sender="client", spec=SPEC)
class DeleteStreamRequest(Table, frozen=True, kw_only=True):
    """Remove the record of a stream."""

    timeout_ms: Int32 = 0
    stream_id: StreamId = -1


@message(type_id=0x3002, name="DELETE_STREAM", sender="server", spec=SPEC)
class DeleteStreamResponse(Table, frozen=True, kw_only=True):
    """The stream that was removed."""

    status: RequiredOne[Status] = None
    stream: One[Stream] = None
    throttle_time_ms: Int32 = 0


@message(type_id=0x3003, name="UPDATE_STREAM", sender="client", spec=SPEC)
class UpdateStreamRequest(Table, frozen=True, kw_only=True):
    """Overwrite the record of a stream."""

    timeout_ms: Int32 = 0
    stream: One[Stream] = None


@message(type_id=0x3003, name="UPDATE_STREAM", sender="server", spec=SPEC)
class UpdateStreamResponse(Table, frozen=True, kw_only=True):
    """The stream as it was updated."""

    status: RequiredOne[Status] = None
    throttle_time_ms: Int32 = 0
    stream: One[Stream] = None


@message(type_id=0x3004, name="DESCRIBE_STREAM", sender="client", spec=SPEC)
class DescribeStreamRequest(Table, frozen=True, kw_only=True):
    """Ask for the record of a stream."""

    timeout_ms: Int32 = 0
    stream_id: StreamId = 0


@message(type_id=0x3004, name="DESCRIBE_STREAM", sender="server", spec=SPEC)
class DescribeStreamResponse(Table, frozen=True, kw_only=True):
    """The record of the stream."""

    status: RequiredOne[Status] = None
    throttle_time_ms: Int32 = 0
    stream: One[Stream] = None


@message(type_id=0x3005, name="TRIM_STREAM", sender="client", spec=SPEC)
class TrimStreamRequest(Table, frozen=True, kw_only=True):
    """Drop all records before an offset."""

    timeout_ms: Int32 = 0
    stream_id: StreamId = -1
    min_offset: Int64 = 0


@message(type_id=0x3005, name="TRIM_STREAM", sender="server", spec=SPEC)
class TrimStreamsResponse(Table, frozen=True, kw_only=True):
    """The rest of each stream."""

    status: RequiredOne[Status] = None
    throttle_time_ms: Int32 = 0
    stream: One[Stream] = None
    range: One[Range] = None


@message(type_id=0x4001, name="REPORT_METRICS", sender="client", spec=SPEC)
class ReportMetricsRequest(Table, frozen=True, kw_only=True):
    """Load figures of a server."""

    range_server: One[RangeServer] = None
    metrics: One[RangeServerMetrics] = None


class RangeServerMetrics(Table, frozen=True, kw_only=True):
    """How a range server fares."""

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

    range_server: One[RangeServer] = None
    status: RequiredOne[Status] = None


@message(type_id=0x4002, name="DESCRIBE_PLACEMENT_DRIVER", sender="client", spec=SPEC)
class DescribePlacementDriverClusterRequest(Table, frozen=True, kw_only=True):
    """Ask for the nodes of the placement driver."""

    range_server: RequiredOne[RangeServer] = None
    timeout_ms: Int32 = 0


@message(type_id=0x4002, name="DESCRIBE_PLACEMENT_DRIVER", sender="server", spec=SPEC)
class DescribePlacementDriverClusterResponse(Table, frozen=True, kw_only=True):
    """The placement driver's nodes."""

    status: RequiredOne[Status] = None
    cluster: RequiredOne[PlacementDriverCluster] = None


#: Status.code of a placement driver's node that does not lead; its detail names the one that does.
PD_NOT_LEADER = 1503


def status_detail(status: Status) -> PlacementDriverCluster | None:
    """The cluster in the detail of a PD_NOT_LEADER status; None for another. DecodeError where the bytes are none."""
    if status.code != PD_NOT_LEADER or status.detail is None:
        return None
    cluster: PlacementDriverCluster = decode_root(PlacementDriverCluster, status.detail)
    return cluster
