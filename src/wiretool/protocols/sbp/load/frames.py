"""What a load says in either style of SBP: requests one by one, and answers to appends read by the dozen."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from wiretool import limits
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.frames.buffer import Inbox
from wiretool.codec.frames.template import Stencil
from wiretool.errors import DecodeError, EncodeError
from wiretool.load.link import Failed, Link
from wiretool.load.request_client import ReplyFrames
from wiretool.protocols.sbp.framing import LENGTH_BYTES, FrameReading, encode_frame, extent, read_frame
from wiretool.protocols.sbp.messages import APPEND, GOAWAY, PING, RESPONSE_END, SbpFrame, Schema
from wiretool.protocols.sbp.spans import annotate

HEARTBEAT = 0x0003
#: Identifiers of heartbeats: appends, which count from 1 on, do not come so far.
HEARTBEAT_IDS = 0x4000_0000
TOO_LARGE = "an append is too large for a frame"
#: Where the identifier of a request stands in a frame.
ID_AT = 8


def refused(asked: str, said: str, why: str = "") -> Failed:
    """The server said `said` to what was `asked`."""
    return Failed(f"{asked} was answered with {said}{': ' if why else ''}{why}", kind=f"{asked} answered with {said}")


def unreadable(asked: str, err: DecodeError) -> Failed:
    """The server said something that is none of its frames."""
    return Failed(f"{asked} got a reply that is not SBP: {err}", kind=f"not SBP: {err.kind}")


def reading_of(schema: Schema, data: bytes, asked: str) -> FrameReading:
    """What the whole frame `data` says; Failed where there is something wrong with it."""
    reading = read_frame(schema, data, 0, len(data))
    for defect in reading.defects:
        raise unreadable(asked, defect)
    return reading


def checked_length(frame_bytes: int) -> int:
    """The Frame Length of a frame of that many bytes; Failed where it is too large."""
    length = frame_bytes - LENGTH_BYTES
    if length > limits.SBP_FRAME_LENGTH_MAX:
        why = f"an append of {length:,} bytes: a frame takes {limits.SBP_FRAME_LENGTH_MAX:,}"
        raise Failed(f"{why}; make --batch or --event-size smaller", kind=TOO_LARGE)
    return length


def checked_frame(frame: SbpFrame) -> bytes:
    """The bytes of an append; Failed where it is too large."""
    try:
        return encode_frame(frame, "client")
    except EncodeError as err:
        why = f"{err}; make --batch or --event-size smaller"
        raise Failed(why, kind=TOO_LARGE) from err


def name_of(schema: Schema, frame: SbpFrame) -> str:
    """What a frame is."""
    operation = schema.operation(frame.opcode)
    return f"operation 0x{frame.opcode:04x}" if operation is None else operation.name


class Talk:
    """A connection to a server, and what is asked of it one by one."""

    def __init__(self, link: Link, schema: Schema) -> None:
        self.link = link
        self._schema = schema
        self._inbox = Inbox(extent)
        self._ids = count(1)

    def next_id(self) -> int:
        """An identifier that no request on this connection has had."""
        return next(self._ids)

    def ask(self, header: Table) -> SbpFrame:
        """The answer to a request with this header, whatever it says. Failed where none comes or it is no such."""
        return self.ask_for_batches(header).frame

    def ask_for_batches(self, header: Table) -> FrameReading:
        """The same, with the batches in it."""
        declared = type(header).declaration
        wanted = self.next_id()
        frame = SbpFrame(opcode=declared.type_id, stream_id=wanted, header=header)
        self.link.send(encode_frame(frame, "client"))
        while not ((answer := (reading := self._next(declared.name)).frame).is_response and answer.stream_id == wanted):
            check_unasked(self._schema, answer, declared.name)
        if answer.opcode != declared.type_id or not answer.flags & RESPONSE_END:
            said = f"{name_of(self._schema, answer)} with flags 0x{answer.flags:02x}"
            raise refused(declared.name, said)
        return reading

    def _next(self, asked: str) -> FrameReading:
        try:
            while (data := self._inbox.next()) is None:
                self._inbox.feed(self.link.receive())
        except DecodeError as err:
            raise unreadable(asked, err) from err
        return reading_of(self._schema, data, asked)


def check_unasked(schema: Schema, frame: SbpFrame, asked: str) -> None:
    """Pass over what a server may say of itself; Failed for anything else, a GOAWAY first of all."""
    if frame.opcode == GOAWAY:
        raise Failed(f"the server goes away (GOAWAY {frame.stream_id})", kind="GOAWAY")
    if frame.opcode not in (PING, HEARTBEAT):
        raise refused(asked, f"{name_of(schema, frame)} {frame.stream_id}")


class Place(NamedTuple):
    """Where the batches of one writer go: a range of a stream, as `STREAM/INDEX`."""

    stream_id: int
    range_index: int

    def __str__(self) -> str:
        return f"{self.stream_id}/{self.range_index}"


def place_from(text: str) -> Place:
    """The place again."""
    stream_id, _, index = text.partition("/")
    return Place(int(stream_id), int(index))


class Acks(ReplyFrames):
    """What the server says to the appends of one connection, of which each has `events` events.

    They have the identifiers from `first_id` on; `last` is the number of the last event before them. Answers that come
    too early count when those before them have come. `judge` raises Failed for an answer that is no success.
    """

    def __init__(
        self,
        schema: Schema,
        judge: Callable[[SbpFrame], None],
        *,
        times: Sequence[str],
        first_id: int,
        last: int,
        events: int,
    ) -> None:
        super().__init__(extent)
        self._schema = schema
        self._judge = judge
        #: The parts of an answer, by path, that differ from one success to the next.
        self._times = times
        self._next_id = first_id
        self._last = last
        self._events = events
        self._early: set[int] = set()
        self._stencil: Stencil | None = None
        self._learnt = 0

    def feed(self, data: bytes) -> int:
        """The number of the last event that these bytes acknowledge, 0 where they do none.

        Failed for any other answer, and where none can be read.
        """
        data = self.joined(data)
        before, stencil = self._last, self._stencil
        if stencil is not None:
            whole = len(data) - len(data) % stencil.size
            found = stencil.read(data[:whole])
            if found is not None:
                for numbers in found:
                    self._take(numbers[0])
                data = data[whole:]
        if data:
            self._feed_slowly(data)
        return self._last if self._last > before else 0

    def _take(self, stream_id: int) -> None:
        """One append is stored."""
        if stream_id == self._next_id:
            self._next_id += 1
            self._last += self._events
            while self._early and self._next_id in self._early:
                self._early.remove(self._next_id)
                self._next_id += 1
                self._last += self._events
        elif stream_id in self._early or not self._next_id < stream_id <= self._next_id + limits.BENCH_EARLY_MAX:
            raise refused("an append", "a reply that matches no append", f"identifier {stream_id}")
        else:
            self._early.add(stream_id)

    def _feed_slowly(self, data: bytes) -> None:
        """As `feed`, whatever it is, frame by frame."""
        try:
            for frame in self.whole(data):
                self._take_frame(frame)
        except DecodeError as err:
            raise unreadable("an append", err) from err

    def _take_frame(self, data: bytes) -> None:
        frame = reading_of(self._schema, data, "an append").frame
        if frame.opcode != APPEND or not frame.is_response:
            check_unasked(self._schema, frame, "an append")
            return
        if not frame.flags & RESPONSE_END:
            raise refused("an append", "a part of an answer")
        self._judge(frame)
        self._learn(data)
        self._take(frame.stream_id)

    def _learn(self, data: bytes) -> None:
        """Let all answers that are like this one be read at once."""
        if self._learnt >= limits.BENCH_LEARNT_MAX:
            return
        if self._stencil is not None and self._stencil.read(data) is not None:
            return
        self._learnt += 1
        spans = annotate(self._schema, data, 0, len(data))
        times = {span.offset: ">q" for span in spans if span.path in self._times}
        self._stencil = Stencil(data, {ID_AT: ">I", **times})


def heartbeats(header: Table) -> Callable[[], bytes]:
    """Gives a heartbeat to send, with an identifier of its own each time."""
    ids = count(HEARTBEAT_IDS)

    def beat() -> bytes:
        frame = SbpFrame(opcode=HEARTBEAT, stream_id=next(ids), header=header)
        return encode_frame(frame, "client")

    return beat


def codes_named(names: Mapping[int, str], code: int) -> str:
    """A status code by its name."""
    return names.get(code, f"code {code}")
