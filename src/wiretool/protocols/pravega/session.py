"""One connection watched from the middle: what may be said when, what was appended, and which reply answers what."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, get_args

from wiretool import limits
from wiretool.codec.compiled import Decoder
from wiretool.codec.cursor import Span
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.base.conversation import Conversation, Defect, Reading
from wiretool.protocols.pravega import framing, trust
from wiretool.protocols.pravega.appends import Appends, Phase, block_form, conditional_form, events_of
from wiretool.protocols.pravega.commands import BY_CODE, BY_HEAD, MESSAGES, may_send
from wiretool.protocols.pravega.failures import AuthTokenCheckFailed, InvalidEventNumber
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    AppendSetup,
    ConditionalAppend,
    ConditionalBlockEnd,
    ConditionalCheckFailed,
    DataAppended,
    Event,
    Hello,
    KeepAlive,
    Padding,
    PartialEvent,
    ReadSegment,
    SegmentRead,
    SetupAppend,
    Unknown,
)
from wiretool.protocols.pravega.pairing import ANSWERS, Acks, Requests
from wiretool.protocols.pravega.segments import FlushToStorage, ListStorageChunks

PHASES: tuple[Phase, ...] = get_args(Phase)
#: What the server's append decoder sees; while a block is open it takes none of them but AppendBlockEnd (D1).
APPEND_COMMANDS = (SetupAppend, AppendBlock, AppendBlockEnd, ConditionalAppend, ConditionalBlockEnd, Padding)
ADMIN_REQUESTS = (FlushToStorage, ListStorageChunks)

#: (phase, who sends, what) -> next phase. A triple that isn't here breaks the session.
TABLE: Mapping[tuple[Phase, Side, type[Message]], Phase] = {
    **{
        (phase, side, cls): phase
        for phase in PHASES
        for side in get_args(Side)
        for cls in MESSAGES
        if may_send(side, cls) and cls not in APPEND_COMMANDS
    },
    ("idle", "client", SetupAppend): "idle",
    ("idle", "client", AppendBlock): "block",
    ("idle", "client", AppendBlockEnd): "idle",
    ("idle", "client", ConditionalAppend): "idle",
    ("idle", "client", ConditionalBlockEnd): "idle",
    ("idle", "client", Padding): "idle",
    ("block", "client", AppendBlockEnd): "idle",
    ("lost", "client", SetupAppend): "idle",
    ("lost", "client", AppendBlock): "block",
    ("lost", "client", AppendBlockEnd): "idle",
    ("lost", "client", ConditionalAppend): "idle",
    ("lost", "client", ConditionalBlockEnd): "idle",
    ("lost", "client", Padding): "idle",
}

#: The record that is answered, the append that is completed, and its events.
Outcome = tuple[int | None, Mapping[str, Any] | None, list[Mapping[str, Any]] | None]
Handler = Callable[["PravegaConversation", Any, int], Outcome]
#: What is known of a frame by its first four bytes, and the phase that follows by TABLE.
Route = tuple[type[Message], str, Decoder, Handler, Phase | None]

_NOTHING: Outcome = (None, None, None)
_NO_DEFECT: tuple[Defect, ...] = ()
_reading = partial(tuple.__new__, Reading)
_SEGMENT_FIELDS = ("segment", "segment_name", "target", "target_segment_id", "parent_segment")
#: The field that names the segment of a command, for those that have one.
SEGMENT_FIELD: Mapping[type[Message], str] = {
    cls: next(name for name in _SEGMENT_FIELDS if name in cls.__struct_fields__)
    for cls in MESSAGES
    if any(name in cls.__struct_fields__ for name in _SEGMENT_FIELDS)
}


def misplaced(phase: Phase, side: Side, cls: type[Message]) -> ProtocolViolation:
    """Return why a command has no place in a phase: TABLE has none for it."""
    if may_send(side, cls):
        kind, why = "block-not-ended", "a block of appends is open"
    elif side == "client" and cls in (Event, PartialEvent):
        kind, why = "event-outside-block", "it stands only in the data of a block"
    else:
        kind, why = "wrong-side", f"the {side} never sends it"
    return ProtocolViolation(kind, why, phase=phase, side=side, message=cls.declaration.name)


def admin_on_main_port(phase: Phase, cls: type[Message]) -> ProtocolViolation:
    """Return what is wrong with an admin command where appends are taken."""
    why = "only the admin port takes it"
    return ProtocolViolation("admin-on-main-port", why, phase=phase, side="client", message=cls.declaration.name)


class PravegaConversation(Conversation):
    """One connection to a segment store. `is_whole`: its first bytes were captured."""

    is_proved_by_trust = True

    def __init__(self, is_whole: bool) -> None:
        self.appends = Appends(is_whole=is_whole)
        self.requests = Requests()
        self.acks = Acks()
        self._segments: set[str] = set()
        #: An append was set up here: the admin port takes none.
        self.is_main_port = False

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        return framing.EXTENTS[side](data, at, end)

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        return framing.HEADERS[side].find(data, at, end)

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        return trust.trust(side, data, at, end, self._knows)

    def annotate(self, side: Side, data: bytes, at: int, end: int) -> list[Span]:
        return framing.annotate(BY_CODE.get(framing.type_at(data, at)), data, at, end)

    def hole(self, side: Side) -> None:
        self.requests.lose()
        if side == "client":
            self.appends.lose()

    @property
    def held_bytes(self) -> int:
        return self.appends.held_bytes

    def read(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        appends = self.appends
        route = ROUTES[side][appends.phase].get(data[at : at + 4])
        if route is None:
            return self._read_unknown(data, at, end)
        cls, name, decode, handle, phase = route
        try:
            message, stop = decode(data, at + 8, end)
        except DecodeError as err:
            return self._read_broken(side, cls, data, at, end, err)
        left_over = data[stop:end] if stop != end else b""
        if phase is None:
            violation = misplaced(appends.phase, side, cls)
            if not may_send(side, cls):
                return Reading(name, message, (violation,), left_over=left_over)
            appends.drop_block()
            reading = self.read(side, data, at, end, n)
            return reading._replace(defects=(violation, *reading.defects))
        try:
            reply_to, append, events = handle(self, message, n)
        except ProtocolViolation as violation:
            appends.drop_block()
            return Reading(name, message, (violation,), left_over=left_over)
        appends.phase = phase
        return _reading((name, message, _NO_DEFECT, reply_to, append, events, left_over))

    # -- frames that are not as they should be -----------------------------------------------------------------------

    def _read_unknown(self, data: bytes, at: int, end: int) -> Reading:
        unknown = Unknown(type=framing.type_at(data, at), data=data[at + framing.HEADER_BYTES : end])
        return Reading("Unknown", unknown, (framing.unknown_type(data, at),))

    def _read_broken(self, side: Side, cls: type[Message], data: bytes, at: int, end: int, err: DecodeError) -> Reading:
        """A command that does not decode: its fields as far as they can be read, and nothing believed of it."""
        if side == "client" and cls in APPEND_COMMANDS:
            self.appends.lose()
        fields = framing.readable_fields(cls, data, at + framing.HEADER_BYTES, end)
        return Reading(cls.declaration.name, fields, (framing.rebased(err, at),))

    # -- appends -----------------------------------------------------------------------------------------------------

    def _set_up(self, setup: SetupAppend, n: int) -> Outcome:
        self.is_main_port = True
        self.appends.set_up(setup)
        return self._request(setup, n)

    def _append_setup(self, reply: AppendSetup, n: int) -> Outcome:
        self.is_main_port = True
        self.appends.learn(reply.writer_id, reply.segment)
        outcome = self._reply(reply, n)
        self.acks.settle(reply.writer_id, outcome[0])
        return outcome

    def _append_block(self, block: AppendBlock, n: int) -> Outcome:
        self.appends.begin(block)
        return _NOTHING

    def _append_block_end(self, end: AppendBlockEnd, n: int) -> Outcome:
        writer, data = self.appends.finish(end)
        self.acks.sent(end.writer_id, end.last_event_number, end.request_id, n)
        if data is None:
            return _NOTHING
        events = events_of(data, end.num_events, end.last_event_number) if self.lists_events else None
        return None, block_form(writer, end, data), events

    def _conditional_append(self, append: ConditionalAppend, n: int) -> Outcome:
        writer = self.appends.condition(append)
        self.acks.sent(append.writer_id, append.event_number, append.request_id, n)
        body = append.event.data
        event = {"event_number": append.event_number, "length": len(body), "data": body.hex()}
        return None, conditional_form(writer, append, framing.HEADER_BYTES + len(body)), [event]

    def _conditional_block_end(self, append: ConditionalBlockEnd, n: int) -> Outcome:
        writer = self.appends.condition(append)
        self.acks.sent(append.writer_id, append.event_number, append.request_id, n)
        return None, conditional_form(writer, append, len(append.data)), []

    def _data_appended(self, ack: DataAppended, n: int) -> Outcome:
        if ack.writer_id not in self.appends.writers:
            self.appends.learn(ack.writer_id, None)
        return self.acks.acked(ack.writer_id, ack.event_number), None, None

    def _check_failed(self, reply: ConditionalCheckFailed, n: int) -> Outcome:
        return self.check_failed(reply.writer_id, reply.event_number, reply.request_id), None, None

    def check_failed(self, writer_id: str, event_number: int, request_id: int) -> int | None:
        """Return the record of the append whose condition failed."""
        if self.requests.has_gaps:
            return self.acks.refused_exactly(writer_id, event_number)
        return self.acks.refused((writer_id,), event_number, request_id)

    def _invalid_event_number(self, reply: InvalidEventNumber, n: int) -> Outcome:
        return self.refused_number(reply.writer_id, reply.event_number, reply.request_id), None, None

    def refused_number(self, writer_id: str, event_number: int, request_id: int) -> int | None:
        """Return the record of the append that an InvalidEventNumber refuses."""
        if self.requests.has_gaps:
            return self.acks.refused_exactly(writer_id, event_number if event_number != -1 else request_id)
        return self.acks.refused_number(writer_id, event_number, request_id)

    def _padding(self, padding: Padding, n: int) -> Outcome:
        return _NOTHING

    # -- requests and their replies ------------------------------------------------------------------------------------

    def _ask_back(self, message: Hello | KeepAlive, n: int) -> Outcome:
        self.requests.ask(n, type(message), type(message))
        return _NOTHING

    def _answer_back(self, message: Hello | KeepAlive, n: int) -> Outcome:
        return self.answer_back(type(message)), None, None

    def answer_back(self, cls: type[Message]) -> int | None:
        """Return the record of the Hello or KeepAlive that one of the server answers; there is one Hello at most."""
        return self.requests.answer_in_order(cls) if cls is KeepAlive else self.requests.answer(cls, None)

    def _request(self, request: Any, n: int) -> Outcome:
        self._note_segment(request)
        self.requests.ask(n, type(request), request.request_id)
        return _NOTHING

    def _admin_request(self, request: FlushToStorage | ListStorageChunks, n: int) -> Outcome:
        """Only the admin port takes it, where nothing is ever appended."""
        if self.is_main_port:
            raise admin_on_main_port(self.appends.phase, type(request))
        return self._request(request, n)

    def _read_segment(self, request: ReadSegment, n: int) -> Outcome:
        self._note_segment(request)
        self.requests.ask(n, ReadSegment, request.request_id, (request.segment, request.offset))
        return _NOTHING

    def _segment_read(self, reply: SegmentRead, n: int) -> Outcome:
        self._note_segment(reply)
        return self.requests.answer(reply.request_id, (ReadSegment,), (reply.segment, reply.offset)), None, None

    def _reply(self, reply: Any, n: int) -> Outcome:
        self._note_segment(reply)
        return self.requests.answer(reply.request_id, ANSWERS[type(reply)]), None, None

    def _failure(self, reply: Any, n: int) -> Outcome:
        segment, offset = getattr(reply, "segment", None), getattr(reply, "offset", -1)
        return self.failed(type(reply), reply.request_id, segment, offset), None, None

    def failed(self, cls: type[Message], request_id: int, segment: str | None, offset: int) -> int | None:
        """What a failure answers: whatever has its id, else it may be an append's, which it names by number or id."""
        position = None if segment is None else (segment, offset)
        if self.requests.has_gaps:
            return self._failed_after_gap(cls, request_id, position, offset)
        answered = self.requests.answer(request_id, None, position)
        if answered is not None:
            return answered
        if cls is AuthTokenCheckFailed:
            return self.requests.answer_read_at(request_id)
        return self.acks.refused(self.appends.writers_of(segment), offset, request_id)

    def _failed_after_gap(
        self, cls: type[Message], request_id: int, position: tuple[str, int] | None, offset: int
    ) -> int | None:
        """Return the record of the only request or append with the id of a failure.

        An AuthTokenCheckFailed may have an offset in the place of the id, which proves nothing.
        """
        if cls is AuthTokenCheckFailed:
            return None
        answered = self.requests.answer(request_id, None, position)
        refused = self.acks.refused_only(self.appends.writers_of(position and position[0]), offset, request_id)
        return answered if refused is None else refused if answered is None else None

    def _note_segment(self, message: Message) -> None:
        field = SEGMENT_FIELD.get(type(message))
        if field is not None:
            self.note_segment(getattr(message, field))

    def note_segment(self, segment: str) -> None:
        """The connection is about this segment, among others."""
        if len(self._segments) >= limits.WRITERS_MAX:
            self._segments.clear()
        self._segments.add(segment)

    def _knows(self, message: Message) -> bool:
        """Whether the message names a writer, a segment or, as a reply, a request of this connection."""
        field = SEGMENT_FIELD.get(type(message))
        return (
            getattr(message, "writer_id", None) in self.appends.writers
            or (field is not None and getattr(message, field) in self._segments)
            or (message.declaration.sender == "server" and getattr(message, "request_id", None) in self.requests)
        )


_EITHER = {Hello, KeepAlive}
_HANDLERS: Mapping[type[Message], Handler] = {
    SetupAppend: PravegaConversation._set_up,
    AppendSetup: PravegaConversation._append_setup,
    AppendBlock: PravegaConversation._append_block,
    AppendBlockEnd: PravegaConversation._append_block_end,
    ConditionalAppend: PravegaConversation._conditional_append,
    ConditionalBlockEnd: PravegaConversation._conditional_block_end,
    DataAppended: PravegaConversation._data_appended,
    ConditionalCheckFailed: PravegaConversation._check_failed,
    InvalidEventNumber: PravegaConversation._invalid_event_number,
    Padding: PravegaConversation._padding,
    ReadSegment: PravegaConversation._read_segment,
    SegmentRead: PravegaConversation._segment_read,
    FlushToStorage: PravegaConversation._admin_request,
    ListStorageChunks: PravegaConversation._admin_request,
}


def _handler(cls: type[Message], side: Side) -> Handler:
    """What to do with a command that `side` sent."""
    if cls in _EITHER:
        return PravegaConversation._ask_back if side == "client" else PravegaConversation._answer_back
    declared = cls.declaration
    plain = PravegaConversation._request if declared.sender == "client" else PravegaConversation._reply
    return _HANDLERS.get(cls, PravegaConversation._failure if declared.is_failure else plain)


def is_apart(cls: type[Message]) -> bool:
    """Whether nothing about appends hangs on a command: plain requests and replies, and what one greets with."""
    plain = (PravegaConversation._request, PravegaConversation._reply, PravegaConversation._read_segment)
    declared = cls.declaration
    side: Side = "client" if declared.sender == "client" else "server"
    return cls in _EITHER or _handler(cls, side) in (*plain, PravegaConversation._segment_read)


def _routes(phase: Phase, side: Side) -> Mapping[bytes, Route]:
    return {
        head: (cls, name, decode, _handler(cls, side), TABLE.get((phase, side, cls)))
        for head, (cls, name, decode) in BY_HEAD.items()
    }


ROUTES: Mapping[Side, Mapping[Phase, Mapping[bytes, Route]]] = {
    side: {phase: _routes(phase, side) for phase in PHASES} for side in get_args(Side)
}
