"""What session.py does with frames of each class, one after the other, out of columns.

See `pravega/columns/kinds.py` for steps. Each does the same as the handler of session.py; of a message of the client
it also counts the bytes, as those between the beginning and the end of a block.
"""

from collections.abc import Callable, Iterator, Mapping

from wiretool.codec.message import SIDES, Message, Side
from wiretool.errors import ProtocolViolation
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.protocols.pravega.columns.kinds import REFUSED, Catalogue, Part
from wiretool.protocols.pravega_draft.framing import may_send
from wiretool.protocols.pravega_draft.messages import (
    MESSAGES,
    AppendSetup,
    BeginAppendBlock,
    DataAppended,
    EndAppendBlock,
    Event,
    KeepAlive,
    NoSuchSegment,
    ReadSegment,
    SegmentAlreadyExists,
    SegmentIsSealed,
    SetupAppend,
    WrongHost,
)
from wiretool.protocols.pravega_draft.pairing import Asked
from wiretool.protocols.pravega_draft.session import DraftConversation


class Stage:
    """The conversation whose frames are read, and the blocks of all that were read before."""

    def __init__(self) -> None:
        self.talk: DraftConversation
        #: The blocks that were completed: segment, where it begins, the bytes to store. What an end adds is its place.
        self.blocks: list[tuple[str | None, int, bytes]] = []


#: What is done with the frames of a class.
Step = Callable[[Stage, Part], Iterator[int]]


def _sizes(part: Part) -> list[int]:
    """The bytes of each frame."""
    frames = part.kind.frames
    sizes: list[int] = (frames.ends[part.rows] - frames.starts[part.rows]).tolist()
    return sizes


def _or_none(answered: int | None) -> int:
    return NO_REPLY if answered is None else answered


def _store(stage: Stage, part: Part) -> Iterator[int]:
    """Event."""
    frames = part.kind.frames
    starts, ends = frames.starts[part.rows].tolist(), frames.ends[part.rows].tolist()
    for start, end in zip(starts, ends, strict=True):
        blocks = stage.talk.blocks
        if blocks.phase != "block":
            yield REFUSED
            continue
        blocks.pass_frame(end - start)
        blocks.store(frames.data[start:end])
        yield NO_REPLY


def _begin(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.ids("connection_id"), part.numbers("connection_offset"), part.numbers("length")
    for connection_id, offset, length in zip(*columns, strict=True):
        blocks = stage.talk.blocks
        if blocks.phase != "outside" or connection_id not in blocks.writers:
            yield REFUSED
            continue
        try:
            blocks.begin(BeginAppendBlock(connection_id=connection_id, connection_offset=offset, length=length))
        except ProtocolViolation:
            yield REFUSED
            continue
        blocks.phase = "block"
        yield NO_REPLY


def _end(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.ids("connection_id"), part.numbers("connection_offset"), part.numbers("block_length")
    for n, connection_id, offset, length in zip(part.records, *columns, strict=True):
        talk = stage.talk
        end = EndAppendBlock(connection_id=connection_id, connection_offset=offset, block_length=length)
        if talk.partials["client"].is_open or not talk.blocks.is_sound(end):
            yield REFUSED
            continue
        talk.blocks.finish(end)
        done = talk.blocks.complete("EndAppendBlock")
        assert done is not None, "it is sound"
        form, data = done
        talk.acks.sent(connection_id, form["connection_offset"] + len(data), n)
        stage.blocks.append((form["segment"], form["connection_offset"], data))
        yield len(stage.blocks) - 1


def _set_up(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.records, _sizes(part), part.ids("connection_id"), part.texts("segment")
    for n, size, connection_id, segment in zip(*columns, strict=True):
        talk = stage.talk
        talk.blocks.pass_frame(size)
        talk.blocks.set_up(connection_id, segment)
        talk.requests.ask(segment, Asked(n, connection_id=connection_id))
        yield NO_REPLY


def _answer_set_up(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.ids("connection_id"), part.texts("segment"), part.numbers("connection_offset_ack_level")
    for connection_id, segment, level in zip(*columns, strict=True):
        talk = stage.talk
        if talk.blocks.is_contradicted(connection_id, level):
            yield REFUSED
            continue
        talk.blocks.learn(connection_id, segment, level)
        talk.acks.settle(connection_id)
        yield _or_none(talk.requests.set_up(segment, connection_id))


def _acknowledge(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.ids("connection_id"), part.numbers("connection_offset_ack_level")
    for connection_id, level in zip(*columns, strict=True):
        talk = stage.talk
        talk.blocks.learn(connection_id, None, None)
        yield _or_none(talk.acks.acked(connection_id, level))


def _ask_to_read(stage: Stage, part: Part) -> Iterator[int]:
    columns = part.records, _sizes(part), part.texts("segment"), part.numbers("offset")
    for n, size, segment, offset in zip(*columns, strict=True):
        talk = stage.talk
        talk.blocks.pass_frame(size)
        talk.requests.ask(segment, Asked(n, offset=offset))
        yield NO_REPLY


def _fail(stage: Stage, part: Part) -> Iterator[int]:
    for segment in part.texts("segment"):
        yield _or_none(stage.talk.requests.refused(segment))


def _keep_alive(stage: Stage, part: Part) -> Iterator[int]:
    sides: Iterator[Side] = ("server" if each else "client" for each in part.kind.frames.is_server[part.rows].tolist())
    for n, size, side in zip(part.records, _sizes(part), sides, strict=True):
        talk = stage.talk
        if side == "client":
            talk.blocks.pass_frame(size)
        yield _or_none(talk.keep_alive(side, n))


_BY_CLASS: Mapping[type[Message], Step] = {
    Event: _store,
    SetupAppend: _set_up,
    AppendSetup: _answer_set_up,
    BeginAppendBlock: _begin,
    EndAppendBlock: _end,
    DataAppended: _acknowledge,
    ReadSegment: _ask_to_read,
    WrongHost: _fail,
    SegmentIsSealed: _fail,
    SegmentAlreadyExists: _fail,
    NoSuchSegment: _fail,
    KeepAlive: _keep_alive,
}
CATALOGUE = Catalogue({side: [cls for cls in MESSAGES if may_send(side, cls) and cls in _BY_CLASS] for side in SIDES})
#: By code.
STEPS = [_BY_CLASS[cls] for cls in CATALOGUE.classes]
