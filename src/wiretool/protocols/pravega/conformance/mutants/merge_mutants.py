"""Defects of merges."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.conformance.mutants.patches import reanswer
from wiretool.protocols.pravega.segments import (
    MergeSegments,
    MergeSegmentsBatch,
    SegmentAttributeUpdated,
    SegmentsBatchMerged,
    SegmentsMerged,
)
from wiretool.protocols.pravega.server import segments
from wiretool.protocols.pravega.server.refusals import violation
from wiretool.protocols.pravega.server.segments import AttributeConflict, Kind, SegmentMissing, Segments
from wiretool.protocols.pravega.structures import MergedSegment

MUTANTS = Mutants()


def _merge(length: int, request: Any) -> SegmentsMerged:
    return SegmentsMerged(
        request_id=request.request_id, target=request.target, source=request.source, new_target_write_offset=length
    )


@MUTANTS.declare("merge-length-before", "The length after a merge is that before it.")
def _length_before(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def before(store: Any, request: Any, now_ns: int) -> Any:
            length = store.segments.info(request.target).length if store.segments.exists(request.target) else 0
            return replaced(answer(store, request, now_ns), new_target_write_offset=length)

        return before

    reanswer(patcher, MergeSegments, replace)


@MUTANTS.declare("merge-keeps-source", "The source of a merge stays.")
def _keeps_source(patcher: Patcher) -> None:
    def replace(merge: Any) -> Any:
        def keeping(self: Any, target: str, source: str, now_ns: int, updates: Any = ()) -> int:
            taken = self.find(source)
            length: int = merge(self, target, source, now_ns, updates)
            self._segments[source] = taken
            return length

        return keeping

    patcher.wrap(Segments, "merge", replace)


@MUTANTS.declare("merge-open-refused", "A source that is not sealed ends the connection.")
def _open_refused(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def strict(store: Any, request: Any, now_ns: int) -> Any:
            if not store.segments.info(request.source).is_sealed:
                raise violation("not-sealed", f"{request.source} is not sealed", "MergeSegments")
            return answer(store, request, now_ns)

        return strict

    reanswer(patcher, MergeSegments, replace)


@MUTANTS.declare("merge-into-sealed", "A sealed target takes a merge.")
def _into_sealed(patcher: Patcher) -> None:
    def replace(merge: Any) -> Any:
        def unsealed(self: Any, target: str, source: str, now_ns: int, updates: Any = ()) -> int:
            into = self.find(target)
            was_sealed = into is not None and into.is_sealed
            if was_sealed and target != source:
                into.is_sealed = False
            length: int = merge(self, target, source, now_ns, updates)
            into.is_sealed = was_sealed
            return length

        return unsealed

    patcher.wrap(Segments, "merge", replace)


@MUTANTS.declare("merge-condition-ignored", "A merge does not look at the conditions of its updates.")
def _condition_ignored(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def anyway(store: Any, request: Any, now_ns: int) -> Any:
            return answer(store, replaced(request, attribute_updates=()), now_ns)

        return anyway

    reanswer(patcher, MergeSegments, replace)


@MUTANTS.declare("merge-despite-condition", "A merge whose condition fails is reported as failed, and done.")
def _despite_condition(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def done(store: Any, request: Any, now_ns: int) -> Any:
            try:
                return answer(store, request, now_ns)
            except AttributeConflict:
                answer(store, replaced(request, attribute_updates=()), now_ns)
                return SegmentAttributeUpdated(request_id=request.request_id, success=False)

        return done

    reanswer(patcher, MergeSegments, replace)


@MUTANTS.declare("update-kinds-one", "Attributes are replaced, whatever kind of update is asked for.")
def _kinds_one(patcher: Patcher) -> None:
    def replace(updated: Any) -> Any:
        def plain(name: str, value: int, update: Any) -> int:
            if update.kind in (Kind.REPLACE_IF_GREATER, Kind.ACCUMULATE):
                update = update._replace(kind=Kind.REPLACE)
            return int(updated(name, value, update))

        return plain

    patcher.wrap(segments, "_updated", replace)


@MUTANTS.declare("update-replace-is-conditional", "An attribute is replaced only where it is absent.")
def _replace_conditional(patcher: Patcher) -> None:
    def replace(updated: Any) -> Any:
        def strict(name: str, value: int, update: Any) -> int:
            if update.kind is Kind.REPLACE:
                update = update._replace(kind=Kind.NONE)
            return int(updated(name, value, update))

        return strict

    patcher.wrap(segments, "_updated", replace)


@MUTANTS.declare("merge-read-unanswered", "A read that waits in the target is not answered after a merge.")
def _wakes_nobody(patcher: Patcher) -> None:
    def replace(merge: Any) -> Any:
        def silent(self: Any, target: str, source: str, now_ns: int, updates: Any = ()) -> int:
            into = self.info(target)
            waiters, into.waiters = into.waiters, {}
            try:
                return int(merge(self, target, source, now_ns, updates))
            finally:
                into.waiters = waiters

        return silent

    patcher.wrap(Segments, "merge", replace)


@MUTANTS.declare("merge-with-itself", "A segment that is merged into itself is reported as merged.")
def _with_itself(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def same(store: Any, request: Any, now_ns: int) -> Any:
            if request.target == request.source:
                return _merge(store.segments.info(request.target).length, request)
            return answer(store, request, now_ns)

        return same

    reanswer(patcher, MergeSegments, replace)


@MUTANTS.declare("merge-empty-refused", "An empty source counts as missing.")
def _empty_refused(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def strict(store: Any, request: Any, now_ns: int) -> Any:
            if not store.segments.info(request.source).length:
                raise SegmentMissing(request.source)
            return answer(store, request, now_ns)

        return strict

    reanswer(patcher, MergeSegments, replace)


@MUTANTS.declare("merge-twice-grows", "A source that was merged before is reported with a length that it never gave.")
def _twice_grows(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def grown(store: Any, request: Any, now_ns: int) -> Any:
            if not store.segments.exists(request.source) and store.segments.exists(request.target):
                return _merge(store.segments.info(request.target).length + 1, request)
            return answer(store, request, now_ns)

        return grown

    reanswer(patcher, MergeSegments, replace)


@MUTANTS.declare("batch-in-reverse", "The sources of a batch are merged from the last to the first.")
def _in_reverse(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def reverse(store: Any, request: Any, now_ns: int) -> Any:
            return answer(store, replaced(request, source_segment_ids=request.source_segment_ids[::-1]), now_ns)

        return reverse

    reanswer(patcher, MergeSegmentsBatch, replace)


@MUTANTS.declare("batch-last-length", "All sources of a batch are reported with the length at its end.")
def _last_length(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def last(store: Any, request: Any, now_ns: int) -> Any:
            reply = answer(store, request, now_ns)
            length = store.segments.info(request.target_segment_id).length
            return replaced(
                reply,
                merged=tuple(
                    MergedSegment(source=each.source, new_target_write_offset=length) for each in reply.merged
                ),
            )

        return last

    reanswer(patcher, MergeSegmentsBatch, replace)


@MUTANTS.declare("batch-missing-source-fails", "A missing source fails the whole batch.")
def _missing_source(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def strict(store: Any, request: Any, now_ns: int) -> Any:
            for source in request.source_segment_ids:
                store.segments.info(source)
            return answer(store, request, now_ns)

        return strict

    reanswer(patcher, MergeSegmentsBatch, replace)


@MUTANTS.declare("batch-without-target", "A batch into a missing target is reported as merged.")
def _without_target(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def anyway(store: Any, request: Any, now_ns: int) -> Any:
            if not store.segments.exists(request.target_segment_id):
                return SegmentsBatchMerged(request_id=request.request_id, target=request.target_segment_id, merged=())
            return answer(store, request, now_ns)

        return anyway

    reanswer(patcher, MergeSegmentsBatch, replace)
