"""Defects of fetches at the range server."""

from collections.abc import Callable
from typing import Any

import msgspec

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.server import codes, range_server
from wiretool.protocols.sbp.server.batches import Batches
from wiretool.protocols.sbp.server.range_server import RangeServer
from wiretool.protocols.sbp.server.serving import ServerLink


def _fetch_as(change: Callable[[RangeServer, Any], Any]) -> Callable[[Patcher], None]:
    """Return a patch that serves another FETCH than the one that was sent."""

    def wrap(fetch: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, request: fetch(self, change(self, request))

    return lambda patcher: patcher.wrap(RangeServer, "fetch", wrap)


def _fetch_index_0(self: RangeServer, request: Any) -> Any:
    return msgspec.structs.replace(request, range=msgspec.structs.replace(request.range, index=0))


def _between_as(change: Callable[[Any, int, int | None], tuple[int, int | None]]) -> Callable[[Patcher], None]:
    def wrap(between: Callable[..., Any]) -> Callable[..., Any]:
        def find(self: Any, offset: int, limit: int | None, wanted: int | None, most: int) -> Any:
            return between(self, *change(self, offset, limit), wanted, most)

        return find

    return lambda patcher: patcher.wrap(Batches, "between", wrap)


def _next_batch(self: Any, offset: int, limit: int | None) -> tuple[int, int | None]:
    later = [base for base in self._bases if base >= offset]
    return (later[0] if later else offset), limit


def _limit_inclusive(self: Any, offset: int, limit: int | None) -> tuple[int, int | None]:
    return offset, None if limit is None else limit + 1


def _found_as(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Patcher], None]:
    def wrap(between: Callable[..., list[bytes]]) -> Callable[..., list[bytes]]:
        return lambda self, *given: change(between(self, *given))

    return lambda patcher: patcher.wrap(Batches, "between", wrap)


def _whole_answer_or_nothing(patcher: Patcher) -> None:
    def wrap(between: Callable[..., list[bytes]]) -> Callable[..., list[bytes]]:
        def find(self: Any, offset: int, limit: int | None, wanted: int | None, most: int) -> list[bytes]:
            found = between(self, offset, limit, wanted, most)
            return [] if wanted is not None and sum(map(len, found)) > wanted else found

        return find

    patcher.wrap(Batches, "between", wrap)


def _nothing_as(code: int, other: int) -> Callable[[Patcher], None]:
    def wrap(nothing: Callable[..., Any]) -> Callable[..., Any]:
        return lambda found, why: nothing(other if found == code else found, why)

    return lambda patcher: patcher.wrap(range_server, "_nothing", wrap)


def _tail_waits(patcher: Patcher) -> None:
    def wrap(answer: Callable[..., None]) -> Callable[..., None]:
        def wait(self: ServerLink, frame: Any, role: Any, request: Any, now_ns: int) -> None:
            if isinstance(request, tables.FetchRequest):
                header, _ = self._servers.range_server.fetch(request)
                if isinstance(header, tables.FetchResponse) and header.status.code == codes.NO_NEW_RECORD:  # type: ignore[union-attr]
                    return
            answer(self, frame, role, request, now_ns)

        return wait

    patcher.wrap(ServerLink, "_answer", wrap)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("fetch-next-batch", "A fetch from inside a batch begins with the next one.", _between_as(_next_batch)),
    Mutant(
        "fetch-limit-inclusive",
        "A batch that begins at the limit is fetched.",
        _between_as(_limit_inclusive),
    ),
    Mutant(
        "fetch-unlimited",
        "The limit of a fetch is ignored.",
        _between_as(lambda self, offset, limit: (offset, None)),
    ),
    Mutant("fetch-stale", "A fetch does not see the last batch.", _found_as(lambda found: found[:-1])),
    Mutant("fetch-reversed", "A fetch has its batches in reverse order.", _found_as(lambda found: found[::-1])),
    Mutant("fetch-one", "A fetch has one batch at most.", _found_as(lambda found: found[:1])),
    Mutant(
        "fetch-fitting",
        "A fetch finds nothing if the first batch is longer than the requested bytes.",
        _whole_answer_or_nothing,
    ),
    Mutant("fetch-index-lost", "A fetch is from the first range of the stream.", _fetch_as(_fetch_index_0)),
    Mutant(
        "fetch-unknown-empty",
        "An unknown range has nothing to fetch.",
        _nothing_as(codes.RANGE_NOT_FOUND, codes.NO_NEW_RECORD),
    ),
    Mutant("fetch-end-ok", "A fetch that finds nothing is OK.", _nothing_as(codes.NO_NEW_RECORD, codes.OK)),
    Mutant("fetch-end-unanswered", "A fetch that finds nothing is not answered.", _tail_waits),
)
