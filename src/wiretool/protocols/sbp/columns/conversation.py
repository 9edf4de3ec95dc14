"""Many frames of SBP at once, of many connections; irregular frames are read one by one."""

from collections.abc import Callable, Sequence

import numpy as np

from wiretool.codec.columns import Flags, Integers
from wiretool.protocols.base.columns import Frames, Group, PrefixedColumns, Weights, read_singly
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.sbp.columns.frames import Envelopes, FrameReader, Kind, envelopes_of, find_whole, group_of
from wiretool.protocols.sbp.columns.pairs import Stretch, pair_connections, pair_in_turn
from wiretool.protocols.sbp.columns.trust import trust_in
from wiretool.protocols.sbp.framing import PREFIX
from wiretool.protocols.sbp.schema import LATEST
from wiretool.protocols.sbp.session import SbpConversation

#: Fewer frames than this are read one by one.
FRAMES_MIN = 16


class SbpColumns(PrefixedColumns):
    """Reads connections: those whose frames are all regular together, others in turn."""

    can_weigh = True

    def __init__(self, reader: type[FrameReader]) -> None:
        super().__init__({"client": PREFIX, "server": PREFIX})
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
    ) -> Sequence[Group]:
        envelopes = envelopes_of(frames)
        if len(frames.starts) < FRAMES_MIN or not envelopes.are_worth_columns:
            read_singly(owner, len(conversations), leave, read_one)
            return []
        talks = [talk for talk in conversations if isinstance(talk, SbpConversation)]
        is_left = _read_undecided(owner, talks, leave, read_one)
        kinds = self._kinds(frames, envelopes, owner, talks, is_left & find_whole(frames.data, envelopes))
        is_regular = np.zeros(len(owner), np.bool_)
        for kind in kinds:
            is_regular[kind.rows] = True
        is_plain = np.ones(len(talks), np.bool_)
        is_plain[owner[~is_regular]] = False
        stretch = Stretch.of(frames, envelopes, owner)
        reply_to = pair_connections(talks, stretch, is_plain)
        rows = np.flatnonzero(is_left & ~is_plain[owner])
        if len(rows):
            leave(~is_plain)
            pair_in_turn(talks, stretch, rows, is_regular, reply_to, read_one)
        groups = [group_of(frames, envelopes, kind, is_regular[kind.rows], reply_to) for kind in kinds]
        return [group for group in groups if len(group.rows)]

    def _kinds(
        self,
        frames: Frames,
        envelopes: Envelopes,
        owner: Integers,
        talks: Sequence[SbpConversation],
        is_asked: Flags,
    ) -> list[Kind]:
        """Return the kinds of the frames that are asked for, by the schema of each connection."""
        kinds = []
        is_range_server = np.array([talk.role == "range server" for talk in talks])[owner]
        for schema in {talk.schema.name: talk.schema for talk in talks}.values():
            is_of = np.array([talk.schema.name == schema.name for talk in talks])[owner]
            kinds += self._reader(schema).kinds(frames, envelopes, is_asked & is_of, is_range_server)
        return kinds


def _read_undecided(
    owner: Integers,
    talks: Sequence[SbpConversation],
    leave: Callable[[Flags], None],
    read_one: Callable[[int], None],
) -> Flags:
    """Read frames by themselves as long as the schema of their connection is not known; return which frames are left.

    Frame i is of `talks[owner[i]]`.
    """
    is_left = np.ones(len(owner), np.bool_)
    is_undecided = np.array([not talk.is_decided for talk in talks])
    if is_undecided.any():
        leave(is_undecided)
        for row in np.flatnonzero(is_undecided[owner]).tolist():
            if not talks[owner[row]].is_decided:
                read_one(row)
                is_left[row] = False
    return is_left


COLUMNS = SbpColumns(FrameReader)
