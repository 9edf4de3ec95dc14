"""Many frames of SBP at once, of one connection or of many; irregular frames are read one by one."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.hops import Prefix
from wiretool.protocols.base.columns import NO_REPLY, BulkConversation, Frames, Group, PrefixedColumns, Weights
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.sbp.bulk_frames import Envelopes, FrameReader, envelopes_of, find_whole, group_of
from wiretool.protocols.sbp.bulk_pairs import Pairs, Stretch, pair_connections
from wiretool.protocols.sbp.bulk_trust import trust_in
from wiretool.protocols.sbp.framing import LENGTH_BYTES, MAGIC
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.session import SbpConversation

_PREFIX = Prefix(
    LENGTH_BYTES,
    0,
    LENGTH_BYTES,
    limits.SBP_FRAME_LENGTH_MIN,
    limits.SBP_FRAME_LENGTH_MAX,
    magic=(LENGTH_BYTES, MAGIC),
)
#: Fewer frames than this are read one by one.
FRAMES_MIN = 16


class SbpColumns(PrefixedColumns):
    """Reads the connections whose frames are all regular."""

    can_weigh = True

    def __init__(self, reader: type[FrameReader]) -> None:
        super().__init__({"client": _PREFIX, "server": _PREFIX})
        self._reader = reader

    def weigh(self, frames: Frames, owner: Integers) -> Weights:
        return Weights(trust_in(self._reader(LATEST), frames, envelopes_of(frames)), np.ones(len(owner), np.bool_))

    def read(
        self,
        frames: Frames,
        owner: Integers,
        conversations: Sequence[Conversation],
        leave: Callable[[Flags], None],
        read_one: Callable[[int], None],
    ) -> tuple[Sequence[Group], Flags]:
        talks = [talk for talk in conversations if isinstance(talk, SbpConversation)]
        envelopes = envelopes_of(frames)
        if len(frames.starts) < FRAMES_MIN or not envelopes.are_worth_columns:
            return [], np.zeros(len(talks), np.bool_)
        is_plain = np.array([talk.is_decided for talk in talks])
        is_range_server = np.array([talk.role == "range server" for talk in talks])[owner]
        is_asked = find_whole(frames.data, envelopes) & is_plain[owner]
        kinds = []
        for schema in {talk.schema.name: talk.schema for talk in talks}.values():
            is_of = np.array([talk.schema.name == schema.name for talk in talks])[owner]
            kinds += self._reader(schema).kinds(frames, envelopes, is_asked & is_of, is_range_server)
        is_regular = np.zeros(len(owner), np.bool_)
        for kind in kinds:
            is_regular[kind.rows] = True
        is_plain[owner[~is_regular]] = False
        reply_to = pair_connections(talks, Stretch.of(frames, envelopes, owner), is_plain)
        groups = [group_of(frames, envelopes, kind, is_plain[owner[kind.rows]], reply_to) for kind in kinds]
        return [group for group in groups if len(group.rows)], is_plain


class SbpBulk(BulkConversation):
    """Requests and responses of one connection."""

    reader = FrameReader
    together = SbpColumns(FrameReader)

    def __init__(self, conversation: SbpConversation) -> None:
        self._conversation = conversation
        self._pairs = Pairs(conversation)

    def read(self, frames: Frames, read_one: Callable[[int], None]) -> Sequence[Group]:
        first, count = 0, len(frames.starts)
        while first < count and (not self._conversation.is_decided or count - first < FRAMES_MIN):
            read_one(first)
            first += 1
        if first == count:
            return []
        envelopes = envelopes_of(frames)
        is_asked = np.arange(count) >= first
        if not envelopes.take(np.arange(first, count)).are_worth_columns:
            for row in range(first, count):
                read_one(row)
            return []
        is_asked &= find_whole(frames.data, envelopes)
        is_range_server = np.full(count, self._conversation.role == "range server")
        kinds = self.reader(self._conversation.schema).kinds(frames, envelopes, is_asked, is_range_server)
        is_bulk = np.zeros(count, np.bool_)
        for kind in kinds:
            is_bulk[kind.rows] = True
        reply_to = self._in_turn(frames, envelopes, is_bulk, first, read_one)
        return [group_of(frames, envelopes, kind, is_bulk[kind.rows], reply_to) for kind in kinds]

    def _in_turn(
        self, frames: Frames, envelopes: Envelopes, is_bulk: Flags, first: int, read_one: Callable[[int], None]
    ) -> Integers:
        """What each frame answers; those that are read one by one are no longer bulk."""
        reply_to = np.full(len(is_bulk), NO_REPLY, np.int64)
        for start, stop in _stretches(is_bulk, first):
            at = start
            while at < stop:
                if is_bulk[at]:
                    at = self._pairs.read(frames, envelopes, at, stop, reply_to)
                if at < stop:
                    is_bulk[at] = False
                    read_one(at)
                    at += 1
        return reply_to


def _stretches(flags: Flags, first: int) -> Iterator[tuple[int, int]]:
    """The stretches of equal flags from `first` on, one after the other."""
    bounds = np.flatnonzero(np.diff(flags[first:])) + first + 1
    yield from pairwise([first, *bounds.tolist(), len(flags)])
