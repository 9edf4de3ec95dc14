"""The state of the writer that appends on each of many connections, as arrays."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from wiretool import limits
from wiretool.codec.columns import Flags, Integers
from wiretool.codec.message import Message
from wiretool.codec.types import uuid_text
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.protocols.pravega.appends import Writer
from wiretool.protocols.pravega.columns.sent_appends import NO_WAITING, Waiting
from wiretool.protocols.pravega.messages import Hello, SetupAppend
from wiretool.protocols.pravega.pairing import Requests, Sent
from wiretool.protocols.pravega.session import PravegaConversation

#: Of a connection: the id of its writer, the last number of that, how many of its appends and of other appends wait for
#: their acknowledgements, and whether its writer is here.
_WRITER = np.dtype(
    [("id", np.int64, 2), ("last", np.int64), ("waiting", np.int64), ("others", np.int64), ("is_here", np.bool_)]
)


class _OpenWriter(NamedTuple):
    """A writer, its name, and the conversation in which it appends."""

    talk: PravegaConversation
    name: str
    writer: Writer


class OpenRequests(NamedTuple):
    """By connection, the records of a Hello and a SetupAppend that wait for their replies, NO_REPLY for none.

    `set_up_ids` are request ids.
    """

    hellos: Integers
    set_ups: Integers
    set_up_ids: Integers

    def ask(self, index: int, requests: Requests) -> None:
        """Have those of a connection wait."""
        hello, set_up, set_up_id = (int(column[index]) for column in self)
        asked: list[tuple[int, type[Message], Hashable]] = [(hello, Hello, Hello), (set_up, SetupAppend, set_up_id)]
        for record, cls, request_id in sorted(asked, key=itemgetter(0)):
            if record != NO_REPLY:
                requests.ask(record, cls, request_id)

    def are_open(self, indices: Integers) -> Flags:
        """Return which of these connections have some."""
        are_open: Flags = (self.hellos[indices] != NO_REPLY) | (self.set_ups[indices] != NO_REPLY)
        return are_open


class NewWriters(NamedTuple):
    """The writer of each of some connections of which the first frames were read.

    By connection: its id, the last number, and its segment; and whether there is one yet. The owners of waiting appends
    are connections. `are_whole`: the beginning of the connections was captured.
    """

    ids: Integers
    last: Integers
    segments: Sequence[str | None]
    waiting: Waiting
    have: Flags
    requests: OpenRequests
    are_whole: bool


class OpenWriters:
    """One writer of each connection, by slot, from `open` or `open_new` until `write_back`.

    The objects are out of date, or not made yet.
    """

    def __init__(self, talks_of: Callable[[Integers], Sequence[PravegaConversation]]) -> None:
        """`talks_of` returns the conversations in slots."""
        self._talks_of = talks_of
        #: By slot, the segments of writers that have no objects.
        self._segments: dict[int, str | None] = {}
        self._writers: dict[int, _OpenWriter] = {}
        self._state = np.zeros(0, _WRITER)
        #: The owners are slots.
        self._waiting = NO_WAITING

    def open_new(self, slots: Integers, writers: NewWriters, indices: Integers) -> None:
        """Have the writers of connections with these indices here, of those that have one."""
        have = writers.have[indices]
        slots, indices = slots[have], indices[have]
        self._make_room(slots)
        state = self._state
        state["id"][slots], state["last"][slots] = writers.ids[indices], writers.last[indices]
        state["others"][slots], state["is_here"][slots] = 0, True
        self._segments.update(
            (slot, writers.segments[index]) for slot, index in zip(slots.tolist(), indices.tolist(), strict=True)
        )
        slot_of = np.full(len(writers.last), -1)
        slot_of[indices] = slots
        owner = slot_of[writers.waiting.owner]
        self.leave_waiting(slots, writers.waiting._replace(owner=owner).take(owner >= 0))

    def open(self, slots: Integers, ids: Integers) -> Flags:
        """Have the writer with each id here, in the place of another one of its connection; return which are.

        Only a writer that its conversation knows can be here, while no block is open.
        """
        self._make_room(slots)
        state = self._state[slots]
        are_here: Flags = state["is_here"] & (state["id"] == ids).all(1)
        others = np.flatnonzero(~are_here)
        if len(others):
            self.write_back(slots[others])
            waiting: list[tuple[int, int, int, int]] = []
            places = zip(others.tolist(), slots[others].tolist(), self._talks_of(slots[others]), strict=True)
            for index, slot, talk in places:
                are_here[index] = self._open(slot, ids[index], talk, waiting)
            if waiting:
                self._waiting = self._waiting.joined(Waiting(*np.array(waiting, np.int64).T))
        return are_here

    def _open(
        self, slot: int, writer_id: Integers, talk: PravegaConversation, early: list[tuple[int, int, int, int]]
    ) -> bool:
        name = uuid_text(writer_id.tobytes())
        writer = talk.appends.current(name) if talk.appends.is_idle else None
        if writer is None:
            return False
        waiting = talk.acks.waiting_of(name)
        early += [(slot, number, *sent) for number, sent in waiting.items()]
        others = limits.REQUESTS_OPEN_MAX - talk.acks.room - len(waiting)
        self._state[slot] = (tuple(writer_id.tolist()), writer.last, len(waiting), others, True)
        self._writers[slot] = _OpenWriter(talk, name, writer)
        return True

    def rooms(self, slots: Integers) -> Integers:
        """Return how many more appends may wait on each connection before the oldest are forgotten."""
        rooms: Integers = limits.REQUESTS_OPEN_MAX - self._state["waiting"][slots] - self._state["others"][slots]
        return rooms

    def last(self, slots: Integers) -> Integers:
        """Return the last number of each writer."""
        last: Integers = self._state["last"][slots]
        return last

    def segments(self, slots: Integers) -> list[str | None]:
        """Return the segment of each writer, None for one that is not known."""
        new = self._segments
        return [new[slot] if slot in new else self._writers[slot].writer.segment for slot in slots.tolist()]

    def waiting(self, slots: Integers) -> Waiting:
        """Return the appends of these writers that wait; the owners are indices of `slots`."""
        if not len(self._waiting.owner):
            return self._waiting
        indices = np.full(len(self._state), -1)
        indices[slots] = np.arange(len(slots))
        owner = indices[self._waiting.owner]
        return self._waiting._replace(owner=owner).take(owner >= 0)

    def note_last(self, slots: Integers, numbers: Integers) -> None:
        """Set the last number of writers."""
        self._state["last"][slots] = numbers

    def leave_waiting(self, slots: Integers, waiting: Waiting) -> None:
        """Let these appends wait, and no others of these writers; the owners are slots."""
        self._waiting = self._of_others(slots).joined(waiting)
        self._state["waiting"][slots] = np.bincount(waiting.owner, minlength=len(self._state))[slots]

    def write_back(self, slots: Integers) -> None:
        """Bring the objects of these writers up to date, those that are here; they own their state from now on."""
        slots = slots[slots < len(self._state)]
        slots = slots[self._state["is_here"][slots]]
        if not len(slots):
            return
        waiting: dict[int, OrderedDict[int, Sent]] = {}
        is_mine = np.isin(self._waiting.owner, slots)
        for slot, number, record, request_id in zip(
            *(each.tolist() for each in self._waiting.take(is_mine)), strict=True
        ):
            waiting.setdefault(slot, OrderedDict())[number] = record, request_id
        self._waiting = self._waiting.take(~is_mine)
        self._make_writers(slots)
        for slot, last in zip(slots.tolist(), self._state["last"][slots].tolist(), strict=True):
            talk, name, writer = self._writers.pop(slot)
            writer.last = last
            mine = waiting.get(slot)
            if mine or talk.acks.waiting_of(name):
                talk.acks.leave_waiting(name, mine or OrderedDict())
        self._state["is_here"][slots] = False

    def forget(self, slots: Integers) -> None:
        """Let go of writers of connections that are over."""
        slots = slots[slots < len(self._state)]
        for slot in slots.tolist():
            self._segments.pop(slot, None)
            self._writers.pop(slot, None)
        self._waiting = self._of_others(slots)
        self._state["is_here"][slots] = False

    def _make_writers(self, slots: Integers) -> None:
        """Make the objects of writers that have none."""
        new = np.array([slot for slot in slots.tolist() if slot in self._segments], np.int64)
        for slot, talk in zip(new.tolist(), self._talks_of(new), strict=True):
            name, segment = uuid_text(self._state["id"][slot].tobytes()), self._segments.pop(slot)
            if segment is None:
                talk.appends.learn(name, None)
                talk.appends.phase = "idle"
            else:
                talk.is_main_port = True
                talk.appends.bind(name, segment)
                talk.note_segment(segment)
            self._writers[slot] = _OpenWriter(talk, name, talk.appends.writers[name])

    def _of_others(self, slots: Integers) -> Waiting:
        is_mine = np.zeros(len(self._state), np.bool_)
        is_mine[slots] = True
        return self._waiting.take(~is_mine[self._waiting.owner])

    def _make_room(self, slots: Integers) -> None:
        count, size = int(slots.max(initial=-1)) + 1, len(self._state)
        if count > size:
            self._state = np.append(self._state, np.zeros(max(count, 2 * size) - size, _WRITER))
