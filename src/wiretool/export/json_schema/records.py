"""The schema of records without the fields of their messages, from the declaration of `Record`."""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec.structs import fields

from wiretool.codec.message import Doc
from wiretool.codec.types import JsonSchema, RestBytes
from wiretool.records import Kind, Record

#: Members of `Record` that its JSON form lacks.
_WITHOUT_JSON = ("raw",)
#: Numbers that begin with 1; all others of a record begin with 0.
_FROM_ONE = ("n", "packets", "reply_to")
#: Numbers that may be negative: damaged bytes may be before the first byte of a flow.
_SIGNED = ("offset",)
#: Members that only frames have.
_OF_FRAMES = ("message", "fields", "reply_to", "append", "events", "left_over")
#: Members that records of a kind have beside those that all have.
_REQUIRED: Mapping[Kind, Sequence[str]] = {
    "frame": ("protocol", "message", "fields"),
    "gap": ("why",),
    "problem": ("error", "why"),
    "other": ("why",),
}


def record_properties() -> dict[str, JsonSchema]:
    """Return the schema of each member of a record."""
    hints = get_type_hints(Record, include_extras=True)
    return {name: _member(name, hint) for name, hint in hints.items() if name not in _WITHOUT_JSON}


def record_rules() -> list[JsonSchema]:
    """Return the members that are required: those of all records, and those of each kind."""
    always = [field.name for field in fields(Record) if field.required]
    return [{"required": always}, *(_rule(kind, needed) for kind, needed in _REQUIRED.items())]


def _rule(kind: Kind, needed: Sequence[str]) -> JsonSchema:
    absent = {} if kind == "frame" else {"properties": dict.fromkeys(_OF_FRAMES, False)}
    return {
        "if": {"properties": {"kind": {"const": kind}}},
        "then": {"required": list(needed), **absent},
    }


def _member(name: str, hint: Any) -> JsonSchema:
    doc = next((note.text for note in get_args(hint)[1:] if isinstance(note, Doc)), "")
    bare = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    schema = _schema(bare, 1 if name in _FROM_ONE else 0)
    if name in _SIGNED:
        del schema["minimum"]
    return {**schema, "description": f"{doc}."} if doc else schema


def _schema(hint: Any, low: int) -> JsonSchema:
    """Return the schema of a type in `Record`; a member that is None is absent."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _schema(next(each for each in reversed(inner) if each is not NoneType), low)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "prefixItems": [_schema(each, low) for each in inner], **_count(len(inner))}
    if origin is list:
        return {"type": "array", "items": _schema(inner[0], low)}
    if hint is int:
        return {"type": "integer", "minimum": low}
    if hint is bytes:
        return RestBytes().json_schema(_no_structure)
    if hint is str:
        return {"type": "string", "minLength": 1}
    assert origin is Mapping, f"a member of Record is of the type {hint}"
    return {"type": "object"}


def _count(number: int) -> JsonSchema:
    return {"items": False, "minItems": number}


def _no_structure(cls: type[Any]) -> JsonSchema:
    raise AssertionError(f"bytes are not a {cls.__name__}")
