"""A client of the SBP mocks in memory: requests as frames, and the answers as frames."""

from typing import Any

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.reference import encode
from wiretool.protocols.sbp.framing import encode_frame, extent, read_frame
from wiretool.protocols.sbp.messages import APPEND, SbpFrame, Schema
from wiretool.protocols.sbp.records import AppendEntry, RecordBatchMeta
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.tables import CreateRangeRequest, FetchRequest, Range, RangeServer
from wiretool.server.mock import Action, Close, Mock, Send

SECOND = 1_000_000_000
#: Defects of answers that real servers give too: to an unknown operation, and of LIST_RANGE without ranges.
FORGIVEN = ("unknown_opcode", "missing_required_field")


class Client:
    """One connection to a mock; what the mock does is carried out when it says so."""

    def __init__(
        self,
        mock: Mock,
        number: int = 0,
        door: str = "",
        *,
        now_ns: int = 0,
        schema: Schema = LATEST,
        slow: bool = False,
    ) -> None:
        self.mock = mock
        #: Whether what is sent to it never leaves by itself.
        self.slow = slow
        self.number = number
        self.schema = schema
        self.now_ns = now_ns
        self.received = bytearray()
        self.closed: Close | None = None
        self.next_id = 0
        self.carry_out(mock.opened(number, door or mock.doors[0].name, now_ns))

    def ask(self, header: Table, **more: Any) -> SbpFrame:
        """The answer to a request with this header."""
        (answer,) = self.say(frame_of(header, self._id(), **more))
        return answer

    def say(self, *frames: SbpFrame) -> list[SbpFrame]:
        """The answers to frames that are sent at once."""
        return self.send(b"".join(encode_frame(frame, "client") for frame in frames))

    def send(self, data: bytes) -> list[SbpFrame]:
        """The frames that the mock says to bytes."""
        before = len(self.received)
        self.carry_out(self.mock.received(self.number, data, self.now_ns))
        return self.frames(before)

    def wait(self, until_ns: int) -> list[SbpFrame]:
        """The frames that the mock says of itself up to a time."""
        before = len(self.received)
        while self.mock.wake_ns is not None and self.mock.wake_ns <= until_ns:
            self.now_ns = self.mock.wake_ns
            self.carry_out(self.mock.woken(self.now_ns))
        self.now_ns = until_ns
        return self.frames(before)

    def end(self) -> None:
        """Say that no more will come."""
        self.carry_out(self.mock.ended(self.number, self.now_ns))

    def frames(self, at: int = 0) -> list[SbpFrame]:
        """The whole frames that were received from there on."""
        data, out = bytes(self.received), []
        while at < len(data):
            length = extent(data, at, len(data))
            reading = read_frame(self.schema, data, at, at + length)
            assert all(defect.kind in FORGIVEN for defect in reading.defects), reading.defects
            out.append(reading.frame)
            at += length
        return out

    def _id(self) -> int:
        self.next_id += 1
        return self.next_id

    def carry_out(self, actions: list[Action]) -> None:
        """Do what the mock wants done here."""
        for action in actions:
            if action.connection != self.number:
                continue
            if isinstance(action, Send):
                assert self.closed is None, "sent behind a close"
                self.received += action.data
            else:
                self.closed = action
        if actions and not self.slow:
            self.carry_out(self.mock.drained(self.number, self.now_ns))


def frame_of(header: Table, stream_id: int, **more: Any) -> SbpFrame:
    """A request frame."""
    return SbpFrame(opcode=type(header).declaration.type_id, stream_id=stream_id, header=header, **more)


def ping(stream_id: int, payload: bytes = b"") -> SbpFrame:
    return SbpFrame(opcode=0x0001, stream_id=stream_id, payload=payload)


def entry(base: int, count: int, body: bytes = b"x", *, stream: int = 1, index: int = 0) -> bytes:
    """A batch as APPEND carries it."""
    meta = RecordBatchMeta(stream_id=stream, range_index=index, base_offset=base, last_offset_delta=count)
    return encode(AppendEntry(meta=meta, payload=body))


def append(stream_id: int, *entries: bytes) -> SbpFrame:
    return SbpFrame(opcode=APPEND, stream_id=stream_id, payload=b"".join(entries))


def create_range(stream: int = 1, start: int = 0, index: int = 0) -> CreateRangeRequest:
    """For the range server: it names one."""
    servers = (RangeServer(server_id=0, advertise_addr="localhost:1"),)
    return CreateRangeRequest(range=Range(stream_id=stream, index=index, epoch=0, start=start, servers=servers))


def fetch(offset: int, *, stream: int = 1, limit: int = -1, most: int = -1) -> FetchRequest:
    wanted = Range(stream_id=stream, index=0)
    return FetchRequest(max_wait_ms=most, range=wanted, offset=offset, limit=limit)


def code_of(frame: SbpFrame) -> int:
    """The code of an answer's status."""
    code: int = frame.header.status.code  # type: ignore[union-attr]
    return code


def codes_of(frame: SbpFrame) -> list[int]:
    """The codes of an append's entries."""
    return [each.status.code for each in frame.header.entries]  # type: ignore[union-attr]
