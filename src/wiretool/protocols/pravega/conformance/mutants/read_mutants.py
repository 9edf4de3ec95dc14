"""Defects of reads."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.failures import SegmentIsTruncated
from wiretool.protocols.pravega.messages import SegmentRead
from wiretool.protocols.pravega.server import reading
from wiretool.protocols.pravega.server.reading import Reads
from wiretool.protocols.pravega.server.segments import Segments

MUTANTS = Mutants()
_NS_PER_S = 1_000_000_000


def _reanswer(patcher: Patcher, change: Any) -> None:
    """Change the reply to a read that has just come: a function of the segment, the request and the reply, or None."""

    def replace(answer: Any) -> Any:
        return lambda segment, request: change(segment, request, answer(segment, request))

    patcher.wrap(reading, "answer", replace)


def _reparked(patcher: Patcher, change: Any) -> None:
    """Change the reply to a read that has waited: a function of the segment, the request and the reply."""

    def replace(answer: Any) -> Any:
        return lambda segment, request, size: change(segment, request, answer(segment, request, size))

    patcher.wrap(reading, "answer_parked", replace)


def _empty(request: Any, *, at_tail: bool = False, ends: bool = False) -> SegmentRead:
    return SegmentRead(
        segment=request.segment,
        offset=request.offset,
        at_tail=at_tail,
        end_of_segment=ends,
        data=b"",
        request_id=request.request_id,
    )


@MUTANTS.declare("read-least-lost", "A read of less than 8 bytes returns only the requested number.")
def _least_lost(patcher: Patcher) -> None:
    patcher.set(reading, "READ_BYTES_MIN", 0)


@MUTANTS.declare("read-most-lost", "A reply has as many bytes as were suggested.")
def _most_lost(patcher: Patcher) -> None:
    patcher.set(reading, "READ_BYTES_MAX", 2**31)


@MUTANTS.declare("read-one-more", "A reply has one byte more than was suggested.")
def _one_more(patcher: Patcher) -> None:
    patcher.wrap(reading, "read_bytes", lambda read_bytes: lambda suggested: read_bytes(suggested) + 1)


@MUTANTS.declare("read-tail-at-exact", "A read of exactly the stored bytes has at_tail set.")
def _tail_at_exact(patcher: Patcher) -> None:
    def change(segment: Any, request: Any, reply: Any) -> Any:
        if isinstance(reply, SegmentRead) and not segment.is_sealed:
            return replaced(reply, at_tail=reply.offset + len(reply.data) == segment.length)
        return reply

    _reanswer(patcher, change)


@MUTANTS.declare("read-never-at-tail", "No SegmentRead has at_tail set.")
def _never_at_tail(patcher: Patcher) -> None:
    def change(segment: Any, request: Any, reply: Any) -> Any:
        return replaced(reply, at_tail=False) if isinstance(reply, SegmentRead) else reply

    _reanswer(patcher, change)


@MUTANTS.declare("read-offset-of-end", "A reply has the offset after its bytes.")
def _offset_of_end(patcher: Patcher) -> None:
    def change(segment: Any, request: Any, reply: Any) -> Any:
        return replaced(reply, offset=reply.offset + len(reply.data)) if isinstance(reply, SegmentRead) else reply

    _reanswer(patcher, change)


@MUTANTS.declare("read-end-is-tail", "The end of a sealed segment is reported as the tail.")
def _end_is_tail(patcher: Patcher) -> None:
    def change(segment: Any, request: Any, reply: Any) -> Any:
        if isinstance(reply, SegmentRead) and reply.end_of_segment:
            return replaced(reply, at_tail=True, end_of_segment=False)
        return reply

    _reanswer(patcher, change)


@MUTANTS.declare("read-end-early", "Every read of a sealed segment has end_of_segment set.")
def _end_early(patcher: Patcher) -> None:
    def change(segment: Any, request: Any, reply: Any) -> Any:
        if isinstance(reply, SegmentRead) and segment.is_sealed:
            return replaced(reply, end_of_segment=True)
        return reply

    _reanswer(patcher, change)


@MUTANTS.declare("read-before-start-moved", "A read before the start of a truncated segment begins at the start.")
def _start_moved(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def moved(segment: Any, request: Any) -> Any:
            return answer(segment, replaced(request, offset=max(request.offset, segment.start)))

        return moved

    patcher.wrap(reading, "answer", replace)


@MUTANTS.declare("read-truncated-not-told", "SegmentIsTruncated names 0 as the start.")
def _not_told(patcher: Patcher) -> None:
    def change(segment: Any, request: Any, reply: Any) -> Any:
        return replaced(reply, start_offset=0) if isinstance(reply, SegmentIsTruncated) else reply

    _reanswer(patcher, change)


@MUTANTS.declare("read-beyond-end-empty", "A read beyond the end of a sealed segment gives nothing.")
def _beyond_empty(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def lax(segment: Any, request: Any) -> Any:
            if segment.is_sealed and request.offset > segment.length:
                return _empty(request, ends=True)
            return answer(segment, request)

        return lax

    patcher.wrap(reading, "answer", replace)


# -- at the tail -------------------------------------------------------------------------------------------------------


@MUTANTS.declare("tail-does-not-wait", "A read at the tail is answered with nothing at once.")
def _does_not_wait(patcher: Patcher) -> None:
    def change(segment: Any, request: Any, reply: Any) -> Any:
        return _empty(request, at_tail=True) if reply is None else reply

    _reanswer(patcher, change)


@MUTANTS.declare("tail-gives-up", "A read at the tail waits for two seconds at most.")
def _gives_up(patcher: Patcher) -> None:
    def replace(read: Any) -> Any:
        def bounded(self: Any, request: Any, now_ns: int) -> None:
            before = set(self._parked)
            read(self, request, now_ns)
            for parked in set(self._parked) - before:
                self._timers.at(
                    now_ns + 2 * _NS_PER_S, lambda _, each=parked: each in self._parked and each(is_idle=True)
                )

        return bounded

    patcher.wrap(Reads, "read", replace)


@MUTANTS.declare("tail-not-woken", "A waiting read is not answered by appends.")
def _not_woken(patcher: Patcher) -> None:
    def replace(append: Any) -> Any:
        def silent(self: Any, segment: Any, data: bytes, now_ns: int) -> int:
            waiters, segment.waiters = segment.waiters, {}
            length: int = append(self, segment, data, now_ns)
            segment.waiters = waiters
            return length

        return silent

    patcher.wrap(Segments, "append", replace)


@MUTANTS.declare("tail-woken-early", "A read that waits is answered by every append, one that does not reach it too.")
def _woken_early(patcher: Patcher) -> None:
    def replace(append: Any) -> Any:
        def early(self: Any, segment: Any, data: bytes, now_ns: int) -> int:
            length: int = append(self, segment, data, now_ns)
            self.wake(segment, is_idle=True)
            return length

        return early

    patcher.wrap(Segments, "append", replace)


@MUTANTS.declare("tail-woken-by-others", "A read that waits is answered by an append to any segment.")
def _woken_by_others(patcher: Patcher) -> None:
    def replace(append: Any) -> Any:
        def wide(self: Any, segment: Any, data: bytes, now_ns: int) -> int:
            length: int = append(self, segment, data, now_ns)
            for other in list(self._segments.values()):
                if other is not segment:
                    self.wake(other, is_idle=True)
            return length

        return wide

    patcher.wrap(Segments, "append", replace)


@MUTANTS.declare("tail-woken-by-truncation", "A read that waits is answered by truncation.")
def _woken_by_truncation(patcher: Patcher) -> None:
    def replace(truncate: Any) -> Any:
        def waking(self: Any, name: str, offset: int, now_ns: int) -> None:
            truncate(self, name, offset, now_ns)
            self.wake(self.info(name), is_idle=True)

        return waking

    patcher.wrap(Segments, "truncate", replace)


@MUTANTS.declare(
    "tail-seal-is-end", "When its segment is sealed, a waiting read is answered with no bytes instead of a failure."
)
def _seal_is_end(patcher: Patcher) -> None:
    def change(segment: Any, request: Any, reply: Any) -> Any:
        return reply if isinstance(reply, SegmentRead) else _empty(request, ends=True)

    _reparked(patcher, change)


@MUTANTS.declare("tail-not-told-of-deletion", "A waiting read is not answered when its segment is deleted.")
def _not_told_of_deletion(patcher: Patcher) -> None:
    def replace(delete: Any) -> Any:
        def silent(self: Any, name: str, now_ns: int) -> None:
            self.info(name).waiters.clear()
            delete(self, name, now_ns)

        return silent

    patcher.wrap(Segments, "delete", replace)


@MUTANTS.declare("tail-answered-again", "A read that has waited is answered again by the next append.")
def _answered_again(patcher: Patcher) -> None:
    def replace(wake: Any) -> Any:
        def again(self: Any, parked: Any) -> None:
            wake(self, parked)
            if not parked.segment.is_sealed and not parked.segment.is_gone:
                self._park(parked.segment, parked.request)

        return again

    patcher.wrap(Reads, "wake", replace)


@MUTANTS.declare("tail-size-ignored", "A read that has waited returns all stored bytes.")
def _size_ignored(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        return lambda segment, request, size: answer(segment, request, reading.READ_BYTES_MAX)

    patcher.wrap(reading, "answer_parked", replace)


@MUTANTS.declare("tail-one-reader", "Of several reads that wait at one place only the first is answered.")
def _one_reader(patcher: Patcher) -> None:
    def replace(append: Any) -> Any:
        def first(self: Any, segment: Any, data: bytes, now_ns: int) -> int:
            later = dict(list(segment.waiters.items())[1:])
            for waiter in later:
                del segment.waiters[waiter]
            length: int = append(self, segment, data, now_ns)
            segment.waiters.update(later)
            return length

        return first

    patcher.wrap(Segments, "append", replace)
