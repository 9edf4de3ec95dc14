"""Bytes <-> frames: where one ends, what it says by a schema, and how sure it is one."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from wiretool import limits
from wiretool.codec import reference
from wiretool.codec.compiled import decoder
from wiretool.codec.flatbuffers.compiled import missing_error, read_fast
from wiretool.codec.flatbuffers.declaration import Table
from wiretool.codec.flatbuffers.reader import read_root
from wiretool.codec.frames.prefix import Prefix
from wiretool.codec.message import Message, Side
from wiretool.codec.remembering import remembered
from wiretool.errors import DecodeError, EncodeError, OverLimit
from wiretool.protocols.base.table_frames import TableFrames, TableOperation, TableSchema
from wiretool.protocols.sbp.messages import (
    APPEND,
    CHECKSUM_BYTES,
    FLATBUFFERS,
    PING,
    RESPONSE,
    SYSTEM_ERROR,
    Operation,
    SbpFrame,
    Schema,
    operations_of,
)
from wiretool.protocols.sbp.records import Batches

MAGIC = 0x17
_MAGIC_BYTE = bytes((MAGIC,))
#: Bytes of Frame Length, which does not count itself.
LENGTH_BYTES = 4
#: Bytes in front of the extended header, and where its length stands.
FIXED_BYTES = 16
HEADER_LENGTH_AT = 13


PREFIX = Prefix(
    LENGTH_BYTES,
    0,
    LENGTH_BYTES,
    limits.SBP_FRAME_LENGTH_MIN,
    limits.SBP_FRAME_LENGTH_MAX,
    magic=(LENGTH_BYTES, MAGIC),
)


def _refusal(length: int, magic: int | None) -> DecodeError:
    """Return why no frame begins with this length or magic code."""
    if magic is not None:
        return DecodeError("bad_magic", f"the magic code is 23, not {magic}", path="magic", offset=LENGTH_BYTES)
    if length < limits.SBP_FRAME_LENGTH_MIN:
        why = f"a Frame Length of {length}, less than {limits.SBP_FRAME_LENGTH_MIN}"
        return DecodeError("length_too_small", why, path="frame_length")
    why = f"a Frame Length of {length}, more than {limits.SBP_FRAME_LENGTH_MAX}"
    return OverLimit("length_too_large", why, path="frame_length")


extent = PREFIX.extent(_refusal)


def table_frames(*schemas: tuple[Schema, Mapping[int, type[Table] | None]]) -> TableFrames:
    """Return the frames of some schemas as data.

    With each schema come the operations whose payloads are batches, and the header that these depend on; None for any.
    """
    declared = tuple(_table_schema(schema, headers) for schema, headers in schemas)
    return TableFrames(PREFIX, SbpFrame, declared, RESPONSE, SYSTEM_ERROR)


def _table_schema(schema: Schema, batch_headers: Mapping[int, type[Table] | None]) -> TableSchema:
    operations = {
        code: TableOperation(
            each.name,
            each.request,
            each.response,
            batch=schema.batch if code in batch_headers else None,
            batch_header=batch_headers.get(code),
            system_error=None if code == PING else schema.system_error,
            needs_header=schema.wants_header(SbpFrame(opcode=code)),
        )
        for code, each in operations_of(schema).items()
        if code  # 0 has a name, but is not an operation
    }
    unknown = TableOperation("Unknown", None, None, system_error=schema.system_error)
    return TableSchema(operations, unknown, schema.flags)


class FrameReading(NamedTuple):
    """A whole frame, with its header as a table where it is one, and everything wrong in it."""

    frame: SbpFrame
    operation: Operation | None
    batches: Batches | None
    defects: list[DecodeError]
    header_length: int


@remembered
def read_frame(schema: Schema, data: bytes, at: int, end: int) -> FrameReading:
    """What the whole frame `data[at:end]` says by `schema`."""
    defects: list[DecodeError] = []
    frame, header_length = _read_envelope(data, at, end, defects)
    operation = schema.operation(frame.opcode)
    if not _is_known(schema, frame):
        why = f"no operation has the code 0x{frame.opcode:04x}"
        defects.append(DecodeError("unknown_opcode", why, path="opcode", offset=5))
    if frame.payload and zlib.crc32(frame.payload) != frame.checksum:
        why = f"the payload's CRC-32 is {zlib.crc32(frame.payload):08x}, the frame has {frame.checksum:08x}"
        defects.append(DecodeError("checksum_mismatch", why, path="checksum", offset=end - at - CHECKSUM_BYTES))
    table = None if defects and defects[0].kind == "header_length_overflow" else _read_header(schema, frame, defects)
    batches = _read_payload(schema, frame, table, defects)
    if table is not None:
        frame = msgspec.structs.replace(frame, header=table)
    return FrameReading(frame, operation, batches, defects, header_length)


def _is_known(schema: Schema, frame: SbpFrame) -> bool:
    """Whether the operation means something; the answer to one that does not names it again."""
    return frame.is_system_error or (frame.opcode != 0 and schema.operation(frame.opcode) is not None)


def _read_envelope(data: bytes, at: int, end: int, defects: list[DecodeError]) -> tuple[SbpFrame, int]:
    header_length = int.from_bytes(data[at + HEADER_LENGTH_AT : at + FIXED_BYTES], "big")
    frame: SbpFrame
    try:
        frame, _ = decoder(SbpFrame)(data, at + LENGTH_BYTES + 1, end)
    except DecodeError as err:
        left = end - at - FIXED_BYTES - CHECKSUM_BYTES
        why = f"a Header Length of {header_length} with {left} bytes left in the frame"
        defects.append(DecodeError(err.kind, why, path="header_length", offset=HEADER_LENGTH_AT))
        # What is there of the header is kept as such.
        cut = data[at + LENGTH_BYTES + 1 : at + HEADER_LENGTH_AT] + left.to_bytes(3, "big")
        frame, _ = decoder(SbpFrame)(cut + data[at + FIXED_BYTES : end], 0, len(cut) + end - at - FIXED_BYTES)
    return frame, header_length


def _read_header(schema: Schema, frame: SbpFrame, defects: list[DecodeError]) -> Table | None:
    raw = frame.header
    if raw is None:
        if schema.wants_header(frame):
            why = "the request needs its header and has none"
            defects.append(DecodeError("bad_flatbuffer_header", why, path="header", offset=FIXED_BYTES))
        return None
    cls = schema.header_table(frame)
    if cls is None:
        return None
    assert isinstance(raw, bytes)
    if frame.header_format != FLATBUFFERS:
        why = f"header format {frame.header_format}; only 1 (FlatBuffers) is defined"
        defects.append(DecodeError("unsupported_header_format", why, path="header_format", offset=12))
    try:
        found = read_fast(cls, raw, kind="bad_flatbuffer_header")
    except DecodeError as err:
        defects.append(type(err)(err.kind, err.why, path=err.path, offset=FIXED_BYTES + err.offset))
        return None
    if found.missing:
        defects.append(missing_error(found.missing, FIXED_BYTES))
    table: Table = found.value
    return table


def _read_payload(schema: Schema, frame: SbpFrame, header: Table | None, defects: list[DecodeError]) -> Batches | None:
    if not frame.payload:
        if frame.opcode == APPEND and not frame.is_response:
            defects.append(DecodeError("empty_append_payload", "nothing to append", path="payload"))
        return None
    batches = schema.read_batches(frame, header)
    if batches is not None:
        base = FIXED_BYTES + (len(frame.header) if isinstance(frame.header, bytes) else 0)
        for err in batches.defects:
            path = f"payload.{err.path}" if err.path else "payload"
            defects.append(type(err)(err.kind, err.why, path=path, offset=base + err.offset))
    return batches


# -- finding frames ----------------------------------------------------------------------------------------------------


@cache
def _beginning(schema: Schema) -> re.Pattern[bytes]:
    """How a frame of a known operation begins, up to its header format; found at overlapping places too."""
    codes = b"|".join(re.escape(code.to_bytes(2, "big")) for code in operations_of(schema))
    return re.compile(rb"(?=[\x00\x01]...\x17(?:" + codes + rb")[\x00-\x07]....[\x00-\x03])", re.DOTALL)


def candidates(schema: Schema, data: bytes, at: int, end: int) -> Iterator[int]:
    """Where in `data[at:end]` a frame of a known operation might begin."""
    for found in _beginning(schema).finditer(data, at, end):
        start = found.start()
        length = int.from_bytes(data[start : start + LENGTH_BYTES], "big")
        header = int.from_bytes(data[start + HEADER_LENGTH_AT : min(start + FIXED_BYTES, end)], "big")
        if header + limits.SBP_FRAME_LENGTH_MIN <= length <= limits.SBP_FRAME_LENGTH_MAX:
            yield start


@remembered
def trust(schema: Schema, data: bytes, at: int, end: int) -> int:
    """How sure it is that `data[at:end]` is a whole frame of this very schema; see Conversation.trust."""
    try:
        if extent(data, at, end) != end - at:
            return 0
        frame, _ = decoder(SbpFrame)(data, at + LENGTH_BYTES + 1, end)
    except DecodeError:
        return 0
    checksum = zlib.crc32(frame.payload)
    if frame.payload and checksum != frame.checksum:
        return 0
    table = schema.header_table(frame)
    if frame.header and table is not None and not _fits(schema, table, frame.header):
        return 0
    return 4 if frame.checksum == checksum and _is_usual(schema, frame, table) else 1


def _fits(schema: Schema, table: type[Table], raw: bytes) -> bool:
    """Whether a writer of this schema could have made the header."""
    try:
        missing = read_root(table, raw, exact=True).missing
    except DecodeError:
        return False
    return all(path.endswith(schema.left_out) for path in missing)


def _is_usual(schema: Schema, frame: SbpFrame, table: type[Table] | None) -> bool:
    """Whether nothing in the frame is out of the ordinary: its operation, flags, format, header and payload."""
    if frame.flags & ~schema.flags or frame.header_format != FLATBUFFERS:
        return False
    if not _is_known(schema, frame):
        return False
    if frame.header is None and schema.wants_header(frame):
        return False
    header = read_fast(table, frame.header).value if table is not None and isinstance(frame.header, bytes) else None
    batches = schema.read_batches(frame, header) if frame.payload else None
    if batches is None:
        return True
    return not batches.defects and sum(length for _, length in batches.found) == len(frame.payload)


# -- writing -----------------------------------------------------------------------------------------------------------


def encode_frame(frame: Message, side: Side) -> bytes:
    """The bytes of a frame, or of the frame that `side` sends around a header. EncodeError for what is neither."""
    if isinstance(frame, Table) and hasattr(type(frame), "declaration") and frame.declaration.type_id >= 0:
        is_request = frame.declaration.sender == "client"
        frame = SbpFrame(opcode=frame.declaration.type_id, flags=0 if is_request else 3, stream_id=1, header=frame)
    if not isinstance(frame, SbpFrame):
        raise EncodeError("no frame carries it", path=type(frame).__name__)
    if frame.checksum is None:
        frame = msgspec.structs.replace(frame, checksum=zlib.crc32(frame.payload))
    body = _usual_body(frame) or bytes((MAGIC,)) + reference.encode(frame)
    if len(body) > limits.SBP_FRAME_LENGTH_MAX:
        raise EncodeError(f"a frame takes {limits.SBP_FRAME_LENGTH_MAX} bytes at most, this one {len(body)}")
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def _usual_body(frame: SbpFrame) -> bytes:
    """Return the bytes of a frame after its length; empty for one that only the reference encoder can judge."""
    header = frame.header
    raw = b"" if header is None else header if type(header) is bytes else None
    if raw is None or type(frame.payload) is not bytes:
        return b""
    try:
        return b"".join(
            (
                _MAGIC_BYTE,
                frame.opcode.to_bytes(2, "big"),
                frame.flags.to_bytes(1, "big"),
                frame.stream_id.to_bytes(4, "big"),
                frame.header_format.to_bytes(1, "big"),
                len(raw).to_bytes(3, "big"),
                raw,
                frame.payload,
                (frame.checksum or 0).to_bytes(CHECKSUM_BYTES, "big"),
            )
        )
    except (AttributeError, OverflowError):
        return b""
