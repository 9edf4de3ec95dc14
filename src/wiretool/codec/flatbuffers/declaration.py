"""FlatBuffers tables as declarations: what a slot can hold, and the JSON form.

A table is a Message whose fields stand in the order of its slots; a union takes two, its tag declared in front of it.
Where a table lies in a buffer says only the buffer, so slots are read and written by `reader.py`,
`compiled.py` and `writer.py`, which walk over `fields_of(Table)`.
"""

import struct
from abc import abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeVar, get_args

from wiretool.codec.cursor import Cursor
from wiretool.codec.json_types import hex_object_schema
from wiretool.codec.jsonform import nearest
from wiretool.codec.message import Message, fields_of
from wiretool.codec.types import JsonSchema, Refer, WireType
from wiretool.errors import EncodeError

T = TypeVar("T", bound="Table")


class Table(Message, frozen=True, kw_only=True):
    """Base of every declared table. An absent string, vector or table is None, even a required one."""

    omits_none = True


class SlotType(WireType):
    """What one slot of a vtable leads to."""

    #: Whether a verifying reader refuses a table that lacks it.
    is_required: bool = False
    #: Bytes in the table itself: the value, or the offset that leads to it.
    inline: int = 4

    def read(self, cursor: Cursor, path: str) -> Any:
        """Not to be asked: where a slot is says its table."""
        raise AssertionError(f"{path}: a slot is read by its table")

    def write(self, value: Any, out: bytearray, path: str) -> None:
        """Not to be asked: where a slot goes says its table."""
        raise AssertionError(f"{path}: a slot is written by its table")

    @abstractmethod
    def check(self, value: Any, path: str) -> None:
        """EncodeError unless `value` (never None) can stand in this slot; what is in tables below is not looked at."""

    def to_json(self, value: Any) -> Any:
        return value

    def from_json(self, value: Any, path: str) -> Any:
        self.check(value, path)
        return value


class Scalar(SlotType):
    """A number or truth value, little-endian in the table; with `names` an enum, whose value stays a number."""

    def __init__(self, name: str, form: str, names: Mapping[int, str] | None = None) -> None:
        self.name = name
        self.form = form
        self.names = names or {}
        self.packed = struct.Struct("<" + form)
        self.inline = self.packed.size
        bits = 8 * self.inline
        self.low = -(2 ** (bits - 1)) if form.islower() else 0
        self.high = self.low + 2**bits - 1

    def check(self, value: Any, path: str) -> None:
        if self.form == "?":
            if type(value) is not bool:
                raise EncodeError(f"expected true or false, got {value!r}", path=path)
        elif type(value) is not int or not self.low <= value <= self.high:
            why = f"{self.name} takes a whole number from {self.low} to {self.high}, not {value!r}"
            raise EncodeError(why, path=path)

    def meaning(self, value: Any) -> Any:
        """The value as a dump shows it: an enum's number with its name."""
        return f"{value} ({self.names[value]})" if value in self.names else value

    def from_json(self, value: Any, path: str) -> Any:
        """The value; the name of an enum's value stands for its number."""
        for number, name in self.names.items():
            if value == name:
                return number
        return super().from_json(value, path)

    def json_schema(self, refer: Refer) -> JsonSchema:
        if self.form == "?":
            return {"type": "boolean"}
        schema: JsonSchema = {"type": "integer", "minimum": self.low, "maximum": self.high}
        if self.names:
            schema["$comment"] = ", ".join(f"{number} {name}" for number, name in self.names.items())
        return schema


class StringSlot(SlotType):
    """u32 count, UTF-8, a zero byte."""

    stored = "text"

    def __init__(self, *, required: bool = False) -> None:
        self.name = "string"
        self.is_required = required

    def check(self, value: Any, path: str) -> None:
        if type(value) is not str:
            raise EncodeError(f"expected text, got {value!r}", path=path)
        try:
            value.encode()
        except UnicodeEncodeError as err:
            raise EncodeError(f"{value!r} has no UTF-8", path=path) from err

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "string"}


class BytesSlot(SlotType):
    """u32 count, bytes: a vector of ubyte."""

    name = "bytes"
    stored = "bytes"

    def check(self, value: Any, path: str) -> None:
        if type(value) is not bytes:
            raise EncodeError(f"expected bytes, got {value!r}", path=path)

    def to_json(self, value: bytes | None) -> Any:
        return None if value is None else {"hex": value.hex()}

    def from_json(self, value: Any, path: str) -> bytes:
        try:
            return bytes.fromhex(value["hex"])
        except (ValueError, TypeError, KeyError) as err:
            raise EncodeError(f'expected {{"hex": "..."}}, got {value!r}', path=path) from err

    def json_schema(self, refer: Refer) -> JsonSchema:
        return hex_object_schema()


class ScalarsSlot(SlotType):
    """u32 count, numbers."""

    def __init__(self, element: Scalar) -> None:
        self.name = f"vector of {element.name}"
        self.element = element

    def check(self, value: Any, path: str) -> None:
        if type(value) is not tuple:
            raise EncodeError(f"expected a tuple, got {value!r}", path=path)
        for index, number in enumerate(value):
            self.element.check(number, f"{path}[{index}]")

    def to_json(self, value: tuple[int, ...] | None) -> Any:
        return None if value is None else list(value)

    def from_json(self, value: Any, path: str) -> tuple[int, ...]:
        if type(value) is not list:
            raise EncodeError(f"expected a list, got {value!r}", path=path)
        return tuple(self.element.from_json(number, f"{path}[{index}]") for index, number in enumerate(value))

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "array", "items": self.element.json_schema(refer)}


class TableSlot(SlotType):
    """Another table; which one, the annotation says."""

    def __init__(self, cls: type[Table] = Table, *, required: bool = False) -> None:
        self.cls = self.structure = cls
        self.name = cls.__name__
        self.is_required = required

    def bound_to(self, hint: Any) -> "TableSlot":
        return TableSlot(get_args(hint)[0], required=self.is_required)

    def check(self, value: Any, path: str) -> None:
        if type(value) is not self.cls:
            raise EncodeError(f"expected a {self.cls.__name__}, got {value!r}", path=path)

    def to_json(self, value: Table | None) -> Any:
        return None if value is None else table_form(value)

    def from_json(self, value: Any, path: str) -> Table:
        return table_from_json(self.cls, value, path)

    def json_schema(self, refer: Refer) -> JsonSchema:
        return refer(self.cls)


class TablesSlot(SlotType):
    """u32 count, offsets of tables; which ones, the annotation says."""

    def __init__(self, cls: type[Table] = Table, *, required: bool = False) -> None:
        self.cls = cls
        self.name = f"vector of {cls.__name__}"
        self.is_required = required

    def bound_to(self, hint: Any) -> "TablesSlot":
        return TablesSlot(get_args(get_args(hint)[0])[0], required=self.is_required)

    def check(self, value: Any, path: str) -> None:
        if type(value) is not tuple:
            raise EncodeError(f"expected a tuple, got {value!r}", path=path)
        for index, table in enumerate(value):
            if type(table) is not self.cls:
                raise EncodeError(f"expected a {self.cls.__name__}, got {table!r}", path=f"{path}[{index}]")

    def to_json(self, value: tuple[Table, ...] | None) -> Any:
        return None if value is None else [table_form(table) for table in value]

    def from_json(self, value: Any, path: str) -> tuple[Table, ...]:
        if type(value) is not list:
            raise EncodeError(f"expected a list, got {value!r}", path=path)
        return tuple(table_from_json(self.cls, table, f"{path}[{index}]") for index, table in enumerate(value))

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"type": "array", "items": refer(self.cls)}


class UnionSlot(SlotType):
    """The table whose kind is named by the tag, the slot in front of this one; None for a tag that names none."""

    def __init__(self, tag: str, members: Mapping[int, str], classes: Mapping[int, type[Table]] | None = None) -> None:
        self.tag = tag
        self.members = members
        self.classes = classes or {}
        self.name = "union of " + ", ".join(members.values())

    def bound_to(self, hint: Any) -> "UnionSlot":
        by_name = {cls.__name__: cls for cls in get_args(hint)}
        return UnionSlot(self.tag, self.members, {tag: by_name[name] for tag, name in self.members.items()})

    def check(self, value: Any, path: str) -> None:
        if type(value) not in self.classes.values():
            raise EncodeError(f"expected one of {', '.join(self.members.values())}, got {value!r}", path=path)

    def to_json(self, value: Table | None) -> Any:
        return None if value is None else table_form(value)

    def from_json(self, value: Any, path: str) -> Table:
        """The first member's table; `table_from_json` takes the one that the tag beside it names."""
        return table_from_json(next(iter(self.classes.values())), value, path)

    def json_schema(self, refer: Refer) -> JsonSchema:
        return {"anyOf": [refer(cls) for cls in self.classes.values()]}


def table_form(table: Table) -> dict[str, Any]:
    """The fields as JSON: every scalar, defaults too; what is absent is left out; bytes as {"hex": ...}."""
    return {
        field.name: field.wire.to_json(value)
        for field in fields_of(type(table))
        if (value := getattr(table, field.name)) is not None
    }


def table_from_json(cls: type[T], fields: Any, path: str = "") -> T:
    """The table with these JSON fields; EncodeError for one unknown, of a wrong type, or required and missing."""
    path = path or cls.__name__
    if not isinstance(fields, dict):
        raise EncodeError(f"expected an object, got {fields!r}", path=path)
    declared = {field.name: field.wire for field in fields_of(cls)}
    values: dict[str, Any] = {}
    for name, value in fields.items():
        wire = declared.get(name)
        if wire is None:
            raise EncodeError(f"has no field {name!r}{nearest(name, declared)}", path=path)
        if isinstance(wire, UnionSlot):
            values[name] = _member_from_json(wire, fields, f"{path}.{name}")
        else:
            values[name] = wire.from_json(value, f"{path}.{name}")
    for name, wire in declared.items():
        if isinstance(wire, SlotType) and wire.is_required and name not in values:
            raise EncodeError("is required and missing", path=f"{path}.{name}")
    return cls(**values)


def _member_from_json(wire: UnionSlot, fields: Mapping[str, Any], path: str) -> Table:
    tag = fields.get(wire.tag)
    if not isinstance(tag, int) or tag not in wire.classes:
        raise EncodeError(f"{wire.tag} {tag!r} names no table", path=path)
    return table_from_json(wire.classes[tag], fields[path.rsplit(".", 1)[1]], path)


@cache
def slots_of(cls: type[Table]) -> tuple[tuple[str, SlotType, Any], ...]:
    """Name, type and default of every slot, in order; asserts that the declaration makes a table."""
    slots: list[tuple[str, SlotType, Any]] = []
    for field in fields_of(cls):
        assert isinstance(field.wire, SlotType), f"{cls.__name__}.{field.name} is not a slot"
        if isinstance(field.wire, UnionSlot):
            assert slots[-1][0] == field.wire.tag, f"{cls.__name__}.{field.name} is not after its tag"
        slots.append((field.name, field.wire, field.default))
    return tuple(slots)


Boolean = Annotated[bool, Scalar("bool", "?")]
Int8 = Annotated[int, Scalar("i8", "b")]
UInt8 = Annotated[int, Scalar("u8", "B")]
Int16 = Annotated[int, Scalar("i16", "h")]
Int32 = Annotated[int, Scalar("i32", "i")]
Int64 = Annotated[int, Scalar("i64", "q")]
String = Annotated[str | None, StringSlot()]
RequiredString = Annotated[str | None, StringSlot(required=True)]
Bytes = Annotated[bytes | None, BytesSlot()]
Int64s = Annotated[tuple[int, ...] | None, ScalarsSlot(Scalar("i64", "q"))]
One = Annotated[T | None, TableSlot()]
RequiredOne = Annotated[T | None, TableSlot(required=True)]
Many = Annotated[tuple[T, ...] | None, TablesSlot()]
RequiredMany = Annotated[tuple[T, ...] | None, TablesSlot(required=True)]
