"""Defects of what segments tell: info, truncation, attributes."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.conformance.mutants.patches import reanswer, refail
from wiretool.protocols.pravega.failures import SegmentIsTruncated
from wiretool.protocols.pravega.segments import (
    GetSegmentAttribute,
    GetStreamSegmentInfo,
    SegmentAttributeUpdated,
    SegmentTruncated,
    TruncateSegment,
    UpdateSegmentAttribute,
)
from wiretool.protocols.pravega.server.segments import NONE_I64, BadOffset, Segments, SegmentSealed

MUTANTS = Mutants()
_MS_PER_S = 1000


def _reinfo(patcher: Patcher, change: Any) -> None:
    reanswer(
        patcher,
        GetStreamSegmentInfo,
        lambda answer: lambda store, request, now_ns: change(answer(store, request, now_ns)),
    )


@MUTANTS.declare("info-modified-in-seconds", "The time of the last change is in seconds.")
def _in_seconds(patcher: Patcher) -> None:
    _reinfo(patcher, lambda reply: replaced(reply, last_modified=reply.last_modified // _MS_PER_S))


@MUTANTS.declare("info-never-sealed", "StreamSegmentInfo never has is_sealed set.")
def _never_sealed(patcher: Patcher) -> None:
    _reinfo(patcher, lambda reply: replaced(reply, is_sealed=False))


@MUTANTS.declare("info-length-of-the-rest", "Info counts the bytes that are left after a truncation.")
def _of_the_rest(patcher: Patcher) -> None:
    _reinfo(patcher, lambda reply: replaced(reply, write_offset=reply.write_offset - reply.start_offset))


@MUTANTS.declare("info-stale", "StreamSegmentInfo repeats the first reply for the segment.")
def _stale(patcher: Patcher) -> None:
    first: dict[Any, Any] = {}
    _reinfo(
        patcher,
        lambda reply: replaced(first.setdefault(reply.segment_name, reply), request_id=reply.request_id),
    )


@MUTANTS.declare("info-of-a-name-with-index", "Every segment has an index segment of nothing.")
def _with_index(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def indexed(store: Any, request: Any, now_ns: int) -> Any:
            name = request.segment_name.removesuffix("#index")
            return replaced(
                answer(store, replaced(request, segment_name=name), now_ns), segment_name=request.segment_name
            )

        return indexed

    reanswer(patcher, GetStreamSegmentInfo, replace)


# -- truncation --------------------------------------------------------------------------------------------------------


@MUTANTS.declare("truncate-start-one-less", "Truncation keeps one byte too many.")
def _one_less(patcher: Patcher) -> None:
    def replace(truncate: Any) -> Any:
        def less(self: Any, name: str, offset: int, now_ns: int) -> None:
            start = self.info(name).start
            truncate(self, name, offset - 1 if offset > start else offset, now_ns)

        return less

    patcher.wrap(Segments, "truncate", replace)


@MUTANTS.declare("truncate-repeat-refused", "Truncation at the present start is refused.")
def _repeat_refused(patcher: Patcher) -> None:
    def replace(truncate: Any) -> Any:
        def strict(self: Any, name: str, offset: int, now_ns: int) -> None:
            if offset == self.info(name).start > 0:
                raise BadOffset(name, offset, offset)
            truncate(self, name, offset, now_ns)

        return strict

    patcher.wrap(Segments, "truncate", replace)


@MUTANTS.declare("truncate-anywhere", "Truncation before the start, or after the end, does nothing with success.")
def _anywhere(patcher: Patcher) -> None:
    def replace(truncate: Any) -> Any:
        def lax(self: Any, name: str, offset: int, now_ns: int) -> None:
            segment = self.info(name)
            if segment.start <= offset <= segment.length:
                truncate(self, name, offset, now_ns)

        return lax

    patcher.wrap(Segments, "truncate", replace)


@MUTANTS.declare("truncate-sealed-refused", "A sealed segment cannot be truncated.")
def _sealed_refused(patcher: Patcher) -> None:
    def replace(truncate: Any) -> Any:
        def strict(self: Any, name: str, offset: int, now_ns: int) -> None:
            if self.info(name).is_sealed:
                raise SegmentSealed(name)
            truncate(self, name, offset, now_ns)

        return strict

    patcher.wrap(Segments, "truncate", replace)


@MUTANTS.declare("truncate-negative-ignored", "Truncation at a negative offset does nothing with success.")
def _negative_ignored(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def lax(store: Any, request: Any, now_ns: int) -> Any:
            if request.truncation_offset < 0:
                return SegmentTruncated(request_id=request.request_id, segment=request.segment)
            return answer(store, request, now_ns)

        return lax

    reanswer(patcher, TruncateSegment, replace)


@MUTANTS.declare("truncated-start-not-told", "The refusal of an offset names that offset as the start.")
def _start_not_told(patcher: Patcher) -> None:
    def change(refusal: Any, request: Any, failure: Any) -> Any:
        return replaced(failure, start_offset=failure.offset) if isinstance(failure, SegmentIsTruncated) else failure

    refail(patcher, change)


# -- attributes --------------------------------------------------------------------------------------------------------


@MUTANTS.declare("attribute-condition-ignored", "An attribute is set whatever its present value is.")
def _condition_ignored(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def anyway(store: Any, request: Any, now_ns: int) -> Any:
            segment = store.segments.open(request.segment_name)
            segment.attributes[request.attribute_id] = request.new_value
            return SegmentAttributeUpdated(request_id=request.request_id, success=True)

        return anyway

    reanswer(patcher, UpdateSegmentAttribute, replace)


@MUTANTS.declare("attribute-conflict-denied", "A condition that does not hold is reported as success.")
def _conflict_denied(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def denied(store: Any, request: Any, now_ns: int) -> Any:
            present = store.segments.open(request.segment_name).attributes.get(request.attribute_id, NONE_I64)
            if present != request.expected_value:
                return SegmentAttributeUpdated(request_id=request.request_id, success=True)
            return answer(store, request, now_ns)

        return denied

    reanswer(patcher, UpdateSegmentAttribute, replace)


def _revalue(patcher: Patcher, change: Any) -> None:
    reanswer(
        patcher,
        GetSegmentAttribute,
        lambda answer: lambda store, request, now_ns: change(store, request, answer(store, request, now_ns)),
    )


@MUTANTS.declare("attribute-absent-zero", "An attribute that is absent reads as 0.")
def _absent_zero(patcher: Patcher) -> None:
    _revalue(patcher, lambda store, request, reply: replaced(reply, value=0) if reply.value == NONE_I64 else reply)


@MUTANTS.declare("attribute-unsigned", "Attributes below 0 read as absent.")
def _unsigned(patcher: Patcher) -> None:
    _revalue(patcher, lambda store, request, reply: replaced(reply, value=NONE_I64) if reply.value < 0 else reply)


@MUTANTS.declare("attribute-of-any-segment", "An attribute that a segment does not have is looked for in others.")
def _of_any_segment(patcher: Patcher) -> None:
    def elsewhere(store: Any, request: Any, reply: Any) -> Any:
        if reply.value != NONE_I64:
            return reply
        every = (segment.attributes.get(request.attribute_id) for segment in store.segments._segments.values())
        return replaced(reply, value=next((value for value in every if value is not None), NONE_I64))

    _revalue(patcher, elsewhere)


@MUTANTS.declare("attribute-removal-ignored", "An attribute cannot be removed.")
def _removal_ignored(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def kept(store: Any, request: Any, now_ns: int) -> Any:
            if request.new_value == NONE_I64:
                request = replaced(request, new_value=request.expected_value)
            return answer(store, request, now_ns)

        return kept

    reanswer(patcher, UpdateSegmentAttribute, replace)


@MUTANTS.declare("attribute-same-refused", "An attribute is not set to the value that it has.")
def _same_refused(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def strict(store: Any, request: Any, now_ns: int) -> Any:
            if request.new_value == request.expected_value:
                return SegmentAttributeUpdated(request_id=request.request_id, success=False)
            return answer(store, request, now_ns)

        return strict

    reanswer(patcher, UpdateSegmentAttribute, replace)


@MUTANTS.declare("attribute-of-sealed", "Attributes of a sealed segment can be changed.")
def _of_sealed(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def unsealed(store: Any, request: Any, now_ns: int) -> Any:
            segment = store.segments.info(request.segment_name)
            was_sealed, segment.is_sealed = segment.is_sealed, False
            try:
                return answer(store, request, now_ns)
            finally:
                segment.is_sealed = was_sealed

        return unsealed

    reanswer(patcher, UpdateSegmentAttribute, replace)


@MUTANTS.declare("attribute-counts-as-event", "A change of an attribute appends its value to the segment.")
def _counts_as_event(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def appending(store: Any, request: Any, now_ns: int) -> Any:
            reply = answer(store, request, now_ns)
            store.segments.append(store.segments.info(request.segment_name), bytes(8), now_ns)
            return reply

        return appending

    reanswer(patcher, UpdateSegmentAttribute, replace)
