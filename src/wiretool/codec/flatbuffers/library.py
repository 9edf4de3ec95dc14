"""The slow writer of FlatBuffers, with their own library: the reference. A scalar at its default is never written."""

from typing import Any

from wiretool import limits
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
from wiretool.errors import EncodeError

_PREPEND_SLOT = {
    "?": "PrependBoolSlot",
    "b": "PrependInt8Slot",
    "B": "PrependUint8Slot",
    "h": "PrependInt16Slot",
    "i": "PrependInt32Slot",
    "q": "PrependInt64Slot",
}
_PREPEND = {form: name.removesuffix("Slot") for form, name in _PREPEND_SLOT.items()}


def write_root(table: Table) -> bytes:
    """Return a buffer with the root `table`; EncodeError for a value out of place. Slots that are None are left out."""
    import flatbuffers  # it imports NumPy, which reading does without

    builder = flatbuffers.Builder(256)
    builder.Finish(_write_table(builder, table, type(table).__name__, 1))
    return bytes(builder.Output())


def _write_table(builder: Any, table: Table, path: str, depth: int) -> int:
    """Write `table` and the parts that it refers to; return where it begins."""
    if depth > limits.NESTING_MAX:
        raise EncodeError(f"tables nest deeper than {limits.NESTING_MAX}", path=path)
    slots = slots_of(type(table))
    parts: dict[int, int] = {}
    for index, (name, wire, _) in enumerate(slots):
        value = getattr(table, name)
        if value is not None:
            wire.check(value, f"{path}.{name}")
            if not isinstance(wire, Scalar):
                parts[index] = _write_part(builder, wire, value, f"{path}.{name}", depth)
    builder.StartObject(len(slots))
    for index, (name, wire, default) in enumerate(slots):
        if isinstance(wire, Scalar):
            getattr(builder, _PREPEND_SLOT[wire.form])(index, getattr(table, name), default)
        elif index in parts:
            builder.PrependUOffsetTRelativeSlot(index, parts[index], 0)
    where: int = builder.EndObject()
    return where


def _write_part(builder: Any, wire: SlotType, value: Any, path: str, depth: int) -> int:
    where: int
    if isinstance(wire, StringSlot):
        where = builder.CreateString(value)
    elif isinstance(wire, BytesSlot):
        where = builder.CreateByteVector(value)
    elif isinstance(wire, ScalarsSlot):
        where = _write_numbers(builder, wire.element, value)
    elif isinstance(wire, TablesSlot):
        where = _write_tables(builder, value, path, depth)
    else:
        assert isinstance(wire, TableSlot | UnionSlot)
        where = _write_table(builder, value, path, depth + 1)
    return where


def _write_numbers(builder: Any, element: Scalar, values: tuple[Any, ...]) -> int:
    builder.StartVector(element.inline, len(values), element.inline)
    for value in reversed(values):
        getattr(builder, _PREPEND[element.form])(value)
    where: int = builder.EndVector()
    return where


def _write_tables(builder: Any, tables: tuple[Table, ...], path: str, depth: int) -> int:
    places = [_write_table(builder, table, f"{path}[{index}]", depth + 1) for index, table in enumerate(tables)]
    builder.StartVector(4, len(places), 4)
    for place in reversed(places):
        builder.PrependUOffsetTRelative(place)
    where: int = builder.EndVector()
    return where
