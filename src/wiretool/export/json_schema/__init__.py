"""JSON Schema of records and of messages, from their declarations."""

from collections.abc import Sequence

from wiretool.codec.message import SIDES
from wiretool.codec.types import JsonSchema
from wiretool.export.json_schema.definitions import Definitions, reference
from wiretool.export.json_schema.messages import shown_fields, whole_fields
from wiretool.export.json_schema.records import record_properties, record_rules
from wiretool.protocols.base.protocol import Protocol

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def make_records_schema(protocols: Sequence[Protocol], version: str) -> JsonSchema:
    """Return the schema of one record, as `decode` writes it to JSON."""
    definitions = Definitions()
    frames = {f"frame.{each.name}": shown_fields(each, definitions) for each in protocols}
    names = [each.name for each in protocols]
    chosen = [
        {
            "if": {"properties": {"kind": {"const": "frame"}, "protocol": {"const": name}}, "required": ["protocol"]},
            "then": reference(f"frame.{name}"),
        }
        for name in names
    ]
    properties = {**record_properties()}
    properties["protocol"] = {**properties["protocol"], "enum": names}
    return {
        "$schema": DIALECT,
        "title": "Record",
        "description": f"A record of wiretool {version}: one line of decode --format ndjson.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "allOf": [*record_rules(), *chosen],
        "$defs": {**frames, **dict(sorted(definitions.schemas.items()))},
    }


def make_messages_schema(protocol: Protocol, version: str) -> JsonSchema:
    """Return the schema of whole messages of a protocol: their name, their fields and, where it matters, the sender."""
    definitions = Definitions()
    chosen = whole_fields(protocol, definitions)
    chosen["properties"] |= {
        "fields": {"type": "object"},
        "side": {"enum": list(SIDES), "description": "The sender."},
        "protocol": {"const": protocol.name},
    }
    return {
        "$schema": DIALECT,
        "title": protocol.title,
        "description": f"A message of {protocol.name}, as declared in wiretool {version}.",
        "type": "object",
        "required": ["message", "fields"],
        **chosen,
        "$defs": dict(sorted(definitions.schemas.items())),
    }
