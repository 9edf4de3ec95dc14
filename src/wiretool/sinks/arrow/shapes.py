"""The columns of the tables of messages, out of their declarations: known before the first message is seen."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import pyarrow as pa

from wiretool.codec.columns import Choice, Column, Sparse, Struct
from wiretool.codec.flatbuffers.declaration import Table, table_from_json
from wiretool.codec.message import Message, fields_of
from wiretool.codec.types import Data, WireType
from wiretool.errors import EncodeError
from wiretool.filter.fields import form_of
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.sinks.arrow.leaves import BINARY, CODED, JSON, TEXT, TRUTH, WHOLE, Leaf, leaf_of, plain

#: In front of the fields: which frame it is.
KEY: tuple[tuple[str, pa.DataType], ...] = (
    ("n", pa.int64()),
    ("time_ns", pa.int64()),
    ("connection", pa.int64()),
    ("side", CODED),
)
#: Behind them: what of the fields has no column, as a JSON object.
REST = "rest"


@dataclass(frozen=True, slots=True)
class Entry:
    """A column of fields: how its values are stored, and how they come out of the JSON form."""

    leaf: Leaf
    #: From the JSON form; EncodeError, ValueError, TypeError or KeyError for what is none.
    from_json: Callable[[Any], Any]
    #: To the JSON form.
    to_json: Callable[[Any], Any]
    #: What of the JSON form the column does not hold; None where it holds all.
    beside: Callable[[Any], Any] | None = None
    #: Whether it is JSON text because messages differ in it.
    is_mixed: bool = False
    #: The column as its type has it, and what is beside it, out of that of the JSON form; ValueError where it cannot
    #: be told without a look at each value.
    unfold: Callable[[Column], tuple[Column, Column | None]] | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of the messages of one name."""

    entries: Mapping[str, Entry]
    #: The classes whose fields they are.
    classes: tuple[type[Message], ...]

    @property
    def schema(self) -> pa.Schema:
        """All columns, as they are gathered: text that comes again and again is coded."""
        fields = [(name, entry.leaf.type) for name, entry in self.entries.items()]
        return pa.schema([*KEY, *fields, (REST, pa.string())])


@cache
def shape_of(protocol: str, name: str) -> Shape:
    """The columns of the messages that `protocol` calls `name`.

    Where it declares several so (a request and its reply), those of all of them: one that a message lacks is null
    there. A name that nothing declares has no columns: all is in the rest.
    """
    declared = PROTOCOLS.get(protocol)
    if declared is None:
        return Shape({}, ())
    same = tuple(cls for cls in declared.messages if cls.declaration.name == name)
    if any(issubclass(cls, Table) for cls in declared.messages):
        return Shape(_framed(declared, [cls for cls in same if issubclass(cls, Table)]), ())
    entries: dict[str, Entry] = {}
    for cls in same:
        for field in fields_of(cls):
            _add(entries, field.name, _entry(field.wire))
    assert not entries.keys() & {REST, *(key for key, _ in KEY)}, f"{protocol} {name}: a field is called as the key is"
    return Shape(entries, same)


def _entry(wire: WireType) -> Entry:
    def from_json(value: Any) -> Any:
        return None if value is None else wire.from_json(value, "")

    return Entry(leaf_of(wire), from_json, wire.to_json)


def _add(entries: dict[str, Entry], name: str, entry: Entry) -> None:
    """Add a column; where it is of two types it is JSON text."""
    known = entries.get(name)
    entries[name] = entry if known is None or known.leaf.type == entry.leaf.type else _TEXT_OF_BOTH


def _itself(value: Any) -> Any:
    return value


_TEXT_OF_BOTH = Entry(JSON, _itself, _itself, is_mixed=True)


# -- frames that carry tables --------------------------------------------------------------------------------------


def _framed(protocol: Protocol, tables: Sequence[type[Table]]) -> Mapping[str, Entry]:
    """The columns of a frame that carries one of the tables: those of its JSON form."""
    frame = protocol.messages[0]
    declared = {field.name: field.wire for field in fields_of(frame)}
    entries = {}
    for name, value in form_of(protocol, frame).items():
        if name in declared and isinstance(declared[name], Data):
            entries[name] = Entry(BINARY, _hex_of, _itself, _beside_hex, unfold=_unfold_hex)
        elif name == "header":
            entries[name] = _header(tables)
        else:
            leaf = TRUTH if isinstance(value, bool) else WHOLE if isinstance(value, int) else TEXT
            entries[name] = Entry(leaf, _itself, _itself)
    return entries


def _hex_of(value: Any) -> bytes | None:
    """The bytes of `{"hex": ...}`."""
    return None if value is None else bytes.fromhex(value["hex"])


def _beside_hex(value: Any) -> Any:
    more = {name: each for name, each in value.items() if name != "hex"} if isinstance(value, Mapping) else {}
    return more or None


def _unfold_hex(column: Column) -> tuple[Column, Column | None]:
    if not isinstance(column, Sparse) or not isinstance(column.column, Struct):
        raise ValueError("no structures")
    members = dict(column.column.columns)
    own = Sparse(members.pop("hex"), column.has)
    return own, Sparse(Struct(members, column.column.count), column.has) if members else None


def _unfold_table(names: Set[str], column: Column) -> tuple[Column, None]:
    """Structures of `table`, one of the names, and `fields` as structures of that and the members of those."""
    if not isinstance(column, Sparse) or not isinstance(column.column, Struct):
        raise ValueError("no structures")
    table, fields = (column.column.columns.get(name) for name in ("table", "fields"))
    if not isinstance(fields, Struct) or not isinstance(table, Choice) or set(table.values) - names:
        raise ValueError("none of the tables")
    return Sparse(Struct({"table": table, **fields.columns}, fields.count), column.has), None


def _header(tables: Sequence[type[Table]]) -> Entry:
    """A structure with the fields of every table that a header may be, and its name; JSON text where it is none."""
    members: dict[str, Leaf] = {}
    for table in tables:
        for field in fields_of(table):
            leaf = leaf_of(field.wire, 1)
            known = members.get(field.name)
            members[field.name] = leaf if known is None or known.type == leaf.type else JSON
    if not members:
        return Entry(JSON, _itself, _itself)
    assert "table" not in members
    wires = {cls: {field.name: field.wire for field in fields_of(cls)} for cls in tables}

    def values_of(table: Table) -> dict[str, Any]:
        out: dict[str, Any] = {"table": type(table).__name__}
        for name, wire in wires[type(table)].items():
            value, leaf = getattr(table, name), members[name]
            if value is not None:
                out[name] = leaf.convert(wire.to_json(value) if leaf is JSON else value)
        return out

    kind = pa.struct([("table", pa.string()), *((name, plain(leaf.type)) for name, leaf in members.items())])
    is_plain = all(leaf is not JSON for leaf in members.values())
    return Entry(
        Leaf(kind, values_of),
        lambda value: None if value is None else _table(tables, value),
        _itself,
        unfold=partial(_unfold_table, {cls.__name__ for cls in tables}) if is_plain else None,
    )


def _table(tables: Sequence[type[Table]], form: Mapping[str, Any]) -> Table:
    """The table that a header is, out of `{"table": ..., "fields": ...}`."""
    for cls in tables:
        if cls.__name__ == form.get("table"):
            try:
                return table_from_json(cls, form["fields"])
            except EncodeError:
                continue
    raise ValueError("none of the tables")
