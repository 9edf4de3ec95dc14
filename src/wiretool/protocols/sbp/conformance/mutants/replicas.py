"""Defects of ranges and seals at the range server."""

from collections.abc import Callable
from typing import Any

import msgspec

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.messages import SEAL_RANGE
from wiretool.protocols.sbp.server import codes, range_server, serving
from wiretool.protocols.sbp.server.range_server import RangeServer
from wiretool.protocols.sbp.server.serving import ServerLink

Handler = Callable[[RangeServer, Any, int], Table]


def _handler(opcode: int, wrap: Callable[[Handler], Handler]) -> Callable[[Patcher], None]:
    """Return a patch of the handler of an operation."""

    def apply(patcher: Patcher) -> None:
        handlers = range_server.HANDLERS
        patcher.set(range_server, "HANDLERS", {**handlers, opcode: wrap(handlers[opcode])})

    return apply


def _create_resets(serve: Handler) -> Handler:
    def create(self: RangeServer, request: Any, now_ns: int) -> Table:
        replica = self.replicas.get((request.range.stream_id, request.range.index))
        if replica is not None:
            replica.next = replica.committed = request.range.start
        return serve(self, request, now_ns)

    return create


def _create_opens(serve: Handler) -> Handler:
    def create(self: RangeServer, request: Any, now_ns: int) -> Table:
        answer = serve(self, request, now_ns)
        self.replicas[request.range.stream_id, request.range.index].is_sealed = False
        return answer

    return create


def _create_conflicts(serve: Handler) -> Handler:
    def create(self: RangeServer, request: Any, now_ns: int) -> Table:
        replica = self.replicas.get((request.range.stream_id, request.range.index))
        if replica is not None and replica.start != request.range.start:
            raise range_server.Refused(codes.BAD_REQUEST)
        return serve(self, request, now_ns)

    return create


def _seal_unknown_refused(serve: Handler) -> Handler:
    def seal(self: RangeServer, request: Any, now_ns: int) -> Table:
        if (request.range.stream_id, request.range.index) not in self.replicas:
            return tables.SealRangeResponse(status=tables.Status(code=codes.RANGE_NOT_FOUND))
        return serve(self, request, now_ns)

    return seal


def _seal_kind_checked(serve: Handler) -> Handler:
    def seal(self: RangeServer, request: Any, now_ns: int) -> Table:
        if request.kind != 1:
            return tables.SealRangeResponse(status=tables.Status(code=codes.BAD_REQUEST))
        return serve(self, request, now_ns)

    return seal


def _seal_end_of_request(serve: Handler) -> Handler:
    def seal(self: RangeServer, request: Any, now_ns: int) -> Table:
        answer: Any = serve(self, request, now_ns)
        if request.range.end < 0:
            return answer  # type: ignore[no-any-return]
        return msgspec.structs.replace(answer, range=request.range)  # type: ignore[no-any-return]

    return seal


def _seal_drops(serve: Handler) -> Handler:
    def seal(self: RangeServer, request: Any, now_ns: int) -> Table:
        answer = serve(self, request, now_ns)
        self.keeper.drop(self.replicas[request.range.stream_id, request.range.index].batches)
        return answer

    return seal


def _seal_stream(serve: Handler) -> Handler:
    def seal(self: RangeServer, request: Any, now_ns: int) -> Table:
        answer = serve(self, request, now_ns)
        self._sealed_streams = {*getattr(self, "_sealed_streams", ()), request.range.stream_id}  # type: ignore[attr-defined]
        return answer

    return seal


def _seal_lasts_for_stream(patcher: Patcher) -> None:
    _handler(SEAL_RANGE, _seal_stream)(patcher)

    def wrap(place: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(self: Any, entry: Any, data: bytes) -> Any:
            is_sealed = entry.meta.stream_id in getattr(self, "_sealed_streams", ())
            return codes.RANGE_ALREADY_SEALED if is_sealed else place(self, entry, data)

        return refuse

    patcher.wrap(RangeServer, "_place", wrap)


def _never_sealed(patcher: Patcher) -> None:
    patcher.set(RangeServer, "seal", lambda self, replica: None)


def _heartbeat_server(serve: Handler) -> Handler:
    def beat(self: RangeServer, request: Any, now_ns: int) -> Table:
        answer: Any = serve(self, request, now_ns)
        return msgspec.structs.replace(answer, range_server=request.range_server)  # type: ignore[no-any-return]

    return beat


def _range_untold(serve: Handler) -> Handler:
    def create(self: RangeServer, request: Any, now_ns: int) -> Table:
        answer: Any = serve(self, request, now_ns)
        return msgspec.structs.replace(answer, range=None)  # type: ignore[no-any-return]

    return create


def _required_unchecked(patcher: Patcher) -> None:
    def wrap(lacks: Callable[..., bool]) -> Callable[..., bool]:
        def lax(header: Table, kinds: set[str]) -> bool:
            names_range = getattr(header, "range", header) is not None
            return lacks(header, kinds) and not names_range

        return lax

    patcher.wrap(serving, "_lacks_something", wrap)


def _lack_is_not_found(patcher: Patcher) -> None:
    def wrap(refuse: Callable[..., None]) -> Callable[..., None]:
        def other(self: ServerLink, frame: Any, code: int, message: str | None = None) -> None:
            is_fetch_or_seal = frame.opcode in (0x1002, 0x2002, 0x2004)
            is_lack = code == codes.BAD_REQUEST and is_fetch_or_seal
            refuse(self, frame, codes.RANGE_NOT_FOUND if is_lack else code, message)

        return other

    patcher.wrap(ServerLink, "refuse", wrap)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("range-untold", "The answer to a new range lacks the range.", _handler(codes.CREATE_RANGE, _range_untold)),
    Mutant("create-resets", "Creating a range again resets it.", _handler(codes.CREATE_RANGE, _create_resets)),
    Mutant(
        "create-conflicts",
        "A range that is created with another start is refused.",
        _handler(codes.CREATE_RANGE, _create_conflicts),
    ),
    Mutant(
        "create-opens",
        "A sealed range that is created again takes batches.",
        _handler(codes.CREATE_RANGE, _create_opens),
    ),
    Mutant("required-unchecked", "Required fields below the first level are not checked.", _required_unchecked),
    Mutant(
        "lack-not-found", "A request that names no range is refused as one of an unknown range.", _lack_is_not_found
    ),
    Mutant(
        "heartbeat-with-server",
        "A range server repeats the range server of a heartbeat in the answer.",
        _handler(codes.HEARTBEAT, _heartbeat_server),
    ),
    Mutant(
        "seal-end-of-request",
        "A range server seals at the end of the request.",
        _handler(SEAL_RANGE, _seal_end_of_request),
    ),
    Mutant("seal-no-bar", "A sealed range takes more batches.", _never_sealed),
    Mutant("seal-drops", "A sealed range loses its batches.", _handler(SEAL_RANGE, _seal_drops)),
    Mutant("seal-whole-stream", "A seal bars the later ranges of the stream, too.", _seal_lasts_for_stream),
    Mutant(
        "seal-kind-checked",
        "A range server refuses the kind of the placement driver.",
        _handler(SEAL_RANGE, _seal_kind_checked),
    ),
    Mutant("seal-unknown-refused", "An unknown range cannot be sealed.", _handler(SEAL_RANGE, _seal_unknown_refused)),
)
