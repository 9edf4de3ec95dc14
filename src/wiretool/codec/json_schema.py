"""JSON Schema of structures in the form of `json_form`, from their declarations."""

from collections.abc import Iterator
from inspect import cleandoc

from wiretool.codec.message import Field, Message, fields_of
from wiretool.codec.types import JsonSchema, Refer


def structure_schema(cls: type[Message], refer: Refer) -> JsonSchema:
    """Return the schema of a whole structure: each field is required, and no other is allowed."""
    return {**_outline(cls, refer), "required": _required(cls), "additionalProperties": False}


def readable_schema(cls: type[Message], refer: Refer) -> JsonSchema:
    """Return the schema of a structure of which the first fields could be read.

    A field requires those before it, as they precede it on the wire.
    """
    chain: JsonSchema = {}
    before = ""
    for field in fields_of(cls):
        if before:
            chain[field.name] = [before]
        before = before if field.is_optional else field.name
    return {**_outline(cls, refer), "dependentRequired": chain, "additionalProperties": False}


def _outline(cls: type[Message], refer: Refer) -> JsonSchema:
    declaration = getattr(cls, "declaration", None)
    return {
        "title": declaration.name if declaration is not None else cls.__name__,
        "description": cleandoc(cls.__doc__ or "").partition("\n\n")[0].replace("\n", " "),
        "type": "object",
        "properties": {field.name: _property(cls, field, refer) for field in fields_of(cls)},
    }


def _required(cls: type[Message]) -> list[str]:
    """Return the names of the fields that are never left out: a table omits those that are absent."""
    return [field.name for field in fields_of(cls) if not (cls.omits_none and field.default is None)]


def _property(cls: type[Message], field: Field, refer: Refer) -> JsonSchema:
    schema = field.wire.json_schema(refer)
    if schema and field.default is None and not cls.omits_none and not getattr(field.wire, "nullable", False):
        schema = {"anyOf": [schema, {"type": "null"}]}
    text = " ".join(_description(field))
    return {**schema, "description": text} if text else schema


def _description(field: Field) -> Iterator[str]:
    if field.doc:
        yield field.doc if field.doc.endswith(".") else f"{field.doc}."
    if field.unit:
        yield f"Unit: {field.unit}."
