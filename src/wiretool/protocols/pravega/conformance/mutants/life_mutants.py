"""Defects of the life of segments: create, seal, delete, policy."""

from typing import Any

from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.protocols.pravega.conformance.mutants.patches import reanswer, refail
from wiretool.protocols.pravega.failures import ErrorMessage, NoSuchSegment
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    CreateTransientSegment,
    DeleteSegment,
    GetStreamSegmentInfo,
    MergeSegments,
    SealSegment,
    SegmentCreated,
    SegmentDeleted,
    SegmentPolicyUpdated,
    SegmentSealed,
    UpdateSegmentPolicy,
)
from wiretool.protocols.pravega.server import segments
from wiretool.protocols.pravega.server.refusals import violation
from wiretool.protocols.pravega.server.segments import Segments
from wiretool.protocols.pravega.server.store import SegmentStore

MUTANTS = Mutants()
_SCALE_TYPES = (0, 1, 2)


@MUTANTS.declare("create-twice-succeeds", "CreateSegment on an existing segment succeeds.")
def _create_twice(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def again(store: Any, request: Any, now_ns: int) -> Any:
            if store.segments.exists(request.segment):
                return SegmentCreated(request_id=request.request_id, segment=request.segment)
            return answer(store, request, now_ns)

        return again

    reanswer(patcher, CreateSegment, replace)


@MUTANTS.declare("create-without-name", "A segment without a name is created.")
def _without_name(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def named(store: Any, request: Any, now_ns: int) -> Any:
            made = answer(store, replaced(request, segment=request.segment or "(none)"), now_ns)
            return replaced(made, segment=request.segment)

        return named

    reanswer(patcher, CreateSegment, replace)


@MUTANTS.declare("create-checks-policy", "A scale type that is not known, or a negative rate, ends the connection.")
def _checks_policy(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def checked(store: Any, request: Any, now_ns: int) -> Any:
            if request.scale_type not in _SCALE_TYPES or request.target_rate < 0:
                raise violation("bad-policy", f"scale type {request.scale_type}", "CreateSegment")
            return answer(store, request, now_ns)

        return checked

    reanswer(patcher, CreateSegment, replace)


@MUTANTS.declare("create-checks-rollover", "A negative rollover size ends the connection.")
def _checks_rollover(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def checked(store: Any, request: Any, now_ns: int) -> Any:
            if request.rollover_size_bytes < 0:
                raise violation("bad-rollover", f"a size of {request.rollover_size_bytes}", "CreateSegment")
            return answer(store, request, now_ns)

        return checked

    reanswer(patcher, CreateSegment, replace)


@MUTANTS.declare("created-sealed", "A new segment is sealed.")
def _created_sealed(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def sealed(store: Any, request: Any, now_ns: int) -> Any:
            reply = answer(store, request, now_ns)
            return replaced(reply, is_sealed=True) if reply.write_offset == 0 else reply

        return sealed

    reanswer(patcher, GetStreamSegmentInfo, replace)


@MUTANTS.declare("seal-twice-succeeds", "A sealed segment is sealed again with success.")
def _seal_twice(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def again(store: Any, request: Any, now_ns: int) -> Any:
            segment = store.segments.find(request.segment)
            if segment is not None and segment.is_sealed:
                return SegmentSealed(request_id=request.request_id, segment=request.segment)
            return answer(store, request, now_ns)

        return again

    reanswer(patcher, SealSegment, replace)


@MUTANTS.declare("seal-forgotten", "SegmentSealed is sent, and the segment is not sealed.")
def _seal_forgotten(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def forgotten(store: Any, request: Any, now_ns: int) -> Any:
            reply = answer(store, request, now_ns)
            store.segments.info(request.segment).is_sealed = False
            return reply

        return forgotten

    reanswer(patcher, SealSegment, replace)


@MUTANTS.declare("delete-missing-succeeds", "DeleteSegment on a missing segment succeeds.")
def _delete_missing(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def anyway(store: Any, request: Any, now_ns: int) -> Any:
            if not store.segments.exists(request.segment):
                return SegmentDeleted(request_id=request.request_id, segment=request.segment)
            return answer(store, request, now_ns)

        return anyway

    reanswer(patcher, DeleteSegment, replace)


@MUTANTS.declare("delete-keeps", "A deleted segment still exists.")
def _delete_keeps(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def kept(store: Any, request: Any, now_ns: int) -> Any:
            store.segments.info(request.segment)
            return SegmentDeleted(request_id=request.request_id, segment=request.segment)

        return kept

    reanswer(patcher, DeleteSegment, replace)


@MUTANTS.declare("delete-takes-stream", "The deletion of a segment takes the others of its stream along.")
def _delete_takes_stream(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def wide(store: Any, request: Any, now_ns: int) -> Any:
            reply = answer(store, request, now_ns)
            stream = request.segment.rpartition("/")[0] + "/"
            for name in [each for each in store.segments._segments if stream != "/" and each.startswith(stream)]:
                store.segments.delete(name, now_ns)
            return reply

        return wide

    reanswer(patcher, DeleteSegment, replace)


@MUTANTS.declare("delete-sealed-refused", "A sealed segment cannot be deleted.")
def _delete_sealed(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def checked(store: Any, request: Any, now_ns: int) -> Any:
            store.segments.open(request.segment)
            return answer(store, request, now_ns)

        return checked

    reanswer(patcher, DeleteSegment, replace)


@MUTANTS.declare("delete-leaves-empty", "A deleted or merged segment exists again, empty.")
def _leaves_empty(patcher: Patcher) -> None:
    def replace(delete: Any) -> Any:
        def reborn(self: Any, name: str, now_ns: int) -> None:
            delete(self, name, now_ns)
            self.free_name(name)
            self._segments.setdefault(name, segments.Segment(name, now_ns))

        return reborn

    patcher.wrap(Segments, "delete", replace)


@MUTANTS.declare("policy-of-sealed", "The policy of a sealed segment can be changed.")
def _policy_of_sealed(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def anyway(store: Any, request: Any, now_ns: int) -> Any:
            store.segments.info(request.segment)
            return SegmentPolicyUpdated(request_id=request.request_id, segment=request.segment)

        return anyway

    reanswer(patcher, UpdateSegmentPolicy, replace)


@MUTANTS.declare("policy-answered-as-create", "A new policy is acknowledged as a new segment.")
def _policy_as_create(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def wrong(store: Any, request: Any, now_ns: int) -> Any:
            answer(store, request, now_ns)
            return SegmentCreated(request_id=request.request_id, segment=request.segment)

        return wrong

    reanswer(patcher, UpdateSegmentPolicy, replace)


# -- failures ----------------------------------------------------------------------------------------------------------


@MUTANTS.declare("missing-in-words", "A missing segment is answered with an ErrorMessage.")
def _missing_in_words(patcher: Patcher) -> None:
    def change(refusal: Any, request: Any, failure: Any) -> Any:
        if not isinstance(failure, NoSuchSegment):
            return failure
        return ErrorMessage(
            request_id=failure.request_id, segment=failure.segment, message="no such segment", error_code=-1
        )

    refail(patcher, change)


@MUTANTS.declare("failure-without-offset", "A missing segment is answered without the offset of the request.")
def _without_offset(patcher: Patcher) -> None:
    def change(refusal: Any, request: Any, failure: Any) -> Any:
        return replaced(failure, offset=-1) if isinstance(failure, NoSuchSegment) else failure

    refail(patcher, change)


@MUTANTS.declare("failure-names-target", "The failure of a merge names the target.")
def _names_target(patcher: Patcher) -> None:
    def change(refusal: Any, request: Any, failure: Any) -> Any:
        is_merge = isinstance(request, MergeSegments) and hasattr(failure, "segment")
        return replaced(failure, segment=request.target) if is_merge else failure

    refail(patcher, change)


# -- transient segments ------------------------------------------------------------------------------------------------


@MUTANTS.declare("transient-same-name", "The transient segments of a writer have one name.")
def _same_name(patcher: Patcher) -> None:
    patcher.wrap(SegmentStore, "random_hex", lambda random_hex: lambda self: "0" * 32)


@MUTANTS.declare("transient-name-bare", "The name of a transient segment has no parent in it.")
def _bare_name(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        return lambda store, request, now_ns: answer(store, replaced(request, parent_segment=""), now_ns)

    reanswer(patcher, CreateTransientSegment, replace)


@MUTANTS.declare("transient-name-dashed", "The name of a transient segment has the writer's id with dashes.")
def _dashed_name(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def dashed(store: Any, request: Any, now_ns: int) -> Any:
            name = f"{request.parent_segment}#transient.{request.writer_id}.{store.random_hex()}"
            store.segments.create_segment(name, now_ns)
            return SegmentCreated(request_id=request.request_id, segment=name)

        return dashed

    reanswer(patcher, CreateTransientSegment, replace)


@MUTANTS.declare("transient-needs-parent", "A transient segment needs an existing parent.")
def _needs_parent(patcher: Patcher) -> None:
    def replace(answer: Any) -> Any:
        def checked(store: Any, request: Any, now_ns: int) -> Any:
            store.segments.info(request.parent_segment)
            return answer(store, request, now_ns)

        return checked

    reanswer(patcher, CreateTransientSegment, replace)


@MUTANTS.declare("transient-inherits-writers", "A transient segment knows the writers of its parent.")
def _inherits_writers(patcher: Patcher) -> None:
    def replace(create_segment: Any) -> Any:
        def inheriting(self: Any, name: str, now_ns: int, attributes: Any = None) -> Any:
            made = create_segment(self, name, now_ns, attributes)
            parent = self.find(name.partition("#transient.")[0])
            if "#transient." in name and parent is not None:
                made.attributes.update(parent.attributes)
            return made

        return inheriting

    patcher.wrap(Segments, "create_segment", replace)
