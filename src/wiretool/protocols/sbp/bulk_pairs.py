"""Which responses answer which requests, many frames at once, in the state that the session has too.

Where no identifier is asked again before it is answered, requests and responses take turns; there they are paired by
sorting. Everywhere else the session's own `Requests` are asked, frame by frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.message import Side, other_side
from wiretool.protocols.bulk import Frames
from wiretool.protocols.sbp.messages import RESPONSE, RESPONSE_END, SYSTEM_ERROR
from wiretool.protocols.sbp.session import SERVED_BY, Requests, SbpConversation

if TYPE_CHECKING:
    from wiretool.protocols.sbp.bulk import Envelopes

_SIDES: tuple[Side, Side] = ("client", "server")
#: Frames that are worth sorting, at least and at most: each that is out of turn makes the next stretch shorter, each
#: stretch without one makes it so many times as long.
MANY_MIN, MANY_MAX, MANY_TIMES = 64, 65_536, 8


class Stretch(NamedTuple):
    """Frames in a row, of which nothing but who asks and who answers counts."""

    is_server: Flags
    numbers: Integers
    opcodes: Integers
    flags: Integers
    stream_ids: Integers

    def part(self, start: int, stop: int) -> Stretch:
        """Its rows [start, stop)."""
        part = slice(start, stop)
        return Stretch(
            self.is_server[part], self.numbers[part], self.opcodes[part], self.flags[part], self.stream_ids[part]
        )


class Pairs:
    """Pairs the frames of a conversation."""

    def __init__(self, conversation: SbpConversation) -> None:
        self._conversation = conversation
        self._many = MANY_MAX

    def read(self, frames: Frames, envelopes: Envelopes, start: int, stop: int, reply_to: Integers) -> int:
        """The first row from `start` on that is to be read by itself, or `stop`; what those before it answer is set."""
        columns = envelopes.opcode, envelopes.flags, envelopes.stream_id
        rows = Stretch(frames.is_server, frames.numbers, *columns).part(start, stop)
        at, count = 0, stop - start
        while at < count:
            part = rows.part(at, min(count, at + self._many))
            done = self._in_turns(part, reply_to[start + at : stop])
            is_regular = done == len(part.flags)
            self._many = min(MANY_TIMES * self._many, MANY_MAX) if is_regular else max(2 * done, MANY_MIN)
            at += done
            if at < count and done < len(part.flags):
                part = rows.part(at, min(count, at + MANY_MIN))
                done = self._one_by_one(part, reply_to[start + at : stop])
                at += done
                if done < len(part.flags):
                    break
        self._note(rows.part(0, at))
        return start + at

    def _one_by_one(self, rows: Stretch, reply_to: Integers) -> int:
        """How many of the rows were paired: those in front of the first that answers nothing, though it should."""
        conversation = self._conversation
        requests = conversation.requests
        done = 0
        for is_server, n, opcode, flags, stream_id in zip(*(column.tolist() for column in rows), strict=True):
            side: Side = "server" if is_server else "client"
            asker = other_side(side)
            if flags & RESPONSE:
                answered = requests[asker].answer(stream_id, opcode, is_last=bool(flags & RESPONSE_END))
                if answered is None and conversation.is_whole(asker):
                    break
                if answered is None:  # as `SbpConversation.read` has it, its request may be in a hole
                    requests[side].add(stream_id, opcode, n)
                else:
                    reply_to[done] = answered
            else:
                requests[side].add(stream_id, opcode, n)
            done += 1
        return done

    def _in_turns(self, rows: Stretch, reply_to: Integers) -> int:
        """How many of the rows were paired: those in front of the first that is out of turn."""
        requests = self._conversation.requests
        room = min(limits.REQUESTS_OPEN_MAX - requests[side].count for side in _SIDES)
        done = min(len(rows.flags), room)
        if done < MANY_MIN:
            return 0
        while True:
            sides = [turns_of(rows.part(0, done), side, requests[side]) for side in _SIDES]
            regular = min(turns.regular for turns in sides)
            if regular == done:
                break
            if regular < MANY_MIN:
                return 0
            done = regular
        for side, turns in zip(_SIDES, sides, strict=True):
            turns.settle(rows, requests[side], reply_to)
        return done

    def _note(self, rows: Stretch) -> None:
        """Who was heard, and what kind of server answers."""
        conversation = self._conversation
        conversation.heard |= {"server" if is_server else "client" for is_server in np.unique(rows.is_server).tolist()}
        if conversation.role:
            return
        answers = rows.is_server & (rows.flags & (RESPONSE | SYSTEM_ERROR) == RESPONSE)
        codes, firsts = np.unique(rows.opcodes[answers], return_index=True)
        for code in codes[np.argsort(firsts)].tolist():
            operation = conversation.schema.operation(code)
            conversation.role = conversation.role or SERVED_BY.get(operation.name if operation else "", "")


@dataclass(frozen=True, slots=True)
class Turns:
    """What one side asks and the other answers, by identifier: each in the order in which it was said."""

    #: How many rows of the stretch are in turn.
    regular: int
    #: Row, identifier, whether a request and whether the end of an answer, one frame after another.
    rows: Integers
    ids: Integers
    is_request: Flags
    is_end: Flags
    #: Where each identifier begins, whether a request with it was open before, and the number of that.
    begins: Integers
    had: Flags
    earlier: Integers

    def settle(self, stretch: Stretch, requests: Requests, reply_to: Integers) -> None:
        """Say what is answered, and leave open what is still to be."""
        if not len(self.rows):
            return
        count = np.diff(self.begins, append=len(self.rows))
        asked = np.maximum.accumulate(np.where(self.is_request, np.arange(len(self.rows)), -1))
        is_new = asked >= np.repeat(self.begins, count)
        numbers = np.where(is_new, stretch.numbers[self.rows[asked]], np.repeat(self.earlier, count))
        reply_to[self.rows[~self.is_request]] = numbers[~self.is_request]
        lasts = self.begins + count - 1
        stays, is_new = ~self.is_end[lasts], is_new[lasts]
        requests.forget(self.ids[self.begins[self.had & ~(stays & ~is_new)]].tolist())
        left = asked[lasts[stays & is_new]]
        left = left[np.argsort(self.rows[left])]
        rows = self.rows[left]
        waiting = zip(stretch.opcodes[rows].tolist(), stretch.numbers[rows].tolist(), strict=True)
        requests.leave_open(dict(zip(self.ids[left].tolist(), waiting, strict=True)))


def turns_of(stretch: Stretch, side: Side, requests: Requests) -> Turns:
    """What a side asks in a stretch and the other one answers."""
    is_request = stretch.flags & RESPONSE == 0
    rows = np.flatnonzero(is_request == (stretch.is_server == (side == "server")))
    rows = rows[np.argsort(stretch.stream_ids[rows], kind="stable")]
    ids, is_request = stretch.stream_ids[rows], is_request[rows]
    is_end = ~is_request & (stretch.flags[rows] & RESPONSE_END != 0)
    begins = np.flatnonzero(np.diff(ids, prepend=-1))
    had, earlier = np.zeros(len(begins), np.bool_), np.zeros(len(begins), np.int64)
    is_odd = np.zeros(len(rows), np.bool_)
    opened = requests.open_among(ids[begins].tolist())
    places = np.searchsorted(ids[begins], np.array(list(opened), np.int64))
    had[places] = True
    earlier[places] = [asked[0][1] for asked in opened.values()]
    # Of several with one identifier the operation says which is answered.
    is_odd[begins[places]] = [len(asked) > 1 for asked in opened.values()]
    was_open = ~np.append(True, is_end)[:-1]
    was_open[begins] = had
    odd = rows[is_odd | (is_request == was_open)]
    regular = int(odd.min()) if len(odd) else len(stretch.flags)
    return Turns(regular, rows, ids, is_request, is_end, begins, had, earlier)
