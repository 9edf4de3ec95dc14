"""The fast writer of FlatBuffers: the same bytes as their library writes, an object packed at once.

A buffer is written from its end to its beginning. The layout of a table depends only on the slots that are present and
on the alignment of its end, so each one is computed once. A value that is out of place goes to the reference writer,
which names it.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct, pack
from typing import Any, NamedTuple

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
from wiretool.codec.flatbuffers.library import write_root

_U32 = Struct("<I").pack
_ROOT_BYTES, _OFFSET_BYTES, _ALIGNMENT_MAX = 4, 4, 8
_PADDING = tuple(bytes(size) for size in range(_ALIGNMENT_MAX))


class OutOfPlace(Exception):
    """A value that the fast writer does not write."""


class _Buffer:
    """The end of a buffer: its parts, the last bytes first, and the vtables in it."""

    __slots__ = ("alignment", "parts", "size", "vtables")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.alignment = _OFFSET_BYTES
        #: Where each vtable begins, in bytes from the end.
        self.vtables: dict[bytes, int] = {}

    def add(self, data: bytes) -> int:
        """Put bytes in front; return where they begin, in bytes from the end."""
        self.parts.append(data)
        self.size += len(data)
        return self.size


class _Layout(NamedTuple):
    """The bytes of a table, in front of those that its slots refer to."""

    pack: Callable[..., bytes]
    size: int
    vtable: bytes
    #: The slots that refer to other parts: position among the slots that are present, bytes from the end of the table.
    references: tuple[tuple[int, int], ...]
    alignment: int


#: Writes the part that a slot refers to, given the depth of its table; returns where it begins.
_Writer = Callable[[_Buffer, Any, int], int]


class _Plan:
    """The slots of a table, and its layouts by the slots that are there and the alignment of its end."""

    def __init__(self, cls: type[Table]) -> None:
        #: Name, default, type, lowest and highest value of a number; or a writer.
        self.slots: list[tuple[str, Any, Any, int, int, _Writer | None]] = []
        self.wires = [wire for _, wire, _ in slots_of(cls)]
        self.layouts: dict[tuple[int, int], _Layout] = {}
        for name, wire, default in slots_of(cls):
            if isinstance(wire, Scalar):
                kind = bool if wire.form == "?" else int
                self.slots.append((name, default, kind, wire.low, wire.high, None))
            else:
                self.slots.append((name, None, int, 0, 0, _writer_of(wire)))


_plan_of = cache(_Plan)


def encode_root(table: Table) -> bytes:
    """Return a buffer with the root `table`; EncodeError for a value out of place. Slots that are None are left out."""
    buffer = _Buffer()
    try:
        root = _write_table(buffer, table, 1)
    except (OutOfPlace, UnicodeEncodeError):
        return write_root(table)
    padding = -(buffer.size + _ROOT_BYTES) % buffer.alignment
    buffer.parts += (_PADDING[padding], _U32(buffer.size + padding + _ROOT_BYTES - root))
    buffer.parts.reverse()
    return b"".join(buffer.parts)


def _write_table(buffer: _Buffer, table: Table, depth: int) -> int:
    """Write `table` and the parts that it refers to; return where it begins."""
    if depth > limits.NESTING_MAX:
        raise OutOfPlace
    plan = _plan_of(type(table))
    values: list[Any] = []
    present, bit = 0, 1
    for name, default, kind, low, high, write in plan.slots:
        value = getattr(table, name)
        if write is not None:
            if value is not None:
                values.append(write(buffer, value, depth))
                present |= bit
        elif type(value) is not kind or not low <= value <= high:
            raise OutOfPlace
        elif value != default:
            values.append(value)
            present |= bit
        bit += bit
    end = buffer.size
    key = (present, end % _ALIGNMENT_MAX)
    layout = plan.layouts.get(key)
    if layout is None:
        layout = plan.layouts[key] = _layout(plan.wires, *key)
    for index, place in layout.references:
        values[index] = end + place - values[index]
    where = end + layout.size
    known = buffer.vtables.get(layout.vtable)
    if layout.alignment > buffer.alignment:
        buffer.alignment = layout.alignment
    if known is None:
        values.append(len(layout.vtable))
        values.reverse()
        buffer.parts += (layout.pack(*values), layout.vtable)
        buffer.size = buffer.vtables[layout.vtable] = where + len(layout.vtable)
    else:
        values.append(known - where)
        values.reverse()
        buffer.parts.append(layout.pack(*values))
        buffer.size = where
    return where


def _layout(wires: list[SlotType], present: int, end: int) -> _Layout:
    """Lay out the slots whose bits are set, the first one last, in front of an end of this alignment."""
    size, alignment = 0, _OFFSET_BYTES
    places: list[int] = []
    references: list[tuple[int, int]] = []
    form = ""
    count = 0
    for index, wire in enumerate(wires):
        if not present >> index & 1:
            places.append(0)
            continue
        padding = -(end + size) % wire.inline
        size += padding + wire.inline
        alignment = max(alignment, wire.inline)
        form = (wire.form if isinstance(wire, Scalar) else "I") + "x" * padding + form
        if not isinstance(wire, Scalar):
            references.append((count, size))
        places.append(size)
        count += 1
    padding = -(end + size) % _OFFSET_BYTES
    size += padding + _OFFSET_BYTES
    while places and not places[-1]:
        places.pop()
    offsets = [size - place if place else 0 for place in places]
    vtable = pack(f"<{2 + len(offsets)}H", 4 + 2 * len(offsets), size, *offsets)
    return _Layout(Struct(f"<i{'x' * padding}{form}").pack, size, vtable, tuple(references), alignment)


# -- parts that slots refer to -----------------------------------------------------------------------------------------


def _writer_of(wire: SlotType) -> _Writer:
    if isinstance(wire, StringSlot):
        return _write_text
    if isinstance(wire, BytesSlot):
        return _write_bytes
    if isinstance(wire, ScalarsSlot):
        return _numbers_writer(wire.element)
    if isinstance(wire, TablesSlot):
        return _tables_writer(wire.cls)
    assert isinstance(wire, TableSlot | UnionSlot)
    return _table_writer((wire.cls,) if isinstance(wire, TableSlot) else tuple(wire.classes.values()))


def _write_text(buffer: _Buffer, value: Any, depth: int) -> int:
    if type(value) is not str:
        raise OutOfPlace
    data = value.encode()
    padding = -(buffer.size + len(data) + 1) % _OFFSET_BYTES
    return buffer.add(_U32(len(data)) + data + _PADDING[padding + 1])


def _write_bytes(buffer: _Buffer, value: Any, depth: int) -> int:
    if type(value) is not bytes:
        raise OutOfPlace
    padding = -(buffer.size + len(value)) % _OFFSET_BYTES
    return buffer.add(_U32(len(value)) + value + _PADDING[padding])


def _numbers_writer(element: Scalar) -> _Writer:
    def write(buffer: _Buffer, value: Any, depth: int) -> int:
        if type(value) is not tuple or not all(
            type(each) is int and element.low <= each <= element.high for each in value
        ):  # fmt: skip
            raise OutOfPlace
        size = element.inline * len(value)
        first = -(buffer.size + size) % _OFFSET_BYTES
        padding = first + -(buffer.size + first + size) % element.inline
        buffer.alignment = max(buffer.alignment, element.inline)
        return buffer.add(pack(f"<I{len(value)}{element.form}", len(value), *value) + bytes(padding))

    return write


def _tables_writer(cls: type[Table]) -> _Writer:
    def write(buffer: _Buffer, value: Any, depth: int) -> int:
        if type(value) is not tuple or not all(type(each) is cls for each in value):
            raise OutOfPlace
        places = [_write_table(buffer, each, depth + 1) for each in value]
        padding = -buffer.size % _OFFSET_BYTES
        # The offset at an index stands so many bytes from the end.
        first = buffer.size + padding + _OFFSET_BYTES * len(places)
        offsets = [first - _OFFSET_BYTES * index - place for index, place in enumerate(places)]
        return buffer.add(pack(f"<I{len(places)}I", len(places), *offsets) + _PADDING[padding])

    return write


def _table_writer(classes: tuple[type[Table], ...]) -> _Writer:
    def write(buffer: _Buffer, value: Any, depth: int) -> int:
        if type(value) not in classes:
            raise OutOfPlace
        return _write_table(buffer, value, depth + 1)

    return write
