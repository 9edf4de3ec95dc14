"""Calls about key-value tables."""

from collections.abc import Mapping

from wiretool.protocols.pravega.server.tokens import Permission
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.context import Call, Context, said, segment_range, told
from wiretool.protocols.pravega_controller.server.refused import Refused
from wiretool.protocols.pravega_controller.server.streams import StreamSegment


def create_key_value_table(
    context: Context, request: pb.KeyValueTableConfig, now_ns: int
) -> pb.CreateKeyValueTableStatus:
    """Make a table."""
    return told(pb.CreateKeyValueTableStatus, lambda: context.state.tables.create(request, now_ns))


def get_current_segments(context: Context, request: pb.KeyValueTableInfo, now_ns: int) -> pb.SegmentRanges:
    """Tell the segments of a table; in the store their names have a suffix behind the table's."""
    ranges = context.state.tables.find(request.scope, request.kvtName).ranges
    segments = [StreamSegment(number, 0, keys) for number, keys in enumerate(ranges)]
    return pb.SegmentRanges(
        segmentRanges=[segment_range(request.scope, request.kvtName, segment) for segment in segments],
        delegationToken=context.token(request.scope, request.kvtName, Permission.READ_UPDATE, now_ns),
    )


def list_key_value_tables(
    context: Context, request: pb.KVTablesInScopeRequest, now_ns: int
) -> pb.KVTablesInScopeResponse:
    """Name the tables of a scope."""
    scope = request.scope.scope
    try:
        page = context.state.tables.page(scope, request.continuationToken.token)
    except Refused as refused:
        return said(pb.KVTablesInScopeResponse, refused)
    return pb.KVTablesInScopeResponse(
        kvtables=[pb.KeyValueTableInfo(scope=scope, kvtName=name) for name in page.names],
        continuationToken=pb.ContinuationToken(token=page.token),
    )


def get_key_value_table_configuration(
    context: Context, request: pb.KeyValueTableInfo, now_ns: int
) -> pb.KeyValueTableConfigResponse:
    """Tell a table's configuration."""
    try:
        return pb.KeyValueTableConfigResponse(config=context.state.tables.find(request.scope, request.kvtName).config)
    except Refused as refused:
        return said(pb.KeyValueTableConfigResponse, refused)


def delete_key_value_table(context: Context, request: pb.KeyValueTableInfo, now_ns: int) -> pb.DeleteKVTableStatus:
    """Remove a table."""
    delete = context.state.tables.delete
    return told(pb.DeleteKVTableStatus, lambda: delete(request.scope, request.kvtName, now_ns))


CALLS: Mapping[str, Call] = {
    "createKeyValueTable": create_key_value_table,
    "getCurrentSegmentsKeyValueTable": get_current_segments,
    "listKeyValueTablesInScope": list_key_value_tables,
    "getKeyValueTableConfiguration": get_key_value_table_configuration,
    "deleteKeyValueTable": delete_key_value_table,
}
