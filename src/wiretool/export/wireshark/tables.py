"""A dissector for frames whose header is a FlatBuffers table: the data that tables.lua reads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from wiretool.codec.flatbuffers.declaration import (
    BytesSlot,
    Scalar,
    ScalarsSlot,
    SlotType,
    StringSlot,
    Table,
    TableSlot,
    TablesSlot,
    UnionSlot,
    slots_of,
)
from wiretool.codec.layouts import Counted, CountedTable, Layout, Number, Until
from wiretool.codec.message import Message, fields_of
from wiretool.export.wireshark.fields import FRAME_FIELDS as SHARED_NAMES
from wiretool.export.wireshark.fields import NUMBERS, Leaf, filter_names, leaves_of, table_leaves
from wiretool.export.wireshark.lua import quoted, raw_literal
from wiretool.export.wireshark.readers import WIDTHS
from wiretool.export.wireshark.registrations import key_of, register_fields
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.table_frames import TableFrames, TableOperation, TableSchema

#: Names of the fields of every frame beside those of its envelope: the constructor of each.
FRAME_FIELDS: Mapping[str, str] = {
    "frame_length": "uint32(@, 'frame_length', base.DEC + base.UNIT_STRING, { ' byte', ' bytes' })",
    "magic": "uint8(@, 'magic', base.HEX)",
    "header_length": "uint24(@, 'header_length', base.DEC + base.UNIT_STRING, { ' byte', ' bytes' })",
    "header": "bytes(@, 'header')",
    "payload": "bytes(@, 'payload')",
    "checksum": "uint32(@, 'checksum', base.HEX)",
}
#: The path of the messages in a payload, and of their fields in front of their names.
PAYLOAD = "payload"

Keys = Callable[[str, str], str]


def table_parts(protocol: Protocol, frames: TableFrames) -> tuple[list[str], list[str], list[str]]:
    """Return the lines of Lua that name the operations, that register fields, and that dissect."""
    names = frame_names(protocol.name, frames)
    described = describe_frames(frames, [_keys(schema, names) for schema in frames.schemas])
    named = {code: each.name for schema in reversed(frames.schemas) for code, each in schema.operations.items()}
    operations = [f"  [{code}] = {quoted(name)}," for code, name in sorted(named.items())]
    dissection = [
        f"local frames = {described}",
        f"dissect_table_frames(proto, F, experts, frames, {quoted(protocol.name)})",
    ]
    return operations, list(register_fields(names)), dissection


def frame_names(protocol: str, frames: TableFrames) -> dict[Leaf, str]:
    """Return the filter name of each field: that of its path, with its table where frames have such a field."""
    taken = {*SHARED_NAMES, *dict(envelope_fields(frames))}
    return filter_names(protocol, list(frame_leaves(frames)), taken)


def envelope_fields(frames: TableFrames) -> Iterator[tuple[str, str]]:
    """Yield the name and the constructor of each field of the envelope, `opcode` with the names of operations."""
    for name, form in _envelope(frames):
        if name == "opcode":
            yield name, f"{NUMBERS[form]}(@, 'opcode', base.HEX, names)"
        elif name == "flags":
            yield name, f"{NUMBERS[form]}(@, 'flags', base.HEX)"
        else:
            yield name, f"{NUMBERS[form]}(@, {quoted(name)})"
    yield from FRAME_FIELDS.items()


def frame_leaves(frames: TableFrames) -> Iterator[Leaf]:
    """Yield the fields of all tables, and of the messages in payloads."""
    for schema in frames.schemas:
        yield from _schema_leaves(schema)


def _schema_leaves(schema: TableSchema) -> Iterator[Leaf]:
    for table in _tables(schema):
        yield from table_leaves(table)
    for batch in dict.fromkeys(each.batch for each in schema.operations.values() if each.batch):
        yield from batch_leaves(batch)


def _keys(schema: TableSchema, names: Mapping[Leaf, str]) -> Keys:
    keys = {(leaf.message, leaf.path): key_of(leaf, names[leaf]) for leaf in _schema_leaves(schema)}
    return lambda message, path: keys[message, path]


def batch_leaves(batch: type[Message]) -> Iterator[Leaf]:
    """Yield the fields of a message in a payload, by their paths in the frame; the bytes without their counts."""
    for leaf in leaves_of(batch):
        yield replace(leaf, path=f"{PAYLOAD}.{leaf.path}", kind=leaf.kind.removeprefix("counted_"))


def describe_frames(frames: TableFrames, keys: Sequence[Keys]) -> str:
    """Return the table of Lua that describes the frames.

    `keys` has that of a field by its message and path, for each schema.
    """
    prefix = frames.prefix
    assert prefix.magic is not None
    places, at = [], prefix.header_bytes + 1
    for name, form in _envelope(frames):
        places.append(f"{{ {quoted(name)}, {at}, {WIDTHS[form]} }}")
        at += WIDTHS[form]
    parts = [
        f"length_min = {prefix.length_min}",
        f"length_max = {prefix.length_max}",
        f"magic = {prefix.magic[1]}",
        f"header_at = {at}",
        f"response = {frames.response}",
        f"system_error = {frames.system_error}",
        f"envelope = {{ {', '.join(places)} }}",
        f"schemas = {{ {', '.join(map(_schema, frames.schemas, keys))} }}",
    ]
    return "{\n" + ",\n".join(parts) + ",\n}"


def _schema(schema: TableSchema, keys: Keys) -> str:
    parts = (
        f"flags = {schema.flags}",
        f"tables = {{\n{''.join(_table_lines(schema, keys))}}}",
        f"unknown = {_operation(schema.unknown, keys)}",
        f"operations = {{\n{''.join(_operation_lines(schema, keys))}}}",
    )
    return f"{{ {', '.join(parts)} }}"


def _envelope(frames: TableFrames) -> Iterator[tuple[str, str]]:
    """Yield the name of each number in front of the header, and its character for `struct`."""
    for field in fields_of(frames.envelope):
        if not isinstance(field.wire.layout, Number):
            return
        yield field.name, field.wire.layout.form


def _tables(schema: TableSchema) -> Iterator[type[Table]]:
    """Yield each table that a frame may have, once."""
    seen = dict.fromkeys(
        table
        for each in (*schema.operations.values(), schema.unknown)
        for table in (each.request, each.response, each.system_error)
        if table is not None
    )
    yield from seen


def _table_lines(schema: TableSchema, keys: Keys) -> Iterator[str]:
    for table in _tables(schema):
        slots = _slots(table, "", partial(keys, table.__name__))
        yield f"  [{quoted(table.__name__)}] = {slots},\n"


def _operation_lines(schema: TableSchema, keys: Keys) -> Iterator[str]:
    for code, operation in schema.operations.items():
        yield f"  [{code}] = {_operation(operation, keys)},\n"


def _operation(operation: TableOperation, keys: Keys) -> str:
    parts = [f"name = {quoted(operation.name)}", *_operation_tables(operation)]
    if operation.needs_header:
        parts.append("needs_header = true")
    if operation.batch is not None:
        parts.append(f"batch = {_batch(operation.batch, keys)}")
    return f"{{ {', '.join(parts)} }}"


def _operation_tables(operation: TableOperation) -> Iterator[str]:
    for name in ("request", "response", "system_error", "batch_header"):
        table = getattr(operation, name)
        if table is not None:
            yield f"{name} = {quoted(table.__name__)}"


def _batch(batch: type[Message], keys: Keys) -> str:
    """Return the members of a message in a payload."""
    name = batch.declaration.name
    members = (
        _batch_member(f"{PAYLOAD}.{field.name}", field.wire.layout, partial(keys, name)) for field in fields_of(batch)
    )
    return f"{{ name = {quoted(name)}, {', '.join(members)} }}"


def _batch_member(path: str, layout: Layout | None, key: Callable[[str], str]) -> str:
    shown = f"name = {quoted(path.rpartition('.')[2])}, path = {quoted(path)}"
    match layout:
        case Number(form):
            return f"{{ kind = 'number', field = F[{quoted(key(path))}], width = {WIDTHS[form]} }}"
        case Counted():
            return f"{{ kind = 'bytes', field = F[{quoted(key(path))}], path = {quoted(path)} }}"
        case CountedTable(_, table):
            return f"{{ kind = 'table', {shown}, slots = {_slots(table, f'{path}.', key)} }}"
        case Until(group, stop) if group.counts_first:
            members = ", ".join(_batch_member(f"{path}.{each.name}", each.layout, key) for each in group.members)
            return f"{{ kind = 'elements', {shown}, stop = {stop}, {members} }}"
        case _:
            raise AssertionError(layout)


def _slots(table: type[Table], path: str, key: Callable[[str], str]) -> str:
    parts = (_slot(wire, default, name, f"{path}{name}", key) for name, wire, default in slots_of(table))
    return f"{{ {', '.join(parts)} }}"


def _slot(wire: SlotType, default: Any, name: str, path: str, key: Callable[[str], str]) -> str:
    parts = [f"kind = '{_KINDS[type(wire)]}'", f"name = {quoted(name)}", f"path = {quoted(path)}"]
    if wire.is_required:
        parts.append("required = true")
    match wire:
        case TableSlot() | TablesSlot():
            parts.append(f"slots = {_slots(wire.cls, f'{path}.', key)}")
        case UnionSlot():
            members = (f"[{tag}] = {_slots(cls, f'{path}.', key)}" for tag, cls in wire.classes.items())
            parts.append(f"members = {{ {', '.join(members)} }}")
        case _:
            parts.append(f"field = F[{quoted(key(path))}]")
    if isinstance(wire, (Scalar, ScalarsSlot)):
        scalar = wire if isinstance(wire, Scalar) else wire.element
        parts.append(f"width = {scalar.inline}")
    if isinstance(wire, Scalar):
        parts.append(f"default = {raw_literal(wire.packed.pack(default))}")
    return f"{{ {', '.join(parts)} }}"


_KINDS: Mapping[type[SlotType], str] = {
    Scalar: "scalar",
    StringSlot: "text",
    BytesSlot: "bytes",
    ScalarsSlot: "numbers",
    TableSlot: "table",
    TablesSlot: "tables",
    UnionSlot: "union",
}
