"""Defects of appends and fetches."""

from collections.abc import Callable
from typing import Any

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.sbp.messages import APPEND, FETCH
from wiretool.protocols.sbp.server.link import SbpLink
from wiretool.protocols.sbp_0_1.conformance.mutants.handlers import (
    Handler,
    answer_otherwise,
    results_otherwise,
    with_fields,
    wrap_handler,
)
from wiretool.protocols.sbp_0_1.messages import S2
from wiretool.protocols.sbp_0_1.server import codes as op
from wiretool.protocols.sbp_0_1.server import dialect_s1, dialect_s2
from wiretool.protocols.sbp_0_1.server.asking import Ask, Reply, batches_in
from wiretool.protocols.sbp_0_1.server.store import BASE_OFFSET, Range, Refusal, Store

#: The method of the store that finds batches.
Fetch = Callable[..., list[bytes]]


def _append_as(change: Callable[[Callable[..., int], Store, Range, bytes, int], int]) -> Callable[[Patcher], None]:
    def wrap(append: Callable[..., int]) -> Callable[..., int]:
        return lambda self, target, data, records: change(append, self, target, data, records)

    return lambda patcher: patcher.wrap(Store, "append", wrap)


def _next_off_by(count: int) -> Callable[[Patcher], None]:
    def move(append: Callable[..., int], self: Store, target: Range, data: bytes, records: int) -> int:
        base = append(self, target, data, records)
        target.next += count
        return base

    return _append_as(move)


def _not_stored(append: Callable[..., int], self: Store, target: Range, data: bytes, records: int) -> int:
    base = target.next
    if target.is_sealed:
        return append(self, target, data, records)
    target.next += records
    return base


def _sealed_too(append: Callable[..., int], self: Store, target: Range, data: bytes, records: int) -> int:
    is_sealed, target.is_sealed = target.is_sealed, False
    base = append(self, target, data, records)
    target.is_sealed = is_sealed
    return base


def _offset_written(change: Callable[[bytes, int], bytes]) -> Callable[[Patcher], None]:
    """Return a patch of the bytes that are kept of a batch; `change` gets the batch with its offset, and that."""

    def wrap(fetch: Callable[..., list[bytes]]) -> Callable[..., list[bytes]]:
        def find(self: Store, *given: Any) -> list[bytes]:
            return [change(data, int.from_bytes(data[BASE_OFFSET], "big")) for data in fetch(self, *given)]

        return find

    return lambda patcher: patcher.wrap(Store, "fetch", wrap)


def _unwritten(data: bytes, base: int) -> bytes:
    return data[:1] + bytes(8) + data[9:]


def _little_endian(data: bytes, base: int) -> bytes:
    return data[:1] + base.to_bytes(8, "little") + data[9:]


def _batches_as(change: Callable[[list[Any]], list[Any]]) -> Callable[[Patcher], None]:
    """Return a patch of the batches that a payload is cut into."""

    def wrap(batches_in: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        return lambda schema, payload, lengths: change(batches_in(schema, payload, lengths))

    def apply(patcher: Patcher) -> None:
        patcher.wrap(dialect_s1, "batches_in", wrap)
        patcher.wrap(dialect_s2, "batches_in", wrap)

    return apply


def _one_fails_all(batches: list[Any]) -> list[Any]:
    first = next((each for each in batches if isinstance(each, Refusal)), None)
    return batches if first is None else [first] * len(batches)


def _cut_short(patcher: Patcher) -> None:
    """Cut a length that passes the payload, instead of a refusal."""

    def wrap(batches_in: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def cut(schema: Any, payload: bytes, lengths: list[int]) -> list[Any]:
            out, at = [], 0
            for length in lengths:
                data = payload[at : at + length]
                out.append((data, 1))
                at += length
            return (
                out
                if any(isinstance(each, Refusal) for each in batches_in(schema, payload, lengths))
                else batches_in(schema, payload, lengths)
            )

        return cut

    patcher.wrap(dialect_s1, "batches_in", wrap)
    patcher.wrap(dialect_s2, "batches_in", wrap)


def _write_before_check(patcher: Patcher) -> None:
    """S2: write the batches in front of the one that fails the frame."""

    def wrap(serve: Handler) -> Handler:
        def append(ask: Ask) -> Reply:
            try:
                return serve(ask)
            except Refusal:
                infos = ask.request.append_requests or ()
                lengths = [info.batch_length for info in infos]
                for info, batch in zip(infos, batches_in(S2, ask.payload, lengths), strict=True):
                    if not isinstance(batch, Refusal) and info.range is not None:
                        ask.store.append(dialect_s2._open_range(ask.store, info), *batch)
                raise

        return append

    wrap_handler(APPEND, wrap, schema="S2")(patcher)


def _deleted_too(patcher: Patcher) -> None:
    patcher.set(Store, "check_not_deleted", lambda self, stream_id: None)


def _index_lost(result: Any) -> Any:
    return with_fields(result, request_index=0)


def _refused_ok(result: Any) -> Any:
    return with_fields(result, error_code=0)


def _reversed(name: str) -> Callable[[Any], Any]:
    return lambda header: with_fields(header, **{name: tuple(reversed(getattr(header, name) or ()))})


def _fetch_as(
    change: Callable[[Callable[..., list[bytes]], Store, tuple[Any, ...]], list[bytes]],
) -> Callable[[Patcher], None]:
    def wrap(fetch: Callable[..., list[bytes]]) -> Callable[..., list[bytes]]:
        return lambda self, *given: change(fetch, self, given)

    return lambda patcher: patcher.wrap(Store, "fetch", wrap)


def _next_batch(fetch: Callable[..., list[bytes]], self: Store, given: tuple[Any, ...]) -> list[bytes]:
    stream_id, index, offset, wanted, room = given
    found = fetch(self, stream_id, index, offset, wanted, room)
    begins = [int.from_bytes(data[BASE_OFFSET], "big") for data in found]
    return [data for data, base in zip(found, begins, strict=True) if base >= offset]


def _last_unseen(fetch: Callable[..., list[bytes]], self: Store, given: tuple[Any, ...]) -> list[bytes]:
    found = fetch(self, *given)
    target = self.ranges.get(given[0], [None])[-1]
    last = target.batches.last_base if target is not None else -1
    return [data for data in found if int.from_bytes(data[BASE_OFFSET], "big") != last]


def _end_refused(fetch: Callable[..., list[bytes]], self: Store, given: tuple[Any, ...]) -> list[bytes]:
    found = fetch(self, *given)
    if not found:
        raise Refusal(op.BAD_REQUEST, "nothing is there")
    return found


def _unknown_empty(fetch: Callable[..., list[bytes]], self: Store, given: tuple[Any, ...]) -> list[bytes]:
    try:
        return fetch(self, *given)
    except Refusal:
        return []


def _unbounded(fetch: Callable[..., list[bytes]], self: Store, given: tuple[Any, ...]) -> list[bytes]:
    stream_id, index, offset, _, room = given
    return fetch(self, stream_id, index, offset, 0, room)


def _first_range(fetch: Callable[..., list[bytes]], self: Store, given: tuple[Any, ...]) -> list[bytes]:
    stream_id, _, offset, wanted, room = given
    return fetch(self, stream_id, 0, offset, wanted, room)


def _tail_unanswered(patcher: Patcher) -> None:
    def wrap(reply: Callable[..., None]) -> Callable[..., None]:
        def wait(self: SbpLink, frame: Any, header: Any, **more: Any) -> None:
            waits_ms = getattr(frame.header, "max_wait_ms", 0)
            if frame.opcode != FETCH or more.get("payload") or not waits_ms:
                reply(self, frame, header, **more)

        return wait

    patcher.wrap(SbpLink, "reply", wrap)


def _payload_reversed(serve: Handler) -> Handler:
    """Answer with the batches in reverse order of the results."""

    def fetch(ask: Ask) -> Reply:
        reply = serve(ask)
        infos = ask.request.fetch_requests or ()
        parts = [
            serve(Ask(ask.store, with_fields(ask.request, fetch_requests=(i,)), b"", ask.now_ns, ask.is_data_node))
            for i in infos
        ]
        return reply._replace(payload=b"".join(part.payload for part in reversed(parts)))

    return fetch


def _count_as_bytes(result: Any) -> Any:
    return with_fields(result, batch_count=result.batch_count * 10)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("next-one-short", "The next offset is one too low.", _next_off_by(-1)),
    Mutant("next-one-far", "The next offset is one too high.", _next_off_by(1)),
    Mutant("append-lost", "A batch is acknowledged and not stored.", _append_as(_not_stored)),
    Mutant("append-sealed", "A sealed range takes batches.", _append_as(_sealed_too)),
    Mutant("append-deleted", "A stream that was deleted takes batches.", _deleted_too),
    Mutant("offset-unwritten", "The offset of a batch is not written into it.", _offset_written(_unwritten)),
    Mutant(
        "offset-swapped",
        "The offset of a batch is written in little-endian order.",
        _offset_written(_little_endian),
    ),
    Mutant("one-batch-fails-all", "One batch that is broken fails the others of S1.", _batches_as(_one_fails_all)),
    Mutant("batch-cut-short", "A batch whose length passes the payload is taken as it is.", _cut_short),
    Mutant("s2-append-in-part", "S2 writes the batches before the one that fails the frame.", _write_before_check),
    Mutant(
        "append-index-lost",
        "The result of an append has the index 0.",
        results_otherwise(APPEND, "append_responses", _index_lost, schema="S1"),
    ),
    Mutant(
        "append-refused-ok",
        "A batch that is refused has no error code.",
        results_otherwise(APPEND, "append_responses", _refused_ok, schema="S1"),
    ),
    Mutant(
        "append-results-reversed",
        "The results of batches are in reverse order.",
        answer_otherwise(APPEND, _reversed("append_responses")),
    ),
    Mutant(
        "fetch-index-lost",
        "The result of a fetch has the index 0.",
        results_otherwise(FETCH, "fetch_responses", _index_lost, schema="S1"),
    ),
    Mutant(
        "fetch-payload-reversed",
        "The batches of a fetch are in reverse order of their results.",
        wrap_handler(FETCH, _payload_reversed, schema="S1"),
    ),
    Mutant("fetch-next-batch", "A fetch from inside a batch begins with the next one.", _fetch_as(_next_batch)),
    Mutant("fetch-stale", "A fetch does not see the last batch.", _fetch_as(_last_unseen)),
    Mutant("fetch-end-refused", "A fetch from the end is refused.", _fetch_as(_end_refused)),
    Mutant("fetch-unknown-empty", "A fetch that is refused has nothing new instead.", _fetch_as(_unknown_empty)),
    Mutant("fetch-unbounded", "A fetch ignores the requested number of bytes.", _fetch_as(_unbounded)),
    Mutant("fetch-first-range", "A fetch is from the first range of the stream.", _fetch_as(_first_range)),
    Mutant("fetch-end-unanswered", "A fetch from the end that may wait is never answered.", _tail_unanswered),
    Mutant(
        "s2-count-wrong",
        "S2 counts more batches than there are.",
        results_otherwise(FETCH, "fetch_responses", _count_as_bytes, schema="S2"),
    ),
)
