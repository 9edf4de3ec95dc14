"""Pairs requests and responses of many frames at once, in the state of the session.

Where no identifier is asked again before it is answered, requests and responses take turns; there they are paired by
sorting. Everywhere else the session's own `Requests` are asked, frame by frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Flags, Integers, begins_of
from wiretool.codec.message import SIDES, Side, other_side
from wiretool.protocols.base.columns import NO_REPLY, Frames
from wiretool.protocols.sbp.messages import GOAWAY, RESPONSE, RESPONSE_END, SYSTEM_ERROR
from wiretool.protocols.sbp.session import SERVED_BY, TABLE, Requests, SbpConversation, What

if TYPE_CHECKING:
    from wiretool.protocols.sbp.columns.frames import Envelopes

#: Bits of an identifier.
_ID_BITS = 32
#: Frames that are worth sorting.
MANY_MIN = 64


class Stretch(NamedTuple):
    """Frames of which only the requests and responses matter; frame i is of connection `owner[i]`."""

    owner: Integers
    is_server: Flags
    numbers: Integers
    opcodes: Integers
    flags: Integers
    stream_ids: Integers

    @classmethod
    def of(cls, frames: Frames, envelopes: Envelopes, owner: Integers) -> Stretch:
        """Return these frames."""
        columns = envelopes.opcode, envelopes.flags, envelopes.stream_id
        return cls(owner, frames.is_server, frames.numbers, *columns)

    def take(self, rows: Any) -> Stretch:
        """Return some of them."""
        return Stretch._make(column[rows] for column in self)


def pair_connections(talks: Sequence[SbpConversation], stretch: Stretch, is_plain: Flags) -> Integers:
    """Pair the frames of the connections that are plain; return the record that each frame answers.

    Clear `is_plain` of connections whose frames must be paired one by one. The state of these stays as it is.
    """
    requests = [talk.requests[side] for talk in talks for side in SIDES]
    room = limits.REQUESTS_OPEN_MAX - np.array([each.count for each in requests], np.int64).reshape(-1, 2).max(1)
    is_plain &= np.bincount(stretch.owner, minlength=len(talks)) <= room
    turns = turns_of(stretch, requests)
    is_plain[stretch.owner[turns.irregular]] = False
    reply_to = np.full(len(stretch.owner), NO_REPLY, np.int64)
    if not is_plain.all():
        turns = turns.take(is_plain[stretch.owner[turns.rows]])
        stretch = stretch._replace(owner=np.where(is_plain[stretch.owner], stretch.owner, -1))
    turns.settle(stretch, requests, reply_to)
    note_frames(talks, stretch)
    return reply_to


def note_frames(talks: Sequence[SbpConversation], stretch: Stretch) -> None:
    """Note the senders, the kinds of servers and the phases of connections; `owner` is -1 for other frames."""
    is_mine = stretch.owner >= 0
    has_sent = np.zeros(2 * len(talks), np.bool_)
    has_sent[2 * stretch.owner[is_mine] + stretch.is_server[is_mine]] = True
    for code in np.flatnonzero(has_sent).tolist():
        talks[code >> 1].heard.add(SIDES[code & 1])
    for row in np.flatnonzero(is_mine & (stretch.opcodes == GOAWAY)).tolist():
        talk = talks[stretch.owner[row]]
        talk.phase = TABLE[talk.phase, SIDES[int(stretch.is_server[row])], What.GOAWAY]
    _note_roles(talks, stretch, is_mine)


def _note_roles(talks: Sequence[SbpConversation], stretch: Stretch, is_mine: Flags) -> None:
    has_role = np.array([bool(talk.role) for talk in talks])
    is_answer = is_mine & stretch.is_server & (stretch.flags & (RESPONSE | SYSTEM_ERROR) == RESPONSE)
    rows = np.flatnonzero(is_answer & ~has_role[stretch.owner])
    _, firsts = np.unique(stretch.owner[rows] << 16 | stretch.opcodes[rows], return_index=True)
    for row in rows[np.sort(firsts)].tolist():
        talk = talks[stretch.owner[row]]
        operation = talk.schema.operation(int(stretch.opcodes[row]))
        talk.role = talk.role or SERVED_BY.get(operation.name if operation else "", "")


def pair_in_turn(
    talks: Sequence[SbpConversation],
    stretch: Stretch,
    rows: Integers,
    is_regular: Flags,
    reply_to: Integers,
    read_one: Callable[[int], None],
) -> None:
    """Set what the regular ones of some rows answer; the others are read by themselves.

    Clear `is_regular` of frames that cannot be paired, which are read by themselves, too.
    """
    rows = rows[np.argsort(stretch.owner[rows], kind="stable")]
    for mine in np.split(rows, begins_of(stretch.owner[rows])[1:]):
        pairs = _ConnectionPairs(talks[stretch.owner[mine[0]]], stretch.take(mine))
        for start, stop in _stretches(is_regular[mine]):
            singles = pairs.read(start, stop) if is_regular[mine[start]] else range(start, stop)
            for row in map(mine.item, singles):
                is_regular[row] = False
                read_one(row)
        reply_to[mine] = pairs.reply_to


def _stretches(flags: Flags) -> Iterator[tuple[int, int]]:
    """Yield the stretches of equal flags, one after the other."""
    yield from pairwise([0, *(np.flatnonzero(np.diff(flags)) + 1).tolist(), len(flags)])


class _ConnectionPairs:
    """Pairs the frames of one conversation, in turn."""

    def __init__(self, talk: SbpConversation, rows: Stretch) -> None:
        self._talk = talk
        self._rows = rows._replace(owner=np.zeros(len(rows.owner), np.int64))
        #: The record that each frame answers, as far as they were read.
        self.reply_to = np.full(len(rows.owner), NO_REPLY, np.int64)

    def read(self, start: int, stop: int) -> Iterator[int]:
        """Pair the frames [start, stop); yield each that is to be read by itself, in its turn."""
        rows = self._rows.take(slice(start, stop))
        if self._pair_at_once(rows, start):
            return
        begin = start
        for at, frame in enumerate(zip(*(column.tolist() for column in rows[1:]), strict=True), start):
            if not self._pair(at, *frame):
                self._note(begin, at)
                yield at
                begin = at + 1
        self._note(begin, stop)

    def _note(self, start: int, stop: int) -> None:
        note_frames([self._talk], self._rows.take(slice(start, stop)))

    def _pair(self, at: int, is_server: bool, n: int, opcode: int, flags: int, stream_id: int) -> bool:
        """Pair a frame; return False where it answers nothing, though it should."""
        side: Side = "server" if is_server else "client"
        asker, requests = other_side(side), self._talk.requests
        if flags & RESPONSE:
            is_doubtful = self._talk.is_doubtful(asker, stream_id)
            answered = requests[asker].answer(stream_id, opcode, is_last=bool(flags & RESPONSE_END))
            if answered is not None:
                self.reply_to[at] = NO_REPLY if is_doubtful else answered
                return True
            if self._talk.is_whole(asker):
                return False
            # As `SbpConversation.read` has it, its request may be in a gap.
        requests[side].add(stream_id, opcode, n)
        return True

    def _pair_at_once(self, rows: Stretch, start: int) -> bool:
        """Pair frames as arrays, if they are enough, and none is out of turn; else return False."""
        requests = [self._talk.requests[side] for side in SIDES]
        room = limits.REQUESTS_OPEN_MAX - max(each.count for each in requests)
        if not MANY_MIN <= len(rows.flags) <= room:
            return False
        turns = turns_of(rows, requests)
        if len(turns.irregular):
            return False
        turns.settle(rows, requests, self.reply_to[start : start + len(rows.flags)])
        note_frames([self._talk], rows)
        return True


@dataclass(frozen=True, slots=True)
class Turns:
    """Requests and their responses by connection, requesting side and identifier, each in their order."""

    #: Row, key (the index of the requests, then the identifier), whether a request, and whether the end of a response.
    rows: Integers
    keys: Integers
    is_request: Flags
    is_end: Flags
    #: The first row of each key, whether a request with it was open before, and the number of that.
    begins: Integers
    had: Flags
    earlier: Integers
    #: The rows that are out of turn.
    irregular: Integers

    def take(self, kept: Flags) -> Turns:
        """Return some of the rows; all of a key, or none."""
        has = kept[self.begins]
        begins = (np.cumsum(kept) - 1)[self.begins[has]]
        return Turns(
            self.rows[kept],
            self.keys[kept],
            self.is_request[kept],
            self.is_end[kept],
            begins,
            self.had[has],
            self.earlier[has],
            self.irregular,
        )

    def settle(self, stretch: Stretch, requests: Sequence[Requests], reply_to: Integers) -> None:
        """Set the record that each response answers, and update the open requests."""
        if not len(self.rows):
            return
        count = np.diff(self.begins, append=len(self.rows))
        asked = np.maximum.accumulate(np.where(self.is_request, np.arange(len(self.rows)), -1))
        is_new = asked >= np.repeat(self.begins, count)
        numbers = np.where(is_new, stretch.numbers[self.rows[asked]], np.repeat(self.earlier, count))
        reply_to[self.rows[~self.is_request]] = numbers[~self.is_request]
        lasts = self.begins + count - 1
        stays, is_new = ~self.is_end[lasts], is_new[lasts]
        for index, ids, _ in _by_requests(self.keys[self.begins[self.had & ~(stays & ~is_new)]]):
            requests[index].forget(ids)
        left = asked[lasts[stays & is_new]]
        left = left[np.lexsort((self.rows[left], self.keys[left] >> _ID_BITS))]
        rows = self.rows[left]
        waiting = list(zip(stretch.opcodes[rows].tolist(), stretch.numbers[rows].tolist(), strict=True))
        for index, ids, part in _by_requests(self.keys[left]):
            requests[index].leave_open(dict(zip(ids, waiting[part], strict=True)))


def turns_of(stretch: Stretch, requests: Sequence[Requests]) -> Turns:
    """Return the requests and responses of a stretch.

    `requests` has those of client and server of each connection.
    """
    is_request = stretch.flags & RESPONSE == 0
    keys = (2 * stretch.owner + (stretch.is_server == is_request)) << _ID_BITS | stretch.stream_ids
    rows = np.argsort(keys, kind="stable")
    keys, is_request = keys[rows], is_request[rows]
    is_end = ~is_request & (stretch.flags[rows] & RESPONSE_END != 0)
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    had, earlier = np.zeros(len(begins), np.bool_), np.zeros(len(begins), np.int64)
    places, numbers, counts = _open_among(keys[begins], requests)
    had[places] = True
    earlier[places] = numbers
    # Of several with one identifier the operation says which is answered.
    is_odd = np.zeros(len(rows), np.bool_)
    is_odd[begins[places[counts > 1]]] = True
    was_open = ~np.append(True, is_end)[:-1]
    was_open[begins] = had
    irregular = rows[is_odd | (is_request == was_open)]
    return Turns(rows, keys, is_request, is_end, begins, had, earlier, irregular)


def _open_among(keys: Integers, requests: Sequence[Requests]) -> tuple[Integers, Integers, Integers]:
    """Return the indices of the keys with open requests, the number of the first one and how many there are."""
    found: list[tuple[int, int, int]] = []
    for index, ids, _ in _by_requests(keys):
        if requests[index].count:
            opened = requests[index].open_among(ids)
            found += [(index << _ID_BITS | each, asked[0][1], len(asked)) for each, asked in opened.items()]
    known, numbers, counts = np.array(found, np.int64).reshape(-1, 3).T
    return np.searchsorted(keys, known), numbers, counts


def _by_requests(keys: Integers) -> Iterator[tuple[int, list[int], slice]]:
    """Yield the index of each requests among keys in order, the identifiers of it, and the part of the keys."""
    of, ids = keys >> _ID_BITS, (keys & (1 << _ID_BITS) - 1).tolist()
    bounds = np.flatnonzero(np.diff(of, prepend=-1, append=-1)).tolist()
    for start, stop in pairwise(bounds):
        yield int(of[start]), ids[start:stop], slice(start, stop)
