"""Which request a reply answers: requests by their id, appends by writer and event number."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.protocols.pravega import messages as general
from wiretool.protocols.pravega import segments, tables

#: Reply -> the requests that it can answer. A failure can answer any.
ANSWERS: Mapping[type[Message], tuple[type[Message], ...]] = {
    general.AppendSetup: (general.SetupAppend,),
    general.SegmentRead: (general.ReadSegment,),
    segments.FlushedToStorage: (segments.FlushToStorage,),
    segments.StorageChunksListed: (segments.ListStorageChunks,),
    segments.StreamSegmentInfo: (segments.GetStreamSegmentInfo,),
    segments.SegmentCreated: (segments.CreateSegment, tables.CreateTableSegment, segments.CreateTransientSegment),
    segments.SegmentSealed: (segments.SealSegment,),
    segments.SegmentDeleted: (segments.DeleteSegment, tables.DeleteTableSegment),
    segments.SegmentPolicyUpdated: (segments.UpdateSegmentPolicy,),
    segments.SegmentAttribute: (segments.GetSegmentAttribute,),
    segments.SegmentAttributeUpdated: (segments.UpdateSegmentAttribute, segments.MergeSegments),
    segments.SegmentTruncated: (segments.TruncateSegment, segments.LocateOffset),
    segments.OffsetLocated: (segments.LocateOffset,),
    segments.SegmentsMerged: (segments.MergeSegments,),
    segments.SegmentsBatchMerged: (segments.MergeSegmentsBatch,),
    tables.TableSegmentInfo: (tables.GetTableSegmentInfo,),
    tables.TableEntriesUpdated: (tables.UpdateTableEntries,),
    tables.TableKeysRemoved: (tables.RemoveTableKeys,),
    tables.TableRead: (tables.ReadTable,),
    tables.TableKeysRead: (tables.ReadTableKeys,),
    tables.TableEntriesRead: (tables.ReadTableEntries,),
    tables.TableEntriesDeltaRead: (tables.ReadTableEntriesDelta,),
}

#: Requests with one and the same id that are remembered, and ids that a reply without one is held against.
_SAME_ID_MAX = 256
_SCAN_MAX = 256

#: Segment and offset, for the requests and replies that have both.
Position = tuple[str, int]


class Asked(NamedTuple):
    """A request that waits for its reply; `n` is the number of its record."""

    n: int
    cls: type[Message]
    position: Position | None


class Requests:
    """The requests of one connection that wait for their replies. Ids come again, so each has a queue.

    Where bytes are missing, a waiting request may have been answered unseen, and a reply may answer an unseen request:
    then a reply answers only a request that nothing else can be mistaken for. KeepAlives, which have no id, are matched
    by their order again once a request after the gap was answered: servers answer a KeepAlive at once.
    """

    def __init__(self) -> None:
        self._by_id: dict[Hashable, list[Asked]] = {}
        self._count = 0
        self._has_gaps = False
        #: Whether the order of replies tells what they answer; where not, the first request after the gap.
        self._is_in_step = True
        self._first_after_gap: int | None = None

    def __contains__(self, request_id: Hashable) -> bool:
        return request_id in self._by_id

    @property
    def has_gaps(self) -> bool:
        """Return whether bytes of either side are missing."""
        return self._has_gaps

    def ask(self, n: int, cls: type[Message], request_id: Hashable, position: Position | None = None) -> None:
        """Remember a request."""
        if not self._is_in_step and self._first_after_gap is None:
            self._first_after_gap = n
        asked = self._by_id.setdefault(request_id, [])
        asked.append(Asked(n, cls, position))
        self._count += 1
        if len(asked) > _SAME_ID_MAX:
            del asked[0]
            self._count -= 1
        if self._count > limits.REQUESTS_OPEN_MAX:
            self._forget_oldest()

    def answer(
        self, request_id: Hashable, classes: tuple[type[Message], ...] | None, position: Position | None = None
    ) -> int | None:
        """The record of the request that a reply answers: the one at its position, else the oldest of such a class.

        Without `classes` any will do.
        """
        asked = self._by_id.get(request_id)
        if asked is None:
            return None
        fitting = [index for index, one in enumerate(asked) if classes is None or one.cls in classes]
        there = [index for index in fitting if asked[index].position == position] if position else []
        if self._has_gaps:
            others = [index for index in fitting if asked[index].position is None]
            return self._answer_after_gap(request_id, there or (others if position else fitting))
        return self._take(request_id, (there or fitting)[0]) if fitting else None

    def answer_in_order(self, cls: type[Message]) -> int | None:
        """Return the record of the oldest request of a class without ids, where the order of replies is known."""
        return self._take(cls, 0) if self._is_in_step and cls in self._by_id else None

    def answer_read_at(self, offset: int) -> int | None:
        """The record of a ReadSegment from this offset, for the failure that has it in the place of the id."""
        for request_id, asked in islice(self._by_id.items(), _SCAN_MAX):
            for one in asked:
                if one.position is not None and one.position[1] == offset:
                    return self.answer(request_id, (one.cls,), one.position)
        return None

    def lose(self) -> None:
        """Note that bytes of either side are missing."""
        self._has_gaps, self._is_in_step, self._first_after_gap = True, False, None

    def forget(self, request_id: Hashable) -> None:
        """Those with this id may have been answered unseen."""
        self._count -= len(self._by_id.pop(request_id, ()))

    def _take(self, request_id: Hashable, index: int) -> int:
        asked = self._by_id[request_id]
        found = asked.pop(index)
        self._count -= 1
        if not asked:
            del self._by_id[request_id]
        return found.n

    def _answer_after_gap(self, request_id: Hashable, fitting: list[int]) -> int | None:
        """Return the record of the only request that fits; forget several, as any of them may be answered now."""
        numbers = [self._take(request_id, index) for index in reversed(fitting)]
        if len(numbers) != 1:
            return None
        self._find_step(numbers[0])
        return numbers[0]

    def _find_step(self, answered: int) -> None:
        """Forget KeepAlives before a request after the gap that is answered: they were answered before it."""
        if self._is_in_step or self._first_after_gap is None or answered < self._first_after_gap:
            return
        later = [one for one in self._by_id.get(general.KeepAlive, ()) if one.n > answered]
        self.forget(general.KeepAlive)
        self._is_in_step = not later

    def _forget_oldest(self) -> None:
        for request_id in list(islice(self._by_id, len(self._by_id) // 2 + 1)):
            self.forget(request_id)


#: An append that waits for its ack: the number of its record, and its request id.
Sent = tuple[int, int]


class Acks:
    """The appends of one connection that wait for their acks: writer -> event number -> append."""

    def __init__(self) -> None:
        self._waiting: dict[str, OrderedDict[int, Sent]] = {}
        self._count = 0

    @property
    def room(self) -> int:
        """How many more appends may wait before the oldest are forgotten."""
        return limits.REQUESTS_OPEN_MAX - self._count

    def waiting_of(self, writer_id: str) -> Mapping[int, Sent]:
        """The appends of a writer that wait, oldest first."""
        return self._waiting.get(writer_id, {})

    def leave_waiting(self, writer_id: str, waiting: OrderedDict[int, Sent]) -> None:
        """Let these wait, in the place of those that did: what a stretch of appends and acks left of both."""
        before = self._waiting.get(writer_id)
        if before is None:
            before = self._open(writer_id)
        self._count += len(waiting) - len(before)
        self._waiting[writer_id] = waiting

    def sent(self, writer_id: str, event_number: int, request_id: int, n: int) -> None:
        """An append was sent. One that repeats a number gets no ack of its own."""
        waiting = self._waiting.get(writer_id)
        if waiting is None:
            waiting = self._open(writer_id)
        if event_number in waiting:
            return
        waiting[event_number] = (n, request_id)
        self._count += 1
        if self._count > limits.REQUESTS_OPEN_MAX:
            self._forget_oldest()

    def acked(self, writer_id: str, event_number: int) -> int | None:
        """The record of the append with this number; it and those before it wait no longer."""
        waiting = self._waiting.get(writer_id)
        if waiting is None:
            return None
        before = len(waiting)
        found = waiting.pop(event_number, None)
        while waiting:
            first = next(iter(waiting))
            if first > event_number:
                break
            del waiting[first]
        self._count -= before - len(waiting)
        return None if found is None else found[0]

    def refused(self, writer_ids: Iterable[str], event_number: int, request_id: int) -> int | None:
        """The record of an append of one of the writers: the one with this number, else the oldest with this id."""
        queues = [queue for writer_id in islice(writer_ids, _SCAN_MAX) if (queue := self._waiting.get(writer_id))]
        for queue in queues:
            if event_number in queue:
                return self._take(queue, event_number)
        for queue in queues:
            number = _with_id(queue, request_id)
            if number is not None:
                return self._take(queue, number)
        return None

    def refused_exactly(self, writer_id: str, event_number: int) -> int | None:
        """Return the record of the append of a writer with this number, and of no other one."""
        waiting = self._waiting.get(writer_id)
        return self._take(waiting, event_number) if waiting and event_number in waiting else None

    def refused_only(self, writer_ids: Iterable[str], event_number: int, request_id: int) -> int | None:
        """Return the record of the only append of the writers with this id; of several the one with this number."""
        found = [
            (queue, number)
            for writer_id in islice(writer_ids, _SCAN_MAX)
            if (queue := self._waiting.get(writer_id))
            for number, (_, own) in islice(queue.items(), _SCAN_MAX)
            if own == request_id
        ]
        found = [each for each in found if each[1] == event_number] or found
        return self._take(*found[0]) if len(found) == 1 else None

    def refused_number(self, writer_id: str, event_number: int, request_id: int) -> int | None:
        """The record of the append that an InvalidEventNumber refuses.

        Before version 16 its number (now -1) stands in the place of the request id, in some servers nowhere: then it
        is the oldest of the writer.
        """
        refused = self.refused((writer_id,), event_number if event_number != -1 else request_id, request_id)
        return self.refused_oldest(writer_id) if refused is None else refused

    def refused_oldest(self, writer_id: str) -> int | None:
        """The record of the oldest append of the writer, for a refusal that does not say which one it means."""
        waiting = self._waiting.get(writer_id)
        return self._take(waiting, next(iter(waiting))) if waiting else None

    def settle(self, writer_id: str, set_up_at: int | None) -> None:
        """Forget the appends before the SetupAppend of that number, or all: they are stored, or will be sent again."""
        waiting = self._waiting.get(writer_id)
        if not waiting:
            return
        for event_number in [each for each, (n, _) in waiting.items() if set_up_at is None or n < set_up_at]:
            self._take(waiting, event_number)

    def _take(self, waiting: OrderedDict[int, Sent], event_number: int) -> int:
        self._count -= 1
        return waiting.pop(event_number)[0]

    def _open(self, writer_id: str) -> OrderedDict[int, Sent]:
        """A queue for a writer. Empty ones are kept for the next append, as long as there are not too many."""
        if len(self._waiting) >= 2 * limits.REQUESTS_OPEN_MAX:  # half of them are empty at least
            self._waiting = {name: waiting for name, waiting in self._waiting.items() if waiting}
        waiting = self._waiting[writer_id] = OrderedDict()
        return waiting

    def _forget_oldest(self) -> None:
        for writer_id, waiting in list(self._waiting.items()):
            for event_number in list(islice(waiting, len(waiting) // 2 + 1)):
                del waiting[event_number]
            if not waiting:
                del self._waiting[writer_id]
        self._count = sum(map(len, self._waiting.values()))


def _with_id(waiting: Mapping[int, Sent], request_id: int) -> int | None:
    """The number of the oldest append with this id."""
    return next((number for number, (_, own) in islice(waiting.items(), _SCAN_MAX) if own == request_id), None)
