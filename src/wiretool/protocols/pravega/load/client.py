"""Pravega's appends as a load sends them: one frame, changed in place, and acknowledgements read by the dozen."""

from collections.abc import Callable, Iterator
from uuid import UUID

from wiretool.codec.frames.patching import slot_of
from wiretool.codec.message import Message
from wiretool.codec.packed import layout
from wiretool.errors import DecodeError, Unmet
from wiretool.load.events import Head, Maker
from wiretool.load.link import Link
from wiretool.load.request_client import ReplyFrames, Talk, refused, unreadable
from wiretool.protocols.pravega.failures import SegmentAlreadyExists
from wiretool.protocols.pravega.framing import EXTENTS, HEADER_BYTES, annotate, encode, parse
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    AppendSetup,
    ConditionalAppend,
    DataAppended,
    Hello,
    KeepAlive,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    GetStreamSegmentInfo,
    SegmentCreated,
    StreamSegmentInfo,
)
from wiretool.protocols.pravega.structures import EVENT_TYPE, NONE_I64, InnerEvent

#: What we speak (protocols/pravega.md §1.2).
NEWEST_VERSION, OLDEST_VERSION = 17, 5
#: What one read asks for: as much as the server gives at once.
READ_BYTES = 2 * 1024 * 1024
_ACK = layout(DataAppended, "iI")
_ACK_TYPE = DataAppended.declaration.type_id
#: What an answer is that cannot be read.
STRANGER = "no Pravega"
#: What stands before an event in a segment, but for its length: the type of an EVENT frame.
HEAD = Head(EVENT_TYPE.to_bytes(4, "big"))


def segment_name(run: str, number: int) -> str:
    """A segment of a run, named as a stream's are."""
    return f"bench-{run}/load/{number}.#epoch.0"


class Store(Talk):
    """A connection to a segment store, and what is asked of it one by one, each time with the token it wants."""

    stranger = STRANGER
    idle = KeepAlive

    def __init__(self, link: Link, token: str = "") -> None:
        super().__init__(link)
        self._token = token
        self.ask(Hello(high_version=NEWEST_VERSION, low_version=OLDEST_VERSION), Hello)

    @staticmethod
    def extent(data: bytes, at: int, end: int) -> int:
        return EXTENTS["server"](data, at, end)

    @staticmethod
    def encoded(message: Message) -> bytes:
        return encode(message, "client")

    @staticmethod
    def parsed(frame: bytes) -> Message:
        return parse(frame)

    def make_segment(self, segment: str) -> None:
        """Make a segment, if there is none called so."""
        made = CreateSegment(request_id=1, segment=segment, target_rate=0, scale_type=0, delegation_token=self._token)
        self.ask(made, SegmentCreated, SegmentAlreadyExists)

    def set_up(self, writer_id: str, segment: str) -> int:
        """Bind a writer to a segment; the last of its events that is stored, 0 where there is none."""
        setup = SetupAppend(request_id=1, writer_id=writer_id, segment=segment, delegation_token=self._token)
        last = self.ask(setup, AppendSetup).last_event_number
        return 0 if last == NONE_I64 else last

    def read(self, segment: str) -> Iterator[bytes]:
        """All bytes that a segment has now, a piece at a time. Unmet where it has lost its first ones."""
        asked = GetStreamSegmentInfo(request_id=1, segment_name=segment, delegation_token=self._token)
        info = self.ask(asked, StreamSegmentInfo)
        offset, length = info.start_offset, info.write_offset
        if offset:
            raise Unmet(f"{segment} starts at byte {offset} now; earlier events are deleted and cannot be checked")
        while offset < length:
            wanted = min(READ_BYTES, length - offset)
            request = ReadSegment(
                segment=segment,
                offset=offset,
                suggested_length=wanted,
                delegation_token=self._token,
                request_id=offset,
            )
            reply = self.ask(request, SegmentRead)
            yield reply.data
            offset += len(reply.data)


def append_frames(writer_id: str, data: bytes, events: int, last: int) -> tuple[bytes, bytes]:
    """The two frames of an append: a block with events as they are to be stored, and its end."""
    end = AppendBlockEnd(
        writer_id=writer_id,
        size_of_whole_events=len(data),
        data=b"",
        num_events=events,
        last_event_number=last,
        request_id=last,
    )
    return encode(AppendBlock(writer_id=writer_id, data=data), "client"), encode(end, "client")


class Appends:
    """The appends of one writer whose events are of one size: two frames, changed in place."""

    def __init__(self, writer_id: str, maker: Maker, *, events: int, size: int) -> None:
        self.events = events
        self.size = events * size
        self.last = 0
        data = bytes(maker.template(events, size))
        block, end = append_frames(writer_id, data, events, 0)
        slot = slot_of(AppendBlockEnd, annotate(AppendBlockEnd, end, 0, len(end)), "last_event_number", "request_id")
        self._frames = bytearray(block + end)
        self._number = maker.numbering(self._frames, len(block) - len(data), events, size)
        self._put = slot.put
        self._at = len(block) + slot.at

    def next(self) -> bytearray:
        """The frames of the next append; they are the same object each time."""
        self._number(self.last + 1)
        self.last = last = self.last + self.events
        self._put(self._frames, self._at, last, last)
        return self._frames


class ConditionalAppends:
    """The appends of one writer alone in its segment, each if that is as long as it should be: one frame, changed."""

    events = 1

    def __init__(self, writer_id: str, maker: Maker, *, size: int) -> None:
        self.size = size
        self.last = 0
        stored = bytes(maker.template(1, size))
        frame = encode(
            ConditionalAppend(
                writer_id=writer_id,
                event_number=0,
                expected_offset=0,
                event=InnerEvent(data=stored[HEAD.width :]),
                request_id=0,
            ),
            "client",
        )
        spans = annotate(ConditionalAppend, frame, 0, len(frame))
        self._place = slot_of(ConditionalAppend, spans, "event_number", "expected_offset")
        self._request = slot_of(ConditionalAppend, spans, "request_id")
        self._frame = bytearray(frame)
        self._number = maker.numbering(self._frame, self._request.at - len(stored), 1, size)
        self._stored_bytes = len(stored)

    def next(self) -> bytearray:
        """The frame of the next append; it is the same object each time."""
        self._place.put(self._frame, self._place.at, self.last + 1, self.last * self._stored_bytes)
        self.last += 1
        self._request.put(self._frame, self._request.at, self.last)
        self._number(self.last)
        return self._frame


class VaryingAppends:
    """The appends of one writer whose events differ in size."""

    def __init__(self, writer_id: str, maker: Maker, *, events: int, draw: Callable[[], int]) -> None:
        self.events = events
        self.size = 0
        self.last = 0
        self._writer_id = writer_id
        self._maker = maker
        self._draw = draw

    def next(self) -> bytes:
        """The frames of the next append."""
        sizes = [self._draw() for _ in range(self.events)]
        self.size = sum(sizes)
        data = self._maker.batch(sizes, self.last + 1)
        self.last += self.events
        return b"".join(append_frames(self._writer_id, data, self.events, self.last))


class Acks(ReplyFrames):
    """What the server says to the appends of one writer."""

    def __init__(self, writer_id: str) -> None:
        super().__init__(EXTENTS["server"])
        self._writer = UUID(writer_id).bytes

    def feed(self, data: bytes) -> int:
        """The number of the last event that these bytes acknowledge, 0 where they do none.

        Failed for any other reply, and where none can be read.
        """
        data, last = self.joined(data), 0
        if len(data) % _ACK.size == 0:
            for type_id, length, writer, number, _, _, _ in _ACK.iter_unpack(data):
                if type_id != _ACK_TYPE or length != _ACK.size - HEADER_BYTES or writer != self._writer:
                    break
                last = number
            else:
                return last
        return self._feed_slowly(data)

    def _feed_slowly(self, data: bytes) -> int:
        """As `feed`, whatever it is, frame by frame."""
        last = 0
        try:
            for frame in self.whole(data):
                reply = parse(frame)
                if isinstance(reply, DataAppended) and UUID(reply.writer_id).bytes == self._writer:
                    last = reply.event_number
                elif not isinstance(reply, KeepAlive):
                    raise refused("an append", reply)
        except DecodeError as err:
            raise unreadable("an append", STRANGER, err) from err
        return last
