"""Protobuf's descriptors as declarations: a message class for each type, and the JSON form of its values.

The JSON form has every field: numbers as they are, enums by name, a structure that is not there as null.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto
from google.protobuf.message import Message as ProtobufMessage

from wiretool.codec.json_types import JsonBool, JsonInt, JsonList, JsonMap, JsonText, JsonType, bad_type
from wiretool.codec.jsonform import fields_from_json, json_form
from wiretool.codec.message import Message
from wiretool.codec.nested import Nested
from wiretool.codec.types import JsonSchema, Refer
from wiretool.protocols.pravega_controller.messages import NamedNumber
from wiretool.protocols.pravega_controller.roles import ROLES

_TEXT_NUMBERS: Mapping[str, float] = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
Form = Callable[[Any], Any]
#: The JSON Schema of a key that is a whole number.
NUMBER_KEY: JsonSchema = {"pattern": "^-?[0-9]{1,20}$"}
#: A map without entries, as a default: messages do not change.
_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Double(JsonType):
    """A number; those that JSON has none for are text, as protobuf writes them."""

    name = "double"
    stored = "double"

    def check(self, value: Any, path: str) -> float | str:
        if type(value) is str and value in _TEXT_NUMBERS:
            return value
        if type(value) not in (int, float) or not math.isfinite(value):
            raise bad_type(value, "a number", path)
        return float(value)

    def value_schema(self, refer: Refer) -> JsonSchema:
        return {"anyOf": [{"type": "number"}, {"enum": list(_TEXT_NUMBERS)}]}


def double_form(value: float) -> float | str:
    """A double in JSON."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class Structure(JsonType, Nested):
    """A message inside another, which may be missing."""

    nullable = True

    def check(self, value: Any, path: str) -> Message:
        return fields_from_json(self.cls, value, path)

    def to_json(self, value: Any) -> Any:
        return None if value is None else json_form(value)

    def value_schema(self, refer: Refer) -> JsonSchema:
        return refer(self.cls)


class MapOf(JsonMap):
    """An object whose keys are text, or whole numbers written as such."""

    def __init__(self, key: JsonType, element: JsonType) -> None:
        self.name = f"object of {key.name}: {element.name}"
        self.key = key
        self.element = element

    def check(self, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise bad_type(value, "an object", path)
        for key in value:
            self.key.check(_number(key, path) if isinstance(self.key, JsonInt) else key, path)
        return {key: self.element.check(each, f"{path}.{key}") for key, each in value.items()}

    def to_json(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self.element.to_json(each) for key, each in value.items()}

    def value_schema(self, refer: Refer) -> JsonSchema:
        schema: JsonSchema = {"type": "object", "additionalProperties": self.element.json_schema(refer)}
        return {**schema, "propertyNames": NUMBER_KEY} if isinstance(self.key, JsonInt) else schema


def _number(key: str, path: str) -> int:
    if len(key) > 20 or not key.removeprefix("-").isdecimal() or not key.isascii():
        raise bad_type(key, "a whole number", path)
    return int(key)


# -- declarations ------------------------------------------------------------------------------------------------------

_Kind = tuple[type, JsonType, Any]
_SCALARS: Mapping[int, _Kind] = {
    FieldDescriptor.TYPE_INT32: (int, JsonInt(32), 0),
    FieldDescriptor.TYPE_INT64: (int, JsonInt(64), 0),
    FieldDescriptor.TYPE_DOUBLE: (float, Double(), 0.0),
    FieldDescriptor.TYPE_BOOL: (bool, JsonBool(), False),
    FieldDescriptor.TYPE_STRING: (str, JsonText(), ""),
}


@cache
def structure_of(descriptor: Descriptor) -> type[Message]:
    """The declaration of a message type."""
    fields = []
    for member in members_of(descriptor):
        hint, wire, default = _kind(member)
        role = ROLES.get((descriptor.name, member.name))
        noted = Annotated[hint, wire] if role is None else Annotated[hint, wire, role]
        fields.append((member.name, noted, default))
    names = {member.name for member in members_of(descriptor)}
    assert all(name in names for owner, name in ROLES if owner == descriptor.name), f"a role of no {descriptor.name}"
    return declare(descriptor.name, f"The structure {descriptor.name}.", Message, fields)


def declare(name: str, doc: str, base: type[Message], fields: Sequence[tuple[str, Any, Any]] = ()) -> type[Message]:
    """A message class with those fields and the ones of its base."""
    namespace = {"__doc__": doc}
    made = msgspec.defstruct(
        name, fields, bases=(base,), module=__name__, namespace=namespace, frozen=True, kw_only=True
    )
    assert issubclass(made, Message)
    return made


class Member(NamedTuple):
    """A field of a message type, in what every version of protobuf tells of it."""

    name: str
    type: int
    is_repeated: bool
    #: The type of a structure, the names of an enum, and of a map the types of its keys and values.
    structure: Descriptor | None
    names: Mapping[int, str]
    entry: "tuple[Member, Member] | None"


@cache
def members_of(descriptor: Descriptor) -> tuple[Member, ...]:
    """The fields of a message type."""
    declared = DescriptorProto()
    descriptor.CopyToProto(declared)
    return tuple(
        _member(field, is_repeated=each.label == FieldDescriptorProto.LABEL_REPEATED)
        for field, each in zip(descriptor.fields, declared.field, strict=True)
    )


def _member(field: FieldDescriptor, *, is_repeated: bool) -> Member:
    structure, enum = field.message_type, field.enum_type
    names = {value.number: value.name for value in enum.values} if enum is not None else {}
    entry = None
    if structure is not None and structure.GetOptions().map_entry:
        key, value = members_of(structure)
        entry = key, value
    return Member(field.name, field.type, is_repeated, structure, names, entry)


def _kind(member: Member) -> _Kind:
    if member.entry is not None:
        key, element = (_single(each)[1] for each in member.entry)
        return object, MapOf(key, element), _EMPTY
    if member.is_repeated:
        return tuple, JsonList(_single(member)[1]), ()
    return _single(member)


def _single(member: Member) -> _Kind:
    if member.structure is not None:
        return object, Structure(structure_of(member.structure)), None
    if member.names:
        return object, NamedNumber(member.names, " | ".join(member.names.values())), member.names[0]
    return _SCALARS[member.type]


# -- values ------------------------------------------------------------------------------------------------------------


def form_of(message: ProtobufMessage) -> dict[str, Any]:
    """The fields of a message in the JSON form of its declaration."""
    return {name: form(message) for name, form in _forms_of(message.DESCRIPTOR)}


@cache
def _forms_of(descriptor: Descriptor) -> tuple[tuple[str, Form], ...]:
    return tuple((member.name, _member_form(member)) for member in members_of(descriptor))


def _member_form(member: Member) -> Form:
    name = member.name
    if member.entry is not None:
        form = _value_form(member.entry[1])
        return lambda message: {str(key): form(value) for key, value in sorted(getattr(message, name).items())}
    form = _value_form(member)
    if member.is_repeated:
        return lambda message: [form(value) for value in getattr(message, name)]
    if member.structure is not None:
        return lambda message: form(getattr(message, name)) if message.HasField(name) else None
    return lambda message: form(getattr(message, name))


def _value_form(member: Member) -> Form:
    if member.structure is not None:
        return form_of
    if member.names:
        return lambda number: member.names.get(number, number)
    return double_form if member.type == FieldDescriptor.TYPE_DOUBLE else _itself


def _itself(value: Any) -> Any:
    return value
