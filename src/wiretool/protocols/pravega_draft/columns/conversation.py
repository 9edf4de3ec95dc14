"""Many frames of the draft at once, of many connections: fields as columns, and sessions in a loop over a few.

Messages that were cut, those whose flags share a byte, and whatever is out of the ordinary are read by the session.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from wiretool.codec.columns import Choice, Column, Flags, Integers, Numbers, Objects
from wiretool.protocols.base.columns import NO_REPLY, Events, Frames, Group, PrefixedColumns, read_singly
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.pravega.appends import spans_of
from wiretool.protocols.pravega.columns.events import LateEvents
from wiretool.protocols.pravega.columns.kinds import SLOW, Kind, Part, Walk
from wiretool.protocols.pravega_draft.columns.steps import CATALOGUE, STEPS, Stage
from wiretool.protocols.pravega_draft.framing import PREFIX
from wiretool.protocols.pravega_draft.messages import EndAppendBlock
from wiretool.protocols.pravega_draft.session import DraftConversation

_END = CATALOGUE.codes[EndAppendBlock]
#: Fewer frames than this are read one by one.
FRAMES_MIN = 16


class DraftColumns(PrefixedColumns):
    """Reads connections in turn, the fields of their frames together."""

    def __init__(self) -> None:
        super().__init__({"client": PREFIX, "server": PREFIX})

    def read(
        self,
        frames: Frames,
        owner: Integers,
        conversations: Sequence[Conversation],
        leave: Callable[[Flags], None],
        read_one: Callable[[int], None],
    ) -> Sequence[Group]:
        if len(owner) < FRAMES_MIN or not CATALOGUE.are_worth_columns(frames):
            read_singly(owner, len(conversations), leave, read_one)
            return []
        talks = [talk for talk in conversations if isinstance(talk, DraftConversation)]
        # Those with frames are left, so that the bytes of their unfinished blocks count.
        leave(np.bincount(owner, minlength=len(talks)) > 0)
        order = np.argsort(owner, kind="stable")
        groups = _read(frames.take(order), owner[order], talks, lambda row: read_one(int(order[row])))
        return [group.moved(order) for group in groups]


def _read(
    frames: Frames, owner: Integers, talks: Sequence[DraftConversation], read_one: Callable[[int], None]
) -> list[Group]:
    """Read frames that are ordered by conversation."""
    found, stage = CATALOGUE.kinds_of(frames), Stage()

    def step(code: int, part: Part) -> Iterator[int]:
        return STEPS[code](stage, part)

    def turns() -> Iterator[int]:
        for row, index in enumerate(owner.tolist()):
            stage.talk = talks[index]
            yield row

    Walk(found, read_one).go(np.arange(len(owner)), step, turns())
    groups = (_group(stage, code, kind, found.codes[kind.rows] != SLOW) for code, kind in found.kinds.items())
    return [group for group in groups if len(group.rows)]


def _group(stage: Stage, code: int, kind: Kind, kept: Flags) -> Group:
    kind = kind.take(kept)
    name = kind.cls.declaration.name
    if code == _END:
        append, events = _completed(stage, kind)
        return Group(kind.cls, name, kind.rows, kind.columns, None, append, events)
    replies = kind.added if (kind.added != NO_REPLY).any() else None
    return Group(kind.cls, name, kind.rows, kind.columns, replies)


def _completed(stage: Stage, kind: Kind) -> tuple[dict[str, Column], Events]:
    """The block that each end completes, in the form of `Blocks.complete`, and the events in it."""
    blocks = [stage.blocks[place] for place in kind.added.tolist()]
    offsets = np.array([offset for _, offset, _ in blocks], np.int64)
    segments: dict[str | None, int] = {}
    codes = np.array([segments.setdefault(segment, len(segments)) for segment, _, _ in blocks], np.int64)
    stored = [data for _, _, data in blocks]
    append: dict[str, Column] = {
        "segment": Choice(codes, list(segments)),
        "connection_id": kind.columns["connection_id"],
        "connection_offset": Numbers(offsets),
        "length": Numbers(np.array([len(data) for data in stored], np.int64)),
    }
    return append, LateEvents(lambda: _events(stored))


def _events(stored: Sequence[bytes]) -> Events:
    """The events in the bytes of blocks; the draft does not number them."""
    spans = [spans_of(data, 0, len(data), -1) for data in stored]
    rows = np.repeat(np.arange(len(stored)), [len(each) for each in spans])
    bodies = [data[start:stop] for data, each in zip(stored, spans, strict=True) for start, stop in each]
    lengths = np.array([len(body) for body in bodies], np.int64)
    return Events(rows, {"length": Numbers(lengths)}, Objects(bodies))


COLUMNS = DraftColumns()
