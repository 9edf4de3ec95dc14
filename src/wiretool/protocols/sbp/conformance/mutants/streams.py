"""Defects of streams at the placement driver."""

from typing import Any

import msgspec

from wiretool.codec.flatbuffers.declaration import Table
from wiretool.conformance.mutation.mutants import Mutant
from wiretool.protocols.sbp import tables
from wiretool.protocols.sbp.conformance.mutants.handlers import Handler, answer_otherwise, ask_otherwise, wrap_handler
from wiretool.protocols.sbp.server import codes, placement
from wiretool.protocols.sbp.server.placement import PlacementDriver, Refusal


def _keep_given_id(serve: Handler) -> Handler:
    def create(self: PlacementDriver, request: Any, now_ns: int) -> Table:
        if request.stream is None or request.stream.stream_id < 0:
            return serve(self, request, now_ns)
        self.streams[request.stream.stream_id] = request.stream
        return tables.CreateStreamResponse(status=placement._OK, stream=request.stream)

    return create


def _same_number(serve: Handler) -> Handler:
    def create(self: PlacementDriver, request: Any, now_ns: int) -> Table:
        answer = serve(self, request, now_ns)
        self.next_stream = max(self.next_stream - 1, 0)
        return answer

    return create


def _update_keeps_retention(self: PlacementDriver, request: Any) -> Any:
    known = None if request.stream is None else self.streams.get(request.stream.stream_id)
    if known is None:
        return request
    stream = msgspec.structs.replace(request.stream, retention_period_ms=known.retention_period_ms)
    return msgspec.structs.replace(request, stream=stream)


def _update_refuses_unknown(self: PlacementDriver, request: Any) -> Any:
    if request.stream is not None and request.stream.stream_id >= 0:
        self._stream(request.stream.stream_id)
    return request


def _delete_keeps(serve: Handler) -> Handler:
    def delete(self: PlacementDriver, request: Any, now_ns: int) -> Table:
        stream = self.streams.get(request.stream_id)
        answer = serve(self, request, now_ns)
        if stream is not None:
            self.streams[request.stream_id] = stream
        return answer

    return delete


def _delete_drops_ranges(self: PlacementDriver, request: Any) -> Any:
    self.ranges.pop(request.stream_id, None)
    return request


def _without_stream(answer: Any) -> Any:
    return msgspec.structs.replace(answer, stream=None)


def _retention_32_bits(answer: Any) -> Any:
    if answer.stream is None:
        return answer
    short = answer.stream.retention_period_ms % 2**32
    return msgspec.structs.replace(answer, stream=msgspec.structs.replace(answer.stream, retention_period_ms=short))


def _absent_status(serve: Handler) -> Handler:
    def ask(self: PlacementDriver, request: Any, now_ns: int) -> Table:
        try:
            return serve(self, request, now_ns)
        except Refusal as refusal:
            raise Refusal(codes.OK, "") from refusal

    return ask


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "given-number-kept",
        "A new stream keeps the number of the request.",
        wrap_handler(codes.CREATE_STREAM, _keep_given_id),
    ),
    Mutant(
        "same-stream-number",
        "Every new stream gets the number of the last one.",
        wrap_handler(codes.CREATE_STREAM, _same_number),
    ),
    Mutant(
        "retention-32-bits",
        "The retention of a stream loses its higher half.",
        answer_otherwise(codes.DESCRIBE_STREAM, _retention_32_bits),
    ),
    Mutant(
        "update-keeps-retention",
        "An update leaves the retention as it is.",
        ask_otherwise(codes.UPDATE_STREAM, _update_keeps_retention),
    ),
    Mutant(
        "update-refuses-unknown",
        "An update of an unknown stream is refused.",
        ask_otherwise(codes.UPDATE_STREAM, _update_refuses_unknown),
    ),
    Mutant("delete-keeps", "A deleted stream still exists.", wrap_handler(codes.DELETE_STREAM, _delete_keeps)),
    Mutant(
        "delete-untold",
        "The answer to a deletion lacks the stream.",
        answer_otherwise(codes.DELETE_STREAM, _without_stream),
    ),
    Mutant(
        "delete-drops-ranges",
        "The ranges of a stream go with it.",
        ask_otherwise(codes.DELETE_STREAM, _delete_drops_ranges),
    ),
    Mutant(
        "unknown-stream-ok",
        "A stream that does not exist is described with OK.",
        wrap_handler(codes.DESCRIBE_STREAM, _absent_status),
    ),
    Mutant(
        "unknown-deleted-ok",
        "A stream that does not exist is deleted with OK.",
        wrap_handler(codes.DELETE_STREAM, _absent_status),
    ),
    Mutant(
        "nothing-created-ok",
        "A request without a stream is answered with OK.",
        wrap_handler(codes.CREATE_STREAM, _absent_status),
    ),
)
