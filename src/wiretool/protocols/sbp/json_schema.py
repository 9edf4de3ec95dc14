"""JSON Schema of the JSON form of frames (`forms.py`)."""

from collections.abc import Mapping, Sequence
from typing import Any

from wiretool.codec.message import fields_of
from wiretool.codec.types import JsonSchema, Refer, RestBytes
from wiretool.protocols.sbp.forms import form_of
from wiretool.protocols.sbp.framing import MAGIC
from wiretool.protocols.sbp.messages import SbpFrame, Schema, header_schema, operations_of

_BYTES: JsonSchema = {"type": "integer", "minimum": 0}
_TRUTH: JsonSchema = {"type": "boolean"}


def fields_schema(schemas: Sequence[Schema], name: str, refer: Refer, may_be_damaged: bool) -> JsonSchema | None:
    """Return the schema of `fields` in frames of an operation, or of those of an unknown one.

    Each frame has all members; a damaged header is bytes.
    """
    declared = {field.name: field.wire.json_schema(refer) for field in fields_of(SbpFrame)}
    codes = [code for schema in schemas for code, each in operations_of(schema).items() if each.name == name]
    if not codes and not (may_be_damaged and name == "Unknown"):
        return None
    properties: dict[str, JsonSchema] = {
        **_derived(codes),
        **{each: declared[each] for each in ("flags", "stream_id", "header_format")},
        "opcode": {"enum": sorted(set(codes))} if codes else declared["opcode"],
        "opcode_name": {"const": name} if codes else {"type": "null"},
        "header": header_schema(_tables(schemas, name), refer),
        "payload": _payload(schemas, refer),
    }
    order = form_of(total=0, opcode=0, name=None, flags=0, **dict.fromkeys(_FURTHER))
    return {
        "title": name,
        "description": f"A frame of the operation {name}." if codes else "A frame of an unknown operation.",
        "type": "object",
        "properties": {each: properties[each] for each in order},
        "required": list(order),
        "additionalProperties": False,
    }


#: The parts of a frame from which no other member of its form is derived.
_FURTHER = ("stream_id", "header_format", "header_length", "payload_length", "checksum", "header", "payload")


def _derived(codes: Sequence[int]) -> dict[str, JsonSchema]:
    """Return the schemas of the members that follow from others."""
    return {
        **dict.fromkeys(("frame_length", "header_length", "payload_length", "total_bytes"), _BYTES),
        **dict.fromkeys(("is_response", "response_end", "system_error"), _TRUTH),
        "magic": {"const": MAGIC},
        "opcode_hex": {"enum": sorted({f"0x{code:04x}" for code in codes})}
        if codes
        else {"pattern": "^0x[0-9a-f]{4}$"},
        "checksum": {"type": "string", "pattern": "^[0-9a-f]{8}$"},
    }


def _tables(schemas: Sequence[Schema], name: str) -> list[type[Any]]:
    """Return the tables that a header may be, whichever side sent it."""
    found: dict[type[Any], None] = {}
    for schema in schemas:
        operations = [each for each in operations_of(schema).values() if each.name == name]
        tables = [table for each in operations for table in (each.request, each.response)]
        found |= {table: None for table in (*tables, schema.system_error) if table is not None}
    return list(found)


def _payload(schemas: Sequence[Schema], refer: Refer) -> JsonSchema:
    properties = {"hex": RestBytes().json_schema(refer)}
    for key in dict.fromkeys(schema.batches_key for schema in schemas):
        batches = [_batch(schema, refer) for schema in schemas if schema.batches_key == key]
        properties[key] = {"type": "array", "items": batches[0] if len(batches) == 1 else {"anyOf": batches}}
    return {
        "anyOf": [
            {"type": "null"},
            {"type": "object", "properties": properties, "required": ["hex"], "additionalProperties": False},
        ]
    }


def _batch(schema: Schema, refer: Refer) -> JsonSchema:
    """Return the schema of a batch: its declared fields, and the lengths that follow from them."""
    fields: Mapping[str, JsonSchema] = {field.name: field.wire.json_schema(refer) for field in fields_of(schema.batch)}
    return {
        "type": "object",
        "properties": {**fields, "length": _BYTES, "payload_len": _BYTES},
        "required": [*fields, "length"],
        "additionalProperties": False,
    }
