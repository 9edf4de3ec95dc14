"""The declarations of messages as a dissector of Wireshark, in Lua."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

from wiretool.codec.frames.prefix import Prefix
from wiretool.codec.message import Message, fields_of
from wiretool.export.wireshark.fields import Leaf, filter_names, filter_prefix, leaves_of
from wiretool.export.wireshark.links import link_rules
from wiretool.export.wireshark.lua import quoted
from wiretool.export.wireshark.readers import read_function, tells_its_end
from wiretool.protocols.base.protocol import Protocol

#: Fields that frames of every protocol have, beside those of its messages: the constructor of each, with its label.
_FRAME_FIELDS: Mapping[str, str] = {
    "type": "int32(@, 'type', base.DEC, names)",
    "length": "uint32(@, 'length', base.DEC + base.UNIT_STRING, { ' byte', ' bytes' })",
    "left_over": "bytes(@, 'left over')",
    "unframed": "bytes(@, 'bytes without a frame')",
    "response_in": "framenum(@, 'response in', base.NONE, frametype.RESPONSE)",
    "response_to": "framenum(@, 'response to', base.NONE, frametype.REQUEST)",
    "response_time": "relative_time(@, 'response time')",
}
_EXPERTS: Mapping[str, str] = {
    "problem": "'problem', expert.group.MALFORMED, expert.severity.ERROR",
    "failure": "'request failed', expert.group.RESPONSE_CODE, expert.severity.NOTE",
}


#: The parts of the dissector that are not generated, in the order in which one uses another.
_RUNTIME = ("head", "values", "positions", "links", "frames", "typed", "registration")
#: A name that may be that of a variable in Lua.
_IDENTIFIER = re.compile(
    r"(?!(?:and|break|do|else|elseif|end|false|for|function|goto|if|in|local|nil|not|or|repeat|return|then|true|until"
    r"|while)$)"
    r"[A-Za-z_]\w*",
    re.ASCII,
)


def make_dissector(protocols: Sequence[Protocol], version: str) -> str:
    """Return the Lua source of a dissector for some protocols, all of which are `is_exportable`."""
    folder = files(__package__).joinpath("runtime")
    parts = [folder.joinpath(f"{name}.lua").read_text().replace("@VERSION@", version) for name in _RUNTIME]
    taken = set[int]()
    for protocol in protocols:
        parts.append(_protocol(protocol, [port for port in protocol.ports if port not in taken]))
        taken.update(protocol.ports)
    return "\n".join(parts)


def is_exportable(protocol: Protocol) -> bool:
    """Return whether data describes the frames of a protocol, and how each of its messages lies in bytes."""
    if protocol.frames is None or not _is_typed_header(protocol.frames):
        return False
    fields = [field for cls in protocol.messages for field in fields_of(cls)]
    return all(_is_identifier(field.name) and field.wire.layout is not None for field in fields)


def _is_typed_header(frames: Prefix) -> bool:
    """Return whether frames begin with a type and a length of four bytes each, as frames.lua has them."""
    return (frames.header_bytes, frames.length_at, frames.counted_from) == (8, 4, 8) and (
        frames.length_min,
        frames.order,
        frames.magic,
    ) == (0, ">", None)


def _is_identifier(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None


def _protocol(protocol: Protocol, ports: Sequence[int]) -> str:
    """Return the part of one protocol, in a block: a function of Lua has 200 local variables at most."""
    assert protocol.frames is not None
    leaves = {cls: list(leaves_of(cls)) for cls in protocol.messages}
    names = filter_names(protocol.name, [leaf for own in leaves.values() for leaf in own])
    prefix, title = filter_prefix(protocol.name), quoted(protocol.title)
    lines = [
        f"do -- {protocol.title}",
        f"local proto = Proto({quoted(prefix)}, {title})",
        "local names = {",
        *(f"  [{cls.declaration.type_id}] = {quoted(cls.declaration.name)}," for cls in protocol.messages),
        "}",
        "local F = {",
        *_frame_fields(prefix),
        *_message_fields(names),
        "}",
        "local experts = {",
        *(f"  {name} = ProtoExpert.new({quoted(f'{prefix}.{name}')}, {kind})," for name, kind in _EXPERTS.items()),
        "}",
        "proto.fields, proto.experts = F, experts",
        "local short, bad, unshown, counted_text, counted_bytes, measured = make_readers(experts.problem)",
        "local messages = {",
        *(f"  [{cls.declaration.type_id}] = {_message(protocol, cls, names, own)}," for cls, own in leaves.items()),
        "}",
        f"dissect_typed_frames(proto, F, experts, messages, {protocol.frames.length_max}, {quoted(protocol.name)})",
        f"register_ports(proto, {quoted(','.join(map(str, ports)))})",
        f"register_statistics({quoted(protocol.name)}, {quoted(prefix)}, messages)",
        "end",
    ]
    return "\n".join(lines) + "\n"


def _frame_fields(prefix: str) -> Iterator[str]:
    for name, made in _FRAME_FIELDS.items():
        yield f"  {name} = ProtoField.{made.replace('@', quoted(f'{prefix}.{name}'))},"


def _message_fields(names: Mapping[Leaf, str]) -> Iterator[str]:
    """Yield the registration of each field of messages; those with the same name and kind are the same field."""
    alike: dict[str, Leaf] = {}
    for leaf, name in names.items():
        first = alike.setdefault(_key(leaf, name), leaf)
        if first.doc != leaf.doc:
            alike[_key(leaf, name)] = replace(first, doc="")
    yield from (
        f"  [{quoted(key)}] = {_proto_field(leaf, quoted(key.partition(':')[0]))}," for key, leaf in alike.items()
    )


def _key(leaf: Leaf, name: str) -> str:
    """Return the key of a field in the table of fields: a name may have several kinds."""
    return f"{name}:{leaf.kind}" + (f":{leaf.mask}" if leaf.mask else "")


def _proto_field(leaf: Leaf, name: str) -> str:
    label, doc = quoted(leaf.path), quoted(leaf.doc)
    match leaf.kind:
        case "counted_bytes":
            return f"ProtoField.new({label}, {name}, ftypes.UINT_BYTES, nil, base.NONE, nil, {doc})"
        case "string" | "bytes" | "guid":
            return f"ProtoField.{leaf.kind}({name}, {label}, base.NONE, {doc})"
        case "bool":
            width, mask = ("8", hex(leaf.mask)) if leaf.mask else ("base.NONE", "nil")
            return f"ProtoField.bool({name}, {label}, {width}, nil, {mask}, {doc})"
        case kind if leaf.unit:
            unit = f"{{ {quoted(f' {leaf.unit}')} }}"
            return f"ProtoField.{kind}({name}, {label}, base.DEC + base.UNIT_STRING, {unit}, nil, {doc})"
        case kind if leaf.values:
            values = ", ".join(f"[{number}] = {quoted(value)}" for number, value in leaf.values)
            return f"ProtoField.{kind}({name}, {label}, base.DEC, {{ {values} }}, nil, {doc})"
        case kind:
            return f"ProtoField.{kind}({name}, {label}, base.DEC, nil, nil, {doc})"


def _message(protocol: Protocol, cls: type[Message], names: Mapping[Leaf, str], leaves: Sequence[Leaf]) -> str:
    """Return the table of one message: its name, sender and links, and its reader."""
    declaration = cls.declaration
    rules, linked = link_rules(protocol.exchanges.matches, cls)
    keys = {leaf.path: _key(leaf, names[leaf]) for leaf in leaves}
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
