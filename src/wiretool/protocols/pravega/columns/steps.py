"""What session.py does with frames of each class, one after the other, out of columns: no messages are made.

For steps see `kinds.Walk`. Each does what the handler of session.py does.
"""

from collections.abc import Callable, Iterator, Mapping

from wiretool.codec.columns import Integers
from wiretool.codec.message import Message
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.protocols.pravega.columns.blocks import LONE
from wiretool.protocols.pravega.columns.kinds import REFUSED, Part
from wiretool.protocols.pravega.failures import InvalidEventNumber
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    AppendSetup,
    ConditionalBlockEnd,
    ConditionalCheckFailed,
    DataAppended,
    Hello,
    KeepAlive,
    ReadSegment,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega.pairing import ANSWERS
from wiretool.protocols.pravega.session import ADMIN_REQUESTS, SEGMENT_FIELD, PravegaConversation


class Stage:
    """State shared by the steps; `talk` is the conversation of the next frame, set anew for each connection."""

    def __init__(self, give_back: Callable[[int], None], blocks: Integers, segments: dict[str | None, int]) -> None:
        self.talk: PravegaConversation
        #: Has the session read the frame at a place after all.
        self.give_back = give_back
        #: The segments that are appended to, by their code.
        self.segments = segments
        #: For each AppendBlockEnd the place of its block.
        self.blocks = blocks


#: What is done with the frames of a class.
Step = Callable[[Stage, Part], Iterator[int]]


def _segments(part: Part) -> list[str] | list[None]:
    field = SEGMENT_FIELD.get(part.kind.cls)
    return [None] * len(part.rows) if field is None else part.texts(field)


def _ask(stage: Stage, part: Part) -> Iterator[int]:
    cls = part.kind.cls
    is_admin = cls in ADMIN_REQUESTS
    for n, request_id, segment in zip(part.records, part.numbers("request_id"), _segments(part), strict=True):
        talk = stage.talk
        if is_admin and talk.is_main_port:
            yield REFUSED
            continue
        if segment is not None:
            talk.note_segment(segment)
        talk.requests.ask(n, cls, request_id)
        yield NO_REPLY


def _answer(stage: Stage, part: Part) -> Iterator[int]:
    classes = ANSWERS[part.kind.cls]
    for request_id, segment in zip(part.numbers("request_id"), _segments(part), strict=True):
        talk = stage.talk
        if segment is not None:
            talk.note_segment(segment)
        yield _or_none(talk.requests.answer(request_id, classes))


def _or_none(answered: int | None) -> int:
    return NO_REPLY if answered is None else answered


def _ask_to_read(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.records, part.numbers("request_id"), part.texts("segment"), part.numbers("offset")
    for n, request_id, segment, offset in zip(*columns, strict=True):
        talk = stage.talk
        talk.note_segment(segment)
        talk.requests.ask(n, ReadSegment, request_id, (segment, offset))
        yield NO_REPLY


def _answer_read(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.numbers("request_id"), part.texts("segment"), part.numbers("offset")
    for request_id, segment, offset in zip(*columns, strict=True):
        talk = stage.talk
        talk.note_segment(segment)
        yield _or_none(talk.requests.answer(request_id, (ReadSegment,), (segment, offset)))


def _greet(stage: Stage, part: Part) -> Iterator[int]:
    """Hello and KeepAlive: the server's answers the client's."""
    cls = part.kind.cls
    for n, is_server in zip(part.records, part.kind.frames.is_server[part.rows].tolist(), strict=True):
        if is_server:
            yield _or_none(stage.talk.answer_back(cls))
        else:
            stage.talk.requests.ask(n, cls, cls)
            yield NO_REPLY


def _fail(stage: Stage, part: Part) -> Iterator[int]:
    cls = part.kind.cls
    segments = part.texts("segment") if "segment" in part.kind.columns else [None] * len(part.rows)
    for request_id, segment, offset in zip(part.numbers("request_id"), segments, part.numbers("offset"), strict=True):
        yield _or_none(stage.talk.failed(cls, request_id, segment, offset))


def _set_up(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.records, part.numbers("request_id"), part.ids(), part.texts("segment")
    for n, request_id, writer_id, segment in zip(*columns, strict=True):
        talk = stage.talk
        if not talk.appends.is_idle:
            yield REFUSED
            continue
        talk.is_main_port = True
        talk.appends.bind(writer_id, segment)
        talk.note_segment(segment)
        talk.requests.ask(n, SetupAppend, request_id)
        yield NO_REPLY


def _answer_set_up(stage: Stage, part: Part) -> Iterator[int]:
    classes = ANSWERS[AppendSetup]
    columns = part.numbers("request_id"), part.ids(), part.texts("segment")
    for request_id, writer_id, segment in zip(*columns, strict=True):
        talk = stage.talk
        talk.is_main_port = True
        talk.appends.learn(writer_id, segment)
        talk.note_segment(segment)
        set_up_at = talk.requests.answer(request_id, classes)
        talk.acks.settle(writer_id, set_up_at)
        yield _or_none(set_up_at)


def _begin(stage: Stage, part: Part) -> Iterator[int]:
    """AppendBlock. Only those come here whose end is sure to join them, so that nothing has to be kept of them."""
    for writer_id in part.ids():
        appends = stage.talk.appends
        yield NO_REPLY if appends.is_idle and writer_id in appends.writers else REFUSED


def _append(stage: Stage, part: Part) -> Iterator[int]:
    """AppendBlockEnd; where it is refused its block is too."""
    segments = stage.segments
    columns = (
        part.records,
        part.numbers("request_id"),
        part.ids(),
        part.numbers("last_event_number"),
        stage.blocks[part.first : part.last].tolist(),
    )
    for n, request_id, writer_id, number, block in zip(*columns, strict=True):
        talk = stage.talk
        writer = talk.appends.go_on(writer_id, number)
        if writer is None:
            if block != LONE:
                stage.give_back(block)
            yield REFUSED
            continue
        talk.acks.sent(writer_id, number, request_id, n)
        yield segments.setdefault(writer.segment, len(segments))


def _append_alone(stage: Stage, part: Part) -> Iterator[int]:
    """ConditionalBlockEnd."""
    segments = stage.segments
    columns = part.records, part.numbers("request_id"), part.ids(), part.numbers("event_number")
    for n, request_id, writer_id, number in zip(*columns, strict=True):
        talk = stage.talk
        writer = talk.appends.go_on(writer_id, number)
        if writer is None:
            yield REFUSED
            continue
        talk.acks.sent(writer_id, number, request_id, n)
        yield segments.setdefault(writer.segment, len(segments))


def _acknowledge(stage: Stage, part: Part) -> Iterator[int]:
    for writer_id, number in zip(part.ids(), part.numbers("event_number"), strict=True):
        talk = stage.talk
        if writer_id not in talk.appends.writers:
            talk.appends.learn(writer_id, None)
        yield _or_none(talk.acks.acked(writer_id, number))


def _refuse_condition(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.ids(), part.numbers("event_number"), part.numbers("request_id")
    for writer_id, number, request_id in zip(*columns, strict=True):
        yield _or_none(stage.talk.check_failed(writer_id, number, request_id))


def _refuse_number(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.ids(), part.numbers("event_number"), part.numbers("request_id")
    for writer_id, number, request_id in zip(*columns, strict=True):
        yield _or_none(stage.talk.refused_number(writer_id, number, request_id))


_STEPS: Mapping[type[Message], Step] = {
    Hello: _greet,
    KeepAlive: _greet,
    SetupAppend: _set_up,
    AppendSetup: _answer_set_up,
    AppendBlock: _begin,
    AppendBlockEnd: _append,
    ConditionalBlockEnd: _append_alone,
    DataAppended: _acknowledge,
    ConditionalCheckFailed: _refuse_condition,
    InvalidEventNumber: _refuse_number,
    ReadSegment: _ask_to_read,
    SegmentRead: _answer_read,
}


def step_of(cls: type[Message]) -> Step:
    """What is done with frames of a class, as `session.handler` says it for single ones."""
    if cls in _STEPS:
        return _STEPS[cls]
    if cls.declaration.is_failure:
        return _fail
    return _ask if cls.declaration.sender == "client" else _answer
