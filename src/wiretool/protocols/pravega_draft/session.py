"""One connection of the draft watched from the middle: what may be said when, what was appended, what answers what."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from wiretool.codec.cursor import Span
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.base.conversation import Conversation, Defect, Reading
from wiretool.protocols.pravega import framing as header
from wiretool.protocols.pravega.appends import events_of
from wiretool.protocols.pravega_draft import framing, trust
from wiretool.protocols.pravega_draft.blocks import Blocks, Phase
from wiretool.protocols.pravega_draft.messages import (
    MESSAGES,
    AppendSetup,
    BeginAppendBlock,
    DataAppended,
    EndAppendBlock,
    Event,
    KeepAlive,
    NoSuchSegment,
    Padding,
    PartialMessage,
    ReadSegment,
    SegmentAlreadyExists,
    SegmentIsSealed,
    SegmentRead,
    SetupAppend,
    Unknown,
    WrongHost,
)
from wiretool.protocols.pravega_draft.pairing import Acks, Asked, Requests
from wiretool.protocols.pravega_draft.partial_messages import Partial, join, put_together

PHASES: tuple[Phase, ...] = get_args(Phase)
#: What stands inside a block or around it.
_BLOCK_MESSAGES = (BeginAppendBlock, EndAppendBlock, Event)

#: (phase, who sends, what) -> next phase. A triple that isn't here breaks the session. Where a message is cut by the
#: end of a block, EndAppendBlock leads to "tail" instead, and the PartialMessage that completes it to "outside".
TABLE: Mapping[tuple[Phase, Side, type[Message]], Phase] = {
    **{
        (phase, side, cls): phase
        for phase in PHASES
        for side in get_args(Side)
        for cls in MESSAGES
        if framing.may_send(side, cls) and cls not in _BLOCK_MESSAGES
    },
    ("outside", "client", BeginAppendBlock): "block",
    ("block", "client", Event): "block",
    ("block", "client", EndAppendBlock): "outside",
    ("lost", "client", BeginAppendBlock): "block",
    ("lost", "client", Event): "lost",
    ("lost", "client", EndAppendBlock): "outside",
}
#: What is wrong with a message of the client that has no place in a phase.
_MISPLACED: Mapping[type[Message], tuple[str, str]] = {
    Event: ("event-outside-block", "an event stands only inside a block"),
    BeginAppendBlock: ("block-not-ended", "another block is not complete"),
    EndAppendBlock: ("end-without-begin", "no block is open"),
}

#: The record that is answered, the block that is completed, and its events.
Outcome = tuple[int | None, Mapping[str, Any] | None, list[Mapping[str, Any]] | None]
_NOTHING: Outcome = (None, None, None)


def misplaced(blocks: Blocks, side: Side, message: Message) -> ProtocolViolation:
    """Return why a message has no place in the phase of the connection."""
    kind, why = "wrong-side", f"the {side} never sends it"
    if framing.may_send(side, type(message)):
        kind, why = _MISPLACED[type(message)]
    return blocks.violation(kind, why, message.declaration.name, side)


class DraftConversation(Conversation):
    """One connection. `is_whole`: its first bytes were captured."""

    def __init__(self, is_whole: bool) -> None:
        self.blocks = Blocks(is_whole=is_whole)
        self.partials: dict[Side, Partial] = {"client": Partial(), "server": Partial()}
        self._is_sure_of_partials: dict[Side, bool] = {"client": is_whole, "server": is_whole}
        self.requests = Requests()
        self.acks = Acks()
        self.keep_alives: deque[int] = deque(maxlen=256)
        self._has_gaps = False

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        return framing.extent(data, at, end)

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        return framing.candidates(side, data, at, end)

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        return trust.trust(side, data, at, end, self.blocks.writers)

    def annotate(self, side: Side, data: bytes, at: int, end: int) -> list[Span]:
        return header.annotate(framing.BY_CODE.get(header.type_at(data, at)), data, at, end)

    def _lose_order(self) -> None:
        """Match replies by what they name from now on: their order proves nothing any more."""
        self._has_gaps = True
        self.keep_alives.clear()
        self.requests.lose()
        self.acks.lose()

    def hole(self, side: Side) -> None:
        self._lose_order()
        self.partials[side].drop()
        self._is_sure_of_partials[side] = False
        if side == "client":
            self.blocks.lose()

    @property
    def held_bytes(self) -> int:
        partials = self.partials
        return self.blocks.held_bytes + partials["client"].held_bytes + partials["server"].held_bytes

    def read(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        found = framing.BY_HEAD.get(data[at : at + 4])
        if found is None:
            unknown = Unknown(type=header.type_at(data, at), data=data[at + header.HEADER_BYTES : end])
            return Reading("Unknown", unknown, (header.unknown_type(data, at),))
        cls, decode = found
        try:
            message, stop = decode(data, at + header.HEADER_BYTES, end)
        except DecodeError as err:
            return self._read_broken(side, cls, data, at, end, err)
        left_over = data[stop:end]
        defects: list[Defect] = [framing.left_over(len(left_over), stop - at)] if left_over else []
        fields: Message | Mapping[str, Any] = message
        outcome = _NOTHING
        if cls is BeginAppendBlock and side == "client" and self.blocks.phase in ("block", "tail"):
            defects.append(self._violation("block-not-ended", "the block before it is not complete", side, message))
            self.partials[side].drop()
            self.blocks.drop_block()
        try:
            if isinstance(message, PartialMessage):
                fields, outcome = self._partial(side, message, n, end - at)
            else:
                outcome = self._said(side, message, n, data[at:end])
        except (ProtocolViolation, DecodeError) as defect:
            defects.append(defect)
        defects += self.blocks.take_belated()
        return Reading(cls.declaration.name, fields, defects, *outcome, left_over)

    def _read_broken(self, side: Side, cls: type[Message], data: bytes, at: int, end: int, err: DecodeError) -> Reading:
        if side == "client":
            self.blocks.lose()
        fields = header.readable_fields(cls, data, at + header.HEADER_BYTES, end)
        return Reading(cls.declaration.name, fields, (header.rebased(err, at),))

    # -- messages that were cut --------------------------------------------------------------------------------------

    def _partial(
        self, side: Side, message: PartialMessage, n: int, frame_bytes: int
    ) -> tuple[Message | Mapping[str, Any], Outcome]:
        """A piece; the last one says what the whole message says (S3, S4)."""
        if side == "client":
            self.blocks.pass_frame(frame_bytes)
        partial = self.partials[side]
        was_sure, self._is_sure_of_partials[side] = self._is_sure_of_partials[side], True
        if not (was_sure or partial.is_open or message.part == "BEGIN"):
            self._is_sure_of_partials[side] = message.part == "END"
            return message, _NOTHING
        whole = join(partial, message, self.blocks, side)
        return (message, _NOTHING) if whole is None else self._put_together(side, message, whole, n)

    def _put_together(
        self, side: Side, last: PartialMessage, whole: bytes, n: int
    ) -> tuple[Message | Mapping[str, Any], Outcome]:
        """The message that the pieces made up."""
        message, _ = put_together(whole, self.blocks, side)
        in_tail = side == "client" and self.blocks.phase == "tail"
        if isinstance(message, Event) and in_tail:
            self.blocks.store(whole)
            return last, self._complete("PartialMessage", n)
        outcome = self._said(side, message, n, whole, is_put_together=True)
        if in_tail:
            outcome = self._complete("PartialMessage", n)
        fields = {**json_form(last), "message": message.declaration.name, "fields": json_form(message)}
        return fields, outcome

    # -- whole messages ----------------------------------------------------------------------------------------------

    def _said(self, side: Side, message: Message, n: int, frame: bytes, *, is_put_together: bool = False) -> Outcome:
        """What a message does, if this is the time for it."""
        cls = type(message)
        phase = TABLE.get((self.blocks.phase, side, cls))
        if phase is None:
            raise misplaced(self.blocks, side, message)
        if side == "client" and cls is not EndAppendBlock and not is_put_together:
            self.blocks.pass_frame(len(frame))
        try:
            if isinstance(message, Event):
                self.blocks.store(frame)
                outcome = _NOTHING
            elif isinstance(message, EndAppendBlock):
                self.blocks.finish(message)
                if self.partials["client"].is_open:
                    self.blocks.phase = "tail"
                    return _NOTHING
                outcome = self._complete("EndAppendBlock", n)
            elif isinstance(message, KeepAlive):
                outcome = self.keep_alive(side, n), None, None
            else:
                outcome = _HANDLERS[cls](self, message, n)
        except ProtocolViolation:
            self.blocks.drop_block()
            raise
        self.blocks.phase = phase
        return outcome

    def _complete(self, message: str, n: int) -> Outcome:
        done = self.blocks.complete(message)
        if done is None:
            return _NOTHING
        form, data = done
        self.acks.sent(form["connection_id"], form["connection_offset"] + form["length"], n)
        return None, form, events_of(data, -1, 0)

    def _violation(self, kind: str, why: str, side: Side, message: Message) -> ProtocolViolation:
        return self.blocks.violation(kind, why, message.declaration.name, side)

    # -- handlers ----------------------------------------------------------------------------------------------------

    def _set_up(self, setup: SetupAppend, n: int) -> Outcome:
        self.blocks.set_up(setup.connection_id, setup.segment)
        self.requests.ask(setup.segment, Asked(n, connection_id=setup.connection_id))
        return _NOTHING

    def _append_setup(self, reply: AppendSetup, n: int) -> Outcome:
        self.blocks.learn(reply.connection_id, reply.segment, reply.connection_offset_ack_level)
        self.acks.settle(reply.connection_id)
        return self.requests.set_up(reply.segment, reply.connection_id), None, None

    def _begin(self, begin: BeginAppendBlock, n: int) -> Outcome:
        self.blocks.begin(begin)
        return _NOTHING

    def _data_appended(self, ack: DataAppended, n: int) -> Outcome:
        self.blocks.learn(ack.connection_id, None, None)
        return self.acks.acked(ack.connection_id, ack.connection_offset_ack_level), None, None

    def _read_segment(self, request: ReadSegment, n: int) -> Outcome:
        self.requests.ask(request.segment, Asked(n, offset=request.offset))
        return _NOTHING

    def _segment_read(self, reply: SegmentRead, n: int) -> Outcome:
        return self.requests.read(reply.segment, reply.offset, len(reply.data)), None, None

    def _failure(self, reply: WrongHost | SegmentIsSealed | SegmentAlreadyExists | NoSuchSegment, n: int) -> Outcome:
        return self.requests.refused(reply.segment), None, None

    def _padding(self, padding: Padding, n: int) -> Outcome:
        return _NOTHING

    def keep_alive(self, side: Side, n: int) -> int | None:
        """The KeepAlive of the client that this one answers, if it does; after a gap that is not known."""
        if self._has_gaps:
            return None
        if side == "client":
            self.keep_alives.append(n)
            return None
        return self.keep_alives.popleft() if self.keep_alives else None


_HANDLERS: Mapping[type[Message], Callable[[DraftConversation, Any, int], Outcome]] = {
    Padding: DraftConversation._padding,
    SetupAppend: DraftConversation._set_up,
    AppendSetup: DraftConversation._append_setup,
    BeginAppendBlock: DraftConversation._begin,
    DataAppended: DraftConversation._data_appended,
    ReadSegment: DraftConversation._read_segment,
    SegmentRead: DraftConversation._segment_read,
    WrongHost: DraftConversation._failure,
    SegmentIsSealed: DraftConversation._failure,
    SegmentAlreadyExists: DraftConversation._failure,
    NoSuchSegment: DraftConversation._failure,
}
