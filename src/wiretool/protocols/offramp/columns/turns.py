"""Reads the frames of Offramp connections in turn: events that are whole messages together, everything else one by one.

Events are checked as in connection.py and events.py, and the state is the same.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.message import SIDES, Message
from wiretool.protocols.base.columns import Frames, Group
from wiretool.protocols.offramp.columns.frames import Heads
from wiretool.protocols.offramp.columns.json import plain_objects
from wiretool.protocols.offramp.columns.members import Gathered, Members
from wiretool.protocols.offramp.connection import Connection, echoed
from wiretool.protocols.offramp.deflate import Outcome, outcome_of
from wiretool.protocols.offramp.messages import (
    CancelEvent,
    CommitEvent,
    CommitResponseEvent,
    MessageEvent,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.protocols.offramp.session import Phase

#: Events that change nothing but what waits for an answer, once they flow.
_CLASSES: tuple[type[Message], ...] = (
    MessageEvent,
    RequestEvent,
    CancelEvent,
    CommitEvent,
    CommitResponseEvent,
    RebalanceEvent,
)
#: Their places, by name and whether the server sends it.
_CODE_OF: Mapping[tuple[str | None, bool], int] = {
    (cls.declaration.name, cls.declaration.sender == "server"): code for code, cls in enumerate(_CLASSES)
}
#: Phases of the sides in which these events are in order: they leave the client OPEN, and the server as it is.
_CLIENT_PHASES = frozenset({Phase.ASKED, Phase.OPEN, Phase.JOINED})
_SERVER_PHASES = frozenset({Phase.OPEN, Phase.JOINED})
#: Frames that are read together, so that what is made of them stays in the caches, and bytes they may inflate to.
_PIECE_FRAMES = 1_024
_PIECE_BYTES = 1024 * 1024
#: Regular frames after others of their connection that are worth arrays; the first ones of all connections always are.
RANGE_FRAMES_MIN = 32

_NO_MEMBERS = b"{}"

#: What must be done in turn for a row: read it (None), or note its commit or answer with this id.
_Turn = tuple[int, type[Message] | None, Any]
#: Of each class the indices of its events, and their objects.
_ByClass = dict[type[Message], tuple[list[int], list[Any]]]


class TurnReader:
    """Reads frames that are ordered by connection."""

    def __init__(
        self,
        frames: Frames,
        owner: Integers,
        talks: Sequence[Connection],
        leave: Callable[[Flags], None],
        read_one: Callable[[int], None],
    ) -> None:
        """`owner` are the indices of the conversations of frames; see `ProtocolColumns.read` for the others."""
        self._frames = frames
        self._talks = talks
        self._leave = leave
        self._read_alone = read_one
        #: By conversation, whether `leave` was called.
        self._is_left = np.zeros(len(talks), np.bool_)
        self._heads = heads = Heads(frames)
        self._owner_of = owner
        self._owner: list[int] = owner.tolist()
        self._is_server: list[bool] = frames.is_server.tolist()
        self._bounds: list[int] = np.searchsorted(owner, np.arange(len(talks) + 1)).tolist()
        #: Rows of frames that are irregular wherever they are, and of compressed messages.
        self._irregular: list[int] = np.flatnonzero(~(heads.is_whole | heads.is_ping)).tolist()
        self._compressed: list[int] = np.flatnonzero(heads.is_compressed).tolist()
        #: Before each row the number of frames of the server, and of the whole messages of each side.
        self._servers = _counts(frames.is_server)
        self._whole = {
            "client": _counts(heads.is_whole & ~frames.is_server),
            "server": _counts(heads.is_whole & frames.is_server),
        }
        self._gathered = {cls: Gathered(cls) for cls in _CLASSES}

    def read(self) -> None:
        """Read all frames: in rounds, each with the next regular frames of every connection."""
        self._leave_those(np.flatnonzero(~self._heads.is_whole))
        left = {index: start for index, start in enumerate(self._bounds[:-1]) if start < self._bounds[index + 1]}
        least = 1
        while left:
            rows: list[Integers] = []
            for index, start in list(left.items()):
                start, end = self._next_regular(index, start, least)
                rows.append(np.arange(start, end))
                left[index] = end
                if end == self._bounds[index + 1]:
                    del left[index]
            self._read_rows(np.concatenate(rows))
            least = RANGE_FRAMES_MIN

    def groups(self, places: Integers) -> list[Group]:
        """Return the events that were read as columns; row i of the frames is in the place `places[i]` of all."""
        groups = [each.group(places) for each in self._gathered.values()]
        return [group for group in groups if len(group.rows)]

    def _leave_those(self, rows: Sequence[int] | Integers) -> None:
        """Prepare the conversations of these rows for rows that are read by themselves."""
        those = np.zeros(len(self._talks), np.bool_)
        those[self._owner_of[rows]] = True
        those &= ~self._is_left
        if those.any():
            self._is_left |= those
            self._leave(those)

    def _read_one(self, row: int) -> None:
        if not self._is_left[self._owner[row]]:
            self._leave_those([row])
        self._read_alone(row)

    # -- which frames are regular ----------------------------------------------------------------------------------

    def _next_regular(self, index: int, at: int, least: int) -> tuple[int, int]:
        """Return the next range of regular frames of a conversation from a row on, with so many at least.

        The frames before it are read by themselves.
        """
        talk, stop = self._talks[index], self._bounds[index + 1]
        while at < stop:
            end = self._end_of_regular(talk, at, stop)
            if end > at and self._may_pass(talk, at, end):
                if end - at >= least:
                    self._pass(talk, at, end)
                    return at, end
                for row in range(at, end):
                    self._read_one(row)
                at = end
            else:
                self._read_one(at)
                at += 1
        return stop, stop

    def _end_of_regular(self, talk: Connection, at: int, stop: int) -> int:
        """Return the first irregular row from `at` on."""
        end = _first(self._irregular, at, stop)
        return end if talk.deflates is not False else _first(self._compressed, at, end)

    def _may_pass(self, talk: Connection, start: int, stop: int) -> bool:
        """Return whether nothing that came before makes the frames in these rows other than they seem."""
        phases, joiners = talk.session.phases, talk.joiners
        if phases["client"] not in _CLIENT_PHASES or phases["server"] not in _SERVER_PHASES:
            return False
        servers = self._servers[stop] - self._servers[start]
        return (joiners["server"].is_between or not servers) and (
            joiners["client"].is_between or servers == stop - start
        )

    def _pass(self, talk: Connection, start: int, stop: int) -> None:
        """Leave both sides as whole messages in order leave them; those read one by one would do the same."""
        for side in SIDES:
            if self._whole[side][stop] > self._whole[side][start]:
                talk.joiners[side].pass_whole()
                if side == "client":
                    talk.session.phases["client"] = Phase.OPEN

    # -- regular frames --------------------------------------------------------------------------------------------

    def _read_rows(self, rows: Integers) -> None:
        """Read regular frames."""
        at = 0
        while at < len(rows):
            at += self._read_piece(rows[at : at + _PIECE_FRAMES])

    def _read_piece(self, rows: Integers) -> int:
        """Read frames unless they inflate to too much; return how many of them were read."""
        texts = self._heads.payloads(rows)
        for index in np.flatnonzero(self._heads.is_ping[rows]).tolist():
            texts[index] = _NO_MEMBERS
        inflated = self._inflate(rows, texts)
        rows = rows[: len(texts)]
        by_class, odd = _sorted(plain_objects(texts), self._frames.is_server[rows].tolist())
        turns: list[_Turn] = [(row, None, None) for row in rows[odd].tolist()]
        for cls, (indices, objects) in by_class.items():
            mine, members = rows[indices].tolist(), Members(cls, objects)
            if cls is RequestEvent:
                _refuse_negative(members)
            self._gathered[cls].add(mine, members, [texts[index] for index in indices])
            turns += [(mine[index], None, None) for index in members.bad]
            if cls in (CommitEvent, CommitResponseEvent):
                ids = members.values["correlationId"]
                turns += [(row, cls, ids[index]) for index, row in enumerate(mine) if index not in members.bad]
        self._leave_those([row for row, cls, _ in turns if cls is None])
        turns.sort(key=itemgetter(0))
        self._take_turns(turns, inflated)
        return len(rows)

    def _inflate(self, rows: Integers, texts: list[bytes]) -> Mapping[int, Outcome]:
        """Inflate the texts of compressed messages, and drop those after too much; return the outcomes by row."""
        inflated: dict[int, Outcome] = {}
        size = 0
        for index in np.flatnonzero(self._heads.is_compressed[rows]).tolist():
            if size > _PIECE_BYTES:
                del texts[index:]
                break
            row = int(rows[index])
            side = SIDES[self._is_server[row]]
            inflater = self._talks[self._owner[row]].joiners[side].inflater
            outcome = inflated[row] = outcome_of(inflater.inflate, texts[index])
            text = outcome if isinstance(outcome, bytes) else b""
            is_too_long = side == "client" and len(text) > limits.OFFRAMP_CLIENT_MESSAGE_BYTES_MAX
            texts[index] = b"" if is_too_long else text
            size += len(text)
        return inflated

    def _take_turns(self, turns: Sequence[_Turn], inflated: Mapping[int, Outcome]) -> None:
        """Read the frames whose order matters: commits and their answers, and those that are read one by one."""
        for row, cls, correlation_id in turns:
            talk = self._talks[self._owner[row]]
            if cls is None:
                if row in inflated:
                    talk.joiners[SIDES[self._is_server[row]]].inflater.know(inflated[row])
                self._read_one(row)
            elif cls is CommitEvent:
                talk.commits.add(echoed(correlation_id), int(self._frames.numbers[row]))
            else:
                record = talk.commits.take(echoed(correlation_id))
                if record is not None:
                    self._gathered[cls].answers(row, record)


def _counts(flags: Flags) -> list[int]:
    """Return the number of flags before each row, and of all."""
    counts: list[int] = np.append(0, np.cumsum(flags)).tolist()
    return counts


def _first(rows: Sequence[int], at: int, stop: int) -> int:
    """Return the first of these ascending rows from `at` on, or `stop`."""
    place = bisect_left(rows, at)
    return min(rows[place], stop) if place < len(rows) else stop


def _sorted(objects: Sequence[dict[str, Any] | None], is_server: Sequence[bool]) -> tuple[_ByClass, list[int]]:
    """The events by class, and the indices of what is none of these."""
    names = [None if each is None else each.get("type") for each in objects]
    if not set(map(type, names)) <= {str, type(None)}:
        names = [name if type(name) is str else None for name in names]
    codes = np.array([_CODE_OF.get(kind, -1) for kind in zip(names, is_server, strict=True)], np.int64)
    by_class: _ByClass = {}
    for code in np.unique(codes[codes >= 0]).tolist():
        indices = np.flatnonzero(codes == code).tolist()
        by_class[_CLASSES[code]] = indices, [objects[index] for index in indices]
    return by_class, np.flatnonzero(codes < 0).tolist()


def _refuse_negative(requests: Members) -> None:
    """A request for less than nothing waits for its ERROR."""
    counts = requests.values["count"]
    requests.bad.update(index for index, count in enumerate(counts) if count is not None and count < 0)
