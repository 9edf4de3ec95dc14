"""The newest schema (L), with what real servers make of it."""

from __future__ import annotations

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.protocols.sbp import tables, tables_unserved
from wiretool.protocols.sbp.messages import APPEND, FETCH, SbpFrame, Schema
from wiretool.protocols.sbp.records import AppendEntry, Batches, entry_form, entry_from_json, read_entries


def read_batches(frame: SbpFrame, header: Table | None) -> Batches | None:
    """The entries of APPEND and FETCH: back to back up to the end of the payload, whatever the header says."""
    return read_entries(frame.payload) if frame.opcode in (APPEND, FETCH) else None


LATEST = Schema(
    name="L",
    tables=(
        tables.HeartbeatRequest,
        tables.HeartbeatResponse,
        tables.IdAllocationRequest,
        tables.IdAllocationResponse,
        tables.AppendRequest,
        tables.AppendResponse,
        tables.FetchRequest,
        tables.FetchResponse,
        tables.ListRangeRequest,
        tables.ListRangeResponse,
        tables.CreateRangeRequest,
        tables.CreateRangeResponse,
        tables.SealRangeRequest,
        tables.SealRangeResponse,
        tables.CreateStreamRequest,
        tables.CreateStreamResponse,
        tables.DeleteStreamRequest,
        tables.DeleteStreamResponse,
        tables.UpdateStreamRequest,
        tables.UpdateStreamResponse,
        tables.DescribeStreamRequest,
        tables.DescribeStreamResponse,
        tables.TrimStreamRequest,
        tables.TrimStreamsResponse,
        tables.ReportMetricsRequest,
        tables.ReportMetricsResponse,
        tables.DescribePlacementDriverClusterRequest,
        tables.DescribePlacementDriverClusterResponse,
        tables_unserved.CommitObjectRequest,
        tables_unserved.CommitObjectResponse,
        tables_unserved.ListResourceRequest,
        tables_unserved.ListResourceResponse,
        tables_unserved.WatchResourceRequest,
        tables_unserved.WatchResourceResponse,
    ),
    bare_operations={0x0000: "UNKNOWN", 0x0001: "PING", 0x0002: "GOAWAY", 0x2003: "SYNC_RANGE"},
    read_batches=read_batches,
    batch=AppendEntry,
    batch_form=entry_form,
    batch_from_json=entry_from_json,
    batches_key="entries",
    system_error=tables.SystemError,
    # The range server never looks at the header of APPEND; the host of ALLOCATE_ID is only logged.
    header_optional=frozenset({"APPEND", "ALLOCATE_ID"}),
    # The placement driver: whenever it has no range to name, and for a server that it does not know or that said none.
    left_out=("ListRangeResponse.ranges", ".advertise_addr"),
)

#: Tables that are the root of a buffer, but of no operation: of a response with the system error flag, and key-value.
UNCARRIED: tuple[type[Table], ...] = (
    tables.SystemError,
    tables_unserved.RangeRequest,
    tables_unserved.RangeResponse,
    tables_unserved.PutRequest,
    tables_unserved.PutResponse,
    tables_unserved.DeleteRangeRequest,
    tables_unserved.DeleteRangeResponse,
    tables_unserved.TxnRequest,
    tables_unserved.TxnResponse,
)
