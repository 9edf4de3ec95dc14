"""Many frames of a Pravega connection at once: appends and their acks as arrays, everything else one by one.

A stretch of lone AppendBlockEnd and DataAppended frames is read whole if nothing in it is out of the ordinary; what
session.py would have remembered of it is written into the same state.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from wiretool.codec.columns import Choice, Column, Flags, Integers, Numbers, Spans, Uuids, read_columns, windows
from wiretool.codec.hops import Hops, Prefix, hop
from wiretool.codec.message import Message, Side
from wiretool.codec.types import uuid_text
from wiretool.protocols.bulk import NO_REPLY, BulkConversation, Events, Frames, Group
from wiretool.protocols.pravega.appends import EVENT_HEAD, Writer, spans_of
from wiretool.protocols.pravega.framing import HEADER_BYTES, PAYLOAD_BYTES_MAX
from wiretool.protocols.pravega.messages import AppendBlockEnd, DataAppended
from wiretool.protocols.pravega.pairing import Acks
from wiretool.protocols.pravega.session import PravegaConversation

_PREFIXES = {side: Prefix(HEADER_BYTES, 4, HEADER_BYTES, 0, PAYLOAD_BYTES_MAX[side]) for side in PAYLOAD_BYTES_MAX}
#: Frames in a row that are worth arrays.
STRETCH_MIN = 16


class PravegaBulk(BulkConversation):
    """Appends and acks of one connection."""

    def __init__(self, conversation: PravegaConversation) -> None:
        self._appends = conversation.appends
        self._acks = conversation.acks

    def is_ready(self) -> bool:
        return True

    def split(self, side: Side, data: bytes, start: int, end: int, guesses: Integers) -> Hops:
        return hop(data, start, end, _PREFIXES[side], guesses)

    def read(self, frames: Frames, read_one: Callable[[int], None]) -> Sequence[Group]:
        ends = _Kind(frames, AppendBlockEnd, is_server=False)
        acks = _Kind(frames, DataAppended, is_server=True)
        is_bulk = ends.is_of | acks.is_of
        segments: dict[str | None, int] = {}
        for start, stop in stretches(is_bulk):
            at = start
            while at < stop:
                end = self._piece(frames, ends, acks, at, stop, segments) if is_bulk[at] else at
                if end == at:
                    end = at + 1 if is_bulk[at] and not self._appends.is_idle else stop
                    for row in range(at, end):
                        ends.is_of[row] = acks.is_of[row] = False
                        read_one(row)
                at = end
        return [group for group in (_appends(frames, ends, segments), _acks(acks)) if len(group.rows)]

    def _piece(
        self, frames: Frames, ends: "_Kind", acks: "_Kind", start: int, stop: int, segments: dict[str | None, int]
    ) -> int:
        """How far the frames from `start` on were read whole; up to there all of them, or none."""
        end = min(stop, start + max(self._acks.room, STRETCH_MIN))
        if end - start < STRETCH_MIN or end - start > self._acks.room or not self._appends.is_idle:
            return start
        parts = self._parts(frames, ends, acks, start, end)
        if parts is None:
            return start
        for part in parts:
            part.settle(self._acks)
            ends.extra[part.appends] = segments.setdefault(part.writer.segment, len(segments))
            acks.extra[part.acks] = part.reply_to
        return end

    def _parts(self, frames: Frames, ends: "_Kind", acks: "_Kind", start: int, stop: int) -> "list[_Part] | None":
        """The frames by writer; None where anything is out of the ordinary."""
        first, last = ends.between(start, stop)
        first_ack, last_ack = acks.between(start, stop)
        ids = np.concatenate((ends.writer_ids[first:last], acks.writer_ids[first_ack:last_ack]))
        kinds, codes = np.unique(ids, return_inverse=True)
        parts = []
        for code, raw in enumerate(kinds.tolist()):
            rows = np.flatnonzero(codes == code)
            count = int(np.searchsorted(rows, last - first))
            part = self._part(frames, ends, acks, raw, rows[:count] + first, rows[count:] - (last - first) + first_ack)
            if part is None:
                return None
            parts.append(part)
        return parts

    def _part(
        self, frames: Frames, ends: "_Kind", acks: "_Kind", raw: bytes, appends: Integers, acked: Integers
    ) -> "_Part | None":
        writer_id = uuid_text(raw)
        writer = self._appends.current(writer_id)
        if writer is None:
            return None
        waiting = self._acks.waiting_of(writer_id)
        earlier = np.array(list(waiting), np.int64)
        numbers = np.concatenate((earlier, ends.numbers("last_event_number")[appends]))
        ack_numbers = acks.numbers("event_number")[acked]
        is_plain = (
            bool((ends.numbers("num_events")[appends] > 0).all())
            and (len(appends) == 0 or int(numbers[len(earlier)]) >= writer.last)
            and bool((np.diff(numbers) > 0).all())
            and bool((np.diff(ack_numbers) > 0).all())
        )
        if not is_plain:
            return None
        records = np.concatenate(
            (np.array([sent[0] for sent in waiting.values()], np.int64), frames.numbers[ends.rows[appends]])
        )
        rows = np.concatenate((np.full(len(earlier), -1), ends.rows[appends]))
        ids = np.concatenate(
            (np.array([sent[1] for sent in waiting.values()], np.int64), ends.numbers("request_id")[appends])
        )
        return _Part(writer_id, writer, appends, acked, numbers, records, rows, ids, ack_numbers, acks.rows[acked])


class _Part:
    """The appends and acks of one writer in a stretch, behind what waited of it before."""

    def __init__(
        self,
        writer_id: str,
        writer: Writer,
        appends: Integers,
        acks: Integers,
        numbers: Integers,
        records: Integers,
        rows: Integers,
        request_ids: Integers,
        ack_numbers: Integers,
        ack_rows: Integers,
    ) -> None:
        self.writer_id = writer_id
        self.writer = writer
        self.appends = appends
        self.acks = acks
        self._numbers = numbers
        self._records = records
        self._rows = rows
        self._request_ids = request_ids
        self._ack_numbers = ack_numbers
        self._ack_rows = ack_rows
        self.reply_to = self._replies()

    def _replies(self) -> Integers:
        """For each ack the record of the append with its number, if that was sent before it. Both only grow."""
        if not len(self._numbers):
            return np.full(len(self._ack_numbers), NO_REPLY, np.int64)
        at = np.minimum(np.searchsorted(self._numbers, self._ack_numbers), len(self._numbers) - 1)
        is_sent = (self._numbers[at] == self._ack_numbers) & (self._rows[at] < self._ack_rows)
        return np.where(is_sent, self._records[at], NO_REPLY)

    def settle(self, acks: Acks) -> None:
        """Note what the writer said last, and which of its appends wait on."""
        if len(self.appends):
            self.writer.last = int(self._numbers[-1])
        waits = np.ones(len(self._numbers), np.bool_)
        if len(self._ack_rows):
            waits = (self._numbers > self._ack_numbers[-1]) | (self._rows > self._ack_rows[-1])
        sent = zip(self._records[waits].tolist(), self._request_ids[waits].tolist(), strict=True)
        acks.leave_waiting(self.writer_id, OrderedDict(zip(self._numbers[waits].tolist(), sent, strict=True)))


class _Kind:
    """The frames of one class that arrays can read: `is_of` says which, `rows` are those that did at first."""

    def __init__(self, frames: Frames, cls: type[Message], *, is_server: bool) -> None:
        head = np.frombuffer(cls.declaration.type_id.to_bytes(4, "big", signed=True), np.uint32)[0]
        heads = windows(np.frombuffer(frames.data, np.uint8), 4)[frames.starts].view(np.uint32)[:, 0]
        rows = np.flatnonzero((heads == head) & (frames.is_server == is_server))
        decoded = read_columns(cls, frames.data, frames.starts[rows] + HEADER_BYTES, frames.ends[rows])
        is_read = decoded.is_read & (decoded.stops == frames.ends[rows])
        self.cls = cls
        self.rows = rows[is_read]
        self.columns = {name: column.take(is_read) for name, column in decoded.columns.items()}
        self.is_of = np.zeros(len(frames.starts), np.bool_)
        self.is_of[self.rows] = True
        writers = self.columns["writer_id"]
        assert isinstance(writers, Uuids)
        self.writer_ids = np.ascontiguousarray(writers.raw).view("V16")[:, 0]
        #: What a stretch adds: the code of the segment, or the record that is answered.
        self.extra = np.full(len(self.rows), NO_REPLY, np.int64)

    def numbers(self, name: str) -> Integers:
        """A column of numbers."""
        column = self.columns[name]
        assert isinstance(column, Numbers)
        return column.values

    def between(self, start: int, stop: int) -> tuple[int, int]:
        """The places of the frames [start, stop) among these."""
        first, last = np.searchsorted(self.rows, (start, stop)).tolist()
        return first, last

    def left(self) -> Flags:
        """Which of them were read whole in the end."""
        kept: Flags = self.is_of[self.rows]
        return kept


def stretches(flags: Flags) -> Iterator[tuple[int, int]]:
    """The stretches of equal flags, one after the other."""
    bounds = np.flatnonzero(np.diff(flags)) + 1
    yield from pairwise([0, *bounds.tolist(), len(flags)])


def _acks(acks: _Kind) -> Group:
    kept = acks.left()
    columns = {name: column.take(kept) for name, column in acks.columns.items()}
    return Group(DataAppended, DataAppended.declaration.name, acks.rows[kept], columns, reply_to=acks.extra[kept])


def _appends(frames: Frames, ends: _Kind, segments: dict[str | None, int]) -> Group:
    kept = ends.left()
    columns = {name: column.take(kept) for name, column in ends.columns.items()}
    data = columns["data"]
    assert isinstance(data, Spans)
    none = Choice(np.full(len(data.starts), -1, np.int64), ())
    append: dict[str, Column] = {
        "segment": Choice(ends.extra[kept], list(segments)),
        "writer_id": columns["writer_id"],
        "event_number": columns["last_event_number"],
        "event_count": columns["num_events"],
        "expected_length": none,
        "request_id": columns["request_id"],
        "length": Numbers(data.lengths),
    }
    numbers, counts = columns["last_event_number"], columns["num_events"]
    assert isinstance(numbers, Numbers)
    assert isinstance(counts, Numbers)
    events = events_in(frames.data, data, counts.values, numbers.values)
    return Group(AppendBlockEnd, AppendBlockEnd.declaration.name, ends.rows[kept], columns, None, append, events)


def events_in(data: bytes, appended: Spans, counts: Integers, last_numbers: Integers) -> Events:
    """The events in the bytes of appends, as `appends.events_of` tells them."""
    is_single = _is_single(data, appended) & (counts == 1)
    single = np.flatnonzero(is_single)
    rows, starts = [single], [appended.starts[single] + HEADER_BYTES]
    stops, numbers = [(appended.starts + appended.lengths)[single]], [last_numbers[single]]
    has = [np.ones(len(single), np.bool_)]
    for each in np.flatnonzero(~is_single).tolist():
        at, count = int(appended.starts[each]), int(counts[each])
        spans = np.array(spans_of(data, at, at + int(appended.lengths[each]), count), np.int64).reshape(-1, 2)
        rows.append(np.full(len(spans), each))
        starts.append(spans[:, 0])
        stops.append(spans[:, 1])
        numbers.append(int(last_numbers[each]) - count + 1 + np.arange(len(spans)))
        has.append(np.full(len(spans), len(spans) == count))
    row, start, stop, number = (np.concatenate(parts) for parts in (rows, starts, stops, numbers))
    has_number = np.concatenate(has)
    order = np.argsort(row, kind="stable")
    start, length = start[order], (stop - start)[order]
    columns: dict[str, Column] = {"event_number": Numbers(number[order], has_number[order]), "length": Numbers(length)}
    return Events(row[order], columns, Spans(start, length, is_text=False))


def _is_single(data: bytes, appended: Spans) -> Flags:
    """Which of the spans are one EVENT frame as a whole."""
    is_single = appended.lengths >= HEADER_BYTES
    heads = windows(np.frombuffer(data, np.uint8), HEADER_BYTES)[appended.starts[is_single]]
    lengths = np.ascontiguousarray(heads[:, 4:]).view(">u4")[:, 0]
    is_event = (heads[:, :4] == np.frombuffer(EVENT_HEAD, np.uint8)).all(1)
    is_single[is_single] = is_event & (lengths == appended.lengths[is_single] - HEADER_BYTES)
    return is_single
