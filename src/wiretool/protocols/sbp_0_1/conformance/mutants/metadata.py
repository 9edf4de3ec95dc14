"""Defects of streams and ranges."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.sbp_0_1.conformance.mutants.handlers import (
    Handler,
    answer_otherwise,
    ask_otherwise,
    results_otherwise,
    with_fields,
    wrap_handler,
)
from wiretool.protocols.sbp_0_1.server import codes as op
from wiretool.protocols.sbp_0_1.server.asking import Ask, Listing, Reply
from wiretool.protocols.sbp_0_1.server.store import Range, Refusal, Store


def _store(name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[[Patcher], None]:
    """Return a patch of a method of the store."""
    return lambda patcher: patcher.wrap(Store, name, wrap)


def _same_stream_number(create: Callable[..., Any]) -> Callable[..., Any]:
    def make(self: Store, wanted: Any, now_ns: int) -> Any:
        made = create(self, wanted, now_ns)
        return [(made[0][0], first) for _, first in made]

    return make


def _fewer_nodes(chosen: Callable[..., Any]) -> Callable[..., Any]:
    def choose(self: Store, replicas: int, now_ns: int) -> Any:
        try:
            return chosen(self, replicas, now_ns)
        except Refusal:
            return ()

    return choose


def _first_refused_only(serve: Handler) -> Handler:
    """Create what can be created of a batch."""

    def create(ask: Ask) -> Reply:
        wanted = ask.request.stremas or ()
        replies: list[Any] = [
            serve(replace(ask, request=with_fields(ask.request, stremas=(each,)))).header for each in wanted
        ]
        if not replies:
            return serve(ask)
        results = tuple(result for reply in replies for result in reply.create_responses)
        return Reply(with_fields(replies[0], create_responses=results))

    return create


def _without_range(stream: Callable[..., Any]) -> Callable[..., Any]:
    def make(self: Store, wanted: Any, now_ns: int) -> Any:
        made = stream(self, wanted, now_ns)
        for each, _ in made:
            self.ranges[each.stream_id] = []
        return made

    return make


def _first_unknown_fails(serve: Handler) -> Handler:
    def describe(ask: Ask) -> Reply:
        for stream_id in ask.request.stream_ids or ():
            if stream_id not in ask.store.streams:
                raise Refusal(op.NOT_FOUND, "no such stream")
        return serve(ask)

    return describe


def _delete_keeps(delete: Callable[..., Any]) -> Callable[..., Any]:
    def keep(self: Store, stream_id: int) -> Any:
        gone = delete(self, stream_id)
        if gone is not None:
            self.streams[stream_id] = gone
        return gone

    return keep


def _update_keeps_retention(update: Callable[..., Any]) -> Callable[..., Any]:
    def keep(self: Store, stream: Any) -> None:
        known = self.streams.get(stream.stream_id)
        update(self, stream if known is None else replace(stream, retention_ms=known.retention_ms))

    return keep


def _update_known_only(update: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(self: Store, stream: Any) -> None:
        if stream.stream_id not in self.streams:
            raise Refusal(op.NOT_FOUND, "no such stream")
        update(self, stream)

    return refuse


def _seal_only(seal: Callable[..., Any]) -> Callable[..., Any]:
    """Seal, and open no other range."""

    def stop(self: Store, stream_id: int, index: int) -> tuple[Range, Range]:
        sealed, current = seal(self, stream_id, index)
        if current is not sealed and current.next == current.start and index == current.index - 1:
            self.ranges[stream_id].remove(current)
            return sealed, sealed
        return sealed, current

    return stop


def _seal_again(seal: Callable[..., Any]) -> Callable[..., Any]:
    """Seal the writable range, whichever is asked for."""

    def more(self: Store, stream_id: int, index: int) -> tuple[Range, Range]:
        ranges = self.ranges.get(stream_id)
        last = ranges[-1].index if ranges else index
        seal(self, stream_id, last if 0 <= index <= last else index)
        return self.range_of(stream_id, index), self.ranges[stream_id][-1]

    return more


def _seal_any_index(seal: Callable[..., Any]) -> Callable[..., Any]:
    def nearest(self: Store, stream_id: int, index: int) -> tuple[Range, Range]:
        ranges = self.ranges.get(stream_id)
        result: tuple[Range, Range] = seal(self, stream_id, min(index, ranges[-1].index) if ranges else index)
        return result

    return nearest


def _next_at(change: Callable[[Range, Range], None]) -> Callable[[Patcher], None]:
    """Return a patch of the two ranges after a seal."""

    def wrap(seal: Callable[..., Any]) -> Callable[..., Any]:
        def otherwise(self: Store, stream_id: int, index: int) -> tuple[Range, Range]:
            sealed, current = seal(self, stream_id, index)
            change(sealed, current)
            return sealed, current

        return otherwise

    return _store("seal_and_new", wrap)


def _end_one_short(sealed: Range, current: Range) -> None:
    sealed.end = max(sealed.next - 1, 0)


def _start_at_0(sealed: Range, current: Range) -> None:
    current.start = current.next = 0


def _sealed_only(header: Any) -> Any:
    results = tuple(
        result if result.ranges is None else with_fields(result, ranges=result.ranges[:1])
        for result in header.seal_responses
    )
    return with_fields(header, seal_responses=results)


def _node_makes_next(serve: Handler) -> Handler:
    return lambda ask: serve(replace(ask, is_data_node=False))


def _no_bar(patcher: Patcher) -> None:
    patcher.set(Store, "seal", lambda self, target: None)


def _list_all(ranges: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, node, stream_id: ranges(self, node if node is None else None, stream_id)


def _newest_first(ranges: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, node, stream_id: ranges(self, node, stream_id)[::-1]


def _listing(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[[Patcher], None]:
    return lambda patcher: patcher.wrap(Listing, "ranges", wrap)


def _node_unset(result: Any) -> Any:
    return with_fields(
        result,
        ranges=tuple(
            with_fields(each, replica_nodes=tuple(with_fields(n, is_primary=False) for n in each.replica_nodes or ()))
            for each in result.ranges or ()
        ),
    )


def _describe_end(result: Any) -> Any:
    if getattr(result, "ranges", None) is not None:
        return with_fields(result, ranges=with_fields(result.ranges, next_offset=result.ranges.start_offset))
    if getattr(result, "range", None) is not None:
        return with_fields(result, range=with_fields(result.range, next_offset=result.range.start_offset))
    return result


def _trim_keeps(trim: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, stream_id, offset: (self.ranges.get(stream_id) or [None])[0]


def _sync_at_0(take_over: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, stream_id, index, start, nodes: take_over(self, stream_id, index, 0, nodes)


def _all_ok_s1(result: Any) -> Any:
    return with_fields(result, error_code=0)


def _all_ok_s2(result: Any) -> Any:
    return with_fields(result, status=with_fields(result.status, code=op.OK))


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "same-stream-number",
        "All streams of a batch get one number.",
        _store("create_streams", _same_stream_number),
    ),
    Mutant("too-few-nodes", "A stream is created without enough data nodes.", _store("_chosen", _fewer_nodes)),
    Mutant(
        "create-in-part",
        "A batch creates the streams that it can.",
        wrap_handler(op.CREATE_STREAMS, _first_refused_only, schema="S1"),
    ),
    Mutant("stream-without-range", "A new stream has no range.", _store("create_streams", _without_range)),
    Mutant(
        "one-unknown-fails-all",
        "One unknown stream fails the whole request in S1.",
        wrap_handler(op.DESCRIBE_STREAMS, _first_unknown_fails, schema="S1"),
    ),
    Mutant(
        "unknown-stream-ok",
        "An unknown stream is described without an error code.",
        results_otherwise(op.DESCRIBE_STREAMS, "describe_responses", _all_ok_s1, schema="S1"),
    ),
    Mutant("delete-keeps", "A deleted stream still exists.", _store("delete_stream", _delete_keeps)),
    Mutant(
        "unknown-deleted-ok",
        "An unknown stream is deleted without an error code.",
        results_otherwise(op.DELETE_STREAMS, "delete_responses", _all_ok_s1, schema="S1"),
    ),
    Mutant(
        "update-keeps-retention",
        "An update leaves the retention as it is.",
        _store("update_stream", _update_keeps_retention),
    ),
    Mutant(
        "update-known-only",
        "An update of an unknown stream is refused.",
        _store("update_stream", _update_known_only),
    ),
    Mutant(
        "seal-opens-none",
        "A placement manager seals a range and opens no other.",
        _store("seal_and_new", _seal_only),
    ),
    Mutant("seal-again-opens", "A range that is sealed again opens another one.", _store("seal_and_new", _seal_again)),
    Mutant(
        "seal-any-index",
        "A seal of a range that does not exist seals the last one.",
        _store("seal_and_new", _seal_any_index),
    ),
    Mutant("seal-one-short", "A sealed range ends one before its last offset.", _next_at(_end_one_short)),
    Mutant("next-range-at-0", "The range after a seal starts at 0.", _next_at(_start_at_0)),
    Mutant(
        "s1-seal-tells-one",
        "S1 answers a seal with one range.",
        answer_otherwise(op.SEAL_RANGES, _sealed_only, schema="S1"),
    ),
    Mutant(
        "s1-seal-refused-ok",
        "A seal that is refused has no error code.",
        results_otherwise(op.SEAL_RANGES, "seal_responses", _all_ok_s1, schema="S1"),
    ),
    Mutant(
        "s2-seal-refused-ok",
        "A seal that is refused has the status OK.",
        results_otherwise(op.SEAL_RANGES, "seal_responses", _all_ok_s2, schema="S2"),
    ),
    Mutant("node-opens-next", "A data node opens the next range.", wrap_handler(op.SEAL_RANGES, _node_makes_next)),
    Mutant("seal-no-bar", "A data node takes batches for a sealed range.", _no_bar),
    Mutant("list-of-any-node", "A list of a data node has the ranges of all.", _listing(_list_all)),
    Mutant("list-newest-first", "A list has its ranges in reverse order.", _listing(_newest_first)),
    Mutant(
        "no-primary",
        "No replica of a range is marked as primary.",
        results_otherwise(op.LIST_RANGES, "list_responses", _node_unset),
    ),
    Mutant(
        "describe-start",
        "A range is described with its start as the next offset.",
        results_otherwise(op.DESCRIBE_RANGES, "describe_responses", _describe_end),
    ),
    Mutant("trim-keeps", "A trim drops nothing.", _store("trim", _trim_keeps)),
    Mutant("sync-at-0", "A data node takes ranges over from 0 on.", _store("take_over", _sync_at_0)),
    Mutant(
        "empty-list-left-out",
        "The response to an empty batch omits the list of results.",
        answer_otherwise(
            op.CREATE_STREAMS, lambda header: with_fields(header, create_responses=header.create_responses or None)
        ),
    ),
    Mutant(
        "request-of-one",
        "Only the first stream of a request is described.",
        ask_otherwise(
            op.DESCRIBE_STREAMS, lambda request: with_fields(request, stream_ids=(request.stream_ids or ())[:1])
        ),
    ),
)
