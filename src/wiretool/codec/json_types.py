"""Fields that travel as members of a JSON object: how each is checked, declared and written.

A JSON parser of the protocol turns text into values; these types only judge the values. The vectors' names of the
defects: missing_field, bad_field_type, out_of_range.
"""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, TypeVar

from wiretool.codec.cursor import Cursor
from wiretool.codec.message import REQUIRED, Message, fields_of
from wiretool.codec.types import JsonSchema, Refer, WireType
from wiretool.errors import DecodeError, EncodeError

T = TypeVar("T", bound=Message)


class JsonType(WireType):
    """A JSON value of one kind; with `nullable`, or null."""

    nullable = False
    #: Whether a null is left out where the field may be missing.
    omits_null = True

    @abstractmethod
    def check(self, value: Any, path: str) -> Any:
        """The field's value for a JSON value that is not null; DecodeError where it is of the wrong kind."""

    def parse(self, value: Any, path: str) -> Any:
        """The field's value for a JSON value; DecodeError where it is none of this type."""
        if value is not None:
            return self.check(value, path)
        if not self.nullable:
            raise DecodeError("missing_field", "is null", path=path)
        return None

    def from_json(self, value: Any, path: str) -> Any:
        try:
            return self.parse(value, path)
        except DecodeError as err:
            raise EncodeError(err.why, path=err.path) from err

    def value_schema(self, refer: Refer) -> JsonSchema:
        """Return the JSON Schema of the values that are not null; any is allowed without."""
        return {}

    def json_schema(self, refer: Refer) -> JsonSchema:
        schema = self.value_schema(refer)
        return {"anyOf": [schema, {"type": "null"}]} if self.nullable and schema else schema

    def read(self, cursor: Cursor, path: str) -> Any:
        raise AssertionError(f"{path} is a member of a JSON object and has no bytes of its own")

    def write(self, value: Any, out: bytearray, path: str) -> None:
        raise AssertionError(f"{path} is a member of a JSON object and has no bytes of its own")


def bad_type(value: Any, wanted: str, path: str) -> DecodeError:
    """The defect of a value that is of another JSON type than `wanted`."""
    return DecodeError("bad_field_type", f"expected {wanted}, got {shorten(value)}", path=path)


def shorten(value: Any) -> str:
    """A value as JSON, where it is that, cut where it is long."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = ascii(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"


class JsonMap(JsonType):
    """An object whose keys are data and no names of fields."""

    #: Whether its values are numbers that mean what the name of the field says.
    has_numbers = False
    #: The type of its values, where keys are decimal numbers of at most `key_max`, and the kind of problem of others.
    value_type: JsonType | None = None
    key_max = 0
    key_problem = ""


class JsonInt(JsonType):
    """A whole number, written without fraction and exponent, that fits `bits` bits two's complement."""

    stored = "whole"

    def __init__(self, bits: int, *, nullable: bool = False) -> None:
        self.name = f"int{bits}"
        self.bits = bits
        self.nullable = nullable
        self.high = 2 ** (bits - 1) - 1
        self.low = -self.high - 1

    def check(self, value: Any, path: str) -> int:
        if type(value) is not int:
            raise bad_type(value, "a whole number", path)
        if not self.low <= value <= self.high:
            raise DecodeError("out_of_range", f"{shorten(value)} is not an {self.name}", path=path)
        return value

    def value_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


class JsonText(JsonType):
    """A string."""

    name = "string"
    stored = "text"
    #: The only texts that it may be; None where it may be any.
    choices: frozenset[str] | None = None

    def __init__(self, *, nullable: bool = False, omits_null: bool = True) -> None:
        self.nullable = nullable
        self.omits_null = omits_null

    def check(self, value: Any, path: str) -> str:
        if type(value) is not str:
            raise bad_type(value, "a string", path)
        return value

    def value_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "string"}


class JsonBytes(JsonType):
    """Bytes, in the form of `text_or_hex`."""

    name = "bytes"
    stored = "bytes"

    def check(self, value: Any, path: str) -> bytes:
        if isinstance(value, bytes):
            return value
        try:
            return bytes_from(value)
        except ValueError as err:
            raise bad_type(value, "text or hex", path) from err

    def to_json(self, value: bytes) -> Any:
        return text_or_hex(value)

    def value_schema(self, refer: Refer) -> JsonSchema:
        return text_or_hex_schema()


def text_or_hex_schema() -> JsonSchema:
    """Return the JSON Schema of the form of `text_or_hex`."""
    return {"anyOf": [{"type": "string"}, hex_object_schema()]}


def hex_object_schema(name: str = "hex") -> JsonSchema:
    """Return the JSON Schema of an object with bytes in hex."""
    return {
        "type": "object",
        "properties": {name: {"type": "string", "pattern": "^([0-9a-f]{2})*$"}},
        "required": [name],
        "additionalProperties": False,
    }


def text_or_hex(raw: bytes) -> Any:
    """Return bytes as JSON: text where they are UTF-8, else an object with their hex."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"hex": raw.hex()}


def bytes_from(form: Any) -> bytes:
    """Return the bytes of which this is the form of `text_or_hex`. ValueError where it is that of none."""
    if isinstance(form, str):
        return form.encode()
    if isinstance(form, Mapping) and form.keys() == {"hex"} and isinstance(form["hex"], str):
        return bytes.fromhex(form["hex"])
    raise ValueError(f"expected text or hex, got {shorten(form)}")


class JsonBool(JsonType):
    """true or false."""

    name = "boolean"
    stored = "truth"

    def check(self, value: Any, path: str) -> bool:
        if type(value) is not bool:
            raise bad_type(value, "true or false", path)
        return value

    def value_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "boolean"}


class JsonName(JsonType):
    """One string only: the name of a kind of object."""

    stored = "text"

    def __init__(self, text: str) -> None:
        self.name = f'"{text}"'
        self.text = text

    def check(self, value: Any, path: str) -> str:
        if value != self.text:
            raise bad_type(value, self.name, path)
        return self.text

    def value_schema(self, refer: Refer) -> JsonSchema:
        return {"const": self.text}


class JsonValue(JsonType):
    """Any JSON value, null too; it must be there."""

    name = "any JSON"
    nullable = True

    def check(self, value: Any, path: str) -> Any:
        return value

    def value_schema(self, refer: Refer) -> JsonSchema:
        return {}


class JsonList(JsonType):
    """An array of one kind of value."""

    def __init__(self, element: JsonType, *, nullable: bool = False) -> None:
        self.name = f"array of {element.name}"
        self.element = element
        self.nullable = nullable

    def check(self, value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            raise bad_type(value, "an array", path)
        return tuple(self.element.check(each, f"{path}[{index}]") for index, each in enumerate(value))

    def to_json(self, value: tuple[Any, ...] | None) -> list[Any] | None:
        return None if value is None else [self.element.to_json(each) for each in value]

    def value_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "array", "items": self.element.json_schema(refer)}


class JsonSet(JsonList):
    """An array whose order and repetitions mean nothing; the value is sorted."""

    def __init__(self, element: JsonType) -> None:
        super().__init__(element)
        self.name = f"set of {element.name}"

    def check(self, value: Any, path: str) -> tuple[Any, ...]:
        return tuple(sorted(set(super().check(value, path))))


Int32 = Annotated[int, JsonInt(32)]
Int64 = Annotated[int, JsonInt(64)]
String = Annotated[str, JsonText()]
Boolean = Annotated[bool, JsonBool()]
Anything = Annotated[Any, JsonValue()]


def from_members(cls: type[T], members: Mapping[str, Any]) -> T:
    """The message that a JSON object is; members that `cls` does not declare are ignored."""
    name = cls.declaration.name
    values: dict[str, Any] = {}
    for field in fields_of(cls):
        assert isinstance(field.wire, JsonType)
        path = f"{name}.{field.name}"
        if field.name in members:
            values[field.name] = field.wire.parse(members[field.name], path)
        elif field.default is REQUIRED:
            raise DecodeError("missing_field", "is not there", path=path)
    return cls(**values)


def to_members(value: Message) -> dict[str, Any]:
    """The JSON object of a message, less the fields that are null and may be missing.

    EncodeError for a value that its field cannot have.
    """
    members: dict[str, Any] = {}
    for name, path, wire, is_left_out in _members_of(type(value)):
        given = getattr(value, name)
        if given is not None or not is_left_out:
            members[name] = wire.to_json(wire.from_json(given, path))
    return members


@cache
def _members_of(cls: type[Message]) -> Sequence[tuple[str, str, JsonType, bool]]:
    """Return name, path and type of each field, and whether null is left out."""
    found = []
    for field in fields_of(cls):
        assert isinstance(field.wire, JsonType)
        is_left_out = field.default is None and field.wire.omits_null
        found.append((field.name, f"{cls.declaration.name}.{field.name}", field.wire, is_left_out))
    return found
