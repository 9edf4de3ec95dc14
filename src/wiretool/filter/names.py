"""The names that a filter or a list of columns may use, and what kind of value each has."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from typing import Any

from wiretool.codec.flatbuffers.declaration import (
    BytesSlot,
    Scalar,
    ScalarsSlot,
    StringSlot,
    TableSlot,
    TablesSlot,
    UnionSlot,
)
from wiretool.codec.json_types import JsonBool, JsonInt, JsonList, JsonName, JsonText
from wiretool.codec.jsonform import find_nearest
from wiretool.codec.message import Message, fields_of
from wiretool.codec.nested import Nested
from wiretool.codec.types import Bool, Data, Int, ListOf, NamedByte, Text16, Uuid, WireType
from wiretool.filter.tokens import wrong


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
    #: The only texts that it may be, where that is known.
    choices: frozenset[str] | None = None
    #: For the reference page.
    meaning: str = ""

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
            kind = next((kind for types, kind in _KINDS if isinstance(wire, types)), ANYTHING)
            self.add_kind(kind, _texts_of(wire))

    def add_kind(self, kind: Kind, texts: Iterable[str] | None = None) -> None:
        """Know that the value may also be of this kind, one of `texts` if given; anything may have anything in it."""
        if Kind.TEXT in kind:
            is_first = Kind.TEXT not in self.kind
            known = frozenset() if is_first else self.choices
            self.choices = None if texts is None or known is None else known | frozenset(texts)
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


def _texts_of(wire: WireType) -> Iterable[str] | None:
    """Return the only texts that a value of this wire type may be; None where it may be any."""
    if isinstance(wire, NamedByte):
        return wire.names.values()
    if isinstance(wire, JsonText):
        return wire.choices
    return [wire.text] if isinstance(wire, JsonName) else None


_KINDS: tuple[tuple[tuple[type[WireType], ...], Kind], ...] = (
    ((Int, JsonInt), Kind.NUMBER),
    ((Scalar,), Kind.NUMBER | Kind.BOOL),
    ((Bool, JsonBool), Kind.BOOL),
    ((Text16, Uuid, NamedByte, Data, StringSlot, JsonText, JsonName), Kind.TEXT),
    ((BytesSlot,), Kind.OBJECT),
)
OPEN = Names(ANYTHING, is_open=True)
_NUMBER, _TEXT = Kind.NUMBER, Kind.TEXT
_APPEND = Names(Kind.OBJECT, is_open=True, meaning="of an append that the frame completes: segment, writer, numbers")


def _address(meaning: str) -> Names:
    host = Names(_TEXT, meaning="its IP address, IPv6 without brackets")
    return Names(_TEXT, {"host": host, "port": Names(_NUMBER, meaning="its TCP port")}, meaning=meaning)


#: What every record may have.
RECORD_NAMES: Mapping[str, Names] = {
    "n": Names(_NUMBER, meaning="number of the record, from 1"),
    "kind": Names(_TEXT, choices=frozenset(("frame", "gap", "problem", "other")), meaning="the kind of record"),
    "time": Names(_NUMBER, meaning='seconds since the first record, or a date: `time > "2026-11-24T08:00Z"`'),
    "time_ns": Names(_NUMBER, meaning="nanoseconds since 1970"),
    "connection": Names(_NUMBER, meaning="number of the connection, from 0"),
    "client": _address("address of the client, `host:port`"),
    "server": _address("address of the server, `host:port`"),
    "side": Names(_TEXT, choices=frozenset(("client", "server")), meaning="the sender"),
    "protocol": Names(_TEXT, meaning="name of the protocol"),
    "message": Names(_TEXT, meaning="name of the message"),
    "packets": Names(
        Kind.LIST, element=Names(_NUMBER), meaning="`packets[0]` and `packets[1]`: its first and last packet, from 1"
    ),
    "offset": Names(_NUMBER, meaning="position of its first byte in the flow"),
    "length": Names(_NUMBER, meaning="size in bytes"),
    "reply_to": Names(_NUMBER, meaning="`n` of the request that it answers"),
    "latency": Names(_NUMBER, meaning="seconds from the request to this reply"),
    "error": Names(_TEXT, meaning="of a problem: its kind"),
    "why": Names(_TEXT, meaning="of a problem: its text"),
    "append": _APPEND,
    "events": Names(Kind.LIST, element=_APPEND, meaning="with `--events`, the events of an append"),
    "left_over": Names(_TEXT, meaning="bytes after the last known field, in hex"),
}


def record_names(fields: Names, protocols: Iterable[str] = (), messages: Iterable[str] = ()) -> Names:
    """Every name of a record with such fields, of these protocols and messages, and of the request that it answers."""
    names = {
        **RECORD_NAMES,
        "protocol": replace(RECORD_NAMES["protocol"], choices=frozenset(protocols)),
        "message": replace(RECORD_NAMES["message"], choices=frozenset(messages)),
        "fields": fields,
    }
    request = {name: each for name, each in names.items() if name not in ("reply_to", "latency")}
    return Names(Kind.OBJECT, {**names, "request": Names(Kind.OBJECT, request)})


def known(names: Names, steps: tuple[str | int, ...], at: int) -> Names:
    """What `steps` lead to; UsageError with the nearest name where they lead nowhere. `at` is where they stand."""
    here = names
    for index, step in enumerate(steps):
        found = here.at(step)
        if found is None:
            raise wrong(at, _unknown(here, steps[: index + 1]))
        here = found
    return here


def _unknown(here: Names, steps: tuple[str | int, ...]) -> str:
    text, before = spelt(steps), spelt(steps[:-1])
    last = steps[-1]
    if isinstance(last, int):
        return f"{before} is not a list"
    if not here.members:
        return f"{before} is {here.kind.words}, it has no {last!r} in it"
    near = _near_names(here)
    close = find_nearest(last, near)  # the last step alone: a long path before it would make any two names similar
    hint = f" (did you mean {spelt((*steps[:-1], *near[close]))}?)" if close else ""
    return f"no record has {text}{hint}"


def _near_names(here: Names) -> dict[str, tuple[str, ...]]:
    """Return the steps to names that may have been meant: the members, message fields, and parts of addresses."""
    near: dict[str, tuple[str, ...]] = {name: (name,) for name in here.members}
    for name in here.members["fields"].members if "fields" in here.members else ():
        near.setdefault(name, ("fields", name))
    for side in ("client", "server"):
        for part in here.members[side].members if side in here.members else ():
            near[f"{side}.{part}"] = (side, part)
    return near


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
