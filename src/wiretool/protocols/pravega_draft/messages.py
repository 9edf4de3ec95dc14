"""The messages of the 2017 "Streaming Service Wire Protocol", none of which was ever in code as it stands there.

The document gives no type codes, no errors and no layout below whole bytes; what was decided in their place is S1 to
S19 in SOURCES.md.
"""

from typing import Annotated

from wiretool.codec.cursor import Cursor
from wiretool.codec.layouts import Bit
from wiretool.codec.message import Doc, Message, Named, Position, Unit, message
from wiretool.codec.types import I32, I64, Bool, NamedByte, Rest, Text, UuidText
from wiretool.errors import DecodeError
from wiretool.protocols.pravega.structures import Zeros

_SPEC = "Streaming Service Wire Protocol (2017), "

_ConnectionId = Annotated[UuidText, Doc("names the appender; several may share one TCP connection"), Named("appender")]
_Segment = Annotated[Text, Doc("name of the segment"), Named("segment")]
_ConnectionOffset = Annotated[I64, Unit("bytes"), Position("connection offset", "connection_id", besides=())]

_AT_TAIL = 0x80
_END_OF_SEGMENT = 0x40


class HighBit(Bool):
    """The first bit of a byte whose second is the next field, and whose other six must be zero (S5)."""

    name = "bit 7"
    form = ""
    layout = Bit(_AT_TAIL, is_next_byte=True, reserved=0xFF & ~(_AT_TAIL | _END_OF_SEGMENT))

    def read(self, cursor: Cursor, path: str) -> bool:
        start = cursor.at
        flags = cursor.take(1, path)[0]
        if flags & ~(_AT_TAIL | _END_OF_SEGMENT):
            cursor.at = start
            raise DecodeError(
                "reserved-bits-set", f"flags of 0x{flags:02x}, only 0xc0 are given", path=path, offset=start
            )
        cursor.note(start, path, self.name, bool(flags & _AT_TAIL))
        return bool(flags & _AT_TAIL)

    def write(self, value: bool, out: bytearray, path: str) -> None:
        out.append(_AT_TAIL * self.from_json(value, path))


class NextBit(Bool):
    """The second bit of the byte that the field before it took."""

    name = "bit 6"
    form = ""
    size_min = 0
    layout = Bit(_END_OF_SEGMENT, is_next_byte=False)

    def read(self, cursor: Cursor, path: str) -> bool:
        value = bool(cursor.data[cursor.at - 1] & _END_OF_SEGMENT)
        cursor.note(cursor.at, path, self.name, value)
        return value

    def write(self, value: bool, out: bytearray, path: str) -> None:
        if self.from_json(value, path):
            out[-1] |= _END_OF_SEGMENT


@message(type_id=-(2**31), spec=_SPEC + "Protocol: no such message; S1", sender="both", name="Unknown")
class Unknown(Message, frozen=True, kw_only=True):
    """A frame whose type names no message; it keeps its bytes, and the type that stood in its header."""

    type: Annotated[I32, Doc("the type in the header of the frame")]
    data: Rest


@message(type_id=-2, spec=_SPEC + "Partial Message - Request/Reply; S1 to S4", sender="both")
class PartialMessage(Message, frozen=True, kw_only=True):
    """A piece of a message that was broken up: all the pieces in a row are one whole frame, header included."""

    part: Annotated[str, NamedByte({0: "BEGIN", 1: "MIDDLE", 2: "END"}, kind="bad-partial-marker")]
    data: Rest


@message(type_id=-1, spec="WireCommands.java Padding (2016); S12", sender="client")
class Padding(Message, frozen=True, kw_only=True):
    """Fills the unused rest of an append block."""

    length: Annotated[int, Zeros(), Unit("bytes")]


@message(type_id=0, spec=_SPEC + "Event - Request; S1", sender="client")
class Event(Message, frozen=True, kw_only=True):
    """An event; only valid inside an append block."""

    data: Rest


@message(type_id=1, spec=_SPEC + "Setup Append - Request; S1", sender="client")
class SetupAppend(Message, frozen=True, kw_only=True):
    """Binds an appender to a segment, and asks for its last stored offset."""

    connection_id: _ConnectionId
    segment: _Segment


@message(type_id=2, spec=_SPEC + "Append Setup - Reply; S1", sender="server")
class AppendSetup(Message, frozen=True, kw_only=True):
    """The appender may append."""

    segment: _Segment
    connection_id: _ConnectionId
    connection_offset_ack_level: Annotated[
        _ConnectionOffset, Doc("the last offset received and stored for this appender; 0 for a new one")
    ]


@message(type_id=3, spec=_SPEC + "BeginAppendBlock - Request; S7, S8, S10", sender="client")
class BeginAppendBlock(Message, frozen=True, kw_only=True):
    """A block of events begins; its bytes are the frames that follow. Also called BeginEventBlock (S19)."""

    connection_id: _ConnectionId
    connection_offset: Annotated[_ConnectionOffset, Doc("stored bytes written by this appender before the block")]
    length: Annotated[I32, Unit("bytes"), Doc("bytes between this frame and the EndAppendBlock")]


@message(type_id=4, spec=_SPEC + "EndAppendBlock - Request; S10, S11", sender="client")
class EndAppendBlock(Message, frozen=True, kw_only=True):
    """The block ends; the rest of a cut event may follow. Also called EndEventBlock (S19)."""

    connection_id: _ConnectionId
    connection_offset: Annotated[_ConnectionOffset, Doc("stored bytes written by this appender, the block included")]
    block_length: Annotated[I32, Unit("bytes"), Doc("stored bytes of the block, a cut event's rest included")]


@message(type_id=5, spec=_SPEC + "Data Appended - Reply; S1", sender="server")
class DataAppended(Message, frozen=True, kw_only=True):
    """Everything up to the offset is stored."""

    connection_id: _ConnectionId
    connection_offset_ack_level: _ConnectionOffset


@message(type_id=6, spec=_SPEC + "Read Segment - Request; S1", sender="client")
class ReadSegment(Message, frozen=True, kw_only=True):
    """Asks for bytes of a segment."""

    segment: _Segment
    offset: Annotated[I64, Unit("bytes"), Position("offset", "segment", besides=()), Doc("where to read from")]
    suggested_length: Annotated[I32, Unit("bytes"), Doc("requested number of bytes; the reply may have more or less")]


@message(type_id=7, spec=_SPEC + "Segment Read - Reply; S5, S6, S18", sender="server")
class SegmentRead(Message, frozen=True, kw_only=True):
    """Bytes of a segment; several may answer one request."""

    segment: _Segment
    offset: Annotated[I64, Unit("bytes"), Position("offset", "segment", besides=()), Doc("where the data begins")]
    at_tail: Annotated[bool, HighBit(), Doc("the data reaches the end that the segment has now")]
    end_of_segment: Annotated[bool, NextBit(), Doc("the segment is sealed and ends here")]
    data: Rest


@message(type_id=50, spec="WireCommands.java WrongHost (2016); S1", sender="server", failure=True)
class WrongHost(Message, frozen=True, kw_only=True):
    """Another host has this segment."""

    segment: _Segment
    correct_host: Text


@message(type_id=51, spec="WireCommands.java SegmentIsSealed (2016); S1", sender="server", failure=True)
class SegmentIsSealed(Message, frozen=True, kw_only=True):
    """The segment is sealed."""

    segment: _Segment


@message(type_id=52, spec="WireCommands.java SegmentAlreadyExists (2016); S1", sender="server", failure=True)
class SegmentAlreadyExists(Message, frozen=True, kw_only=True):
    """A segment of this name is there already."""

    segment: _Segment


@message(type_id=53, spec="WireCommands.java NoSuchSegment (2016); S1", sender="server", failure=True)
class NoSuchSegment(Message, frozen=True, kw_only=True):
    """No segment has this name."""

    segment: _Segment


@message(type_id=100, spec=_SPEC + "KeepAlive - Request/Reply; S16", sender="both")
class KeepAlive(Message, frozen=True, kw_only=True):
    """Shows that one is there."""

    data: Annotated[Rest, Doc("not interpreted, usually none")]


MESSAGES: tuple[type[Message], ...] = (
    PartialMessage,
    Padding,
    Event,
    SetupAppend,
    AppendSetup,
    BeginAppendBlock,
    EndAppendBlock,
    DataAppended,
    ReadSegment,
    SegmentRead,
    WrongHost,
    SegmentIsSealed,
    SegmentAlreadyExists,
    NoSuchSegment,
    KeepAlive,
)
