"""Defects in segments, cuts and scalings."""

from collections.abc import Callable
from typing import Any

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.conformance.mutants.scopes import _answers, _call, _nothing
from wiretool.protocols.pravega_controller.server import lifecycle, scaling, streams
from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code
from wiretool.protocols.pravega_controller.server.lifecycle import Streams
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.streams import Stream

_FOLLOWING = "getSegmentsImmediatelyFollowing"


def _sealed_has_segments(patcher: Patcher) -> None:
    def replace(do: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(context: Any, request: Any, now_ns: int) -> Any:
            stream = context.state.scopes.stream(request.scope, request.stream)
            is_sealed, stream.is_sealed = stream.is_sealed, False
            try:
                return do(context, request, now_ns)
            finally:
                stream.is_sealed = is_sealed

        return wrong

    _call("getCurrentSegments", replace)(patcher)


def _epoch_is_the_active_one(patcher: Patcher) -> None:
    patcher.set(Stream, "epoch", lambda self, number: self.active)


def _missing_epoch_is_empty(patcher: Patcher) -> None:
    patcher.wrap(
        Stream,
        "epoch",
        lambda epoch: (
            lambda self, number: epoch(self, number) if number < len(self.epochs) else self.active._replace(segments=())
        ),
    )


def _predecessors(change: Callable[[int, list[int]], list[int]]) -> Callable[[Patcher], None]:
    """Return a patch of the ids that a successor names."""
    return lambda patcher: patcher.wrap(
        Stream,
        "successors",
        lambda successors: (
            lambda self, segment: [(later, change(segment, found)) for later, found in successors(self, segment)]
        ),
    )


def _only_first_successor(patcher: Patcher) -> None:
    patcher.wrap(Stream, "successors", lambda successors: lambda self, segment: successors(self, segment)[:1])


def _active_follows_itself(patcher: Patcher) -> None:
    patcher.wrap(
        Stream,
        "successors",
        lambda successors: (
            lambda self, segment: successors(self, segment) or [(each, [segment]) for each in self.active.segments]
        ),
    )


def _older_name_missing(patcher: Patcher) -> None:
    def missing(*given: Any) -> Any:
        raise CallFailed(Code.UNIMPLEMENTED, "Method not found: getSegmentsImmediatlyFollowing")

    _call("getSegmentsImmediatlyFollowing", lambda do: missing)(patcher)


def _cuts_by_segments_only(patcher: Patcher) -> None:
    patcher.set(Stream, "is_cut", lambda self, cut: bool(cut) and all(segment in self for segment in cut))


def _backwards(patcher: Patcher) -> None:
    patcher.set(Stream, "is_at_or_behind", lambda self, cut, other: True)


def _beyond_the_end(patcher: Patcher) -> None:
    """A cut beyond what is stored is refused."""

    def replace(truncate: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, scope: str, stream: str, cut: Any, now_ns: int) -> None:
            if any(offset > 0 for offset in cut.values()):
                raise Refused(Why.FAILURE, stream)
            truncate(self, scope, stream, cut, now_ns)

        return wrong

    patcher.wrap(Streams, "truncate", replace)


def _between_without_first(patcher: Patcher) -> None:
    patcher.wrap(
        Stream,
        "between",
        lambda between: lambda self, begin, end: [each for each in between(self, begin, end) if each.id not in begin],
    )


def _new_epoch_told(patcher: Patcher) -> None:
    _answers("scale", lambda answer: setattr(answer, "epoch", answer.epoch + (answer.status == 0)))(patcher)


def _numbers_restart(patcher: Patcher) -> None:
    patcher.wrap(
        Stream,
        "new_segments",
        lambda new: lambda self, ranges: [each._replace(number=at) for at, each in enumerate(new(self, ranges))],
    )


def _epoch_not_in_id(patcher: Patcher) -> None:
    patcher.set(streams, "segment_id", lambda number, epoch: number)


def _everything_anew(patcher: Patcher) -> None:
    """A scaling gives the segments that stay new ids, too."""

    def replace(do: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, stream: Any, old: Any, ranges: Any, now_ns: int) -> Any:
            stay = [each for each in stream.active.segments if each not in old]
            made = do(self, stream, stream.active.segments, [*(each.keys for each in stay), *ranges], now_ns)
            return made[len(stay) :]

        return wrong

    patcher.wrap(Streams, "_replace", replace)


def _ranges_unchecked(patcher: Patcher) -> None:
    patcher.set(scaling, "_joined", lambda ranges: [])


def _inactive_is_a_failure(patcher: Patcher) -> None:
    def replace(check: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*given: Any) -> Any:
            try:
                return check(*given)
            except Refused as refused:
                raise Refused(Why.FAILURE, refused.what) from refused

        return wrong

    patcher.wrap(lifecycle, "replaced", replace)


def _scale_status(status: "pb.ScaleStatusResponse.ScaleStatus") -> Callable[[Patcher], None]:
    return _answers("checkScale", lambda answer: setattr(answer, "status", status))


def _sealed_scaled(patcher: Patcher) -> None:
    def replace(scale: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, scope: str, stream: str, *given: Any) -> Any:
            self._scopes.stream(scope, stream).is_sealed = False
            return scale(self, scope, stream, *given)

        return wrong

    patcher.wrap(Streams, "scale", replace)


def _swap(answer: Any) -> None:
    for each in answer.segmentRanges:
        each.minKey, each.maxKey = 1.0 - each.maxKey, 1.0 - each.minKey


MUTANTS: tuple[Mutant, ...] = (
    Mutant("sealed-has-segments", "A sealed stream has current segments.", _sealed_has_segments),
    Mutant("keys-reversed", "Segments have the keys of each other.", _answers("getCurrentSegments", _swap)),
    Mutant("epoch-active", "Every epoch has the segments of the active one.", _epoch_is_the_active_one),
    Mutant("epoch-missing-empty", "An epoch that has not begun has no segments.", _missing_epoch_is_empty),
    Mutant(
        "predecessors-asked",
        "A successor names the segment that was asked for, and no other.",
        _predecessors(lambda segment, found: [segment]),
    ),
    Mutant("predecessors-missing", "A successor names no predecessors.", _predecessors(lambda segment, found: [])),
    Mutant("successor-first", "Only the first successor is returned.", _only_first_successor),
    Mutant("successor-active", "Every segment has the current segments as successors.", _active_follows_itself),
    Mutant("older-name-missing", "The older name of the method is unknown.", _older_name_missing),
    Mutant(
        "valid-always",
        "Every segment is valid.",
        _answers("isSegmentValid", lambda answer: setattr(answer, "response", True)),
    ),
    Mutant("cuts-by-segments", "A cut is valid if the stream has its segments.", _cuts_by_segments_only),
    Mutant("truncate-lost", "A truncation is reported as done, and is not.", _nothing(Streams, "truncate")),
    Mutant("truncate-backwards", "A stream is truncated backwards.", _backwards),
    Mutant("truncate-to-end", "A cut beyond the end is refused.", _beyond_the_end),
    Mutant("between-without-first", "The segments of the first cut are missing.", _between_without_first),
    Mutant(
        "uri-without-port",
        "Addresses of stores have no port.",
        _answers("getURI", lambda answer: answer.ClearField("port")),
    ),
    Mutant(
        "no-controllers",
        "The list of controllers is empty.",
        _answers("getControllerServerList", lambda answer: answer.ClearField("nodeURI")),
    ),
    Mutant("scale-new-epoch", "A scaling returns the new epoch.", _new_epoch_told),
    Mutant("scale-numbers-restart", "New segments are numbered from 0 on.", _numbers_restart),
    Mutant("id-without-epoch", "The id of a segment is its number.", _epoch_not_in_id),
    Mutant("scale-everything", "A scaling replaces the segments that stay.", _everything_anew),
    Mutant("scale-ranges-unchecked", "New ranges are not compared with those that are sealed.", _ranges_unchecked),
    Mutant("scale-inactive-failure", "A scaling of segments that are not active is a FAILURE.", _inactive_is_a_failure),
    Mutant("scale-sealed", "A sealed stream is scaled.", _sealed_scaled),
    Mutant("check-scale-success", "Every scaling is reported as done.", _scale_status(pb.ScaleStatusResponse.SUCCESS)),
    Mutant(
        "check-scale-in-progress",
        "Every scaling is reported as in progress.",
        _scale_status(pb.ScaleStatusResponse.IN_PROGRESS),
    ),
)
