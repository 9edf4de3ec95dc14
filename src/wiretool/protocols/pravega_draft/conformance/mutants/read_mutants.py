"""Defects of reads."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.server.segments import Segments
from wiretool.protocols.pravega_draft.conformance.mutants.patches import rehandle
from wiretool.protocols.pravega_draft.messages import ReadSegment, SegmentRead
from wiretool.protocols.pravega_draft.server import reads
from wiretool.protocols.pravega_draft.server.reads import Reads

MUTANTS = Mutants()


def _reread(patcher: Patcher, change: Any) -> None:
    """Change what a read gives: a function of the segment and the reply, or None."""

    def replace(answer: Any) -> Any:
        return lambda segment, offset, length: change(segment, offset, answer(segment, offset, length))

    patcher.wrap(reads, "answer", replace)


def _each(change: Any) -> Any:
    return lambda segment, offset, reply: change(segment, reply) if isinstance(reply, SegmentRead) else reply


@MUTANTS.declare("read-always-at-tail", "Every SegmentRead has at_tail set.")
def _always(patcher: Patcher) -> None:
    _reread(patcher, _each(lambda segment, reply: replaced(reply, at_tail=True)))


@MUTANTS.declare("read-never-at-tail", "No SegmentRead has at_tail set.")
def _never(patcher: Patcher) -> None:
    _reread(patcher, _each(lambda segment, reply: replaced(reply, at_tail=False)))


@MUTANTS.declare("read-end-not-told", "The end of a sealed segment is reported as the tail only.")
def _end_not_told(patcher: Patcher) -> None:
    _reread(patcher, _each(lambda segment, reply: replaced(reply, end_of_segment=False)))


@MUTANTS.declare("read-end-early", "Every read of a sealed segment has end_of_segment set.")
def _end_early(patcher: Patcher) -> None:
    _reread(patcher, _each(lambda segment, reply: replaced(reply, end_of_segment=segment.is_sealed)))


@MUTANTS.declare("read-one-less", "A reply has one byte less than there is.")
def _one_less(patcher: Patcher) -> None:
    _reread(patcher, _each(lambda segment, reply: replaced(reply, data=reply.data[:-1])))


@MUTANTS.declare("tail-does-not-wait", "A read at the end is answered with nothing at once.")
def _does_not_wait(patcher: Patcher) -> None:
    _reread(
        patcher,
        lambda segment, offset, reply: reads._read(segment, offset, b"") if reply is None else reply,
    )


@MUTANTS.declare("tail-not-woken", "A waiting read is not answered by blocks.")
def _not_woken(patcher: Patcher) -> None:
    patcher.set(Segments, "wake", lambda self, segment, *, is_idle=False: None)


@MUTANTS.declare("tail-one-reader", "Of several reads that wait only the first is answered.")
def _one_reader(patcher: Patcher) -> None:
    def replace(wake: Any) -> Any:
        def first(self: Any, segment: Any, *, is_idle: bool = False) -> None:
            later = list(segment.waiters)[1:]
            for waiter in later:
                del segment.waiters[waiter]
            wake(self, segment, is_idle=is_idle)
            segment.waiters.update(dict.fromkeys(later))

        return first

    patcher.wrap(Segments, "wake", replace)


@MUTANTS.declare("tail-answered-again", "A read that has waited is answered again by the next block.")
def _answered_again(patcher: Patcher) -> None:
    def replace(wake: Any) -> Any:
        def twice(self: Any, parked: Any) -> None:
            wake(self, parked)
            self._answer(parked)

        return twice

    patcher.wrap(Reads, "wake", replace)


def _reask(patcher: Patcher, change: Any) -> None:
    """Change reads before they are served: a function of the link and the request, None to drop it."""

    def replace(handle: Any) -> Any:
        def changed(self: Any, request: Any, now_ns: int) -> None:
            request = change(self, request)
            if request is not None:
                handle(self, request, now_ns)

        return changed

    rehandle(patcher, ReadSegment, replace)


@MUTANTS.declare("read-negative-from-zero", "A read at a negative offset begins at 0.")
def _negative(patcher: Patcher) -> None:
    _reask(patcher, lambda self, request: replaced(request, offset=max(request.offset, 0)))


@MUTANTS.declare("read-beyond-end-empty", "A read beyond the end of a sealed segment gives its end.")
def _beyond_end(patcher: Patcher) -> None:
    def clamped(self: Any, request: Any) -> Any:
        segment = self._reads._segments.find(request.segment)
        is_beyond = segment is not None and segment.is_sealed and request.offset > segment.length
        return replaced(request, offset=segment.length) if is_beyond else request

    _reask(patcher, clamped)


@MUTANTS.declare("read-missing-unanswered", "A read of a missing segment has no reply.")
def _missing_unanswered(patcher: Patcher) -> None:
    _reask(
        patcher,
        lambda self, request: request if self._reads._segments.exists(request.segment) else None,
    )
