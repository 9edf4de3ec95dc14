"""Reads the frames of Pravega connections in turn, in the state of the session.

Long stretches of appends and acknowledgements are arrays. Other frames are steps over columns of scalars.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from wiretool.codec.columns import NO_INTEGERS, Flags, Integers
from wiretool.protocols.pravega.columns.blocks import ACK, BLOCK, CATALOGUE, END, IS_APART, Joins
from wiretool.protocols.pravega.columns.bulk_appends import settle_appends
from wiretool.protocols.pravega.columns.kinds import Kind, Kinds, Part, Walk
from wiretool.protocols.pravega.columns.steps import Stage, step_of
from wiretool.protocols.pravega.session import PravegaConversation

#: Appends and acks in a row that are worth arrays; where they were not plain, frames to go through before the next try.
STRETCH_MIN = 64
RETRY_FRAMES = 256

_STEPS = [step_of(cls) for cls in CATALOGUE.classes]
#: By code, False at the end for SLOW: appends, their acks, and both with what is apart from them.
_IS_APPEND = np.isin(np.arange(len(_STEPS) + 1), (BLOCK, END, ACK))
_IS_QUIET = _IS_APPEND | IS_APART
#: A connection with fewer frames has no stretch of appends that is worth arrays of its own.
CONNECTION_FRAMES_MIN = 256


class TurnReader:
    """Reads frames that are ordered by connection."""

    def __init__(
        self, found: Kinds, joins: Joins | None, segments: dict[str | None, int], read_one: Callable[[int], None]
    ) -> None:
        """`segments` has the code of each segment that is appended to; it grows."""
        self._kinds, self._codes = found
        self._blocks = NO_INTEGERS if joins is None else joins.blocks
        self._segments = segments
        self._read_one = read_one

    def read(self, talks: Mapping[int, PravegaConversation], bounds: Sequence[int], is_asked: Flags) -> None:
        """Read the frames [bounds[i], bounds[i + 1]) of each conversation i that is asked for."""
        small: list[int] = []
        for index in np.flatnonzero(is_asked).tolist():
            start, stop = bounds[index : index + 2]
            if stop - start >= CONNECTION_FRAMES_MIN:
                self.read_connection(talks[index], start, stop)
            else:
                small.append(index)
        if small:
            self._read_together(talks, bounds, small)

    def read_connection(self, talk: PravegaConversation, start: int, stop: int) -> None:
        """Read the frames [start, stop) of one conversation."""
        walk = Walk(Kinds(self._kinds, self._codes), self._read_one)
        stage = Stage(walk.give_back, self._blocks, self._segments)
        stage.talk = talk
        _ConnectionReading(talk, self._kinds, self._codes, walk, stage).read(start, stop)

    def _read_together(
        self, talks: Mapping[int, PravegaConversation], bounds: Sequence[int], indices: Sequence[int]
    ) -> None:
        """Read the frames of several conversations, one conversation after the other."""
        is_mine = np.zeros(len(self._codes), np.bool_)
        for index in indices:
            is_mine[bounds[index] : bounds[index + 1]] = True
        of_kind = {code: is_mine[kind.rows] for code, kind in self._kinds.items()}
        kinds = {code: self._kinds[code].take(mine) for code, mine in of_kind.items()}
        walk = Walk(Kinds(kinds, self._codes), self._read_one)
        stage = Stage(walk.give_back, self._blocks[of_kind[END]] if END in of_kind else NO_INTEGERS, self._segments)

        def turns() -> Iterator[int]:
            for index in indices:
                stage.talk = talks[index]
                yield from range(bounds[index], bounds[index + 1])

        walk.go(np.flatnonzero(is_mine), lambda code, part: _STEPS[code](stage, part), turns())
        for code, mine in of_kind.items():
            self._kinds[code].added[mine] = kinds[code].added


class _ConnectionReading:
    """Reads frames of one conversation."""

    def __init__(
        self, talk: PravegaConversation, kinds: dict[int, Kind], codes: Integers, walk: Walk, stage: Stage
    ) -> None:
        self._talk = talk
        self._kinds = kinds
        self._codes = codes
        self._walk = walk
        self._stage = stage

    def _step(self, code: int, part: Part) -> Iterator[int]:
        return _STEPS[code](self._stage, part)

    def read(self, start: int, stop: int) -> None:
        """Read the frames [start, stop)."""
        codes = self._codes[start:stop]
        at, is_append = start, _IS_APPEND[self._codes]
        for first, last in _quiet_ranges(_IS_QUIET[codes], is_append[start:stop]):
            self._walk.go(np.arange(at, start + first), self._step)
            self._pass(start + first, start + last, is_append)
            at = start + last
        self._walk.go(np.arange(at, stop), self._step)

    # -- as arrays -----------------------------------------------------------------------------------------------------

    def _pass(self, start: int, stop: int, is_append: Flags) -> None:
        """Read a stretch of appends, acknowledgements and frames apart from them."""
        at, retry = start, RETRY_FRAMES
        while at < stop:
            end = self._settle(at, stop, is_append)
            if end == at:
                end = min(stop, at + retry)
                retry *= 2
                self._walk.go(np.arange(at, end), self._step)
            at = end

    def _settle(self, start: int, stop: int, is_append: Flags) -> int:
        """Read appends and acknowledgements from `start` on as arrays; return the end of what was read, or `start`."""
        stop = min(stop, start + self._talk.acks.room)
        if stop - start < STRETCH_MIN or not self._talk.appends.is_idle:
            return start
        if not settle_appends(self._talk, self._kinds, start, stop, self._stage.segments, STRETCH_MIN):
            return start
        self._walk.go(np.flatnonzero(~is_append[start:stop]) + start, self._step)
        return stop


def _quiet_ranges(is_quiet: Flags, is_append: Flags) -> list[tuple[int, int]]:
    """Return the ranges of quiet frames with enough appends and acknowledgements."""
    if is_quiet.all():
        return [(0, len(is_quiet))] if np.count_nonzero(is_append) >= STRETCH_MIN else []
    bounds = np.flatnonzero(np.diff(is_quiet, prepend=False, append=False)).reshape(-1, 2)
    counts = np.append(0, np.cumsum(is_append))
    is_long = counts[bounds[:, 1]] - counts[bounds[:, 0]] >= STRETCH_MIN
    return [(start, stop) for start, stop in bounds[is_long].tolist()]
