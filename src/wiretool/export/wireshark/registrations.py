"""The registration of fields in Lua: constructors of `ProtoField`, and the keys of fields in the table of all."""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from wiretool.export.wireshark.fields import Leaf
from wiretool.export.wireshark.lua import quoted


def register_fields(names: Mapping[Leaf, str]) -> Iterator[str]:
    """Yield the registration of each field of messages; those with the same name and kind are the same field."""
    alike: dict[str, Leaf] = {}
    for leaf, name in names.items():
        first = alike.setdefault(key_of(leaf, name), leaf)
        if first.doc != leaf.doc:
            alike[key_of(leaf, name)] = replace(first, doc="")
    yield from (
        f"  [{quoted(key)}] = {_proto_field(leaf, quoted(key.partition(':')[0]))}," for key, leaf in alike.items()
    )


def key_of(leaf: Leaf, name: str) -> str:
    """Return the key of a field in the table of fields: a name may have several kinds, and names of values."""
    names = f":{zlib.crc32(repr(leaf.values).encode()):08x}" if leaf.values else ""
    return f"{name}:{leaf.kind}{names}" + (f":{leaf.mask}" if leaf.mask else "")


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
