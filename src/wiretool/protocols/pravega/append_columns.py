"""Frames of many connections as columns; appends with their acknowledgements as arrays.

The arrays are for connections with one writer, in order, and no other commands.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from wiretool.codec.columns import Flags, Integers
from wiretool.codec.types import uuid_text
from wiretool.protocols.bulk import NO_REPLY, Frames, Group, PrefixedColumns
from wiretool.protocols.conversation import Conversation
from wiretool.protocols.pravega.appends import Writer
from wiretool.protocols.pravega.bulk_blocks import ACK, BLOCK, CATALOGUE, END, join_blocks
from wiretool.protocols.pravega.bulk_kinds import Kind, Kinds
from wiretool.protocols.pravega.bulk_turns import TurnReader
from wiretool.protocols.pravega.group_builder import GroupBuilder
from wiretool.protocols.pravega.pairing import Sent
from wiretool.protocols.pravega.session import PravegaConversation

#: By code, False at the end for SLOW.
_IS_READ = np.isin(np.arange(len(CATALOGUE.classes) + 1), (BLOCK, END, ACK))
_NONE = np.zeros(0, np.int64)
#: Fewer frames than this are read one by one.
FRAMES_MIN = 16
#: Codes of numbers together with their connections are below this.
_CODES_MAX = 1 << 62


class PravegaColumns(PrefixedColumns):
    """Reads connections: those on which one writer appends in order as arrays, others in turn."""

    def read(
        self,
        frames: Frames,
        owner: Integers,
        conversations: Sequence[Conversation],
        leave: Callable[[Flags], None],
        read_one: Callable[[int], None],
    ) -> tuple[Sequence[Group], Flags]:
        talks = [talk for talk in conversations if isinstance(talk, PravegaConversation)]
        if len(frames.starts) < FRAMES_MIN or not CATALOGUE.are_worth_columns(frames):
            return [], np.zeros(len(talks), np.bool_)
        order = np.argsort(owner, kind="stable")
        frames, owner = frames.take(order), owner[order]
        found = CATALOGUE.kinds_of(frames)
        joins = join_blocks(found, owner)
        segments: dict[str | None, int] = {}
        is_plain = _Reading(found, owner, talks, segments).settle()
        if not is_plain.all():
            leave(~is_plain)
            bounds = np.searchsorted(owner, np.arange(len(talks) + 1)).tolist()
            TurnReader(found, joins, segments, lambda row: read_one(int(order[row]))).read(talks, bounds, ~is_plain)
        groups = GroupBuilder(joins, list(segments)).groups(found)
        return [group.moved(order) for group in groups], np.ones(len(talks), np.bool_)


class _Reading:
    """Reads the frames of many connections, ordered by connection."""

    def __init__(
        self, found: Kinds, owner: Integers, talks: Sequence[PravegaConversation], segments: dict[str | None, int]
    ) -> None:
        self._owner = owner
        self._talks = talks
        self._kinds = {code: kind for code, kind in found.kinds.items() if code in (BLOCK, END, ACK)}
        #: By conversation: whether it is read here.
        self.is_plain = np.ones(len(self._talks), np.bool_)
        self.is_plain[owner[~_IS_READ[found.codes]]] = False
        self._segments = segments

    def settle(self) -> Flags:
        """Settle the connections that are read here; return which these are."""
        self._leave_several_writers()
        writers = self._writers()
        appends, acks = self._half(END, "last_event_number"), self._half(ACK, "event_number")
        sent = _Appends(appends, [each.waiting if each else {} for each in writers], len(self._talks))
        self._leave_disorder(writers, sent, acks)
        if self.is_plain.any():
            self._settle(writers, sent, appends, acks)
        return self.is_plain

    def _leave_several_writers(self) -> None:
        """Exclude connections with several writers."""
        firsts = np.zeros((len(self._talks), 2), np.int64)
        halves = [(self._owner[kind.rows], kind.ids()) for kind in self._kinds.values()]
        for owner, ids in halves:
            firsts[owner[::-1]] = ids[::-1]
        for owner, ids in halves:
            mine = firsts[owner]
            self.is_plain[owner[(mine[:, 0] != ids[:, 0]) | (mine[:, 1] != ids[:, 1])]] = False
        self._ids = firsts

    def _writers(self) -> "list[_OpenWriter | None]":
        """Return the writer of each connection; exclude connections whose writer is not known."""
        raw, out = self._ids.tobytes(), list[_OpenWriter | None]()
        counts = np.bincount(self._owner, minlength=len(self._talks)).tolist()
        for index, (talk, is_plain) in enumerate(zip(self._talks, self.is_plain.tolist(), strict=True)):
            open_writer = None
            if is_plain and talk.appends.is_idle and counts[index] <= talk.acks.room:
                name = uuid_text(raw[16 * index : 16 * index + 16])
                writer = talk.appends.current(name)
                if writer is not None:
                    open_writer = _OpenWriter(name, writer, talk.acks.waiting_of(name))
            self.is_plain[index] = open_writer is not None
            out.append(open_writer)
        return out

    def _half(self, code: int, name: str) -> "_Half":
        kind = self._kinds.get(code)
        if kind is None:
            return _Half(None, _NONE, _NONE, _NONE)
        return _Half(kind, self._owner[kind.rows], kind.numbers(name), kind.rows)

    def _leave_disorder(self, writers: "Sequence[_OpenWriter | None]", sent: "_Appends", acks: "_Half") -> None:
        """Exclude connections whose numbers do not only grow."""
        self.is_plain[sent.owner[1:][_falls(sent.owner, sent.numbers)]] = False
        self.is_plain[acks.owner[1:][_falls(acks.owner, acks.numbers)]] = False
        last = np.array([0 if each is None else each.writer.last for each in writers], np.int64)
        self.is_plain[sent.owner[sent.is_new & (sent.numbers < last[sent.owner])]] = False

    def _settle(
        self, writers: "Sequence[_OpenWriter | None]", sent: "_Appends", appends: "_Half", acks: "_Half"
    ) -> None:
        """Note what each append goes to and each ack answers, what each writer builder last, and what waits on."""
        codes = [0 if each is None else self._code(each.writer.segment) for each in writers]
        if appends.kind is not None:
            appends.kind.added[:] = np.array(codes, np.int64)[appends.owner]
        if acks.kind is not None:
            acks.kind.added[:] = sent.answered_by(acks)
        firsts = sent.firsts_waiting(acks)
        for index, (begin, first, end) in enumerate(zip(sent.bounds[:-1], firsts, sent.bounds[1:], strict=True)):
            open_writer = writers[index]
            if open_writer is None or not self.is_plain[index]:
                continue
            if end > begin and sent.is_new[end - 1]:
                open_writer.writer.last = int(sent.numbers[end - 1])
            if end > first or open_writer.waiting:
                self._talks[index].acks.leave_waiting(open_writer.name, sent.between(first, end))

    def _code(self, segment: str | None) -> int:
        return self._segments.setdefault(segment, len(self._segments))


class _OpenWriter(NamedTuple):
    """A writer, and its appends that wait for their acknowledgement."""

    name: str
    writer: Writer
    waiting: Mapping[int, Sent]


class _Half(NamedTuple):
    """Appends or acknowledgements: the connection, number and row of each."""

    kind: Kind | None
    owner: Integers
    numbers: Integers
    rows: Integers


class _Appends:
    """The appends of each connection in order: waiting ones of earlier tables, then new ones."""

    def __init__(self, appends: _Half, waiting: Sequence[Mapping[int, Sent]], count: int) -> None:
        early = [(index, number, *sent) for index, each in enumerate(waiting) for number, sent in each.items()]
        owner, numbers, records, ids = np.array(early, np.int64).reshape(-1, 4).T
        if appends.kind is not None:
            records = np.concatenate((records, appends.kind.frames.numbers[appends.rows]))
            ids = np.concatenate((ids, appends.kind.numbers("request_id")))
        rows = np.concatenate((np.full(len(owner), -1), appends.rows))
        numbers, owner = np.concatenate((numbers, appends.numbers)), np.concatenate((owner, appends.owner))
        order = np.argsort(owner, kind="stable") if early else slice(None)
        self.owner, self.numbers, self.rows = owner[order], numbers[order], rows[order]
        self._records, self._ids = records[order], ids[order]
        self.is_new = self.rows >= 0
        #: By connection: the index of its first append, and the end of the last.
        self.bounds: list[int] = np.searchsorted(self.owner, np.arange(count + 1)).tolist()

    def answered_by(self, acks: _Half) -> Integers:
        """Return the record of the append with the number of each acknowledgement, if it was sent before it."""
        if not len(self.numbers):
            return np.full(len(acks.numbers), NO_REPLY, np.int64)
        at = self._places(acks.owner, acks.numbers)
        at = np.minimum(at, len(self.numbers) - 1)
        is_sent = (self.numbers[at] == acks.numbers) & (self.owner[at] == acks.owner) & (self.rows[at] < acks.rows)
        return np.where(is_sent, self._records[at], NO_REPLY)

    def firsts_waiting(self, acks: _Half) -> list[int]:
        """Return the index of the first append of each connection that still waits."""
        firsts = np.array(self.bounds[:-1], np.int64)
        if len(acks.owner) and len(self.owner):
            is_last = np.append(acks.owner[1:] != acks.owner[:-1], True)
            owner, numbers, rows = acks.owner[is_last], acks.numbers[is_last], acks.rows[is_last]
            upto = np.minimum(self._places(owner, numbers, "right"), self._rows_before(owner, rows))
            firsts[owner] = np.maximum(upto, firsts[owner])
        found: list[int] = firsts.tolist()
        return found

    def between(self, first: int, end: int) -> "OrderedDict[int, Sent]":
        """Return the appends with these indices, by number."""
        sent = zip(self._records[first:end].tolist(), self._ids[first:end].tolist(), strict=True)
        return OrderedDict(zip(self.numbers[first:end].tolist(), sent, strict=True))

    def _places(self, owner: Integers, numbers: Integers, side: Literal["left", "right"] = "left") -> Integers:
        """Return the index among the appends at which each number of a connection sorts."""
        least, most = int(self.numbers.min()), int(self.numbers.max())
        lows = np.zeros(len(self.bounds) - 1, np.int64)
        lows[self.owner[::-1]] = self.numbers[::-1]
        span = most - least + 3
        if span * len(lows) >= _CODES_MAX:
            return self._places_one_by_one(owner, numbers, side)
        asked = np.clip(np.where(numbers < least, -1, np.clip(numbers, least, most) - lows[owner]), -1, span - 2)
        known = self.owner * span + (self.numbers - lows[self.owner] + 1)
        places: Integers = np.searchsorted(known, owner * span + asked + 1, side)
        return places

    def _places_one_by_one(self, owner: Integers, numbers: Integers, side: Literal["left", "right"]) -> Integers:
        """Do the same for numbers that are too far apart for one sort key with their connection."""
        places = np.empty(len(owner), np.int64)
        for index in np.unique(owner).tolist():
            begin, end = self.bounds[index : index + 2]
            mine = owner == index
            places[mine] = begin + np.searchsorted(self.numbers[begin:end], numbers[mine], side)
        return places

    def _rows_before(self, owner: Integers, rows: Integers) -> Integers:
        """Return the index after the last append of each connection before a row."""
        span = max(int(self.rows.max(initial=0)), int(rows.max(initial=0))) + 2
        places: Integers = np.searchsorted(self.owner * span + self.rows + 1, owner * span + rows + 1, "right")
        return places


def _falls(owner: Integers, numbers: Integers) -> Flags:
    """Return whether each number, from the second on, is not larger than the one before of the same connection."""
    falls: Flags = (owner[1:] == owner[:-1]) & (numbers[1:] <= numbers[:-1])
    return falls
