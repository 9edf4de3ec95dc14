"""Frames of many connections as columns; appends with their acknowledgements as arrays.

The arrays are for connections with one writer, in order, and no other commands.
"""

from collections.abc import Callable, Sequence

import numpy as np

from wiretool.codec.columns import Flags, Integers
from wiretool.protocols.base.columns import (
    Frames,
    Group,
    NewFrames,
    OpeningReader,
    PrefixedColumns,
    ProtocolColumns,
    SteadyReader,
    read_singly,
)
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.pravega.columns.blocks import ACK, BLOCK, CATALOGUE, END, join_blocks
from wiretool.protocols.pravega.columns.first_frames import FirstReading, find_writers
from wiretool.protocols.pravega.columns.group_builder import GroupBuilder
from wiretool.protocols.pravega.columns.kinds import Kinds
from wiretool.protocols.pravega.columns.open_writers import NewWriters, OpenWriters
from wiretool.protocols.pravega.columns.sent_appends import Appends, Half, falls
from wiretool.protocols.pravega.columns.turns import TurnReader
from wiretool.protocols.pravega.framing import HEADER_BYTES, PREFIXES
from wiretool.protocols.pravega.messages import AppendSetup, Hello, KeepAlive, SetupAppend
from wiretool.protocols.pravega.session import PravegaConversation

#: By code, False at the end for SLOW.
_IS_READ = np.isin(np.arange(len(CATALOGUE.classes) + 1), (BLOCK, END, ACK))
#: By code: those, and others that are seldom read by themselves.
_IS_CALM = _IS_READ | np.isin(
    np.arange(len(_IS_READ)), [CATALOGUE.codes[cls] for cls in (Hello, KeepAlive, SetupAppend, AppendSetup)]
)
#: Fewer frames than this are read one by one.
FRAMES_MIN = 16


class PravegaColumns(PrefixedColumns):
    """Reads connections: those on which one writer appends in order as arrays, others in turn."""

    middle_header_bytes = HEADER_BYTES

    def open(self) -> SteadyReader:
        return _AppendReader(self)

    def read_new(self, frames: Frames, owner: Integers, count: int) -> NewFrames:
        return self._read_first(frames, owner, count, None)

    def read_middle(self, frames: Frames, owner: Integers, count: int, is_first: Flags) -> NewFrames:
        return self._read_first(frames, owner, count, is_first)

    def _read_first(self, frames: Frames, owner: Integers, count: int, is_first: Flags | None) -> NewFrames:
        if len(frames.starts) < FRAMES_MIN or not CATALOGUE.are_worth_columns(frames):
            return NewFrames([], np.zeros(count, np.bool_), np.zeros(count, np.bool_))
        order = np.argsort(owner, kind="stable")
        frames, owner = frames.take(order), owner[order]
        found = CATALOGUE.kinds_of(frames)
        joins = join_blocks(found, owner)
        segments: dict[str | None, int] = {}
        reading = FirstReading(found, owner, count, segments)
        is_read, may_go_on, writers = reading.settle() if is_first is None else reading.settle_middle(is_first[order])
        groups = GroupBuilder(joins, list(segments)).groups(found)
        if not is_read.all():
            groups = [group.take(is_read[owner[group.rows]]) for group in groups]
        return NewFrames([group.moved(order) for group in groups if len(group.rows)], is_read, may_go_on, writers)


class _AppendReader(OpeningReader):
    """Reads the connections that it took over; the state of their writers is in arrays."""

    def __init__(self, columns: ProtocolColumns) -> None:
        super().__init__(columns)
        self._writers = OpenWriters(self._talks)
        #: Slots of connections whose beginning was not captured, which have no conversations yet.
        self._middle: set[int] = set()

    def open(self, slots: Integers, frames: NewFrames, indices: Integers) -> None:
        writers = frames.state
        assert isinstance(writers, NewWriters), "it is the state that `read_new` returned"
        if not writers.are_whole:
            self._middle.update(slots.tolist())
        self._writers.open_new(slots, writers, indices)
        are_open = writers.requests.are_open(indices)
        opening = slots[are_open]
        for index, talk in zip(indices[are_open].tolist(), self._talks(opening), strict=True):
            writers.requests.ask(index, talk.requests)

    def release(self, slots: Integers) -> list[Conversation]:
        self._writers.write_back(slots)
        self.conversations(slots)
        return super().release(slots)

    def forget(self, slots: Integers) -> None:
        self._writers.forget(slots)
        self._middle.difference_update(slots.tolist())
        super().forget(slots)

    def conversations(self, slots: Integers) -> list[Conversation]:
        """Return the conversations in these slots; those of connections that began here are made."""
        for slot in slots.tolist():
            if slot not in self._conversations:
                self._conversations[slot] = PravegaConversation(slot not in self._middle)
                self._middle.discard(slot)
        return super().conversations(slots)

    def _talks(self, slots: Integers) -> Sequence[PravegaConversation]:
        return [talk for talk in self.conversations(slots) if isinstance(talk, PravegaConversation)]

    def read(
        self,
        frames: Frames,
        owner: Integers,
        slots: Integers,
        leave: Callable[[Flags], None],
        read_one: Callable[[int], None],
    ) -> Sequence[Group]:
        if len(frames.starts) < FRAMES_MIN or not CATALOGUE.are_worth_columns(frames):
            read_singly(owner, len(slots), leave, read_one)
            return []
        order = np.argsort(owner, kind="stable")
        frames, owner = frames.take(order), owner[order]
        found = CATALOGUE.kinds_of(frames)
        joins = join_blocks(found, owner)
        segments: dict[str | None, int] = {}
        is_plain = _Reading(found, owner, slots, self._writers, segments).settle()
        if not is_plain.all():
            in_turn = np.flatnonzero(~is_plain)
            self._writers.write_back(slots[in_turn])
            talks = dict(zip(in_turn.tolist(), self._talks(slots[in_turn]), strict=True))
            is_odd = np.zeros(len(slots), np.bool_)
            is_odd[owner[~_IS_CALM[found.codes]]] = True
            is_odd[[index for index, talk in talks.items() if not talk.appends.is_idle]] = True
            leaving = _Leaving(~is_plain, owner, leave, lambda row: read_one(int(order[row])))
            leaving.leave(is_odd)
            bounds = np.searchsorted(owner, np.arange(len(slots) + 1)).tolist()
            TurnReader(found, joins, segments, leaving.read_one).read(talks, bounds, ~is_plain)
        groups = GroupBuilder(joins, list(segments)).groups(found)
        return [group.moved(order) for group in groups]


class _Leaving:
    """Leaves connections that are read in turn no earlier than one of them needs its own watch."""

    def __init__(
        self,
        are_in_turn: Flags,
        owner: Integers,
        leave: Callable[[Flags], None],
        read_one: Callable[[int], None],
    ) -> None:
        """`owner` is the connection of each row."""
        self._are_waiting = are_in_turn.copy()
        self._owner = owner
        self._leave = leave
        self._read_one = read_one

    def leave(self, those: Flags) -> None:
        """Leave those of them now."""
        those = those & self._are_waiting
        if those.any():
            self._are_waiting &= ~those
            self._leave(those)

    def read_one(self, row: int) -> None:
        """Read a row by itself. If its connection was not left yet, all are, as to leave each alone would be slow."""
        if self._are_waiting[self._owner[row]]:
            self.leave(self._are_waiting)
        self._read_one(row)


class _Reading:
    """Reads the frames of many connections, ordered by connection."""

    def __init__(
        self,
        found: Kinds,
        owner: Integers,
        slots: Integers,
        writers: OpenWriters,
        segments: dict[str | None, int],
    ) -> None:
        self._owner = owner
        self._slots = slots
        self._writers = writers
        self._kinds = {code: kind for code, kind in found.kinds.items() if code in (BLOCK, END, ACK)}
        #: By connection: whether it is read here.
        self.is_plain = np.ones(len(slots), np.bool_)
        self.is_plain[owner[~_IS_READ[found.codes]]] = False
        self._segments = segments

    def settle(self) -> Flags:
        """Settle the connections that are read here; return which these are."""
        self._open_writers(self._leave_several_writers())
        appends, acks = self._half(END, "last_event_number"), self._half(ACK, "event_number")
        mine = np.flatnonzero(self.is_plain)
        waiting = self._writers.waiting(self._slots[mine])
        sent = Appends(appends, waiting._replace(owner=mine[waiting.owner]), len(self._slots))
        self._leave_disorder(sent, acks)
        if self.is_plain.any():
            self._settle(sent, appends, acks)
        return self.is_plain

    def _leave_several_writers(self) -> Integers:
        """Exclude connections with several writers; return the ids of the writers."""
        ids, several = find_writers(self._kinds, self._owner, len(self._slots))
        self.is_plain[several] = False
        return ids

    def _open_writers(self, ids: Integers) -> None:
        """Exclude connections whose writer is not known, or has no room for that many appends."""
        plain = np.flatnonzero(self.is_plain)
        slots = self._slots[plain]
        are_here = self._writers.open(slots, ids[plain])
        counts = np.bincount(self._owner, minlength=len(self._slots))[plain]
        self.is_plain[plain] = are_here & (counts <= self._writers.rooms(slots))

    def _half(self, code: int, name: str) -> Half:
        return Half.of(self._kinds.get(code), self._owner, name)

    def _leave_disorder(self, sent: Appends, acks: Half) -> None:
        """Exclude connections whose numbers do not only grow."""
        self.is_plain[sent.owner[1:][falls(sent.owner, sent.numbers)]] = False
        self.is_plain[acks.owner[1:][falls(acks.owner, acks.numbers)]] = False
        last = np.zeros(len(self._slots), np.int64)
        last[self.is_plain] = self._writers.last(self._slots[self.is_plain])
        self.is_plain[sent.owner[sent.is_new & (sent.numbers < last[sent.owner])]] = False

    def _settle(self, sent: Appends, appends: Half, acks: Half) -> None:
        """Note the segment of each append, the append of each ack, and the state of each writer."""
        slots = self._slots[self.is_plain]
        if appends.kind is not None:
            codes = np.zeros(len(self._slots), np.int64)
            codes[self.is_plain] = [self._code(segment) for segment in self._writers.segments(slots)]
            appends.add(codes[appends.owner])
        acks.add(sent.answered_by(acks))
        has_new, numbers = sent.last()
        is_mine = self.is_plain[has_new]
        self._writers.note_last(self._slots[has_new][is_mine], numbers[is_mine])
        waiting = sent.waiting(acks)
        waiting = waiting.take(self.is_plain[waiting.owner])
        self._writers.leave_waiting(slots, waiting._replace(owner=self._slots[waiting.owner]))

    def _code(self, segment: str | None) -> int:
        return self._segments.setdefault(segment, len(self._segments))


COLUMNS = PravegaColumns(PREFIXES)
