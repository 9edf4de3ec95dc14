"""Calls about the segments of a stream, and how they follow each other."""

from collections.abc import Mapping

from wiretool.protocols.pravega.server.tokens import Permission
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code
from wiretool.protocols.pravega_controller.server.context import Call, Context, said, segment_range, stream_info
from wiretool.protocols.pravega_controller.server.refused import Refused
from wiretool.protocols.pravega_controller.server.streams import KeyRange, Stream


def _stream(context: Context, info: pb.StreamInfo) -> Stream:
    return context.state.scopes.stream(info.scope, info.stream)


def _token(context: Context, info: pb.StreamInfo, now_ns: int, permission: Permission = Permission.READ_UPDATE) -> str:
    """The token that older clients take from the answer; newer ones say NONE and ask for it alone."""
    if info.accessOperation == pb.StreamInfo.NONE:
        return ""
    return context.token(info.scope, info.stream, permission, now_ns)


def get_current_segments(context: Context, request: pb.StreamInfo, now_ns: int) -> pb.SegmentRanges:
    """Tell the segments that take events; a sealed stream has none."""
    stream = _stream(context, request)
    segments = () if stream.is_sealed else stream.active.segments
    return pb.SegmentRanges(
        segmentRanges=[segment_range(request.scope, request.stream, segment) for segment in segments],
        delegationToken=_token(context, request, now_ns),
    )


def get_epoch_segments(context: Context, request: pb.GetEpochSegmentsRequest, now_ns: int) -> pb.SegmentRanges:
    """Tell the segments of an epoch."""
    info = request.streamInfo
    segments = _stream(context, info).epoch(request.epoch).segments
    return pb.SegmentRanges(
        segmentRanges=[segment_range(info.scope, info.stream, segment) for segment in segments],
        delegationToken=_token(context, info, now_ns),
    )


def get_segments(context: Context, request: pb.GetSegmentsRequest, now_ns: int) -> pb.SegmentsAtTime:
    """Tell where a stream begins, whatever the timestamp, as the real controller does."""
    info = request.streamInfo
    stream = context.state.streams.settled(info.scope, info.stream, now_ns)
    locations = [
        pb.SegmentsAtTime.SegmentLocation(segmentId=_segment_id(info, segment), offset=offset)
        for segment, offset in stream.head().items()
    ]
    return pb.SegmentsAtTime(segments=locations, delegationToken=_token(context, info, now_ns))


def get_successors(context: Context, request: pb.SegmentId, now_ns: int) -> pb.SuccessorResponse:
    """Tell the segments that go on where one ended; none: it is active, or the stream is sealed."""
    info = request.streamInfo
    entries = [
        pb.SuccessorResponse.SegmentEntry(segment=segment_range(info.scope, info.stream, segment), value=predecessors)
        for segment, predecessors in _stream(context, info).successors(request.segmentId)
    ]
    return pb.SuccessorResponse(segments=entries)


def get_segments_between(context: Context, request: pb.StreamCutRange, now_ns: int) -> pb.StreamCutRangeResponse:
    """Tell the segments between two cuts."""
    info, begin, end = request.streamInfo, dict(getattr(request, "from")), dict(request.to)
    if not begin and not end:
        raise CallFailed(Code.INTERNAL, "Internal exception occurred")
    stream = context.state.streams.settled(info.scope, info.stream, now_ns)
    return pb.StreamCutRangeResponse(
        segments=[_segment_id(info, segment.id) for segment in stream.between(begin, end)],
        delegationToken=_token(context, info, now_ns, Permission.READ),
    )


def is_segment_valid(context: Context, request: pb.SegmentId, now_ns: int) -> pb.SegmentValidityResponse:
    """Tell whether a segment takes events."""
    stream = _stream(context, request.streamInfo)
    is_active = any(segment.id == request.segmentId for segment in stream.active.segments)
    return pb.SegmentValidityResponse(response=is_active and not stream.is_sealed)


def is_stream_cut_valid(context: Context, request: pb.StreamCut, now_ns: int) -> pb.StreamCutValidityResponse:
    """Tell whether segments and offsets are a cut of the stream."""
    return pb.StreamCutValidityResponse(response=_stream(context, request.streamInfo).is_cut(dict(request.cut)))


def get_uri(context: Context, request: pb.SegmentId, now_ns: int) -> pb.NodeUri:
    """Tell where the store of a segment is, though there be no such segment: the Rust client makes its own tables."""
    host, port = context.store
    return pb.NodeUri(endpoint=host, port=port)


def scale(context: Context, request: pb.ScaleRequest, now_ns: int) -> pb.ScaleResponse:
    """Replace segments. The epoch of the answer is the one that ends, for which checkScale is to be asked."""
    info = request.streamInfo
    ranges = [KeyRange(keys.start, keys.end) for keys in request.newKeyRanges]
    try:
        epoch = _stream(context, info).active.number
        new = context.state.scale(info.scope, info.stream, request.sealedSegments, ranges, now_ns)
    except Refused as refused:
        return said(pb.ScaleResponse, refused)
    return pb.ScaleResponse(segments=[segment_range(info.scope, info.stream, segment) for segment in new], epoch=epoch)


def check_scale(context: Context, request: pb.ScaleStatusRequest, now_ns: int) -> pb.ScaleStatusResponse:
    """Tell whether a stream has left an epoch."""
    try:
        active = _stream(context, request.streamInfo).active
    except Refused:
        return pb.ScaleStatusResponse(status=pb.ScaleStatusResponse.INVALID_INPUT)
    if not 0 <= request.epoch <= active.number:
        return pb.ScaleStatusResponse(status=pb.ScaleStatusResponse.INVALID_INPUT)
    is_in_progress = request.epoch in (active.number, active.reference)
    status = pb.ScaleStatusResponse.IN_PROGRESS if is_in_progress else pb.ScaleStatusResponse.SUCCESS
    return pb.ScaleStatusResponse(status=status)


def _segment_id(info: pb.StreamInfo, segment: int) -> pb.SegmentId:
    return pb.SegmentId(streamInfo=stream_info(info.scope, info.stream), segmentId=segment)


CALLS: Mapping[str, Call] = {
    "getCurrentSegments": get_current_segments,
    "getEpochSegments": get_epoch_segments,
    "getSegments": get_segments,
    "getSegmentsImmediatlyFollowing": get_successors,
    "getSegmentsImmediatelyFollowing": get_successors,
    "getSegmentsBetween": get_segments_between,
    "isSegmentValid": is_segment_valid,
    "isStreamCutValid": is_stream_cut_valid,
    "getURI": get_uri,
    "scale": scale,
    "checkScale": check_scale,
}
