"""The commands of every connection: greeting, appends, reads. Segments, tables and failures have files of their own.

Codes, directions and layouts are those of wire version 17; `since` is the wire version that brought a command or a
field, as far as it is known.
"""

from typing import Annotated

from wiretool.codec.message import Doc, IfLeft, Message, Position, Since, Unit, message
from wiretool.codec.types import I32, I64, Bytes32, Flag, Rest, SizedBytes
from wiretool.protocols.pravega.structures import (
    EVENT_TYPE,
    EventFrame,
    InnerEvent,
    LateRequestId,
    Offset,
    RequestId,
    SegmentName,
    SegmentOffset,
    Token,
    WriterId,
    Zeros,
)

_Data = Annotated[bytes, SizedBytes(negative_is_empty=True)]
_EventNumber = Annotated[I64, Doc("number of the last event in it; numbers of a writer only grow")]
#: A place in the segment of the writer, which only its SetupAppend names.
_OF_WRITER = Position("segment", "segment")


@message(type_id=-(2**31), spec="WireCommandType.java: no such command", sender="both", name="Unknown")
class Unknown(Message, frozen=True, kw_only=True):
    """A frame whose type names no command; it keeps its bytes, and the type that stood in its header."""

    type: Annotated[I32, Doc("the type in the header of the frame")]
    data: Rest


@message(type_id=-127, spec="WireCommands.java Hello", sender="both", since=1)
class Hello(Message, frozen=True, kw_only=True):
    """The wire versions that this side supports; the first frame of both sides, although servers do not require it."""

    high_version: Annotated[I32, Doc("the newest version known; it changes no encoding")]
    low_version: Annotated[I32, Doc("the oldest version that will do")]


@message(type_id=-1, spec="WireCommands.java Padding", sender="block")
class Padding(Message, frozen=True, kw_only=True):
    """Fills the unused rest of an append block; outside a block it is dropped."""

    length: Annotated[int, Zeros(), Unit("bytes")]


@message(type_id=-2, spec="WireCommands.java PartialEvent; Wire Protocol, Partial Event", sender="block")
class PartialEvent(Message, frozen=True, kw_only=True):
    """The beginning of an event that did not fit its append block; only the last thing inside a block."""

    data: Annotated[Rest, Doc("first bytes of the event, from its 8-byte header on; AppendBlockEnd has the others")]


@message(type_id=EVENT_TYPE, spec="WireCommands.java Event; Wire Protocol, Event - Request", sender="block")
class Event(Message, frozen=True, kw_only=True):
    """An event; only inside an append block, and stored with its header."""

    data: Rest


@message(type_id=1, spec="WireCommands.java SetupAppend; Wire Protocol, Setup Append - Request", sender="client")
class SetupAppend(Message, frozen=True, kw_only=True):
    """Binds a writer to a segment on this connection, and asks for its last stored event number."""

    request_id: RequestId
    writer_id: WriterId
    segment: SegmentName
    delegation_token: Token = ""


@message(type_id=2, spec="WireCommands.java AppendSetup; Wire Protocol, Append Setup - Reply", sender="server")
class AppendSetup(Message, frozen=True, kw_only=True):
    """The writer may append; everything up to `last_event_number` is stored."""

    request_id: RequestId
    segment: SegmentName
    writer_id: WriterId
    last_event_number: Annotated[
        I64, Doc("the last number of this writer in this segment; -9223372036854775808 where there is none")
    ]


@message(type_id=3, spec="WireCommands.java AppendBlock; Wire Protocol, AppendBlock - Request", sender="client")
class AppendBlock(Message, frozen=True, kw_only=True, gc=False):
    """Opens a block of events of one writer; AppendBlockEnd closes it."""

    writer_id: WriterId
    data: Annotated[Rest, Doc("EVENT frames, then at most one PADDING or PARTIAL_EVENT frame")]


@message(type_id=4, spec="WireCommands.java AppendBlockEnd; Wire Protocol, AppendBlockEnd - Request", sender="client")
class AppendBlockEnd(Message, frozen=True, kw_only=True, gc=False):
    """Closes the open block; without one it is a whole append by itself."""

    writer_id: WriterId
    size_of_whole_events: Annotated[I32, Unit("bytes"), Doc("how much of the block is whole events")]
    data: Annotated[_Data, Doc("the rest of the event that was cut; without an open block everything")]
    num_events: Annotated[I32, Unit("events"), Doc("events in the append, those of no bytes too")]
    last_event_number: _EventNumber
    request_id: LateRequestId = -1


@message(type_id=5, spec="WireCommands.java ConditionalAppend", sender="client")
class ConditionalAppend(Message, frozen=True, kw_only=True):
    """Appends one event if the segment is exactly `expected_offset` long."""

    writer_id: WriterId
    event_number: _EventNumber
    expected_offset: Annotated[Offset, Doc("length that the segment must have; -1 for any"), _OF_WRITER]
    event: Annotated[InnerEvent, EventFrame()]
    request_id: LateRequestId = -1


@message(type_id=7, spec="WireCommands.java DataAppended; Wire Protocol, DataAppended - Reply", sender="server")
class DataAppended(Message, frozen=True, kw_only=True, gc=False):
    """Every event of the writer up to `event_number` is stored."""

    writer_id: WriterId
    event_number: _EventNumber
    previous_event_number: Annotated[
        I64, Since(3), IfLeft(8), Doc("event number in the previous ack; -9223372036854775808 for a new writer")
    ] = -1
    request_id: LateRequestId = -1
    current_segment_write_offset: Annotated[
        I64,
        Since(8),
        IfLeft(8),
        Unit("bytes"),
        Doc("length of the segment after this append; -1 from older servers"),
        _OF_WRITER,
    ] = -1


@message(type_id=8, spec="WireCommands.java ConditionalCheckFailed", sender="server")
class ConditionalCheckFailed(Message, frozen=True, kw_only=True):
    """A conditional append met another length; nothing was stored. Not flagged as a failure."""

    writer_id: WriterId
    event_number: _EventNumber
    request_id: LateRequestId = -1


@message(type_id=9, spec="WireCommands.java ReadSegment; Wire Protocol, Read Segment - Request", sender="client")
class ReadSegment(Message, frozen=True, kw_only=True):
    """Asks for bytes of a segment; at the end of an open segment the answer waits for more."""

    segment: SegmentName
    offset: Annotated[SegmentOffset, Doc("where to read from")]
    suggested_length: Annotated[I32, Unit("bytes"), Doc("how much to send; the server takes 8 bytes to 2 MiB of it")]
    delegation_token: Token = ""
    request_id: LateRequestId = -1


@message(type_id=10, spec="WireCommands.java SegmentRead; Wire Protocol, Segment Read - Reply", sender="server")
class SegmentRead(Message, frozen=True, kw_only=True, gc=False):
    """Bytes of a segment, as they are stored: events with their headers."""

    segment: SegmentName
    offset: Annotated[SegmentOffset, Doc("where the data begins, as it was asked")]
    at_tail: Annotated[Flag, Doc("the data reaches the end that the segment has now; false where that is not known")]
    end_of_segment: Annotated[Flag, Doc("the segment is sealed and ends here")]
    data: Bytes32
    request_id: LateRequestId = -1


@message(type_id=89, spec="WireCommands.java ConditionalBlockEnd", sender="client", since=11)
class ConditionalBlockEnd(Message, frozen=True, kw_only=True, gc=False):
    """Appends raw bytes if the segment is exactly `expected_offset` long; for events over 8 MiB and byte streams."""

    writer_id: WriterId
    event_number: _EventNumber
    expected_offset: Annotated[Offset, Doc("length that the segment must have; -1 for any"), _OF_WRITER]
    data: Annotated[_Data, Doc("stored as it is, no event header is added")]
    request_id: RequestId


@message(type_id=100, spec="WireCommands.java KeepAlive; Wire Protocol (2017), KeepAlive", sender="both")
class KeepAlive(Message, frozen=True, kw_only=True):
    """Nothing, to show that one is there; it also flushes an open append block. The server answers with another."""


MESSAGES: tuple[type[Message], ...] = (
    Hello,
    Padding,
    PartialEvent,
    Event,
    SetupAppend,
    AppendSetup,
    AppendBlock,
    AppendBlockEnd,
    ConditionalAppend,
    DataAppended,
    ConditionalCheckFailed,
    ReadSegment,
    SegmentRead,
    ConditionalBlockEnd,
    KeepAlive,
)
