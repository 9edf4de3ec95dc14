"""The replies that say no. The connection stays open after most of them."""

from typing import Annotated

from wiretool.codec.message import Doc, IfLeft, Message, Position, Since, Unit, Varies, message
from wiretool.codec.types import I32, I64, Text
from wiretool.protocols.pravega.structures import (
    LateOffset,
    LateStackTrace,
    RequestId,
    SegmentName,
    SegmentOffset,
    StackTrace,
    WriterId,
)


@message(type_id=50, spec="WireCommands.java WrongHost", sender="server", failure=True)
class WrongHost(Message, frozen=True, kw_only=True):
    """Another store has the container of this segment."""

    request_id: RequestId
    segment: SegmentName
    correct_host: Annotated[Text, Doc("meant for the right one; the server leaves it empty"), Varies()]
    server_stack_trace: LateStackTrace = ""


@message(type_id=51, spec="WireCommands.java SegmentIsSealed", sender="server", failure=True)
class SegmentIsSealed(Message, frozen=True, kw_only=True):
    """The segment is sealed; also the reply to a read that waits at its end."""

    request_id: RequestId
    segment: SegmentName
    server_stack_trace: LateStackTrace = ""
    offset: LateOffset = -1


@message(type_id=52, spec="WireCommands.java SegmentAlreadyExists", sender="server", failure=True)
class SegmentAlreadyExists(Message, frozen=True, kw_only=True):
    """A segment of this name is there already."""

    request_id: RequestId
    segment: SegmentName
    server_stack_trace: LateStackTrace = ""


@message(type_id=53, spec="WireCommands.java NoSuchSegment", sender="server", failure=True)
class NoSuchSegment(Message, frozen=True, kw_only=True):
    """No segment has this name."""

    request_id: RequestId
    segment: SegmentName
    server_stack_trace: LateStackTrace = ""
    offset: LateOffset = -1


@message(type_id=55, spec="WireCommands.java InvalidEventNumber", sender="server", since=1, failure=True)
class InvalidEventNumber(Message, frozen=True, kw_only=True):
    """Another connection moved the writer's number on; this one is closed."""

    writer_id: WriterId
    request_id: Annotated[RequestId, Doc("chosen by the client; before version 16 the event number stood here")]
    server_stack_trace: LateStackTrace = ""
    event_number: Annotated[I64, Since(16), IfLeft(8), Doc("of the append that was refused")] = -1


@message(type_id=56, spec="WireCommands.java SegmentIsTruncated", sender="server", since=2, failure=True)
class SegmentIsTruncated(Message, frozen=True, kw_only=True):
    """The offset lies before the beginning of the segment, or is wrong in another way."""

    request_id: RequestId
    segment: SegmentName
    start_offset: Annotated[SegmentOffset, Doc("the offset that the store expected")]
    server_stack_trace: LateStackTrace = ""
    offset: Annotated[
        I64, Since(8), IfLeft(8), Unit("bytes"), Doc("the offset that was given"), Position("segment", "segment")
    ] = -1


@message(type_id=57, spec="WireCommands.java OperationUnsupported", sender="server", since=4, failure=True)
class OperationUnsupported(Message, frozen=True, kw_only=True):
    """The store cannot do this."""

    request_id: RequestId
    operation_name: Text
    server_stack_trace: LateStackTrace = ""


@message(type_id=60, spec="WireCommands.java AuthTokenCheckFailed", sender="server", since=5, failure=True)
class AuthTokenCheckFailed(Message, frozen=True, kw_only=True):
    """The delegation token does not allow this."""

    request_id: Annotated[I64, Doc("chosen by the client; in answer to ReadSegment the offset stands here")]
    server_stack_trace: LateStackTrace = ""
    error_code: Annotated[I32, Since(9), IfLeft(4), Doc("-1 unspecified, 0 the check failed, 1 the token expired")] = -1


@message(type_id=61, spec="WireCommands.java ErrorMessage", sender="server", failure=True)
class ErrorMessage(Message, frozen=True, kw_only=True):
    """Another failure, in words."""

    request_id: RequestId
    segment: SegmentName
    message: Annotated[Text, Varies()]
    error_code: Annotated[I32, Doc("-1 unspecified, 0 illegal argument")]


@message(type_id=80, spec="WireCommands.java TableSegmentNotEmpty", sender="server", since=7, failure=True)
class TableSegmentNotEmpty(Message, frozen=True, kw_only=True):
    """The table segment was to be deleted only if empty, and is not."""

    request_id: RequestId
    segment: SegmentName
    server_stack_trace: StackTrace


@message(type_id=81, spec="WireCommands.java TableKeyDoesNotExist", sender="server", since=7, failure=True)
class TableKeyDoesNotExist(Message, frozen=True, kw_only=True):
    """A key with a version is not in the table."""

    request_id: RequestId
    segment: SegmentName
    server_stack_trace: StackTrace


@message(type_id=82, spec="WireCommands.java TableKeyBadVersion", sender="server", since=7, failure=True)
class TableKeyBadVersion(Message, frozen=True, kw_only=True):
    """A key has another version in the table."""

    request_id: RequestId
    segment: SegmentName
    server_stack_trace: StackTrace


MESSAGES: tuple[type[Message], ...] = (
    WrongHost,
    SegmentIsSealed,
    SegmentAlreadyExists,
    NoSuchSegment,
    InvalidEventNumber,
    SegmentIsTruncated,
    OperationUnsupported,
    AuthTokenCheckFailed,
    ErrorMessage,
    TableSegmentNotEmpty,
    TableKeyDoesNotExist,
    TableKeyBadVersion,
)
