"""The requests of schema S1 and their answers: an error code and message in each result (sbp.md §2.2 and §5).

Nobody ever served S1 as a whole; what it means is what its documents of the time say, with the semantics of S2.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from wiretool.codec.flatbuffers.declaration import Table, TablesSlot, slots_of
from wiretool.protocols.sbp.messages import APPEND, FETCH
from wiretool.protocols.sbp_0_1 import tables_s1 as s1
from wiretool.protocols.sbp_0_1.messages import S1
from wiretool.protocols.sbp_0_1.server import codes as op
from wiretool.protocols.sbp_0_1.server.asking import (
    NANOSECONDS_PER_MS,
    ROLE_DATA_NODE,
    Ask,
    Listing,
    Reply,
    batches_in,
    check_count,
    room_for,
)
from wiretool.protocols.sbp_0_1.server.codes import NOT_FOUND, code_s1
from wiretool.protocols.sbp_0_1.server.store import Range, Refusal, Store, Stream

#: Retention is a 32-bit number in S1.
RETENTION_MIN, RETENTION_MAX = -(2**31), 2**31 - 1
#: The answer to FETCH that leaves the least room for one batch.
_FOUND_ONE = s1.FetchResponse(
    fetch_responses=(s1.FetchResult(stream_id=1, request_index=1, batch_length=1),),
)
T = TypeVar("T", bound=Table)


def heartbeat(ask: Ask) -> Reply:
    request: s1.HeartbeatRequest = ask.request
    node = request.data_node
    if request.client_role == ROLE_DATA_NODE and node is not None:
        ask.store.heard(node.node_id, node.advertise_addr, ask.now_ns)
    return Reply(
        s1.HeartbeatResponse(client_id=request.client_id, client_role=request.client_role, data_node=request.data_node)
    )


def report_metrics(ask: Ask) -> Reply:
    node = ask.request.data_node
    if node is not None:
        ask.store.heard(node.node_id, node.advertise_addr, ask.now_ns)
    return Reply(s1.ReportMetricsResponse(data_node=node))


# -- batches -----------------------------------------------------------------------------------------------------------


def append(ask: Ask) -> Reply:
    """A result for each batch; one that is broken takes nothing from the others."""
    infos: tuple[s1.AppendInfo, ...] = ask.request.append_requests or ()
    batches = batches_in(S1, ask.payload, [info.batch_length for info in infos])
    results = tuple(_append_one(ask, info, batch) for info, batch in zip(infos, batches, strict=True))
    return Reply(s1.AppendResponse(append_responses=results))


def _append_one(ask: Ask, info: s1.AppendInfo, batch: tuple[bytes, int] | Refusal) -> s1.AppendResult:
    try:
        if isinstance(batch, Refusal):
            raise batch
        ask.store.check_not_deleted(info.stream_id)
        base = ask.store.append(ask.store.range_of(info.stream_id, None), *batch)
    except Refusal as why:
        return _failed(s1.AppendResult, why, stream_id=info.stream_id, request_index=info.request_index)
    return s1.AppendResult(
        stream_id=info.stream_id,
        request_index=info.request_index,
        base_offset=base,
        stream_append_time_ms=ask.now_ns // NANOSECONDS_PER_MS,
    )


def fetch(ask: Ask) -> Reply:
    """A result for each entry, with the bytes of the one batch that it has in the payload; 0 where nothing is new.

    Batches have no length of their own, and a result has one for them: so it can tell of one batch.
    """
    infos: tuple[s1.FetchInfo, ...] = ask.request.fetch_requests or ()
    results, parts = [], []
    room = room_for(_FOUND_ONE, len(infos))
    for info in infos:
        result, data = _fetch_one(ask, info, room)
        room -= len(data)
        results.append(result)
        parts.append(data)
    return Reply(s1.FetchResponse(fetch_responses=tuple(results)), b"".join(parts))


def _fetch_one(ask: Ask, info: s1.FetchInfo, room: int) -> tuple[s1.FetchResult, bytes]:
    stream_id, request_index = info.stream_id, info.request_index
    try:
        found = ask.store.fetch(stream_id, None, info.fetch_offset, 1, room)
    except Refusal as why:
        return _failed(s1.FetchResult, why, stream_id=stream_id, request_index=request_index), b""
    data = b"".join(found)
    return s1.FetchResult(stream_id=stream_id, request_index=request_index, batch_length=len(data)), data


# -- streams -----------------------------------------------------------------------------------------------------------


def create_streams(ask: Ask) -> Reply:
    """All of them or none: the first that cannot be made is the reason in every result."""
    wanted: tuple[s1.Stream, ...] = ask.request.stremas or ()
    try:
        made = ask.store.create_streams([(each.replica_nums, each.retention_period_ms) for each in wanted], ask.now_ns)
    except Refusal as why:
        failed = tuple(_failed(s1.CreateStreamResult, why, stream=each) for each in wanted)
        return Reply(s1.CreateStreamsResponse(create_responses=failed))
    results = tuple(s1.CreateStreamResult(stream=_stream(stream)) for stream, _ in made)
    return Reply(s1.CreateStreamsResponse(create_responses=results))


def delete_streams(ask: Ask) -> Reply:
    results = []
    for wanted in ask.request.streams or ():
        gone = ask.store.delete_stream(wanted.stream_id)
        if gone is None:
            results.append(_failed(s1.DeleteStreamResult, _unknown(wanted.stream_id), deleted_stream=wanted))
        else:
            results.append(s1.DeleteStreamResult(deleted_stream=_stream(gone)))
    return Reply(s1.DeleteStreamsResponse(delete_responses=tuple(results)))


def update_streams(ask: Ask) -> Reply:
    results = []
    for wanted in ask.request.streams or ():
        stream = Stream(wanted.stream_id, wanted.replica_nums, wanted.retention_period_ms)
        try:
            ask.store.update_stream(stream)
            results.append(s1.UpdateStreamResult(stream=_stream(stream)))
        except Refusal as why:
            results.append(_failed(s1.UpdateStreamResult, why, stream=wanted))
    return Reply(s1.UpdateStreamsResponse(update_responses=tuple(results)))


def describe_streams(ask: Ask) -> Reply:
    results = []
    stream_ids: tuple[int, ...] = ask.request.stream_ids or ()
    check_count(stream_ids)
    for stream_id in stream_ids:
        stream = ask.store.streams.get(stream_id)
        if stream is None:
            asked = s1.Stream(stream_id=stream_id)
            results.append(_failed(s1.DescribeStreamResult, _unknown(stream_id), stream=asked))
        else:
            results.append(s1.DescribeStreamResult(stream=_stream(stream)))
    return Reply(s1.DescribeStreamsResponse(describe_responses=tuple(results)))


def trim_streams(ask: Ask) -> Reply:
    """Drop what is in front of an offset in each stream; the stream, and the first range that is left."""
    results = []
    for wanted in ask.request.trimmed_streams or ():
        stream = ask.store.streams.get(wanted.stream_id)
        if stream is None:
            results.append(_failed(s1.TrimStreamResult, _unknown(wanted.stream_id)))
            continue
        first = ask.store.trim(wanted.stream_id, wanted.trim_offset)
        told = None if first is None else _range(ask.store, first)
        results.append(s1.TrimStreamResult(trimmed_stream=_stream(stream), range=told))
    return Reply(s1.TrimStreamsResponse(trim_responses=tuple(results)))


# -- ranges ------------------------------------------------------------------------------------------------------------


def list_ranges(ask: Ask) -> Reply:
    """Of a data node where one is named, else of a stream."""
    results = []
    listing = Listing(ask.store)
    for owner in ask.request.range_owners or ():
        node = owner.data_node
        wanted = (None, owner.stream_id) if node is None else (node.node_id, None)
        told = tuple(_range(ask.store, each) for each in listing.ranges(*wanted))
        results.append(s1.ListRangesResult(range_owner=owner, ranges=told))
    return Reply(s1.ListRangesResponse(list_responses=tuple(results)))


def seal_ranges(ask: Ask) -> Reply:
    """At the placement manager the sealed range and the new one, at a data node the sealed one."""
    results = []
    for wanted in ask.request.ranges or ():
        try:
            if ask.is_data_node:
                target = ask.store.range_of(wanted.stream_id, wanted.range_index)
                ask.store.seal(target)
                found = [target]
            else:
                found = list(dict.fromkeys(ask.store.seal_and_new(wanted.stream_id, wanted.range_index)))
            told = tuple(_range(ask.store, each) for each in found)
            results.append(s1.SealRangesResult(stream_id=wanted.stream_id, ranges=told))
        except Refusal as why:
            results.append(_failed(s1.SealRangesResult, why, stream_id=wanted.stream_id))
    return Reply(s1.SealRangesResponse(seal_responses=tuple(results)))


def sync_ranges(ask: Ask) -> Reply:
    """A data node takes over the ranges that it is told of."""
    results = []
    for wanted in ask.request.stream_ranges or ():
        try:
            told = tuple(_range(ask.store, _taken_over(ask.store, each)) for each in wanted.ranges or ())
            results.append(s1.SyncRangesResult(stream_id=wanted.stream_id, ranges=told))
        except Refusal as why:
            results.append(_failed(s1.SyncRangesResult, why, stream_id=wanted.stream_id))
    return Reply(s1.SyncRangesResponse(sync_responses=tuple(results)))


def _taken_over(store: Store, told: s1.Range) -> Range:
    nodes = tuple(replica.data_node.node_id for replica in told.replica_nodes or () if replica.data_node is not None)
    return store.take_over(told.stream_id, told.range_index, told.start_offset, nodes)


def describe_ranges(ask: Ask) -> Reply:
    results = []
    for wanted in ask.request.ranges or ():
        try:
            told = _range(ask.store, ask.store.range_of(wanted.stream_id, wanted.range_index))
            results.append(s1.DescribeRangeResult(stream_id=wanted.stream_id, ranges=told))
        except Refusal as why:
            results.append(_failed(s1.DescribeRangeResult, why, stream_id=wanted.stream_id))
    return Reply(s1.DescribeRangesResponse(describe_responses=tuple(results)))


# -- tables ------------------------------------------------------------------------------------------------------------


def _stream(stream: Stream) -> s1.Stream:
    return s1.Stream(
        stream_id=stream.stream_id,
        replica_nums=stream.replicas,
        retention_period_ms=max(RETENTION_MIN, min(stream.retention_ms, RETENTION_MAX)),
    )


def _range(store: Store, told: Range) -> s1.Range:
    replicas = tuple(
        s1.ReplicaNode(
            data_node=s1.DataNode(node_id=number, advertise_addr=store.address_of(number)), is_primary=place == 0
        )
        for place, number in enumerate(told.nodes)
    )
    return s1.Range(
        stream_id=told.stream_id,
        range_index=told.index,
        start_offset=told.start,
        end_offset=told.end,
        next_offset=told.next,
        replica_nodes=replicas,
    )


def _unknown(stream_id: int) -> Refusal:
    return Refusal(NOT_FOUND, f"no stream {stream_id}")


def _failed(result: type[T], why: Refusal, **ids: Any) -> T:
    """A result that says why not."""
    return result(error_code=code_s1(why.code), error_message=why.message, **ids)


def refused(opcode: int, why: Refusal) -> Table:
    """The response to a request that failed as a whole: one result that says so, where the table has results."""
    operation = S1.operation(opcode)
    assert operation is not None
    assert operation.response is not None
    slots = slots_of(operation.response)
    return operation.response(
        **{name: (_failed(wire.cls, why),) for name, wire, _ in slots if isinstance(wire, TablesSlot)}
    )


HANDLERS: Mapping[int, Callable[[Ask], Reply]] = {
    op.HEARTBEAT: heartbeat,
    APPEND: append,
    FETCH: fetch,
    op.LIST_RANGES: list_ranges,
    op.SEAL_RANGES: seal_ranges,
    op.SYNC_RANGES: sync_ranges,
    op.DESCRIBE_RANGES: describe_ranges,
    op.CREATE_STREAMS: create_streams,
    op.DELETE_STREAMS: delete_streams,
    op.UPDATE_STREAMS: update_streams,
    op.DESCRIBE_STREAMS: describe_streams,
    op.TRIM_STREAMS: trim_streams,
    op.REPORT_METRICS: report_metrics,
}
