"""Defects of ranges at the placement driver."""

from collections.abc import Callable
from typing import Any

import msgspec

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.sbp.conformance.mutants.handlers import Handler, answer_otherwise, ask_otherwise, wrap_handler
from wiretool.protocols.sbp.messages import SEAL_RANGE
from wiretool.protocols.sbp.server import codes, placement
from wiretool.protocols.sbp.server.placement import PlacementDriver, Refusal


def _forgiven(name: str, code: int, words: str = "") -> Callable[[Patcher], None]:
    """Return a patch that leaves out a check."""

    def wrap(check: Callable[..., None]) -> Callable[..., None]:
        def judge(self: PlacementDriver, wanted: Any) -> None:
            try:
                check(self, wanted)
            except Refusal as refusal:
                if refusal.status.code != code or words not in (refusal.status.message or ""):
                    raise

        return judge

    return lambda patcher: patcher.wrap(PlacementDriver, name, wrap)


def _sealable_despite(code: int, words: str = "") -> Callable[[Patcher], None]:
    """Return a patch that seals the last range although a check refuses it."""

    def wrap(sealable: Callable[..., Any]) -> Callable[..., Any]:
        def find(self: PlacementDriver, wanted: Any) -> Any:
            try:
                return sealable(self, wanted)
            except Refusal as refusal:
                ranges = self.ranges.get(wanted.stream_id)
                if refusal.status.code != code or words not in (refusal.status.message or "") or not ranges:
                    raise
                return ranges[-1]

        return find

    return lambda patcher: patcher.wrap(PlacementDriver, "_sealable", wrap)


def _counts_of_request(serve: Handler) -> Handler:
    def create(self: PlacementDriver, request: Any, now_ns: int) -> Table:
        answer: Any = serve(self, request, now_ns)
        if answer.range is None:
            return answer  # type: ignore[no-any-return]
        told = msgspec.structs.replace(answer.range, end=request.range.end, replica_count=request.range.replica_count)
        return msgspec.structs.replace(answer, range=told)  # type: ignore[no-any-return]

    return create


def _absent_status(serve: Handler) -> Handler:
    def ask(self: PlacementDriver, request: Any, now_ns: int) -> Table:
        try:
            return serve(self, request, now_ns)
        except Refusal as refusal:
            raise Refusal(codes.OK, "") from refusal

    return ask


def _seal_keeps_epoch(serve: Handler) -> Handler:
    def seal(self: PlacementDriver, request: Any, now_ns: int) -> Table:
        ranges = self.ranges.get(request.range.stream_id) if request.range is not None else None
        epoch = ranges[-1].epoch if ranges else 0
        answer: Any = serve(self, request, now_ns)
        if ranges:
            ranges[-1].epoch = epoch
        return msgspec.structs.replace(answer, range=msgspec.structs.replace(answer.range, epoch=epoch))  # type: ignore[no-any-return]

    return seal


def _seal_one_short(self: PlacementDriver, request: Any) -> Any:
    if request.range is None or request.range.end <= 0:
        return request
    return msgspec.structs.replace(request, range=msgspec.structs.replace(request.range, end=request.range.end - 1))


def _any_kind(self: PlacementDriver, request: Any) -> Any:
    return msgspec.structs.replace(request, kind=placement.SEAL_KIND_PLACEMENT_DRIVER)


def _seal_forgotten(serve: Handler) -> Handler:
    def seal(self: PlacementDriver, request: Any, now_ns: int) -> Table:
        answer: Any = serve(self, request, now_ns)
        self.ranges[request.range.stream_id][-1].end = -1
        return answer  # type: ignore[no-any-return]

    return seal


def _seal_empty_refused(patcher: Patcher) -> None:
    def wrap(sealable: Callable[..., Any]) -> Callable[..., Any]:
        def find(self: PlacementDriver, wanted: Any) -> Any:
            last = sealable(self, wanted)
            if wanted.end == last.start:
                raise Refusal(codes.BAD_REQUEST, "invalid end offset")
            return last

        return find

    patcher.wrap(PlacementDriver, "_sealable", wrap)


def _any_server(self: PlacementDriver, request: Any) -> Any:
    if request.criteria is None or request.criteria.stream_id < 0:
        return request
    return msgspec.structs.replace(request, criteria=msgspec.structs.replace(request.criteria, server_id=-1))


def _newest_first(answer: Any) -> Any:
    return msgspec.structs.replace(answer, ranges=answer.ranges and tuple(reversed(answer.ranges)))


def _unknown_without_list(answer: Any) -> Any:
    return msgspec.structs.replace(answer, ranges=answer.ranges or None)


def _open_ranges_only(answer: Any) -> Any:
    return msgspec.structs.replace(
        answer, ranges=answer.ranges and tuple(each for each in answer.ranges if each.end < 0)
    )


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "counts-of-request",
        "A new range has the end and the replicas of the request.",
        wrap_handler(codes.CREATE_RANGE, _counts_of_request),
    ),
    Mutant(
        "open-range-unchecked",
        "A range is made while the last one is open.",
        _forgiven("_check_follows", codes.CREATE_RANGE_BEFORE_SEAL),
    ),
    Mutant(
        "index-unchecked", "A range may have any index.", _forgiven("_check_follows", codes.BAD_REQUEST, "range index")
    ),
    Mutant(
        "start-unchecked", "A range may start anywhere.", _forgiven("_check_follows", codes.BAD_REQUEST, "range start")
    ),
    Mutant(
        "epoch-unchecked", "A range may have an older epoch.", _forgiven("_check_follows", codes.EXPIRED_RANGE_EPOCH)
    ),
    Mutant(
        "range-refused-with-ok",
        "A range that is refused is answered with OK.",
        wrap_handler(codes.CREATE_RANGE, _absent_status),
    ),
    Mutant(
        "seal-refused-with-ok",
        "A seal that is refused is answered with OK.",
        wrap_handler(SEAL_RANGE, _absent_status),
    ),
    Mutant("seal-twice", "A sealed range takes another end.", _sealable_despite(codes.RANGE_ALREADY_SEALED)),
    Mutant(
        "seal-any-index",
        "A seal of a range that does not exist seals the last one.",
        _sealable_despite(codes.RANGE_NOT_FOUND),
    ),
    Mutant("seal-end-unchecked", "A range may end before its start.", _sealable_despite(codes.BAD_REQUEST)),
    Mutant("seal-epoch-unchecked", "A seal may have an older epoch.", _sealable_despite(codes.EXPIRED_RANGE_EPOCH)),
    Mutant("seal-empty-refused", "An empty range cannot be sealed.", _seal_empty_refused),
    Mutant("seal-keeps-epoch", "A sealed range keeps its epoch.", wrap_handler(SEAL_RANGE, _seal_keeps_epoch)),
    Mutant(
        "seal-one-short",
        "A sealed range ends one before the end of the request.",
        ask_otherwise(SEAL_RANGE, _seal_one_short),
    ),
    Mutant("seal-any-kind", "A placement driver seals for any kind of server.", ask_otherwise(SEAL_RANGE, _any_kind)),
    Mutant("seal-forgotten", "A sealed range is open again.", wrap_handler(SEAL_RANGE, _seal_forgotten)),
    Mutant(
        "list-of-any-server",
        "A list of a stream ignores the range server.",
        ask_otherwise(codes.LIST_RANGE, _any_server),
    ),
    Mutant(
        "list-newest-first",
        "A list has its ranges in reverse order.",
        answer_otherwise(codes.LIST_RANGE, _newest_first),
    ),
    Mutant("list-left-out", "An empty list is omitted.", answer_otherwise(codes.LIST_RANGE, _unknown_without_list)),
    Mutant("list-of-open", "A list omits sealed ranges.", answer_otherwise(codes.LIST_RANGE, _open_ranges_only)),
)
