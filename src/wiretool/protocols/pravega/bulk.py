"""Many frames of a Pravega connection at once: their fields as columns, whatever class they are of.

What the session makes of them, which reply answers what and what is appended, goes through the state of session.py:
for stretches of appends and acks as arrays, else in a loop over the few columns that matter. A frame that is out of
the ordinary is read by the session itself, in its turn.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from wiretool.codec.columns import Flags, Integers
from wiretool.codec.hops import Hops, Prefix, hop
from wiretool.codec.message import Side
from wiretool.protocols.bulk import BulkConversation, Frames, Group
from wiretool.protocols.pravega.append_columns import PravegaColumns
from wiretool.protocols.pravega.bulk_appends import settle_appends
from wiretool.protocols.pravega.bulk_blocks import ACK, BLOCK, CATALOGUE, END, IS_APART, join_blocks
from wiretool.protocols.pravega.bulk_kinds import SLOW, Part, Walk
from wiretool.protocols.pravega.bulk_steps import Stage, step_of
from wiretool.protocols.pravega.framing import HEADER_BYTES, PAYLOAD_BYTES_MAX
from wiretool.protocols.pravega.group_builder import GroupBuilder
from wiretool.protocols.pravega.session import PravegaConversation

_PREFIXES = {side: Prefix(HEADER_BYTES, 4, HEADER_BYTES, 0, PAYLOAD_BYTES_MAX[side]) for side in PAYLOAD_BYTES_MAX}
#: Fewer frames than this are read one by one.
FRAMES_MIN = 16
#: Appends and acks in a row that are worth arrays; where they were not plain, frames to go through before the next try.
STRETCH_MIN = 64
RETRY_FRAMES = 256

_STEPS = [step_of(cls) for cls in CATALOGUE.classes]
#: By code, False at the end for SLOW: appends, their acks, and both with what is apart from them.
_IS_APPEND = np.isin(np.arange(len(_STEPS) + 1), (BLOCK, END, ACK))
_IS_QUIET = _IS_APPEND | IS_APART


class PravegaBulk(BulkConversation):
    """The column path of one connection."""

    together = PravegaColumns(_PREFIXES)

    def __init__(self, conversation: PravegaConversation) -> None:
        self._conversation = conversation

    def is_ready(self) -> bool:
        return True

    def split(self, side: Side, data: bytes, start: int, end: int, guesses: Integers) -> Hops:
        return hop(data, start, end, _PREFIXES[side], guesses)

    def read(self, frames: Frames, read_one: Callable[[int], None]) -> Sequence[Group]:
        if len(frames.starts) < FRAMES_MIN:
            for row in range(len(frames.starts)):
                read_one(row)
            return []
        return _Reading(self._conversation, frames, read_one).groups()


class _Reading:
    """One time through some frames."""

    def __init__(self, talk: PravegaConversation, frames: Frames, read_one: Callable[[int], None]) -> None:
        self._talk = talk
        self._frames = frames
        found = CATALOGUE.kinds_of(frames)
        self._joins = join_blocks(found)
        self._kinds, self._codes = found
        self._walk = Walk(found, read_one)
        blocks = np.zeros(0, np.int64) if self._joins is None else self._joins.blocks
        self._stage = Stage(talk, self._walk.give_back, blocks)

    def _step(self, code: int, part: Part) -> Iterator[int]:
        return _STEPS[code](self._stage, part)

    def groups(self) -> list[Group]:
        """Read all of the frames."""
        at, is_append = 0, _IS_APPEND[self._codes]
        for start, stop in _stretches(_IS_QUIET[self._codes], is_append):
            self._walk.go(np.arange(at, start), self._step)
            self._pass(start, stop, is_append)
            at = stop
        self._walk.go(np.arange(at, len(self._codes)), self._step)
        builder = GroupBuilder(self._joins, list(self._stage.segments))
        groups = [builder.group(kind, self._codes[kind.rows] != SLOW) for kind in self._kinds.values()]
        return [group for group in groups if len(group.rows)]

    # -- as arrays -----------------------------------------------------------------------------------------------------

    def _pass(self, start: int, stop: int, is_append: Flags) -> None:
        """Read a stretch of appends, acks and what is apart from them."""
        at, retry = start, RETRY_FRAMES
        while at < stop:
            end = self._settle(at, stop, is_append)
            if end == at:
                end = min(stop, at + retry)
                retry *= 2
                self._walk.go(np.arange(at, end), self._step)
            at = end

    def _settle(self, start: int, stop: int, is_append: Flags) -> int:
        """How far from `start` on the appends and acks were read as arrays: nothing, or all up to there."""
        stop = min(stop, start + self._talk.acks.room)
        if stop - start < STRETCH_MIN or not self._talk.appends.is_idle:
            return start
        if not settle_appends(self._talk, self._kinds, start, stop, self._stage.segments, STRETCH_MIN):
            return start
        self._walk.go(np.flatnonzero(~is_append[start:stop]) + start, self._step)
        return stop


def _stretches(is_quiet: Flags, is_append: Flags) -> list[tuple[int, int]]:
    """The stretches in which everything is quiet and enough is an append or an ack."""
    if is_quiet.all():
        return [(0, len(is_quiet))] if np.count_nonzero(is_append) >= STRETCH_MIN else []
    bounds = np.flatnonzero(np.diff(is_quiet, prepend=False, append=False)).reshape(-1, 2)
    counts = np.append(0, np.cumsum(is_append))
    is_long = counts[bounds[:, 1]] - counts[bounds[:, 0]] >= STRETCH_MIN
    return [(start, stop) for start, stop in bounds[is_long].tolist()]
