"""The requests of schema S2 and their answers, as the placement manager and the data nodes gave them (sbp.md §4.6)."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from wiretool.protocols.sbp.messages import APPEND, FETCH
from wiretool.protocols.sbp_0_1 import tables_s2 as s2
from wiretool.protocols.sbp_0_1.messages import S2
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
from wiretool.protocols.sbp_0_1.server.store import Range, Refusal, Store, Stream

_OK = s2.Status(code=op.OK)
#: The answer to FETCH that leaves the least room for one entry.
_FOUND_ONE = s2.FetchResponse(fetch_responses=(s2.FetchResult(stream_id=1, batch_count=1, status=_OK),), status=_OK)


def heartbeat(ask: Ask) -> Reply:
    request: s2.HeartbeatRequest = ask.request
    node = request.data_node
    if request.client_role == ROLE_DATA_NODE and node is not None:
        ask.store.heard(node.node_id, node.advertise_addr, ask.now_ns)
    return Reply(
        s2.HeartbeatResponse(client_id=request.client_id, client_role=request.client_role, data_node=node, status=_OK)
    )


def allocate_id(ask: Ask) -> Reply:
    return Reply(s2.IdAllocationResponse(id=ask.store.allocate_node(), status=_OK))


def describe_cluster(ask: Ask) -> Reply:
    node = s2.PlacementManagerNode(name="wiretool", advertise_addr=ask.store.manager, is_leader=True)
    cluster = s2.PlacementManagerCluster(nodes=(node,))
    return Reply(s2.DescribePlacementManagerClusterResponse(status=_OK, cluster=cluster))


# -- batches -----------------------------------------------------------------------------------------------------------


def append(ask: Ask) -> Reply:
    """A result for each batch. One that is broken or has no place fails the whole frame."""
    infos: tuple[s2.AppendInfo, ...] = ask.request.append_requests or ()
    batches = batches_in(S2, ask.payload, [info.batch_length for info in infos])
    places = [_open_range(ask.store, info) for info in infos]
    for batch in batches:
        if isinstance(batch, Refusal):
            raise batch
    results = []
    for place, (data, records) in zip(places, batches, strict=True):
        base = ask.store.append(place, data, records)
        result = s2.AppendResult(
            stream_id=place.stream_id,
            base_offset=base,
            stream_append_time_ms=ask.now_ns // NANOSECONDS_PER_MS,
            status=_OK,
        )
        results.append(result)
    return Reply(s2.AppendResponse(append_responses=tuple(results), status=_OK))


def _open_range(store: Store, info: s2.AppendInfo) -> Range:
    if info.range is None:
        raise Refusal(op.BAD_REQUEST, "range is nil")
    found = store.range_of(info.range.stream_id, info.range.range_index)
    if found.is_sealed:
        raise Refusal(op.RANGE_ALREADY_SEALED, f"range {found.index} of stream {found.stream_id} is sealed")
    return found


def fetch(ask: Ask) -> Reply:
    """A result for each entry, with the number of its batches in the payload."""
    infos: tuple[s2.FetchInfo, ...] = ask.request.fetch_requests or ()
    results, parts = [], []
    room = room_for(_FOUND_ONE, len(infos))
    for info in infos:
        result, data = _fetch_one(ask, info, room)
        room -= len(data)
        results.append(result)
        parts.append(data)
    return Reply(s2.FetchResponse(fetch_responses=tuple(results), status=_OK), b"".join(parts))


def _fetch_one(ask: Ask, info: s2.FetchInfo, room: int) -> tuple[s2.FetchResult, bytes]:
    wanted = info.range or s2.Range()
    try:
        if info.range is None:
            raise Refusal(op.BAD_REQUEST, "range is nil")
        found = ask.store.fetch(wanted.stream_id, wanted.range_index, info.fetch_offset, info.batch_max_bytes, room)
        if not found:
            raise Refusal(op.NO_NEW_RECORD, "no new record")
    except Refusal as why:
        return s2.FetchResult(stream_id=wanted.stream_id, status=_status(why)), b""
    data = b"".join(found)
    return s2.FetchResult(stream_id=wanted.stream_id, batch_count=len(found), status=_OK), data


# -- streams -----------------------------------------------------------------------------------------------------------


def create_streams(ask: Ask) -> Reply:
    """All of them, each with its first range, or none; a range on no data node does not list any, like the real one."""
    wanted = ask.request.streams or ()
    made = ask.store.create_streams([(each.replica_num, each.retention_period_ms) for each in wanted], ask.now_ns)
    results = tuple(
        s2.CreateStreamResult(stream=_stream(stream), range=_made(ask.store, first), status=_OK)
        for stream, first in made
    )
    return Reply(s2.CreateStreamsResponse(create_responses=results, status=_OK))


def delete_streams(ask: Ask) -> Reply:
    """Those that were there; nothing is said of others."""
    gone = [ask.store.delete_stream(wanted.stream_id) for wanted in ask.request.streams or ()]
    results = tuple(s2.DeleteStreamResult(deleted_stream=_stream(each), status=_OK) for each in gone if each)
    return Reply(s2.DeleteStreamsResponse(delete_responses=results, status=_OK))


def update_streams(ask: Ask) -> Reply:
    """Overwrite; those that are not there are made."""
    results = []
    for wanted in ask.request.streams or ():
        stream = Stream(wanted.stream_id, wanted.replica_num, wanted.retention_period_ms)
        ask.store.update_stream(stream)
        results.append(s2.UpdateStreamResult(stream=_stream(stream), status=_OK))
    return Reply(s2.UpdateStreamsResponse(update_responses=tuple(results), status=_OK))


def describe_streams(ask: Ask) -> Reply:
    """All of them; one that is not there fails the whole request."""
    results = []
    stream_ids: tuple[int, ...] = ask.request.stream_ids or ()
    check_count(stream_ids)
    for stream_id in stream_ids:
        if stream_id not in ask.store.streams:
            raise Refusal(op.PM_INTERNAL_SERVER_ERROR, "handler panic")
        stream = _stream(ask.store.streams[stream_id])
        results.append(s2.DescribeStreamResult(stream=stream, status=_OK))
    return Reply(s2.DescribeStreamsResponse(describe_responses=tuple(results), status=_OK))


# -- ranges ------------------------------------------------------------------------------------------------------------


def list_ranges(ask: Ask) -> Reply:
    """By stream, by data node, or both; without either no `ranges` at all, like the real one."""
    results = []
    listing = Listing(ask.store)
    for criteria in ask.request.range_criteria or ():
        node = criteria.data_node.node_id if criteria.data_node is not None else None
        stream_id = criteria.stream_id if criteria.stream_id >= 0 else None
        is_asked = node is not None or stream_id is not None
        found = listing.ranges(node, stream_id) if is_asked else None
        told = None if found is None else tuple(_range(ask.store, each) for each in found)
        results.append(s2.ListRangesResult(range_criteria=criteria, ranges=told, status=_OK))
    return Reply(s2.ListRangesResponse(list_responses=tuple(results), status=_OK))


def seal_ranges(ask: Ask) -> Reply:
    """At the placement manager the range that is writable now, at a data node the sealed one."""
    results = tuple(_sealed(ask, wanted) for wanted in ask.request.ranges or ())
    return Reply(s2.SealRangesResponse(seal_responses=results, status=_OK))


def _sealed(ask: Ask, wanted: s2.RangeId) -> s2.SealRangesResult:
    try:
        if not ask.is_data_node:
            _, current = ask.store.seal_and_new(wanted.stream_id, wanted.range_index)
            return s2.SealRangesResult(range=_range(ask.store, current), status=_OK)
        target = ask.store.range_of(wanted.stream_id, wanted.range_index)
    except Refusal as why:
        current_told = _range(ask.store, why.current) if why.current is not None else None
        return s2.SealRangesResult(range=current_told, status=_status(why))
    ask.store.seal(target)
    sealed = s2.Range(
        stream_id=target.stream_id, range_index=target.index, end_offset=target.next, next_offset=target.next
    )
    return s2.SealRangesResult(range=sealed, status=_OK)


def describe_ranges(ask: Ask) -> Reply:
    results = []
    for wanted in ask.request.ranges or ():
        try:
            told = _range(ask.store, ask.store.range_of(wanted.stream_id, wanted.range_index))
            results.append(s2.DescribeRangeResult(stream_id=wanted.stream_id, range=told, status=_OK))
        except Refusal as why:
            # The data node says it in the placement manager's words (sbp.md §4.6).
            failure = Refusal(op.PM_INTERNAL_SERVER_ERROR, why.message)
            results.append(s2.DescribeRangeResult(stream_id=wanted.stream_id, status=_status(failure)))
    return Reply(s2.DescribeRangesResponse(describe_responses=tuple(results), status=_OK))


# -- tables ------------------------------------------------------------------------------------------------------------


def _status(why: Refusal) -> s2.Status:
    return s2.Status(code=why.code, message=why.message)


def _stream(stream: Stream) -> s2.Stream:
    return s2.Stream(stream_id=stream.stream_id, replica_num=stream.replicas, retention_period_ms=stream.retention_ms)


def _range(store: Store, told: Range) -> s2.Range:
    replicas = tuple(
        s2.ReplicaNode(
            data_node=s2.DataNode(node_id=number, advertise_addr=store.address_of(number)), is_primary=place == 0
        )
        for place, number in enumerate(told.nodes)
    )
    return s2.Range(
        stream_id=told.stream_id,
        range_index=told.index,
        start_offset=told.start,
        end_offset=told.end,
        next_offset=told.next,
        replica_nodes=replicas,
    )


def _made(store: Store, made: Range) -> s2.Range:
    told = _range(store, made)
    return msgspec.structs.replace(told, replica_nodes=told.replica_nodes or None)


def refused(opcode: int, why: Refusal) -> Any:
    """The response of an operation that failed as a whole: its status and nothing else."""
    operation = S2.operation(opcode)
    assert operation is not None
    assert operation.response is not None
    return operation.response(status=_status(why))


#: Of the placement manager; and of a data node.
MANAGER: Mapping[int, Callable[[Ask], Reply]] = {
    op.HEARTBEAT: heartbeat,
    op.ALLOCATE_ID: allocate_id,
    op.LIST_RANGES: list_ranges,
    op.SEAL_RANGES: seal_ranges,
    op.CREATE_STREAMS: create_streams,
    op.DELETE_STREAMS: delete_streams,
    op.UPDATE_STREAMS: update_streams,
    op.DESCRIBE_STREAMS: describe_streams,
    op.DESCRIBE_PM_CLUSTER: describe_cluster,
}
DATA_NODE: Mapping[int, Callable[[Ask], Reply]] = {
    op.HEARTBEAT: heartbeat,
    APPEND: append,
    FETCH: fetch,
    op.SEAL_RANGES: seal_ranges,
    op.DESCRIBE_RANGES: describe_ranges,
}
