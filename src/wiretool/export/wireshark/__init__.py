"""The declarations of messages as a dissector of Wireshark, in Lua."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from wiretool.codec.message import Message
from wiretool.export.wireshark.fields import Leaf, filter_names, filter_prefix, leaves_of
from wiretool.export.wireshark.links import link_rules
from wiretool.export.wireshark.lua import quoted
from wiretool.export.wireshark.readers import reader
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


def dissector(protocols: Sequence[Protocol], version: str) -> str:
    """Return the Lua source of a dissector for some protocols, all of which are `is_exportable`."""
    runtime = files(__package__).joinpath("runtime.lua").read_text()
    parts, taken = [runtime.replace("@VERSION@", version)], set[int]()
    for protocol in protocols:
        parts.append(_protocol(protocol, [port for port in protocol.ports if port not in taken]))
        taken.update(protocol.ports)
    return "\n".join(parts)


def is_exportable(protocol: Protocol) -> bool:
    """Return whether data describes the frames of a protocol, and how each of its messages lies in bytes."""
    return protocol.frames is not None


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
        "local short, bad, counted_text, counted_bytes, measured = readers(experts.problem)",
        "local messages = {",
        *(f"  [{cls.declaration.type_id}] = {_message(protocol, cls, names, own)}," for cls, own in leaves.items()),
        "}",
        f"typed_frames(proto, F, experts, messages, {protocol.frames.length_max}, {quoted(protocol.name)})",
        f"on_ports(proto, {quoted(','.join(map(str, ports)))})",
        f"statistics({quoted(protocol.name)}, {quoted(prefix)}, messages)",
        "end",
    ]
    return "\n".join(lines) + "\n"


def _frame_fields(prefix: str) -> Iterator[str]:
    for name, made in _FRAME_FIELDS.items():
        yield f"  {name} = ProtoField.{made.replace('@', quoted(f'{prefix}.{name}'))},"


def _message_fields(names: Mapping[Leaf, str]) -> Iterator[str]:
    """Yield the registration of each field of messages; those with the same name and kind are the same field."""
    made = {_key(leaf, name): _proto_field(leaf, quoted(name)) for leaf, name in names.items()}
    yield from (f"  [{quoted(key)}] = {field}," for key, field in made.items())


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
        *(["is_failure = true"] if declaration.is_failure else []),
        *rules,
    ]
    return f"{{\n    {', '.join(parts)},\n    read = {reader(cls, keys.__getitem__, linked)},\n  }}"
