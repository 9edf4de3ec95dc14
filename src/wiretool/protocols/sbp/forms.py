"""Frames as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from wiretool.codec import reference
from wiretool.codec.flatbuffers.declaration import Table, table_from_json
from wiretool.codec.jsonform import json_form, nearest
from wiretool.codec.message import Side, fields_of
from wiretool.codec.remembering import remembered
from wiretool.codec.types import RestBytes
from wiretool.errors import EncodeError
from wiretool.protocols.sbp.framing import LENGTH_BYTES, MAGIC, FrameReading, read_frame
from wiretool.protocols.sbp.messages import (
    CHECKSUM_BYTES,
    RESPONSE,
    RESPONSE_END,
    SYSTEM_ERROR,
    SbpFrame,
    Schema,
    operations_of,
)
from wiretool.protocols.sbp.records import Batches


@remembered
def form_in(schema: Schema, data: bytes, at: int, end: int) -> tuple[FrameReading, Mapping[str, Any]]:
    """Return the whole frame `data[at:end]` as it is read, and as JSON."""
    reading = read_frame(schema, data, at, end)
    return reading, frame_form(schema, reading, end - at)


def frame_form(schema: Schema, reading: FrameReading, total: int) -> dict[str, Any]:
    """A frame of `total` bytes as JSON, what follows from its fields included."""
    frame, operation = reading.frame, reading.operation
    return form_of(
        total=total,
        opcode=frame.opcode,
        name=None if operation is None else operation.name,
        flags=frame.flags,
        stream_id=frame.stream_id,
        header_format=frame.header_format,
        header_length=reading.header_length,
        payload_length=len(frame.payload),
        checksum=f"{frame.checksum or 0:08x}",
        header=json_form(frame)["header"],
        payload=_payload_form(schema, frame.payload, reading.batches),
    )


def form_of(
    *,
    total: Any,
    opcode: int,
    name: str | None,
    flags: Any,
    stream_id: Any,
    header_format: Any,
    header_length: Any,
    payload_length: Any,
    checksum: Any,
    header: Any,
    payload: Any,
) -> dict[str, Any]:
    """The form of a frame out of its parts; or of many of one operation, where numbers are arrays of them."""
    return {
        "frame_length": total - LENGTH_BYTES,
        "magic": MAGIC,
        "opcode": opcode,
        "opcode_hex": f"0x{opcode:04x}",
        "opcode_name": name,
        "flags": flags,
        "is_response": flags & RESPONSE != 0,
        "response_end": flags & RESPONSE_END != 0,
        "system_error": flags & SYSTEM_ERROR != 0,
        "stream_id": stream_id,
        "header_format": header_format,
        "header_length": header_length,
        "payload_length": payload_length,
        "checksum": checksum,
        "total_bytes": total,
        "header": header,
        "payload": payload,
    }


def _payload_form(schema: Schema, payload: bytes, batches: Batches | None) -> dict[str, Any] | None:
    if not payload:
        return None
    form: dict[str, Any] = {"hex": payload.hex()}
    if batches is not None and (batches.found or not batches.defects):
        form[schema.batches_key] = [schema.batch_form(batch, length) for batch, length in batches.found]
    return form


_HEX = RestBytes()
#: What follows from the other fields: taken from a frame's JSON form without a look.
_DERIVED = frozenset(
    (
        *("frame_length", "magic", "opcode_hex", "opcode_name", "is_response", "response_end", "system_error"),
        *("header_length", "payload_length", "total_bytes"),
    )
)


def frame_from_json(schema: Schema, name: str, side: Side, fields: Any) -> SbpFrame:
    """The frame of operation `name` with these fields of its JSON form; what is not given gets its usual value.

    A server's frame is a whole response unless `flags` says otherwise. EncodeError for what cannot be a frame.
    """
    if not isinstance(fields, dict):
        raise EncodeError(f"expected an object, got {fields!r}", path=name)
    declared = {field.name: field.wire for field in fields_of(SbpFrame)}
    for key in fields:
        if key not in declared and key not in _DERIVED:
            raise EncodeError(f"has no field {key!r}{nearest(key, declared)}", path=name)
    values: dict[str, Any] = {"opcode": _code_named(schema, name, fields)}
    values["flags"] = 0 if side == "client" else RESPONSE | RESPONSE_END
    for key in ("flags", "stream_id", "header_format"):
        if key in fields:
            values[key] = declared[key].from_json(fields[key], f"{name}.{key}")
    frame = SbpFrame(**values)
    return msgspec.structs.replace(
        frame,
        header=_header_from_json(schema, frame, fields.get("header"), f"{name}.header"),
        payload=_payload_from_json(schema, fields.get("payload"), f"{name}.payload"),
        checksum=_checksum_from_json(fields.get("checksum"), f"{name}.checksum"),
    )


def _code_named(schema: Schema, name: str, fields: dict[str, Any]) -> int:
    name = schema.aliases.get(name, name)
    for operation in operations_of(schema).values():
        if operation.name == name:
            return operation.code
    code = fields.get("opcode")
    if name != "Unknown" or type(code) is not int or not 0 <= code <= 0xFFFF:
        names = [operation.name for operation in operations_of(schema).values()]
        raise EncodeError(f"no operation is called {name!r}{nearest(name, names)}", path=name)
    return code


def _header_from_json(schema: Schema, frame: SbpFrame, value: Any, path: str) -> Table | bytes | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise EncodeError(f"expected an object, got {value!r}", path=path)
    if "raw_hex" in value:
        raw: bytes = _HEX.from_json(value["raw_hex"], path)
        return raw
    cls = schema.header_table(frame)
    if cls is None or value.get("table", cls.__name__) != cls.__name__ or "fields" not in value:
        wanted = "raw_hex" if cls is None else f"table {cls.__name__} and fields, or raw_hex"
        raise EncodeError(f"expected {wanted}, got {value!r}", path=path)
    return table_from_json(cls, value["fields"], path)


def _payload_from_json(schema: Schema, value: Any, path: str) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, dict) or not value.keys() & {"hex", schema.batches_key}:
        raise EncodeError(f"expected an object with hex or {schema.batches_key}, got {value!r}", path=path)
    if "hex" in value:
        raw: bytes = _HEX.from_json(value["hex"], path)
        return raw
    batches = value[schema.batches_key]
    if not isinstance(batches, list):
        raise EncodeError(f"expected a list, got {batches!r}", path=path)
    key = f"{path}.{schema.batches_key}"
    return b"".join(
        reference.encode(schema.batch_from_json(batch, f"{key}[{index}]")) for index, batch in enumerate(batches)
    )


def _checksum_from_json(value: Any, path: str) -> int | None:
    if value is None:
        return None
    try:
        raw = bytes.fromhex(value)
    except (ValueError, TypeError) as err:
        raise EncodeError(f"expected 8 hex digits, got {value!r}", path=path) from err
    if len(raw) != CHECKSUM_BYTES:
        raise EncodeError(f"expected 8 hex digits, got {value!r}", path=path)
    return int.from_bytes(raw, "big")
