"""The filter names and types of the fields of a protocol in Wireshark."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from wiretool.codec.flatbuffers.declaration import (
    BytesSlot,
    Scalar,
    ScalarsSlot,
    StringSlot,
    Table,
    TableSlot,
    TablesSlot,
    UnionSlot,
)
from wiretool.codec.layouts import (
    Bit,
    Counted,
    CountedTable,
    Group,
    Layout,
    Measured,
    NamedNumber,
    Number,
    Repeated,
    Rest,
    Truth,
    Until,
    UuidBytes,
)
from wiretool.codec.message import Field, Message, fields_of
from wiretool.codec.types import WireType
from wiretool.export.names import protocol_identifier, snake

#: Names of fields of every frame, which no field of a message has.
FRAME_FIELDS = frozenset(
    (
        "type",
        "length",
        "left_over",
        "unframed",
        "response_in",
        "response_to",
        "response_time",
        "problem",
        "failure",
        "unshown",
    )
)
#: The constructor of `ProtoField` for numbers, by their character for `struct`.
NUMBERS = {
    "b": "int8",
    "B": "uint8",
    "h": "int16",
    "H": "uint16",
    "i": "int32",
    "I": "uint32",
    "q": "int64",
    "Q": "uint64",
}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field that Wireshark shows with a value."""

    #: The message, and the path in it without indexes: `entries.key.data`.
    message: str
    path: str
    kind: str
    doc: str = ""
    #: The bit of its byte that it has, for some Booleans.
    mask: int = 0
    unit: str = ""
    #: Names of its numbers.
    values: tuple[tuple[int, str], ...] = ()


def leaves_of(cls: type[Message]) -> Iterator[Leaf]:
    """Yield the fields of a message, those of the structures in it too."""
    for field in fields_of(cls):
        layout = field.wire.layout
        assert layout is not None
        yield from _leaves(cls.declaration.name, field.name, layout, field)


def table_leaves(cls: type[Table], path: str = "", message: str = "") -> Iterator[Leaf]:
    """Yield the fields of a FlatBuffers table, those of the tables in it too; their paths begin with `path`."""
    message = message or cls.__name__
    for field in fields_of(cls):
        own, wire = f"{path}{field.name}", field.wire
        if isinstance(wire, (TableSlot, TablesSlot)):
            yield from table_leaves(wire.cls, f"{own}.", message)
        elif isinstance(wire, UnionSlot):
            for member in wire.classes.values():
                yield from table_leaves(member, f"{own}.", message)
        else:
            yield Leaf(message, own, _slot_kind(wire), field.doc, unit=field.unit, values=_slot_values(wire))


def _slot_kind(wire: WireType) -> str:
    match wire:
        case ScalarsSlot(element=element):
            return _slot_kind(element)
        case Scalar(form="?"):
            return "bool"
        case Scalar(form=form):
            return NUMBERS[form]
        case StringSlot():
            return "string"
        case BytesSlot():
            return "bytes"
        case _:
            raise AssertionError(wire)


def _slot_values(wire: WireType) -> tuple[tuple[int, str], ...]:
    return tuple(wire.names.items()) if isinstance(wire, Scalar) else ()


def _leaves(message: str, path: str, layout: Layout, field: Field) -> Iterator[Leaf]:
    match layout:
        case Group(members):
            for member in members:
                yield from _leaves(message, f"{path}.{member.name}", member.layout, field)
        case Until(element):
            yield from _leaves(message, path, element, field)
        case CountedTable(_, table):
            yield from table_leaves(table, f"{path}.", message)
        case Repeated(element):
            yield Leaf(message, f"{path}.count", "int32")
            yield from _leaves(message, path, element, field)
        case _:
            yield Leaf(
                message,
                path,
                _kind(layout),
                field.doc,
                mask=layout.mask if isinstance(layout, Bit) else 0,
                unit=field.unit if isinstance(layout, (Number, Rest)) and path == field.name else "",
                values=tuple(layout.names.items()) if isinstance(layout, NamedNumber) else (),
            )


def _kind(layout: Layout) -> str:
    """Return the type of a value, as `ProtoField` names its constructors."""
    match layout:
        case Number(form):
            return NUMBERS[form]
        case Truth() | Bit():
            return "bool"
        case UuidBytes():
            return "guid"
        case NamedNumber():
            return "uint8"
        case Counted(content="text"):
            return "string"
        case Counted():
            return "counted_bytes"
        case Rest("zeros"):
            return "uint32"
        case Measured() | Rest():
            return "bytes"
        case _:
            raise AssertionError(layout)


def filter_names(protocol: str, leaves: Sequence[Leaf], taken: Collection[str] = FRAME_FIELDS) -> dict[Leaf, str]:
    """Return the filter name of each field: that of its path, with the message where frames have such a field."""
    prefix = protocol_identifier(protocol)
    return {
        leaf: f"{prefix}.{snake(leaf.message)}_{leaf.path}" if leaf.path in taken else f"{prefix}.{leaf.path}"
        for leaf in leaves
    }
