"""The names that a filter or a list of columns may use, and what kind of value each has."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any

from wiretool.codec.flatbuffers import BytesSlot, Scalar, ScalarsSlot, StringSlot, TableSlot, TablesSlot, UnionSlot
from wiretool.codec.json_types import JsonBool, JsonInt, JsonList, JsonName, JsonText
from wiretool.codec.jsonform import nearest
from wiretool.codec.message import Message, fields_of
from wiretool.codec.nested import Nested
from wiretool.codec.types import Bool, Data, Int, ListOf, NamedByte, Text16, Uuid, WireType
from wiretool.where.tokens import wrong


class Kind(Flag):
    """What a value may be; several together where messages differ."""

    NUMBER = auto()
    TEXT = auto()
    BOOL = auto()
    NULL = auto()
    LIST = auto()
    OBJECT = auto()

    @property
    def words(self) -> str:
        """As people say it."""
        return " or ".join(_WORDS[kind] for kind in Kind if kind in self)


_WORDS = {
    Kind.NUMBER: "a number",
    Kind.TEXT: "text",
    Kind.BOOL: "true or false",
    Kind.NULL: "null",
    Kind.LIST: "a list",
    Kind.OBJECT: "a structure",
}
#: How deep declarations are followed; deeper, and in those that hold themselves, any name goes.
DEPTH_MAX = 12
ANYTHING = Kind.NUMBER | Kind.TEXT | Kind.BOOL | Kind.NULL | Kind.LIST | Kind.OBJECT


@dataclass(slots=True)
class Names:
    """One value: its kind, and the values inside it. An open one may hold others than those known."""

    kind: Kind = field(default_factory=lambda: Kind(0))
    members: dict[str, "Names"] = field(default_factory=dict)
    element: "Names | None" = None
    is_open: bool = False

    def add(self, wire: WireType, depth: int = 0) -> None:
        """Know that the value may also be one of this wire type."""
        if isinstance(wire, Nested | TableSlot):
            self.kind |= Kind.OBJECT
            self.add_fields(wire.cls, depth + 1)
        elif isinstance(wire, TablesSlot):
            self._elements().kind |= Kind.OBJECT
            self._elements().add_fields(wire.cls, depth + 1)
        elif isinstance(wire, ListOf | JsonList | ScalarsSlot):
            self._elements().add(wire.element, depth + 1)
        else:
            self.add_kind(next((kind for types, kind in _KINDS if isinstance(wire, types)), ANYTHING))

    def add_kind(self, kind: Kind) -> None:
        """Know that the value may also be of this kind; one that may be anything may have anything in it."""
        self.kind |= kind
        self.is_open |= kind is ANYTHING

    def add_fields(self, cls: type[Message], depth: int = 0) -> None:
        """Know the fields of a declaration as members."""
        if depth > DEPTH_MAX:
            self.is_open = True
            return
        for each in fields_of(cls):
            self.member(each.name).add(each.wire, depth)
            self.is_open |= isinstance(each.wire, UnionSlot)

    def member(self, name: str) -> "Names":
        """What is known of the member called `name`."""
        return self.members.setdefault(name, Names())

    def _elements(self) -> "Names":
        self.kind |= Kind.LIST
        self.element = self.element or Names()
        return self.element

    def at(self, step: str | int) -> "Names | None":
        """The value one step further in, None where there is none."""
        found = self.element if isinstance(step, int) else self.members.get(step)
        return found if found is not None or not self.is_open else OPEN


_KINDS: tuple[tuple[tuple[type[WireType], ...], Kind], ...] = (
    ((Int, JsonInt), Kind.NUMBER),
    ((Scalar,), Kind.NUMBER | Kind.BOOL),
    ((Bool, JsonBool), Kind.BOOL),
    ((Text16, Uuid, NamedByte, Data, StringSlot, JsonText, JsonName), Kind.TEXT),
    ((BytesSlot,), Kind.OBJECT),
)
OPEN = Names(ANYTHING, is_open=True)
_NUMBER, _TEXT = Names(Kind.NUMBER), Names(Kind.TEXT)
_PACKETS = Names(Kind.LIST, element=_NUMBER)
_APPEND = Names(Kind.OBJECT, is_open=True)
_EVENTS = Names(Kind.LIST, element=_APPEND)

#: What every record may have, in the order in which it is told. `time` is seconds since the first record.
RECORD_NAMES: Mapping[str, Names] = {
    "n": _NUMBER,
    "kind": _TEXT,
    "time": _NUMBER,
    "time_ns": _NUMBER,
    "connection": _NUMBER,
    "client": _TEXT,
    "server": _TEXT,
    "side": _TEXT,
    "protocol": _TEXT,
    "message": _TEXT,
    "packets": _PACKETS,
    "offset": _NUMBER,
    "length": _NUMBER,
    "reply_to": _NUMBER,
    "error": _TEXT,
    "why": _TEXT,
    "append": _APPEND,
    "events": _EVENTS,
    "left_over": _TEXT,
}
#: The only values of some.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "kind": ("frame", "gap", "problem", "other"),
    "side": ("client", "server"),
}


def record_names(fields: Names) -> Names:
    """Every name of a record with such fields."""
    return Names(Kind.OBJECT, {**RECORD_NAMES, "fields": fields})


def known(names: Names, steps: tuple[str | int, ...], at: int) -> Names:
    """What `steps` lead to; UsageError with the nearest name where they lead nowhere. `at` is where they stand."""
    here = names
    for index, step in enumerate(steps):
        found = here.at(step)
        if found is None:
            raise wrong(at, _unknown(names, here, steps[: index + 1]))
        here = found
    return here


def _unknown(names: Names, here: Names, steps: tuple[str | int, ...]) -> str:
    text, before = spelt(steps), spelt(steps[:-1])
    last = steps[-1]
    if isinstance(last, int):
        return f"{before} is no list"
    if not here.members:
        return f"{before} is {here.kind.words}, it has no {last!r} in it"
    hint = nearest(text, {spelt((*steps[:-1], name)) for name in here.members})
    if len(steps) == 1 and last in names.members["fields"].members:
        hint = f" (did you mean fields.{last}?)"
    return f"no record has {text}{hint}"


def spelt(steps: Iterable[str | int]) -> str:
    """Steps as they are written in an expression."""
    return "".join(_spelt(steps)).removeprefix(".")


def _spelt(steps: Iterable[str | int]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, int):
            yield f"[{step}]"
        else:
            yield f".{step}" if step.isidentifier() and step.isascii() else f'["{_quoted(step)}"]'


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def kind_of(value: Any) -> Kind:
    """What a JSON value is."""
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, int | float):
        return Kind.NUMBER
    if isinstance(value, str):
        return Kind.TEXT
    if value is None:
        return Kind.NULL
    return Kind.LIST if isinstance(value, list | tuple) else Kind.OBJECT
