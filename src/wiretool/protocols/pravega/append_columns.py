"""Frames of many connections as columns; appends with their acknowledgements as arrays.

The arrays are for connections with one writer, in order, and no other commands.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from wiretool.codec.columns import Flags, Integers
from wiretool.codec.types import uuid_text
from wiretool.protocols.bulk import Frames, Group, PrefixedColumns
from wiretool.protocols.conversation import Conversation
from wiretool.protocols.pravega.appends import Writer
from wiretool.protocols.pravega.bulk_blocks import ACK, BLOCK, CATALOGUE, END, join_blocks
from wiretool.protocols.pravega.bulk_kinds import Kinds
from wiretool.protocols.pravega.bulk_turns import TurnReader
from wiretool.protocols.pravega.group_builder import GroupBuilder
from wiretool.protocols.pravega.pairing import Sent
from wiretool.protocols.pravega.sent_appends import Appends, Half, falls
from wiretool.protocols.pravega.session import PravegaConversation
from wiretool.protocols.pravega.whole_columns import WholeReading

#: By code, False at the end for SLOW.
_IS_READ = np.isin(np.arange(len(CATALOGUE.classes) + 1), (BLOCK, END, ACK))
#: Fewer frames than this are read one by one.
FRAMES_MIN = 16


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

    def read_whole(self, frames: Frames, owner: Integers, count: int) -> tuple[Sequence[Group], Flags]:
        if len(frames.starts) < FRAMES_MIN or not CATALOGUE.are_worth_columns(frames):
            return [], np.zeros(count, np.bool_)
        order = np.argsort(owner, kind="stable")
        frames, owner = frames.take(order), owner[order]
        found = CATALOGUE.kinds_of(frames)
        joins = join_blocks(found, owner)
        segments: dict[str | None, int] = {}
        is_read = WholeReading(found, owner, count, segments).settle()
        groups = GroupBuilder(joins, list(segments)).groups(found)
        if not is_read.all():
            groups = [group.take(is_read[owner[group.rows]]) for group in groups]
        return [group.moved(order) for group in groups if len(group.rows)], is_read


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
        sent = Appends(appends, [each.waiting if each else {} for each in writers], len(self._talks))
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

    def _half(self, code: int, name: str) -> Half:
        return Half.of(self._kinds.get(code), self._owner, name)

    def _leave_disorder(self, writers: "Sequence[_OpenWriter | None]", sent: Appends, acks: Half) -> None:
        """Exclude connections whose numbers do not only grow."""
        self.is_plain[sent.owner[1:][falls(sent.owner, sent.numbers)]] = False
        self.is_plain[acks.owner[1:][falls(acks.owner, acks.numbers)]] = False
        last = np.array([0 if each is None else each.writer.last for each in writers], np.int64)
        self.is_plain[sent.owner[sent.is_new & (sent.numbers < last[sent.owner])]] = False

    def _settle(self, writers: "Sequence[_OpenWriter | None]", sent: Appends, appends: Half, acks: Half) -> None:
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
