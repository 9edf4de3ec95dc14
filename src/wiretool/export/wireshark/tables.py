"""A dissector for frames whose header is a FlatBuffers table: the data that tables.lua reads."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

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
from wiretool.codec.layouts import Counted, CountedTable, Number
from wiretool.codec.message import Message, fields_of
from wiretool.export.wireshark.fields import FRAME_FIELDS as SHARED_NAMES
from wiretool.export.wireshark.fields import NUMBERS, Leaf, filter_names, leaves_of, table_leaves
from wiretool.export.wireshark.lua import quoted
from wiretool.export.wireshark.readers import WIDTHS
from wiretool.export.wireshark.registrations import key_of, register_fields
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.table_frames import TableFrames, TableOperation

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
    leaves = list(frame_leaves(frames))
    names = frame_names(protocol.name, frames)
    keys = {(leaf.message, leaf.path): key_of(leaf, names[leaf]) for leaf in leaves}
    operations = [f"  [{code}] = {quoted(each.name)}," for code, each in frames.operations.items()]
    described = describe_frames(frames, lambda message, path: keys[message, path])
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
    for table in _tables(frames):
        yield from table_leaves(table)
    for batch in dict.fromkeys(each.batch for each in frames.operations.values() if each.batch):
        yield from batch_leaves(batch)


def batch_leaves(batch: type[Message]) -> Iterator[Leaf]:
    """Yield the fields of a message in a payload, by their paths in the frame; the bytes without their counts."""
    for leaf in leaves_of(batch):
        yield replace(leaf, path=f"{PAYLOAD}.{leaf.path}", kind=leaf.kind.removeprefix("counted_"))


def describe_frames(frames: TableFrames, keys: Keys) -> str:
    """Return the table of Lua that describes the frames. `keys` has that of a field, by its message and path."""
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
        f"tables = {{\n{''.join(_table_lines(frames, keys))}}}",
        f"unknown = {_operation(frames.unknown, keys)}",
        f"operations = {{\n{''.join(_operation_lines(frames, keys))}}}",
    ]
    return "{\n" + ",\n".join(parts) + ",\n}"


def _envelope(frames: TableFrames) -> Iterator[tuple[str, str]]:
    """Yield the name of each number in front of the header, and its character for `struct`."""
    for field in fields_of(frames.envelope):
        if not isinstance(field.wire.layout, Number):
            return
        yield field.name, field.wire.layout.form


def _tables(frames: TableFrames) -> Iterator[type[Table]]:
    """Yield each table that a frame may have, once."""
    seen = dict.fromkeys(
        table
        for each in (*frames.operations.values(), frames.unknown)
        for table in (each.request, each.response, each.system_error)
        if table is not None
    )
    yield from seen


def _table_lines(frames: TableFrames, keys: Keys) -> Iterator[str]:
    for table in _tables(frames):
        slots = _slots(table, "", partial(keys, table.__name__))
        yield f"  [{quoted(table.__name__)}] = {slots},\n"


def _operation_lines(frames: TableFrames, keys: Keys) -> Iterator[str]:
    for code, operation in frames.operations.items():
        yield f"  [{code}] = {_operation(operation, keys)},\n"


def _operation(operation: TableOperation, keys: Keys) -> str:
    parts = [f"name = {quoted(operation.name)}", *_operation_tables(operation)]
    if operation.needs_header:
        parts.append("needs_header = true")
    if operation.batch is not None:
        parts.append(f"batch = {_batch(operation.batch, keys)}")
    return f"{{ {', '.join(parts)} }}"


def _operation_tables(operation: TableOperation) -> Iterator[str]:
    for name in ("request", "response", "system_error"):
        table = getattr(operation, name)
        if table is not None:
            yield f"{name} = {quoted(table.__name__)}"


def _batch(batch: type[Message], keys: Keys) -> str:
    """Return the members of a message in a payload."""
    name, members = batch.declaration.name, []
    for field in fields_of(batch):
        path, layout = f"{PAYLOAD}.{field.name}", field.wire.layout
        key = quoted(keys(name, path)) if not isinstance(layout, CountedTable) else ""
        match layout:
            case Number(form):
                members.append(f"{{ kind = 'number', field = F[{key}], width = {WIDTHS[form]} }}")
            case Counted():
                members.append(f"{{ kind = 'bytes', field = F[{key}], path = {quoted(path)} }}")
            case CountedTable(_, table):
                slots = _slots(table, f"{path}.", partial(keys, name))
                shown = f"name = {quoted(field.name)}, path = {quoted(path)}"
                members.append(f"{{ kind = 'table', {shown}, slots = {slots} }}")
            case _:
                raise AssertionError(layout)
    return f"{{ name = {quoted(name)}, {', '.join(members)} }}"


def _slots(table: type[Table], path: str, key: Callable[[str], str]) -> str:
    parts = (_slot(wire, name, f"{path}{name}", key) for name, wire, _ in slots_of(table))
    return f"{{ {', '.join(parts)} }}"


def _slot(wire: SlotType, name: str, path: str, key: Callable[[str], str]) -> str:
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
