"""Defects of appends at the range server."""

from collections.abc import Callable
from typing import Any

import msgspec

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.flatbuffers.writer import encode_root
from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.records import RECORD_MAGIC
from wiretool.protocols.sbp.server import codes, range_server
from wiretool.protocols.sbp.server.range_server import Accepted, RangeServer
from wiretool.protocols.sbp.server.serving import ServerLink


def _place_as(change: Callable[[RangeServer, Any, Any], Any]) -> Callable[[Patcher], None]:
    """Return a patch that changes the place that a batch got; `change` gets the batch and that."""

    def wrap(place: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, entry, data: change(self, entry, place(self, entry, data))

    return lambda patcher: patcher.wrap(RangeServer, "_place", wrap)


def _accept(code: int) -> Callable[[Patcher], None]:
    """Return a patch that acknowledges what is refused for a reason, and does not store it."""
    return _place_as(lambda self, entry, placed: codes.OK if placed == code else placed)


def _refuse_as(code: int, other: int) -> Callable[[Patcher], None]:
    return _place_as(lambda self, entry, placed: other if placed == code else placed)


def _next_off_by(count: int) -> Callable[[Patcher], None]:
    def move(self: RangeServer, entry: Any, placed: Any) -> Any:
        if isinstance(placed, Accepted):
            placed.replica.next += count
        return placed

    return _place_as(move)


def _move_for_nothing(self: RangeServer, entry: Any, placed: Any) -> Any:
    if isinstance(placed, Accepted) and not placed.records:
        placed.replica.next += 1
    return placed


def _delta_not_count(patcher: Patcher) -> None:
    """Take `last_offset_delta` as the difference of the last offset: one less than the number of records."""
    patcher.wrap(
        RangeServer,
        "_place",
        lambda place: (
            lambda self, entry, data: place(
                self,
                msgspec.structs.replace(
                    entry, meta=msgspec.structs.replace(entry.meta, last_offset_delta=entry.meta.last_offset_delta + 1)
                ),
                data,
            )
        ),
    )


def _any_index(patcher: Patcher) -> None:
    patcher.wrap(
        RangeServer,
        "_place",
        lambda place: (
            lambda self, entry, data: place(
                self, msgspec.structs.replace(entry, meta=msgspec.structs.replace(entry.meta, range_index=0)), data
            )
        ),
    )


def _start_at_0(patcher: Patcher) -> None:
    def wrap(made: Callable[..., Any]) -> Callable[..., Any]:
        def make(self: RangeServer, wanted: Any) -> Any:
            replica = made(self, wanted)
            if replica.next == replica.start and not len(replica.batches):
                replica.next = replica.committed = 0
            return replica

        return make

    patcher.wrap(RangeServer, "_made", wrap)


def _stop_at_refusal(patcher: Patcher) -> None:
    def wrap(accept: Callable[..., Any]) -> Callable[..., Any]:
        def all_or_rest(self: RangeServer, payload: bytes, batches: Any) -> Any:
            found = accept(self, payload, batches)
            refused = [at for at, result in enumerate(found) if isinstance(result, int)]
            return found if not refused else [*found[: refused[0]], *(len(found) - refused[0]) * [found[refused[0]]]]

        return all_or_rest

    patcher.wrap(RangeServer, "accept", wrap)


def _results_reversed(patcher: Patcher) -> None:
    def wrap(commit: Callable[..., Any]) -> Callable[..., Any]:
        def answer(self: RangeServer, accepted: Any, now_ns: int) -> bytes:
            codes_found = [each if isinstance(each, int) else self._commit(each) for each in accepted]
            return range_server._append_header(tuple(reversed(codes_found)), now_ns // range_server.NANOSECONDS)

        return answer

    patcher.wrap(RangeServer, "commit", wrap)


def _one_result(patcher: Patcher) -> None:
    def wrap(commit: Callable[..., Any]) -> Callable[..., Any]:
        def answer(self: RangeServer, accepted: Any, now_ns: int) -> bytes:
            codes_found = [each if isinstance(each, int) else self._commit(each) for each in accepted]
            return range_server._append_header((codes_found[0],), now_ns // range_server.NANOSECONDS)

        return answer

    patcher.wrap(RangeServer, "commit", wrap)


def _status_of_worst(patcher: Patcher) -> None:
    def wrap(header: Any) -> Any:
        def make(found: tuple[int, ...], seconds: int) -> bytes:
            entries = tuple(tables.AppendResultEntry(status=tables.Status(code=code)) for code in found)
            worst = next((code for code in found if code != codes.OK), codes.OK)
            return encode_root(tables.AppendResponse(status=tables.Status(code=worst), entries=entries))

        make.__wrapped__ = make  # type: ignore[attr-defined]
        return make

    patcher.wrap(range_server, "_append_header", wrap)


def _time_of_nothing(patcher: Patcher) -> None:
    def wrap(header: Any) -> Any:
        def make(found: tuple[int, ...], seconds: int) -> bytes:
            entries = tuple(
                tables.AppendResultEntry(
                    status=tables.Status(code=code), timestamp_ms=0 if code == codes.OK else seconds
                )
                for code in found
            )
            return encode_root(tables.AppendResponse(status=tables.Status(code=codes.OK), entries=entries))

        make.__wrapped__ = make  # type: ignore[attr-defined]
        return make

    patcher.wrap(range_server, "_append_header", wrap)


def _lost(patcher: Patcher) -> None:
    def commit(self: RangeServer, batch: Accepted) -> int:
        batch.replica.committed = batch.base + batch.records
        return codes.OK

    patcher.set(RangeServer, "_commit", commit)


def _commit_late(patcher: Patcher) -> None:
    """Store a batch when the next one of its range comes: what is acknowledged cannot be fetched yet."""
    waiting: dict[int, Accepted] = {}

    def commit(self: RangeServer, batch: Accepted) -> int:
        batch.replica.committed = batch.base + batch.records
        earlier = waiting.pop(id(batch.replica), None)
        waiting[id(batch.replica)] = batch
        if earlier is not None:
            self.keeper.put(earlier.replica.batches, earlier.base, earlier.data)
        return codes.OK

    patcher.set(RangeServer, "_commit", commit)


def _check_first_only(patcher: Patcher) -> None:
    def wrap(check: Callable[..., Any]) -> Callable[..., Any]:
        def lax(batches: Any) -> Any:
            if batches is None or not batches.found or batches.found[0][0].magic != RECORD_MAGIC:
                return check(batches)
            return [(entry, length) for entry, length in batches.found if entry.magic == RECORD_MAGIC]

        return lax

    patcher.wrap(range_server, "check_entries", wrap)


def _magic_unchecked(patcher: Patcher) -> None:
    def wrap(check: Callable[..., Any]) -> Callable[..., Any]:
        def lax(batches: Any) -> Any:
            if (
                batches is not None
                and batches.found
                and all(each.kind == "bad_record_magic" for each in batches.defects)
            ):
                return list(batches.found)
            return check(batches)

        return lax

    patcher.wrap(range_server, "check_entries", wrap)


def _broken_ignored(patcher: Patcher) -> None:
    def wrap(accept: Callable[..., Any]) -> Callable[..., Any]:
        def lax(self: RangeServer, payload: bytes, batches: Any) -> Any:
            is_broken = batches is not None and batches.defects and not batches.found
            return [] if is_broken else accept(self, payload, batches)

        return lax

    patcher.wrap(RangeServer, "accept", wrap)


def _empty_append_ok(patcher: Patcher) -> None:
    patcher.wrap(
        RangeServer,
        "accept",
        lambda accept: lambda self, payload, batches: [] if not payload else accept(self, payload, batches),
    )


def _header_required(patcher: Patcher) -> None:
    def wrap(append: Callable[..., None]) -> Callable[..., None]:
        def strict(self: ServerLink, reading: Any, now_ns: int) -> None:
            if isinstance(reading.frame.header, Table):
                append(self, reading, now_ns)
            else:
                self.refuse(reading.frame, codes.BAD_REQUEST)

        return strict

    patcher.wrap(ServerLink, "_append", wrap)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("start-at-0", "Every range takes its first batch at 0.", _start_at_0),
    Mutant("range-index-lost", "A batch goes to the first range of its stream.", _any_index),
    Mutant("next-one-short", "The next offset is one too low.", _next_off_by(-1)),
    Mutant("next-one-far", "The next offset is one too high.", _next_off_by(1)),
    Mutant("delta-not-count", "The number of records is taken as the offset of the last one.", _delta_not_count),
    Mutant("empty-batch-counts", "A batch without records moves the next offset.", _place_as(_move_for_nothing)),
    Mutant(
        "committed-acknowledged",
        "A batch that is durable already is acknowledged.",
        _accept(codes.APPEND_TO_COMMITTED_OFFSET),
    ),
    Mutant(
        "pending-acknowledged", "A batch at a pending offset is acknowledged.", _accept(codes.APPEND_TO_PENDING_OFFSET)
    ),
    Mutant(
        "ahead-acknowledged",
        "A batch ahead of the next offset is acknowledged.",
        _accept(codes.APPEND_TO_OVERTAKEN_OFFSET),
    ),
    Mutant("unknown-acknowledged", "A batch of an unknown range is acknowledged.", _accept(codes.RANGE_NOT_FOUND)),
    Mutant(
        "ahead-as-pending",
        "A batch ahead of the next offset is called pending.",
        _refuse_as(codes.APPEND_TO_OVERTAKEN_OFFSET, codes.APPEND_TO_PENDING_OFFSET),
    ),
    Mutant("stop-at-refusal", "A batch that is refused makes the ones after it be refused.", _stop_at_refusal),
    Mutant("results-reversed", "The results of batches are in reverse order.", _results_reversed),
    Mutant("one-result", "Several batches have one result.", _one_result),
    Mutant("status-of-worst", "The status of an append is that of a batch that was refused.", _status_of_worst),
    Mutant("time-of-refusals", "The result of a refused batch has a time, and that of others none.", _time_of_nothing),
    Mutant("append-lost", "A batch is acknowledged and not stored.", _lost),
    Mutant("append-late", "A batch is acknowledged and stored with the next one.", _commit_late),
    Mutant("first-batch-checked", "Only the first batch of an append is checked.", _check_first_only),
    Mutant("batch-magic-unchecked", "A batch may begin with any byte.", _magic_unchecked),
    Mutant("broken-batch-ignored", "A first batch that is broken is answered with nothing.", _broken_ignored),
    Mutant("empty-append-accepted", "An append without payload is answered with nothing.", _empty_append_ok),
    Mutant("append-header-needed", "An append without a sound header is refused.", _header_required),
)
