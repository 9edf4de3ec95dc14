"""What every byte of a frame means."""

from __future__ import annotations

from contextlib import suppress

from wiretool.codec import reference
from wiretool.codec.cursor import Cursor, Span
from wiretool.codec.flatbuffers.reader import annotate_root, tile
from wiretool.errors import DecodeError
from wiretool.protocols.sbp.framing import LENGTH_BYTES, read_frame
from wiretool.protocols.sbp.messages import RESPONSE, RESPONSE_END, SYSTEM_ERROR, SbpFrame, Schema
from wiretool.protocols.sbp.records import Batches

FLAG_NAMES = {RESPONSE: "RESPONSE", RESPONSE_END: "RESPONSE_END", SYSTEM_ERROR: "SYSTEM_ERROR"}


def annotate(schema: Schema, data: bytes, at: int, end: int) -> list[Span]:
    """The spans of the whole frame `data[at:end]`; they tile it."""
    frame, operation, batches, _, _ = read_frame(schema, data, at, end)
    name = operation.name if operation is not None else "Unknown"
    length_end = at + LENGTH_BYTES
    spans = [
        Span(at, LENGTH_BYTES, "frame_length", "u32", int.from_bytes(data[at:length_end], "big")),
        Span(length_end, 1, "magic", "u8", data[length_end]),
    ]
    cursor = Cursor(data, length_end + 1, end, spans=[])
    with suppress(DecodeError):
        reference.read_fields(SbpFrame, cursor, name)
    assert cursor.spans is not None
    for span in cursor.spans:
        spans += _explained(schema, span, frame, data, batches)
    return tile(spans, data, at, end, name)


def _explained(schema: Schema, span: Span, frame: SbpFrame, data: bytes, batches: Batches | None) -> list[Span]:
    path = span.path.partition(".")[2]
    behind = span.offset + span.length
    if path == "opcode":
        operation = schema.operation(frame.opcode)
        return [span._replace(path=path, value=f"0x{frame.opcode:04x} ({operation.name if operation else 'unknown'})")]
    if path == "flags":
        names = [name for bit, name in FLAG_NAMES.items() if frame.flags & bit]
        return [span._replace(path=path, value=f"0x{frame.flags:02x} ({' | '.join(names) or 'REQUEST'})")]
    table = schema.header_table(frame)
    if path == "header" and span.length and table is not None:
        return annotate_root(table, data, span.offset, behind, table.__name__)
    if path == "payload" and batches is not None:
        return _batch_spans(schema, batches, data, span)
    return [span._replace(path=path)]


def _batch_spans(schema: Schema, batches: Batches, data: bytes, span: Span) -> list[Span]:
    """The spans of the batches, and of what can be read of the one that does not decode."""
    spans: list[Span] = []
    at, end = span.offset, span.offset + span.length
    for index, (batch, length) in enumerate(batches.found):
        with suppress(DecodeError):  # the records of a batch may be broken though its length is known
            reference.read_fields(type(batch), Cursor(data, at, at + length, spans=spans), f"payload[{index}]")
        at += length
    if at < end:
        with suppress(DecodeError):
            reference.read_fields(schema.batch, Cursor(data, at, end, spans=spans), f"payload[{len(batches.found)}]")
    return tile(spans, data, span.offset, end, "payload")
