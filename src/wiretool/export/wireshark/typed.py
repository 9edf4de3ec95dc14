"""A dissector for frames with a type and a length in front of a message: what typed.lua reads."""

import re
from collections.abc import Mapping, Sequence

from wiretool.codec.frames.prefix import Prefix
from wiretool.codec.message import Message, fields_of
from wiretool.export.typed_frames import has_typed_header, irregular_fields
from wiretool.export.wireshark.fields import Leaf, filter_names, leaves_of
from wiretool.export.wireshark.links import link_rules
from wiretool.export.wireshark.lua import quoted
from wiretool.export.wireshark.readers import read_function, tells_its_end
from wiretool.export.wireshark.registrations import key_of, register_fields
from wiretool.protocols.base.protocol import Protocol

#: Fields of every frame: the constructor of each, with its label.
FRAME_FIELDS: Mapping[str, str] = {
    "type": "int32(@, 'type', base.DEC, names)",
    "length": "uint32(@, 'length', base.DEC + base.UNIT_STRING, { ' byte', ' bytes' })",
    "left_over": "bytes(@, 'left over')",
}
#: A name that may be that of a variable in Lua.
_IDENTIFIER = re.compile(
    r"(?!(?:and|break|do|else|elseif|end|false|for|function|goto|if|in|local|nil|not|or|repeat|return|then|true|until"
    r"|while)$)"
    r"[A-Za-z_]\w*",
    re.ASCII,
)


def is_typed(protocol: Protocol, frames: Prefix) -> bool:
    """Return whether frames have such a header, and data describes how each message lies in bytes."""
    fields = [field for cls in protocol.messages for field in fields_of(cls)]
    return (
        has_typed_header(frames)
        and all(_IDENTIFIER.fullmatch(field.name) for field in fields)
        and not any(path for cls in protocol.messages for path in irregular_fields(cls))
    )


def typed_parts(protocol: Protocol, frames: Prefix) -> tuple[list[str], list[str], list[str]]:
    """Return the lines of Lua that name the types, that register fields, and that dissect."""
    leaves = {cls: list(leaves_of(cls)) for cls in protocol.messages}
    names = filter_names(protocol.name, [leaf for own in leaves.values() for leaf in own])
    types = [f"  [{cls.declaration.type_id}] = {quoted(cls.declaration.name)}," for cls in protocol.messages]
    dissection = [
        "local short, bad, counted_text, counted_bytes, measured = make_readers(experts.problem)",
        "local messages = {",
        *(f"  [{cls.declaration.type_id}] = {_message(protocol, cls, names, own)}," for cls, own in leaves.items()),
        "}",
        f"dissect_typed_frames(proto, F, experts, messages, {frames.length_max}, {quoted(protocol.name)})",
    ]
    return types, list(register_fields(names)), dissection


def _message(protocol: Protocol, cls: type[Message], names: Mapping[Leaf, str], leaves: Sequence[Leaf]) -> str:
    """Return the table of one message: its name, sender and links, and its reader."""
    declaration = cls.declaration
    rules, linked = link_rules(protocol.exchanges.matches, cls)
    keys = {leaf.path: key_of(leaf, names[leaf]) for leaf in leaves}
    parts = [
        f"name = {quoted(declaration.name)}",
        f"title = {quoted(f'{protocol.title}: {declaration.name}')}",
        f"sender = {quoted(declaration.sender)}",
        *(["is_first = true"] if declaration.name in protocol.first_messages else []),
        *(["tells = true"] if tells_its_end(cls) else []),
        *(["is_failure = true"] if declaration.is_failure else []),
        *rules,
    ]
    return f"{{\n    {', '.join(parts)},\n    read = {read_function(cls, keys.__getitem__, linked)},\n  }}"
