"""A dissector for JSON objects in messages of WebSocket: the data that json.lua reads."""

from collections.abc import Iterator, Mapping

from wiretool.codec.json_types import JsonBool, JsonInt, JsonList, JsonMap, JsonName, JsonText, JsonType, JsonValue
from wiretool.codec.message import REQUIRED, Field, Message, fields_of
from wiretool.export.wireshark.fields import FRAME_FIELDS as SHARED_NAMES
from wiretool.export.wireshark.fields import Leaf, filter_names
from wiretool.export.wireshark.links import link_rules
from wiretool.export.wireshark.lua import quoted
from wiretool.export.wireshark.registrations import key_of, register_fields
from wiretool.protocols.base.json_messages import JsonMessages
from wiretool.protocols.base.protocol import Protocol

#: Fields of every message: the constructor of each, with its label.
FRAME_FIELDS: Mapping[str, str] = {
    "length": "uint32(@, 'length', base.DEC + base.UNIT_STRING, { ' byte', ' bytes' })",
    "other": "string(@, 'other member')",
    "text": "string(@, 'text that is not a message')",
    "data": "bytes(@, 'bytes that are not text')",
}
#: Messages have a member `type` of their own.
_TAKEN = (SHARED_NAMES | FRAME_FIELDS.keys()) - {"type"}


def json_parts(protocol: Protocol, declared: JsonMessages) -> tuple[list[str], list[str], list[str]]:
    """Return the lines of Lua that name the messages, that register fields, and that dissect."""
    names = json_names(protocol.name, declared)
    keys = {(leaf.message, leaf.path): key_of(leaf, name) for leaf, name in names.items()}
    titles = [f"  {_entry(cls.declaration.name, quoted(cls.declaration.name))}" for cls in declared.messages]
    dissection = [
        "local messages = {",
        *(f"  {_entry(cls.declaration.name, _message(protocol, cls, keys))}" for cls in declared.messages),
        "}",
        f"dissect_json_messages(proto, F, experts, messages, {quoted(protocol.name)})",
    ]
    return titles, list(register_fields(names)), dissection


def json_names(protocol: str, declared: JsonMessages) -> dict[Leaf, str]:
    """Return the filter name of each field: that of its path, with its message where all messages have such a field."""
    return filter_names(protocol, [leaf for cls in declared.messages for leaf in json_leaves(cls)], _TAKEN)


def json_leaves(cls: type[Message]) -> Iterator[Leaf]:
    """Yield the fields of a message, those in its lists and maps too."""
    for field in fields_of(cls):
        wire = field.wire
        assert isinstance(wire, JsonType)
        if isinstance(wire, JsonMap):
            assert wire.value_type is not None
            yield Leaf(cls.declaration.name, f"{field.name}.key", "uint32")
            yield Leaf(cls.declaration.name, f"{field.name}.value", _kind(wire.value_type), field.doc)
        else:
            element = wire.element if isinstance(wire, JsonList) else wire
            yield Leaf(cls.declaration.name, field.name, _kind(element), field.doc, unit=field.unit)


def _kind(wire: JsonType) -> str:
    """Return the type of a value, as `ProtoField` names its constructors."""
    match wire:
        case JsonInt(bits=bits):
            return f"int{bits}"
        case JsonBool():
            return "bool"
        case JsonText() | JsonName() | JsonValue():
            return "string"
        case _:
            raise AssertionError(wire)


def _entry(name: str, value: str) -> str:
    return f"[{quoted(name)}] = {value},"


def _message(protocol: Protocol, cls: type[Message], keys: Mapping[tuple[str, str], str]) -> str:
    """Return the table of one message: its sender and links, and its members."""
    declaration = cls.declaration
    rules, _ = link_rules(protocol.exchanges.matches, cls)
    parts = [
        f"name = {quoted(declaration.name)}",
        f"sender = {quoted(declaration.sender)}",
        *(["is_failure = true"] if declaration.is_failure else []),
        *rules,
        *(_member(declaration.name, field, keys, protocol.exchanges.fine) for field in fields_of(cls)),
    ]
    return f"{{ {', '.join(parts)} }}"


def _member(message: str, field: Field, keys: Mapping[tuple[str, str], str], fine: Mapping[str, frozenset[int]]) -> str:
    wire = field.wire
    assert isinstance(wire, JsonType)
    parts = [f"name = {quoted(field.name)}", f"path = {quoted(f'{message}.{field.name}')}"]
    if wire.nullable:
        parts.append("nullable = true")
    if field.default is REQUIRED:
        parts.append("required = true")
    if isinstance(wire, JsonBool) and fine.get(field.name) == frozenset({1}):
        parts.append("fails_by_false = true")
    if isinstance(wire, JsonMap):
        assert wire.value_type is not None
        parts += [
            f"key_field = F[{quoted(keys[message, f'{field.name}.key'])}]",
            f"key_max = {wire.key_max}",
            f"key_problem = {quoted(wire.key_problem)}",
            f"element = {_scalar(wire.value_type, keys[message, f'{field.name}.value'])}",
            "kind = 'map'",
        ]
    elif isinstance(wire, JsonList):
        parts += [f"element = {_scalar(wire.element, keys[message, field.name])}", "kind = 'list'"]
    else:
        parts += _scalar_parts(wire, keys[message, field.name])
    return f"{{ {', '.join(parts)} }}"


def _scalar(wire: JsonType, key: str) -> str:
    return f"{{ {', '.join(_scalar_parts(wire, key))} }}"


def _scalar_parts(wire: JsonType, key: str) -> list[str]:
    kinds = {JsonInt: "int", JsonBool: "bool", JsonText: "text", JsonName: "text", JsonValue: "any"}
    parts = [f"field = F[{quoted(key)}]", f"kind = '{kinds[type(wire)]}'"]
    return [*parts, f"bits = {wire.bits}"] if isinstance(wire, JsonInt) else parts
