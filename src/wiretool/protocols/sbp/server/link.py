"""One connection of an SBP server: frames in and out, stream identifiers, silence, and how it ends.

What an operation does is not known here: `serve` gets whole, sound requests, and answers with `reply`.
"""

from abc import abstractmethod
from dataclasses import dataclass
from enum import Enum, IntEnum

from wiretool import limits
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.codec.frames.buffer import Inbox
from wiretool.codec.remembering import remembered_bytes
from wiretool.errors import DecodeError
from wiretool.protocols.sbp.framing import FIXED_BYTES, FrameReading, encode_frame, extent
from wiretool.protocols.sbp.messages import (
    FLATBUFFERS,
    GOAWAY,
    PING,
    RESPONSE,
    RESPONSE_END,
    SbpFrame,
    Schema,
)
from wiretool.protocols.sbp.server.reading import FLAGS_AT, read_request
from wiretool.server.mock import Link, Mock
from wiretool.server.timers import Task, Timer

#: An answer that is one frame.
WHOLE = RESPONSE | RESPONSE_END
#: A GOAWAY of a real range server that is being stopped; the bit is that of a response too (sbp.md §1.3).
SERVER_MAINTENANCE = 0x01
#: The header format of a frame that need not say any.
NO_FORMAT = 0
#: Header and payload of a frame together.
CONTENT_BYTES_MAX = limits.SBP_FRAME_LENGTH_MAX - limits.SBP_FRAME_LENGTH_MIN
ID_MASK = 0xFFFF_FFFF
#: How finely the range server counts its silence.
TICK_SLACK_NS = 100_000_000
#: Defects behind which nothing can be read any more, or nothing may be trusted.
_FATAL = frozenset(("header_length_overflow", "checksum_mismatch"))


@remembered_bytes
def _encoded(header: Table) -> bytes:
    return encode_root(header)


class Role(Enum):
    """The two kinds of server."""

    PLACEMENT_DRIVER = "placement driver"
    RANGE_SERVER = "range server"


class LinkPhase(IntEnum):
    """Phases of a connection up to its end; the restrictions of each hold in the later ones."""

    OPEN = 0
    #: It has said GOAWAY, or answered one: what comes is dropped.
    LEAVING = 1
    #: Nothing is read any more.
    READ_CLOSED = 2
    #: It is closed, or lost: nothing is sent any more.
    GONE = 3


@dataclass(frozen=True, slots=True)
class ConnectionPolicy:
    """When a server warns and closes its connections (sbp.md §4.2), and whether it has the faults of the real ones."""

    #: As recorded where a real server crashes or falls silent, too.
    like_real: bool = False
    #: The placement driver says GOAWAY after that much silence, and closes that much after any GOAWAY.
    idle_ns: int = 15_000_000_000
    leave_ns: int = 1_000_000_000
    #: The range server closes what was silent from one tick to the next.
    tick_ns: int = 6_000_000_000


def extent_of_fixed(data: bytes, at: int, end: int) -> int:
    """Bytes of the frame at `at`; the real placement driver judges nothing until the fixed part is whole."""
    return extent(data, at, end) if end - at >= FIXED_BYTES else 0


class SbpLink(Link):
    """A connection of an SBP server, with the policy of the role that it has shown."""

    def __init__(self, mock: Mock, number: int, schema: Schema, policy: ConnectionPolicy, now_ns: int) -> None:
        self.mock = mock
        self.number = number
        self.schema = schema
        self.policy = policy
        self._inbox = Inbox(extent_of_fixed if policy.like_real else extent)
        self._budget = 0
        self._is_full = False
        #: The identifier that comes next if the client counts by one; the server's own GOAWAY takes one too.
        self._next_id = 0
        #: The highest identifier of a request that was taken.
        self._highest_id = 0
        #: Requests that are answered later.
        self._open = 0
        self._has_ended = False
        self._phase = LinkPhase.OPEN
        #: Nothing is sent any more, whatever comes.
        self._is_mute = False
        self._heard_ns = now_ns
        self._timers: dict[str, Timer] = {}
        self._set("tick", now_ns + policy.tick_ns, self._tick)
        self._set("idle", now_ns + policy.idle_ns, self._look_for_silence)

    @property
    @abstractmethod
    def role(self) -> Role | None:
        """Which kind of server the client takes it for; None while that does not show."""

    @abstractmethod
    def serve(self, reading: FrameReading, now_ns: int) -> None:
        """Answer a request that is neither PING nor GOAWAY; its defects are not fatal."""

    @abstractmethod
    def refuse_goaway(self, frame: SbpFrame) -> None:
        """Say that GOAWAY is not served (a range server)."""

    @abstractmethod
    def too_large(self, frame: SbpFrame) -> None:
        """The answer to a request does not fit into a frame."""

    def is_foreign(self, frame: SbpFrame) -> bool:
        """Whether the header is in a format that nobody defined; without a header 0 will do (sbp.md §5, 11)."""
        is_none = frame.header_format == NO_FORMAT and frame.header is None and not self.policy.like_real
        return frame.header_format != FLATBUFFERS and not is_none

    def crash(self, now_ns: int, why: str) -> None:
        """A real server ends here, with all of its connections."""
        for link in list(self.mock.links.values()):
            if isinstance(link, SbpLink) and link.role is self.role:
                link.close(why)

    # -- what happens to it ----------------------------------------------------------------------------------------

    def feed(self, data: bytes, now_ns: int) -> None:
        if self._phase >= LinkPhase.READ_CLOSED:
            return
        self._inbox.feed(data)
        if not self._is_full:
            self._read_on(now_ns)

    @property
    def held_bytes(self) -> int:
        return self._inbox.held

    def drained(self, now_ns: int) -> None:
        if self._is_full:
            self._read_on(now_ns)
            self._finish()

    def end(self, now_ns: int) -> None:
        self._has_ended = True
        self._finish()

    def lost(self, now_ns: int) -> None:
        self._inbox.clear()
        self._phase = LinkPhase.GONE
        for timer in self._timers.values():
            timer.cancel()

    def stop(self, now_ns: int) -> None:
        """Say GOAWAY: a range server with the last request it took (sbp.md §5, 19), a real one with a flag instead."""
        if self.role is Role.RANGE_SERVER and self.policy.like_real:
            self._send(SbpFrame(opcode=GOAWAY, flags=SERVER_MAINTENANCE))
        elif self._phase is not LinkPhase.OPEN:
            return
        elif self.role is Role.RANGE_SERVER:
            self._send(SbpFrame(opcode=GOAWAY, stream_id=self._highest_id))
        else:
            self._say_goaway()

    # -- frames in -------------------------------------------------------------------------------------------------

    def _read_on(self, now_ns: int) -> None:
        """Take the whole frames that are there, while the answers stay below their bound."""
        self._budget = limits.MOCK_REPLY_BYTES_MAX
        while self._budget > 0 and self._phase < LinkPhase.READ_CLOSED:
            try:
                data = self._inbox.next()
            except DecodeError as err:
                self._malformed(err, now_ns)
                break
            if data is None:
                break
            self.take(data, now_ns)
        self._is_full = self._budget <= 0 and self._phase < LinkPhase.READ_CLOSED

    def take(self, data: bytes, now_ns: int) -> None:
        """One whole frame."""
        is_response = bool(data[FLAGS_AT] & RESPONSE)
        serves_responses = self.role is Role.RANGE_SERVER and self.policy.like_real
        if is_response and serves_responses:
            data = data[:FLAGS_AT] + bytes((data[FLAGS_AT] & ~RESPONSE,)) + data[FLAGS_AT + 1 :]
        reading = read_request(self.schema, data)
        self.mock.outbox.counts["client", self._name(reading.frame)] += 1
        fatal = next((defect for defect in reading.defects if defect.kind in _FATAL), None)
        if fatal is not None:
            self._malformed(fatal, now_ns)
        elif self._phase is not LinkPhase.OPEN or (is_response and not serves_responses):
            return
        else:
            self._heard_ns = now_ns
            self._take_request(reading, now_ns)

    def _take_request(self, reading: FrameReading, now_ns: int) -> None:
        frame = reading.frame
        if self.role is Role.PLACEMENT_DRIVER and frame.stream_id < self._next_id:
            self._say_goaway()
            self._leave(f"stream identifier {frame.stream_id} behind {self._next_id - 1}", now_ns)
            return
        self._next_id = (frame.stream_id + 1) & ID_MASK
        self._highest_id = max(self._highest_id, frame.stream_id)
        if frame.opcode == PING:
            self._pong(frame)
        elif frame.opcode != GOAWAY:
            self.serve(reading, now_ns)
        elif self.role is Role.RANGE_SERVER:
            self.refuse_goaway(frame)
        else:
            self.reply(frame, None)
            self._leave("", now_ns)

    def _pong(self, frame: SbpFrame) -> None:
        is_echoed = self.role is not Role.RANGE_SERVER
        header_format = frame.header_format if is_echoed else FLATBUFFERS
        self.reply(frame, frame.header, payload=frame.payload, header_format=header_format)

    def _malformed(self, err: DecodeError, now_ns: int) -> None:
        """Bytes that are no frame: the connection is given up, this one alone (sbp.md §5, 4)."""
        was_open = self._phase is LinkPhase.OPEN
        self._phase = LinkPhase.READ_CLOSED
        if self.policy.like_real and self.role is Role.RANGE_SERVER:
            if self._heard_ns == now_ns:
                self._timers["tick"].cancel()  # never closed, since something was being answered
            return
        if self.policy.like_real and err.kind == "header_length_overflow":
            self.crash(now_ns, str(err))
        elif was_open:
            self._say_goaway()
            self._leave(str(err), now_ns)

    # -- frames out ------------------------------------------------------------------------------------------------

    def reply(
        self,
        frame: SbpFrame,
        header: Table | bytes | None,
        *,
        payload: bytes = b"",
        flags: int = WHOLE,
        header_format: int = FLATBUFFERS,
    ) -> None:
        """Answer the request `frame`."""
        raw = _encoded(header) if isinstance(header, Table) else header
        if len(raw or b"") + len(payload) > CONTENT_BYTES_MAX:
            self.too_large(frame)
            return
        self._send(
            SbpFrame(
                opcode=frame.opcode,
                flags=flags,
                stream_id=frame.stream_id,
                header_format=header_format,
                header=raw,
                payload=payload,
            )
        )

    def mute(self) -> None:
        """Never send anything again."""
        self._is_mute = True

    def defer(self) -> None:
        """A request is answered later, before `settle`."""
        self._open += 1

    def settle(self, now_ns: int) -> None:
        """One that was answered later is answered."""
        self._open -= 1
        self._heard_ns = now_ns
        self._finish()

    def _send(self, frame: SbpFrame) -> None:
        if self._is_mute or self._phase is LinkPhase.GONE:
            return
        data = encode_frame(frame, "server")
        self._budget -= len(data)
        self.mock.outbox.counts["server", self._name(frame)] += 1
        self.mock.outbox.send(self.number, data)

    def _name(self, frame: SbpFrame) -> str:
        operation = self.schema.operation(frame.opcode)
        return "Unknown" if operation is None else operation.name

    # -- how it ends -----------------------------------------------------------------------------------------------

    def _say_goaway(self) -> None:
        self._send(SbpFrame(opcode=GOAWAY, stream_id=self._next_id))
        self._next_id = (self._next_id + 1) & ID_MASK

    def _leave(self, why: str, now_ns: int) -> None:
        """Close when what is open has been answered, but not at once."""
        self._phase = max(self._phase, LinkPhase.LEAVING)
        self._set("leave", now_ns + self.policy.leave_ns, lambda later_ns: self._close_when_settled(why, later_ns))

    def _close_when_settled(self, why: str, now_ns: int) -> None:
        if self._open:
            self._leave(why, now_ns)
        else:
            self.close(why)

    def _finish(self) -> None:
        """Close behind the last answer, when the client will send no more."""
        is_served = not self._open and not self._is_full
        lingers = self.policy.like_real and self.role is Role.RANGE_SERVER
        if self._has_ended and is_served and not lingers:
            self.close("")

    def close(self, why: str) -> None:
        """Close behind what was sent, and do nothing more."""
        if self._phase is not LinkPhase.GONE:
            self._phase = LinkPhase.GONE
            self.mock.outbox.close(self.number, why)

    def _tick(self, now_ns: int) -> None:
        is_silent = now_ns - self._heard_ns >= self.policy.tick_ns - TICK_SLACK_NS
        if self.role is Role.RANGE_SERVER and is_silent and not self._open:
            self.close("silent")
            return
        self._set("tick", now_ns + self.policy.tick_ns, self._tick)

    def _look_for_silence(self, now_ns: int) -> None:
        due_ns = self._heard_ns + self.policy.idle_ns
        if self.role is Role.RANGE_SERVER or self._open:
            due_ns = now_ns + self.policy.idle_ns
        if due_ns > now_ns:
            self._set("idle", due_ns, self._look_for_silence)
        elif self._phase is LinkPhase.OPEN:
            self._say_goaway()
            self._leave("silent", now_ns)

    def _set(self, name: str, when_ns: int, task: Task) -> None:
        self._timers[name] = self.mock.timers.at(when_ns, task)
