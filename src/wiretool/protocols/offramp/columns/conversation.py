"""Many frames of Offramp at once, of many connections; irregular frames are read one by one."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.frames.boundaries import FrameBoundaries, walk_ranges
from wiretool.protocols.base.columns import Frames, Group, ProtocolColumns, read_singly
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.offramp.columns.expansion import expanded_bytes
from wiretool.protocols.offramp.columns.frames import FrameHeaders
from wiretool.protocols.offramp.columns.turns import TurnReader
from wiretool.protocols.offramp.connection import Connection

#: Fewer frames than this are read one by one.
FRAMES_MIN = 16
#: Frames without which the collector goes on.
_FRAMES_MANY = 1_024


class OfframpColumns(ProtocolColumns):
    """Reads connections in turn, their events together."""

    may_expand = True

    def find_boundaries(
        self, data: bytes, begins: Integers, stops: Integers, is_server: Flags, guesses: Integers
    ) -> FrameBoundaries:
        return walk_ranges(data, begins, stops, FrameHeaders(is_server))

    def growth(self, conversation: Conversation) -> int:
        assert isinstance(conversation, Connection)
        return limits.DEFLATE_GROWTH_MAX if conversation.is_packed or conversation.deflates is not False else 1

    def expanded_bytes(
        self, frames: Frames, owner: Integers, conversations: Sequence[Conversation], bytes_max: int
    ) -> int:
        return expanded_bytes(frames, owner, _talks(conversations), bytes_max)

    def read(
        self,
        frames: Frames,
        owner: Integers,
        conversations: Sequence[Conversation],
        leave: Callable[[Flags], None],
        read_one: Callable[[int], None],
    ) -> Sequence[Group]:
        talks = _talks(conversations)
        if len(owner) < FRAMES_MIN:
            read_singly(owner, len(talks), leave, read_one)
            return []
        order = np.argsort(owner, kind="stable")
        reader = TurnReader(frames.take(order), owner[order], talks, leave, lambda row: read_one(int(order[row])))
        with _no_collecting(is_on=len(owner) >= _FRAMES_MANY):
            reader.read()
            return reader.groups(order)


def _talks(conversations: Sequence[Conversation]) -> list[Connection]:
    return [talk for talk in conversations if isinstance(talk, Connection)]


@contextmanager
def _no_collecting(*, is_on: bool) -> Iterator[None]:
    """What is parsed is kept: to look for garbage in it, once every few hundred objects, takes longer than parsing."""
    if not is_on or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


COLUMNS = OfframpColumns()
