"""Many frames of a Pravega connection at once: their fields as columns, whatever class they are of.

What the session makes of them, which reply answers what and what is appended, goes through the state of session.py:
for stretches of appends and acks as arrays, else in a loop over the few columns that matter. A frame that is out of
the ordinary is read by the session itself, in its turn.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from wiretool.codec.columns import Choice, Column, Flags, Integers, Numbers
from wiretool.codec.hops import Hops, Prefix, hop
from wiretool.codec.message import Side
from wiretool.protocols.bulk import NO_REPLY, BulkConversation, Events, Frames, Group
from wiretool.protocols.pravega.bulk_appends import settle_appends
from wiretool.protocols.pravega.bulk_blocks import ACK, BLOCK, CATALOGUE, END, IS_APART, join_blocks
from wiretool.protocols.pravega.bulk_events import LateEvents, events_in
from wiretool.protocols.pravega.bulk_kinds import SLOW, Kind, Part, Walk
from wiretool.protocols.pravega.bulk_steps import Stage, step_of
from wiretool.protocols.pravega.framing import HEADER_BYTES, PAYLOAD_BYTES_MAX
from wiretool.protocols.pravega.messages import ConditionalBlockEnd
from wiretool.protocols.pravega.session import PravegaConversation

_PREFIXES = {side: Prefix(HEADER_BYTES, 4, HEADER_BYTES, 0, PAYLOAD_BYTES_MAX[side]) for side in PAYLOAD_BYTES_MAX}
#: Fewer frames than this are read one by one.
FRAMES_MIN = 16
#: Appends and acks in a row that are worth arrays; where they were not plain, frames to go through before the next try.
STRETCH_MIN = 64
RETRY_FRAMES = 256

_STEPS = [step_of(cls) for cls in CATALOGUE.classes]
_ALONE = CATALOGUE.codes[ConditionalBlockEnd]
#: By code, False at the end for SLOW: appends, their acks, and both with what is apart from them.
_IS_APPEND = np.isin(np.arange(len(_STEPS) + 1), (BLOCK, END, ACK))
_IS_QUIET = _IS_APPEND | IS_APART


class PravegaBulk(BulkConversation):
    """The column path of one connection."""

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
        return [group for code, kind in self._kinds.items() if len((group := self._group(code, kind)).rows)]

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

    # -- what they said ------------------------------------------------------------------------------------------------

    def _group(self, code: int, kind: Kind) -> Group:
        kept = self._codes[kind.rows] != SLOW
        append: dict[str, Column] | None = None
        events: Events | None = None
        if code == END:
            append, events = self._appended(kind, kept)
        elif code == _ALONE:
            append, events = self._appended_alone(kind, kept)
        kind = kind.take(kept)
        is_reply = append is None and bool((kind.added != NO_REPLY).any())
        replies = kind.added if is_reply else None
        return Group(kind.cls, kind.cls.declaration.name, kind.rows, kind.columns, replies, append, events)

    def _appended(self, kind: Kind, kept: Flags) -> tuple[dict[str, Column], Events]:
        assert self._joins is not None
        kind, appended = kind.take(kept), self._joins.appended.take(kept)
        counts, numbers = kind.numbers("num_events"), kind.numbers("last_event_number")
        none = Choice(np.full(len(counts), -1, np.int64), ())
        append = self._append(kind, "last_event_number", kind.columns["num_events"], none, appended.lengths)
        data = self._frames.data
        return append, LateEvents(lambda: events_in(data, appended, counts, numbers))

    def _appended_alone(self, kind: Kind, kept: Flags) -> tuple[dict[str, Column], Events]:
        kind = kind.take(kept)
        one = Numbers(np.ones(len(kind.rows), np.int64))
        data, expected = kind.spans("data"), kind.columns["expected_offset"]
        return self._append(kind, "event_number", one, expected, data.lengths), _no_events(data)

    def _append(self, kind: Kind, number: str, count: Column, expected: Column, lengths: Integers) -> dict[str, Column]:
        """What each completes, in the form of `appends.block_form`."""
        return {
            "segment": Choice(kind.added, list(self._stage.segments)),
            "writer_id": kind.columns["writer_id"],
            "event_number": kind.columns[number],
            "event_count": count,
            "expected_length": expected,
            "request_id": kind.columns["request_id"],
            "length": Numbers(lengths),
        }


def _no_events(data: Column) -> Events:
    none = np.zeros(0, np.int64)
    return Events(none, {"event_number": Numbers(none), "length": Numbers(none)}, data.take(none))


def _stretches(is_quiet: Flags, is_append: Flags) -> list[tuple[int, int]]:
    """The stretches in which everything is quiet and enough is an append or an ack."""
    if is_quiet.all():
        return [(0, len(is_quiet))] if np.count_nonzero(is_append) >= STRETCH_MIN else []
    bounds = np.flatnonzero(np.diff(is_quiet, prepend=False, append=False)).reshape(-1, 2)
    counts = np.append(0, np.cumsum(is_append))
    is_long = counts[bounds[:, 1]] - counts[bounds[:, 0]] >= STRETCH_MIN
    return [(start, stop) for start, stop in bounds[is_long].tolist()]
