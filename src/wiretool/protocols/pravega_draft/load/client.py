"""The 2017 draft's appends as a load sends them: a block in one go, changed in place, acknowledged by byte.

Where an appender goes on stands in its segment, so that a block which is sent again is refused, not stored twice.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol
from uuid import UUID

from wiretool.codec.frames.patching import Slot, slot_of
from wiretool.codec.message import Message
from wiretool.codec.packed import layout
from wiretool.errors import DecodeError, Unmet
from wiretool.load.events import Head, Maker
from wiretool.load.link import Failed
from wiretool.load.request_client import ReplyFrames, Talk, refused, unreadable
from wiretool.protocols.pravega.framing import HEADER_BYTES, annotate
from wiretool.protocols.pravega_draft.framing import encode, extent
from wiretool.protocols.pravega_draft.messages import (
    AppendSetup,
    BeginAppendBlock,
    DataAppended,
    EndAppendBlock,
    Event,
    KeepAlive,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega_draft.server.appends import message_of

#: What one read asks for.
READ_BYTES = 2 * 1024 * 1024
#: What stands before an event in a segment, but for its length: events are stored as the frames that they come in.
HEAD = Head(Event.declaration.type_id.to_bytes(4, "big"))
_ACK = layout(DataAppended, "iI")
_ACK_TYPE = DataAppended.declaration.type_id
#: What an answer is that cannot be read.
STRANGER = "none of the draft"


def segment_name(run: str, number: int) -> str:
    """A segment of a run."""
    return f"bench-{run}/load/{number}"


class Store(Talk):
    """A connection to a store, and what is asked of it one by one."""

    stranger = STRANGER
    idle = KeepAlive

    @staticmethod
    def extent(data: bytes, at: int, end: int) -> int:
        return extent(data, at, end)

    @staticmethod
    def encoded(message: Message) -> bytes:
        return encode(message)

    @staticmethod
    def parsed(frame: bytes) -> Message:
        return message_of(frame)

    def set_up(self, connection_id: str, segment: str) -> int:
        """Bind an appender to a segment, which is made by that; the bytes of it that are stored."""
        setup = self.ask(SetupAppend(connection_id=connection_id, segment=segment), AppendSetup)
        return setup.connection_offset_ack_level

    def read(self, segment: str) -> Iterator[bytes]:
        """All bytes that a segment has now, a piece at a time. Unmet where it has lost its first ones."""
        reply = self._first(segment)
        offset = 0
        while reply is not None:
            if reply.offset > 0 == offset:
                why = f"{segment} starts at byte {reply.offset} now"
                raise Unmet(f"{why}; earlier events are deleted and cannot be checked")
            if reply.offset != offset or not (reply.data or reply.at_tail):
                raise refused("ReadSegment", reply)
            yield reply.data
            offset += len(reply.data)
            reply = None if reply.at_tail else self.ask(_reading(segment, offset), SegmentRead)

    def _first(self, segment: str) -> SegmentRead | None:
        """The first bytes of a segment. None where there are none: then the KeepAlive is answered before the read."""
        self.link.send(encode(_reading(segment, 0)) + encode(KeepAlive(data=b"")))
        reply = self.next()
        if isinstance(reply, KeepAlive):
            return None
        if not isinstance(reply, SegmentRead):
            raise refused("ReadSegment", reply)
        if not isinstance(behind := self.next(), KeepAlive):
            raise refused("KeepAlive", behind)
        return reply


def _reading(segment: str, offset: int) -> ReadSegment:
    return ReadSegment(segment=segment, offset=offset, suggested_length=READ_BYTES)


class Blocks(Protocol):
    """The blocks of one appender, by the bytes that it has stored."""

    def go_on(self, level: int) -> int:
        """The next block begins behind so many bytes; the number of the last event before it."""

    def last_at(self, level: int) -> int:
        """The number of the last event when so many bytes are stored. Failed where no block that was sent ends so."""


def _no_end(level: int, sent: int) -> Failed:
    why = f"{level:,} bytes are acknowledged, no block of the {sent:,} that were sent ends there"
    return Failed(why, kind="acknowledged where no block ends")


def block_frames(connection_id: str, data: bytes, level: int) -> tuple[bytes, bytes, bytes]:
    """The frames of a block behind so many bytes: its beginning, its events as they are stored, its end."""
    begin = BeginAppendBlock(connection_id=connection_id, connection_offset=level, length=len(data))
    behind = level + len(data)
    end = EndAppendBlock(connection_id=connection_id, connection_offset=behind, block_length=len(data))
    return encode(begin), data, encode(end)


def _offset_in(cls: type[Message], frame: bytes) -> Slot:
    return slot_of(cls, annotate(cls, frame, 0, len(frame)), "connection_offset")


class Appends:
    """The appends of one appender whose events are of one size: one block, changed in place."""

    def __init__(self, connection_id: str, maker: Maker, *, events: int, size: int) -> None:
        self.events = events
        self.size = events * size
        self.last = 0
        data = bytes(maker.template(events, size))
        self._bytes = len(data)
        begin, _, end = block_frames(connection_id, data, 0)
        self._frames = bytearray(begin + data + end)
        self._number = maker.numbering(self._frames, len(begin), events, size)
        self._begin = _offset_in(BeginAppendBlock, begin)
        slot = _offset_in(EndAppendBlock, end)
        self._end = Slot(slot.put, len(begin) + len(data) + slot.at)
        #: Bytes in front of the next block.
        self._level = 0

    def next(self) -> bytearray:
        """The frames of the next append; they are the same object each time."""
        frames, level = self._frames, self._level
        self._number(self.last + 1)
        self._begin.put(frames, self._begin.at, level)
        self._level = level = level + self._bytes
        self._end.put(frames, self._end.at, level)
        self.last += self.events
        return frames

    def go_on(self, level: int) -> int:
        """The next block begins behind so many bytes; the number of the last event before it."""
        last = self.last_at(level)
        self._level = level
        return last

    def last_at(self, level: int) -> int:
        """The number of the last event when so many bytes are stored. Failed where no block that was sent ends so."""
        blocks, rest = divmod(level, self._bytes)
        if rest or level > self._level:
            raise _no_end(level, self._level)
        return blocks * self.events


class VaryingAppends:
    """The appends of one appender whose events differ in size."""

    def __init__(self, connection_id: str, maker: Maker, *, events: int, draw: Callable[[], int]) -> None:
        self.events = events
        self.size = 0
        self.last = 0
        self._connection_id = connection_id
        self._maker = maker
        self._draw = draw
        self._level = 0
        #: The blocks that are not acknowledged, and the last one that is: bytes up to their end, their last event.
        self._ends = deque([(0, 0)])

    def next(self) -> bytes:
        """The frames of the next append."""
        sizes = [self._draw() for _ in range(self.events)]
        self.size = sum(sizes)
        data = self._maker.batch(sizes, self.last + 1)
        frames = block_frames(self._connection_id, data, self._level)
        self.last += self.events
        self._level += len(data)
        self._ends.append((self._level, self.last))
        return b"".join(frames)

    def go_on(self, level: int) -> int:
        """The next block begins behind so many bytes; the number of the last event before it."""
        last = self.last_at(level)
        self._level = level
        self._ends = deque([(level, last)])
        return last

    def last_at(self, level: int) -> int:
        """The number of the last event when so many bytes are stored; 0 where more are known to be.

        Failed where no block that was sent ends so.
        """
        ends = self._ends
        if level < ends[0][0]:
            return 0
        while len(ends) > 1 and ends[1][0] <= level:
            ends.popleft()
        if ends[0][0] != level:
            raise _no_end(level, self._level)
        return ends[0][1]


class Acks(ReplyFrames):
    """What the server says to the appends of one appender."""

    def __init__(self, connection_id: str, blocks: Blocks) -> None:
        super().__init__(extent)
        self._id = UUID(connection_id).bytes
        self._last_at = blocks.last_at

    def feed(self, data: bytes) -> int:
        """The number of the last event that these bytes acknowledge, 0 where they do none.

        Failed for any other reply, and where none can be read.
        """
        data, last = self.joined(data), 0
        if len(data) % _ACK.size == 0:
            for type_id, length, connection_id, level in _ACK.iter_unpack(data):
                if type_id != _ACK_TYPE or length != _ACK.size - HEADER_BYTES or connection_id != self._id:
                    break
                last = level
            else:
                return self._last_at(last) if last else 0
        return self._feed_slowly(data)

    def _feed_slowly(self, data: bytes) -> int:
        """As `feed`, whatever it is, frame by frame."""
        last = 0
        try:
            for frame in self.whole(data):
                reply = message_of(frame)
                if isinstance(reply, DataAppended) and UUID(reply.connection_id).bytes == self._id:
                    last = self._last_at(reply.connection_offset_ack_level)
                elif not isinstance(reply, KeepAlive):
                    raise refused("an append", reply)
        except DecodeError as err:
            raise unreadable("an append", STRANGER, err) from err
        return last
