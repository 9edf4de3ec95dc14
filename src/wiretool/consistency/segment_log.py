"""A segment as its writers and readers see it: appends with acknowledgements, and the bytes that reads returned.

An append whose acknowledgement has its offset is compared with the bytes there. Of the others, the events are counted:
a segment that was read from its beginning must have each acknowledged event. Where all appends are known, it must not
have more copies of an acknowledged event than were sent.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import count

from wiretool.consistency.appended import AppendedBytes
from wiretool.consistency.model import Anomaly, AnomalyName
from wiretool.consistency.placed_appends import PlacedAppends
from wiretool.consistency.read_bytes import ReadBytes

#: Returns where the event ends that begins at an offset of the data: 0 where more bytes are needed, -1 where the data
#: is not made of events.
EventEnd = Callable[[bytes | bytearray, int], int]


def digest_of(event: bytes | bytearray) -> bytes:
    """Return the identity of an event's bytes."""
    return blake2b(event, digest_size=16).digest()


def split_events(data: bytes, event_end: EventEnd) -> list[bytes]:
    """Return the events that make up some bytes, with their headers; none where something else does."""
    events, at = [], 0
    while at < len(data):
        end = event_end(data, at)
        if end <= at:
            return []
        events.append(data[at:end])
        at = end
    return events


class SegmentLog:
    """One segment. `is_whole`: it was empty when the records began, or was created in them."""

    def __init__(self, label: str, event_end: EventEnd, *, is_whole: bool) -> None:
        self.label = label
        self.is_whole = is_whole
        #: Acknowledged events that a read returned or showed to be missing.
        self.judged = 0
        #: The first byte that was not truncated.
        self.start = 0
        self._event_end = event_end
        self._read = ReadBytes()
        #: Acknowledged appends of known place.
        self.placed = PlacedAppends()
        #: Acknowledged appends of unknown place, and those of them without a bound.
        self._unplaced: list[AppendedBytes] = []
        self._unbounded: list[AppendedBytes] = []
        #: Events by digest: copies that were sent, that reads found, and that must be among these; and the first append
        #: that has it, and that was acknowledged.
        self._sent: Counter[bytes] = Counter()
        self._found: Counter[bytes] = Counter()
        self._due: Counter[bytes] = Counter()
        self._sender: dict[bytes, AppendedBytes] = {}
        self._acknowledged: dict[bytes, AppendedBytes] = {}
        #: Acknowledged appends by the offset up to which events must be counted before theirs are due: a heap.
        self._due_at: list[tuple[int, int, AppendedBytes]] = []
        self._order = count()
        #: How far events were counted, from the beginning; -1 where they cannot be.
        self._counted = 0
        #: Lengths of events that no append explains.
        self._unknown: Counter[int] = Counter()
        #: Surplus copies of events that are not acknowledged yet, by digest: offset and record of the read.
        self._surplus: dict[bytes, tuple[int, int]] = {}
        self._held_bytes = 0
        #: Appends with bytes that have no acknowledgement.
        self._pending = 0

    @property
    def held_bytes(self) -> int:
        """Return the bytes of appends and reads that it keeps."""
        return self._held_bytes + self._read.held_bytes

    @property
    def has_pending(self) -> bool:
        """Return whether appends with bytes have no acknowledgement."""
        return self._pending > 0

    @property
    def has_acknowledged(self) -> bool:
        """Return whether there is something to read back."""
        return bool(self.placed or self._unplaced)

    @property
    def acknowledged(self) -> Iterator[AppendedBytes]:
        """Yield the acknowledged appends that were not truncated."""
        yield from (each for each in self.placed if each.start >= self.start)
        yield from self._unplaced

    @property
    def end(self) -> int:
        """Return the offset after the last append whose place is known."""
        return self.placed.end

    @property
    def known_length(self) -> int:
        """Return the length of the appends where they follow one another from the first byte on; -1 where not."""
        end = 0
        for append in self.placed:
            if append.start != end:
                return -1
            end = append.end
        return end if not self._pending and not self._unplaced else -1

    # -- appends -----------------------------------------------------------------------------------------------------

    def send(self, append: AppendedBytes, copies: Iterable[bytes] | None = None) -> None:
        """An append is on its way, with these events; by default all of its own are further copies."""
        for digest in append.digests:
            self._sender.setdefault(digest, append)
        self._sent.update(append.digests if copies is None else copies)
        self._held_bytes += len(append.data)
        self._pending += bool(append.data)

    def retract(self, append: AppendedBytes, copies: Iterable[bytes]) -> None:
        """The server does not have an append, which is sent again if at all; an acknowledgement may yet come."""
        if not append.is_retracted:
            append.is_retracted = True
            self._sent.subtract(copies)
            self._pending -= bool(append.data)

    def expect(self, other: "SegmentLog") -> None:
        """The events of another segment may be appended to this one."""
        self._sent.update(other._sent)
        self._sender = {**other._sender, **self._sender}
        self.is_whole = self.is_whole and other.is_whole

    def place(self, append: AppendedBytes, n: int, end: int) -> list[Anomaly]:
        """Record `n` acknowledges that an append ends at an offset."""
        if end < len(append.data):
            return self.note(append, n, end)
        append.acknowledged, append.start = n, end - len(append.data)
        if not append.data:
            return []
        self._pending -= 1
        self._bound(append.start, append.n)
        self.placed.add(append)
        self._expect_at(append, append.end)
        return [*self._accept(append), *self._judge(append), *self._judge_due()]

    def note(self, append: AppendedBytes, n: int, bound: int = -1) -> list[Anomaly]:
        """Record `n` acknowledges an append and leaves its place open; `bound` as in AppendedBytes."""
        append.acknowledged, append.bound = n, bound
        if not append.data:
            return []
        self._pending -= 1
        self._unplaced.append(append)
        if bound < 0:
            self._unbounded.append(append)
        else:
            self._expect_at(append, bound)
        return [*self._accept(append), *self._judge_due()]

    def settle(self, starts: Mapping[AppendedBytes, int]) -> list[Anomaly]:
        """The places of appends are known now that were not before."""
        self._unplaced = [append for append in self._unplaced if append not in starts]
        for append, start in starts.items():
            append.start = start
            if append.bound < 0:
                self._expect_at(append, append.end)
        self._unbounded = [append for append in self._unbounded if append not in starts]
        self.placed.add_all(starts)
        return [anomaly for append in starts for anomaly in self._judge(append)]

    def _accept(self, append: AppendedBytes) -> list[Anomaly]:
        """Count the events of an acknowledged append; those with a surplus copy in the segment are anomalies."""
        if append.is_retracted:
            append.is_retracted = False
            self._sent.update(append.digests)
            self._pending += 1
        for digest in append.digests:
            self._acknowledged.setdefault(digest, append)
        surplus = [digest for digest in dict.fromkeys(append.digests) if digest in self._surplus]
        return [self._doubled(digest, *self._surplus.pop(digest)) for digest in surplus]

    # -- reads -------------------------------------------------------------------------------------------------------

    def read(self, offset: int, data: bytes, n: int) -> list[Anomaly]:
        """Record `n` has the bytes of the segment from an offset on."""
        anomalies: list[Anomaly] = []
        if not data:
            return anomalies
        for start, end in self._read.add(offset, data, n):
            for append in self.placed.overlapping(start, end):
                anomalies += self._judge(append, is_again=True)
        return [*anomalies, *self._count_events(), *self._judge_due()]

    def end_at(self, length: int, asked: int, n: int) -> list[Anomaly]:
        """Record `n`, whose request is `asked`, has the length of the segment."""
        anomalies = []
        for append in self.placed.overlapping(length):
            if append.acknowledged < asked:
                why = f"the segment ends at byte {length:,}; it was acknowledged up to byte {append.end:,}"
                anomalies += self._report("lost-event", append, why, n)
        self._bound(length, asked)
        return [*anomalies, *self._judge_due()]

    def vanish(self, n: int) -> list[Anomaly]:
        """Record `n` denies that the segment exists, which nothing has removed."""
        lost = next((each for each in self.acknowledged if each.data), None)
        if lost is None:
            return []
        events = sum(each.events for each in self.acknowledged if not each.is_judged)
        self.judged += events
        lost.is_judged = True
        why = f"the segment does not exist any more; {events:,} acknowledged events of it were not read"
        return [Anomaly("lost-event", self.label, why, (lost.n, lost.acknowledged, n))]

    def truncate(self, offset: int) -> None:
        """The bytes before an offset may be gone."""
        self.start = max(self.start, offset)
        if self._counted < self.start:
            self._counted = -1

    # -- appends of known place --------------------------------------------------------------------------------------

    def _judge(self, append: AppendedBytes, *, is_again: bool = False) -> list[Anomaly]:
        """Compare an append with the bytes at its place, where all of them were read."""
        if append.start < self.start or (append.is_judged and not is_again):
            return []
        if not self._read.covers(append.start, append.end):
            return []
        there = self._read.get(append.start, append.end)
        if there == append.data:
            self._count_judged(append)
            return self._judge_overlap(append)
        at = append.start + next(i for i, pair in enumerate(zip(there, append.data, strict=True)) if pair[0] != pair[1])
        name, why = self._explain(append, at)
        return self._report(name, append, why, self._read.record_at(at))

    def _judge_overlap(self, append: AppendedBytes) -> list[Anomaly]:
        """Two appends that were acknowledged at the same bytes: one of them is not there."""
        others = [each for each in self.placed.overlapping(append.start, append.end) if each is not append]
        if not others or append.is_reported or any(each.is_reported for each in others):
            return []
        first, second = sorted((append, others[0]), key=lambda each: each.acknowledged)
        why = f"record {second.acknowledged} acknowledges another append at bytes {second.start:,} to {second.end:,}"
        n = self._read.record_at(append.start)
        return self._report("lost-event", first, why, n)

    def _explain(self, append: AppendedBytes, at: int) -> tuple[AnomalyName, str]:
        """Return the name of the anomaly of an append that differs from the bytes at its place, and why."""
        bytes_text = f"bytes {append.start:,} to {append.end:,}"
        elsewhere = self._find_elsewhere(append)
        if elsewhere >= 0:
            return "lost-event", f"{bytes_text} hold other events; its bytes begin at byte {elsewhere:,}"
        other = self._other_at(append)
        if other is not None:
            return "lost-event", f"{bytes_text} hold the append of record {other.n}"
        return "changed-event", f"{bytes_text} differ from the bytes that were appended, first at byte {at:,}"

    def _find_elsewhere(self, append: AppendedBytes) -> int:
        """Return the offset where the bytes of an append are that no other append has; -1 where they are not."""
        if any(self._sent[digest] > 1 for digest in append.digests):
            return -1
        found = self._read.find(append.data)
        owners = [each for each in self.placed.overlapping(found, found + 1) if each.start == found]
        return found if all(each.data != append.data for each in owners) else -1

    def _other_at(self, append: AppendedBytes) -> AppendedBytes | None:
        """Return another append whose event begins where this one should."""
        data, at = self._read.run_from(append.start)
        end = self._event_end(data, at)
        if end > at:
            sender = self._sender.get(digest_of(data[at:end]))
            return sender if sender is not append else None
        for other in self.placed.overlapping(append.start, append.end):
            if other is not append and self._is_there(other):
                return other
        return None

    def _is_there(self, append: AppendedBytes) -> bool:
        """Return whether reads returned an append at its place."""
        covers = self._read.covers(append.start, append.end)
        return covers and self._read.get(append.start, append.end) == append.data

    # -- events ------------------------------------------------------------------------------------------------------

    def _count_events(self) -> list[Anomaly]:
        """Count the events up to the first byte that was not read."""
        if self._counted < 0:
            return []
        anomalies: list[Anomaly] = []
        data, at = self._read.run_from(self._counted)
        origin = self._counted - at
        while at < len(data) and (end := self._event_end(data, at)) != 0:
            if end < 0:
                self._counted = -1
                return anomalies
            anomalies += self._find_event(digest_of(data[at:end]), origin + at, end - at)
            at = end
        self._counted = origin + at if data else self._counted
        return anomalies

    def _find_event(self, digest: bytes, offset: int, length: int) -> list[Anomaly]:
        self._found[digest] += 1
        sent = self._sent[digest]
        if sent <= 0:
            self._unknown[length] += 1
        if sent <= 0 or not self.is_whole or self._found[digest] != sent + 1:
            return []
        n = self._read.record_at(offset)
        if digest not in self._acknowledged:
            self._surplus[digest] = (offset, n)
            return []
        return [self._doubled(digest, offset, n)]

    def _doubled(self, digest: bytes, offset: int, n: int) -> Anomaly:
        append = self._acknowledged[digest]
        why = f"a further copy of an event begins at byte {offset:,}; it was sent {_times(self._sent[digest])}"
        return Anomaly("doubled-event", self.label, why, (append.n, append.acknowledged, n))

    def _bound(self, offset: int, before: int) -> None:
        """Appends of unknown place that were acknowledged before a record are in the segment up to an offset."""
        for append in self._unbounded:
            if append.acknowledged < before:
                append.bound = offset
                self._expect_at(append, offset)
        self._unbounded = [append for append in self._unbounded if append.bound < 0]

    def _expect_at(self, append: AppendedBytes, offset: int) -> None:
        """The events of an append must be among those up to an offset."""
        if self._counted >= 0:
            heappush(self._due_at, (offset, next(self._order), append))

    def _judge_due(self) -> list[Anomaly]:
        """Judge the appends of unknown place whose events must be among those that are counted."""
        ready = []
        while self._due_at and self._due_at[0][0] <= self._counted:
            append = heappop(self._due_at)[2]
            if append.is_reported:
                continue
            append.is_due = True
            self._due.update(append.digests)
            if append.start < 0:
                ready.append(append)
        return [anomaly for append in ready for anomaly in self._judge_events(append)]

    def _judge_events(self, append: AppendedBytes) -> list[Anomaly]:
        lacking = next((each for each in append.digests if self._found[each] < self._due[each]), None)
        if lacking is None:
            if append.digests:
                self._count_judged(append)
            return []
        n = self._read.record_at(append.bound - 1) if append.bound else append.acknowledged
        events = split_events(append.data, self._event_end)
        length = next((len(each) for each in events if digest_of(each) == lacking), 0)
        up_to = f"it is not among the events up to byte {append.bound:,}"
        if not self._unknown[length]:
            return self._report("lost-event", append, up_to, n)
        self._unknown[length] -= 1
        return self._report("changed-event", append, f"{up_to}; another one of the same length is", n)

    def _report(self, name: AnomalyName, append: AppendedBytes, why: str, n: int) -> list[Anomaly]:
        """Report an append, unless it was reported before."""
        if append.is_reported:
            return []
        append.is_reported = True
        if append.is_due:
            self._due.subtract(append.digests)
        self._count_judged(append)
        return [Anomaly(name, self.label, why, (append.n, append.acknowledged, n))]

    def _count_judged(self, append: AppendedBytes) -> None:
        if not append.is_judged:
            append.is_judged = True
            self.judged += append.events


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
