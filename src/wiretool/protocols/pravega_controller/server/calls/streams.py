"""Calls about streams as a whole."""

from collections.abc import Mapping

from wiretool.protocols.pravega.server.tokens import Permission
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.context import Call, Context, said, stream_info, told
from wiretool.protocols.pravega_controller.server.paging import Page
from wiretool.protocols.pravega_controller.server.refused import Refused


def create_stream(context: Context, request: pb.StreamConfig, now_ns: int) -> pb.CreateStreamStatus:
    """Make a stream."""
    return told(pb.CreateStreamStatus, lambda: context.state.streams.create(request, now_ns))


def update_stream(context: Context, request: pb.StreamConfig, now_ns: int) -> pb.UpdateStreamStatus:
    """Give a stream another configuration."""
    return told(pb.UpdateStreamStatus, lambda: context.state.streams.update(request, now_ns))


def truncate_stream(context: Context, request: pb.StreamCut, now_ns: int) -> pb.UpdateStreamStatus:
    """Drop what lies before a cut."""
    info = request.streamInfo
    truncate = context.state.streams.truncate
    return told(pb.UpdateStreamStatus, lambda: truncate(info.scope, info.stream, dict(request.cut), now_ns))


def seal_stream(context: Context, request: pb.StreamInfo, now_ns: int) -> pb.UpdateStreamStatus:
    """Let a stream take no more events."""
    return told(pb.UpdateStreamStatus, lambda: context.state.streams.seal(request.scope, request.stream, now_ns))


def delete_stream(context: Context, request: pb.StreamInfo, now_ns: int) -> pb.DeleteStreamStatus:
    """Remove a sealed stream."""
    return told(pb.DeleteStreamStatus, lambda: context.state.streams.delete(request.scope, request.stream, now_ns))


def get_stream_configuration(context: Context, request: pb.StreamInfo, now_ns: int) -> pb.StreamConfig:
    """Tell a stream's configuration."""
    return context.state.scopes.stream(request.scope, request.stream).config


def check_stream_exists(context: Context, request: pb.StreamInfo, now_ns: int) -> pb.ExistsResponse:
    """Tell whether a stream is there."""
    return pb.ExistsResponse(exists=context.state.scopes.has_stream(request.scope, request.stream))


def list_streams_in_scope(
    context: Context, request: pb.StreamsInScopeRequest, now_ns: int
) -> pb.StreamsInScopeResponse:
    """Name the streams of a scope, those of the controller and of reader groups too."""
    try:
        streams = context.state.scopes.find(request.scope.scope).streams
        return _streams(request.scope.scope, streams.page(request.continuationToken.token))
    except Refused as refused:
        return said(pb.StreamsInScopeResponse, refused)


def list_streams_in_scope_for_tag(
    context: Context, request: pb.StreamsInScopeWithTagRequest, now_ns: int
) -> pb.StreamsInScopeResponse:
    """Name the streams of a scope that have a tag."""
    try:
        streams = context.state.scopes.find(request.scope.scope).streams
        page = streams.page(request.continuationToken.token, lambda stream: request.tag in stream.config.tags.tag)
        return _streams(request.scope.scope, page)
    except Refused as refused:
        return said(pb.StreamsInScopeResponse, refused)


def _streams(scope: str, page: Page) -> pb.StreamsInScopeResponse:
    token = pb.ContinuationToken(token=page.token)
    streams = [stream_info(scope, name) for name in page.names]
    return pb.StreamsInScopeResponse(streams=streams, continuationToken=token)


def get_delegation_token(context: Context, request: pb.StreamInfo, now_ns: int) -> pb.DelegationToken:
    """Give a token for the store. Clients that do not say what for, write with it too."""
    permission = Permission.READ if request.accessOperation == pb.StreamInfo.READ else Permission.READ_UPDATE
    return pb.DelegationToken(delegationToken=context.token(request.scope, request.stream, permission, now_ns))


def note_timestamp_from_writer(context: Context, request: pb.TimestampFromWriter, now_ns: int) -> pb.TimestampResponse:
    """Keep how far a writer is by its own clock."""
    info, cut = request.position.streamInfo, dict(request.position.cut)
    note = context.state.writer_marks.note
    context.state.scopes.stream(info.scope, info.stream)
    return told(
        pb.TimestampResponse,
        lambda: note(info.scope, info.stream, request.writer, request.timestamp, cut, now_ns),
        "result",
    )


def remove_writer(context: Context, request: pb.RemoveWriterRequest, now_ns: int) -> pb.RemoveWriterResponse:
    """Forget how far a writer was."""
    info = request.stream
    remove = context.state.writer_marks.remove
    return told(pb.RemoveWriterResponse, lambda: remove(info.scope, info.stream, request.writer), "result")


CALLS: Mapping[str, Call] = {
    "createStream": create_stream,
    "updateStream": update_stream,
    "truncateStream": truncate_stream,
    "sealStream": seal_stream,
    "deleteStream": delete_stream,
    "getStreamConfiguration": get_stream_configuration,
    "checkStreamExists": check_stream_exists,
    "listStreamsInScope": list_streams_in_scope,
    "listStreamsInScopeForTag": list_streams_in_scope_for_tag,
    "getDelegationToken": get_delegation_token,
    "noteTimestampFromWriter": note_timestamp_from_writer,
    "removeWriter": remove_writer,
}
