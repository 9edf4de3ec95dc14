"""What a request is refused with: the protocol's own word where there is one, else the connection is closed."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec.message import Message
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.failures import (
    NoSuchSegment,
    SegmentAlreadyExists,
    SegmentIsSealed,
    SegmentIsTruncated,
)
from wiretool.protocols.pravega.messages import ReadSegment
from wiretool.protocols.pravega.segments import (
    MergeSegments,
    SegmentAttributeUpdated,
    TruncateSegment,
)
from wiretool.protocols.pravega.server.segments import (
    AttributeConflict,
    BadOffset,
    Refusal,
    SegmentExists,
    SegmentSealed,
)
from wiretool.protocols.pravega.session import SEGMENT_FIELD

#: The segment that a failure names, for each request; of a merge it is the source, though the target be the trouble.
NAMED_FIELD: Mapping[type[Message], str] = {**SEGMENT_FIELD, MergeSegments: "source"}
_OFFSET_FIELD: Mapping[type[Message], str] = {ReadSegment: "offset", TruncateSegment: "truncation_offset"}


def failure(refusal: Refusal, request: Any) -> Message:
    """The reply to a request that cannot be done."""
    cls = type(request)
    request_id, segment = request.request_id, getattr(request, NAMED_FIELD[cls])
    offset = getattr(request, _OFFSET_FIELD[cls]) if cls in _OFFSET_FIELD else -1
    match refusal:
        case SegmentExists():
            return SegmentAlreadyExists(request_id=request_id, segment=segment)
        case SegmentSealed():
            return SegmentIsSealed(request_id=request_id, segment=segment, offset=offset)
        case BadOffset():
            return SegmentIsTruncated(
                request_id=request_id, segment=segment, start_offset=refusal.expected, offset=refusal.offset
            )
        case AttributeConflict():
            return SegmentAttributeUpdated(request_id=request_id, success=False)
    return NoSuchSegment(request_id=request_id, segment=segment, offset=offset)


def violation(kind: str, why: str, message: str, phase: str = "idle") -> ProtocolViolation:
    """What the real server answers with nothing but the end of the connection."""
    return ProtocolViolation(kind, why, phase=phase, side="client", message=message)
