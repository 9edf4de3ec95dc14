"""Calls about reader groups and the streams they subscribe to."""

from collections.abc import Mapping

from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.context import Call, Context, said, told
from wiretool.protocols.pravega_controller.server.refused import Refused


def create_reader_group(
    context: Context, request: pb.ReaderGroupConfiguration, now_ns: int
) -> pb.CreateReaderGroupResponse:
    """Make a reader group, or tell the configuration of the one that is there."""
    try:
        return pb.CreateReaderGroupResponse(config=context.state.reader_groups.create(request, now_ns))
    except Refused as refused:
        return said(pb.CreateReaderGroupResponse, refused)


def get_reader_group_config(context: Context, request: pb.ReaderGroupInfo, now_ns: int) -> pb.ReaderGroupConfigResponse:
    """Tell a group's configuration. A missing scope fails the call, as in the other calls about a group."""
    context.state.scopes.find(request.scope)
    try:
        config = context.state.reader_groups.config(request.scope, request.readerGroup)
    except Refused as refused:
        answer = said(pb.ReaderGroupConfigResponse, refused)
        answer.config.SetInParent()
        return answer
    return pb.ReaderGroupConfigResponse(config=config)


def update_reader_group(
    context: Context, request: pb.ReaderGroupConfiguration, now_ns: int
) -> pb.UpdateReaderGroupResponse:
    """Give a group another configuration; a refusal names the generation that was asked with."""
    try:
        return pb.UpdateReaderGroupResponse(generation=context.state.reader_groups.update(request))
    except Refused as refused:
        answer = said(pb.UpdateReaderGroupResponse, refused)
        answer.generation = request.generation
        return answer


def delete_reader_group(context: Context, request: pb.ReaderGroupInfo, now_ns: int) -> pb.DeleteReaderGroupStatus:
    """Remove a group."""
    context.state.scopes.find(request.scope)
    delete = context.state.reader_groups.delete
    return told(
        pb.DeleteReaderGroupStatus,
        lambda: delete(request.scope, request.readerGroup, request.readerGroupId, now_ns),
    )


def list_subscribers(context: Context, request: pb.StreamInfo, now_ns: int) -> pb.SubscribersResponse:
    """Name the groups that tell how far they have read a stream."""
    context.state.scopes.find(request.scope)
    try:
        names = context.state.reader_groups.subscribers(request.scope, request.stream)
    except Refused as refused:
        return said(pb.SubscribersResponse, refused)
    return pb.SubscribersResponse(subscribers=names)


def update_subscriber_stream_cut(
    context: Context, request: pb.SubscriberStreamCut, now_ns: int
) -> pb.UpdateSubscriberStatus:
    """Keep how far a group has read a stream."""
    info, cut = request.streamCut.streamInfo, dict(request.streamCut.cut)
    context.state.scopes.find(info.scope)
    note = context.state.reader_groups.note_cut
    return told(
        pb.UpdateSubscriberStatus,
        lambda: note(info.scope, info.stream, request.subscriber, request.readerGroupId, request.generation, cut),
    )


CALLS: Mapping[str, Call] = {
    "createReaderGroup": create_reader_group,
    "getReaderGroupConfig": get_reader_group_config,
    "updateReaderGroup": update_reader_group,
    "deleteReaderGroup": delete_reader_group,
    "listSubscribers": list_subscribers,
    "updateSubscriberStreamCut": update_subscriber_stream_cut,
}
