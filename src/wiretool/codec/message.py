"""How a message is declared, and `fields_of`, from which all else is derived."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from wiretool.codec.types import WireType

Side = Literal["client", "server"]
SIDES: tuple[Side, Side] = ("client", "server")
#: Who may send a message: a side, both, or "block" (only meaningful around an append block).
Sender = Literal["client", "server", "both", "block"]


def other_side(side: Side) -> Side:
    """The peer of `side`."""
    return "server" if side == "client" else "client"


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number counts: bytes, ms, events."""

    name: str


@dataclass(frozen=True, slots=True)
class Since:
    """The first protocol version whose messages carry the field."""

    version: int


@dataclass(frozen=True, slots=True)
class IfLeft:
    """A trailing field that is read only when at least `count` bytes of the message are left, else its default."""

    count: int


@dataclass(frozen=True, slots=True)
class Doc:
    """What the field means, in one sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class Issued:
    """The server makes the value up: what a client says of it, a server has told before.

    Values stand for each other only within a `kind`, and there within what the field `within` names, if any. Those in
    `besides` are nobody's: they say that there is none, or any will do. Unique values stay different from each other;
    others may coincide in another run. Opaque ones may have any form.
    """

    kind: str
    within: str = ""
    besides: tuple[Any, ...] = ()
    is_unique: bool = True
    is_opaque: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """A place in something that grows, which the field `within` names: where that began elsewhere, all are shifted."""

    kind: str
    within: str = ""
    besides: tuple[Any, ...] = (-1, -(2**63))


@dataclass(frozen=True, slots=True)
class Credential:
    """Proves who asks, or what he may: another's is of no use."""


@dataclass(frozen=True, slots=True)
class Varies:
    """Another in each run, and nothing follows from it: a clock, a host, the text of a trace."""


@dataclass(frozen=True, slots=True)
class Named:
    """The client's own name for something: another client would take another."""

    kind: str


#: What a value is to a conversation that is spoken again; a field without a role is the protocol's or the client's own.
Role = Issued | Position | Credential | Varies | Named

REQUIRED: Any = msgspec.NODEFAULT


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a declaration: its wire type, and what hangs on the version or on the bytes left."""

    name: str
    wire: WireType
    default: Any
    since: int = 0
    if_left: int = 0
    unit: str = ""
    doc: str = ""
    role: Role | None = None

    @property
    def is_optional(self) -> bool:
        """Whether the field may be missing at the end of a message."""
        return self.if_left > 0


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every declared message, and of the structures inside them."""

    declaration: ClassVar["Declaration"]
    #: Whether the JSON form omits fields that are None.
    omits_none: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `@message` says of a class: its number on the wire, its clause, its name and who sends it."""

    type_id: int
    spec: str
    name: str
    sender: Sender
    since: int
    is_failure: bool
    #: The field whose first word is the kind of failure; empty where the name of the message is.
    failure_field: str = ""


M = TypeVar("M", bound=type[Message])


def message(
    *, type_id: int, spec: str, sender: Sender, name: str = "", since: int = 0, failure: bool | str = False
) -> Callable[[M], M]:
    """Declare a class as the message with number `type_id`; `spec` is the clause or source line it is from.

    `failure`: whether it reports that a request failed; or the field whose first word is the kind of failure.
    """

    def declare(cls: M) -> M:
        field = failure if isinstance(failure, str) else ""
        cls.declaration = Declaration(type_id, spec, name or cls.__name__, sender, since, bool(failure), field)
        return cls

    return declare


@cache
def fields_of(cls: type[Message], version: int = 0) -> tuple[Field, ...]:
    """The fields of `cls` in the order of the wire; with a version, those that version has."""
    hints = get_type_hints(cls, include_extras=True)
    infos = {info.name: info for info in msgspec.structs.fields(cls)}
    every = tuple(_field(name, hints[name], infos[name].default) for name in infos)
    return every if version == 0 else tuple(field for field in every if field.since <= version)


def _field(name: str, hint: Any, default: Any) -> Field:
    notes = list(_notes(hint))
    wires = [note for note in notes if isinstance(note, WireType)]
    assert wires, f"field {name} declares no wire type"
    return Field(
        name=name,
        wire=wires[-1].bound_to(get_args(hint)[0]),
        default=default,
        since=next((note.version for note in notes if isinstance(note, Since)), 0),
        if_left=next((note.count for note in notes if isinstance(note, IfLeft)), 0),
        unit=next((note.name for note in notes if isinstance(note, Unit)), ""),
        doc=next((note.text for note in notes if isinstance(note, Doc)), ""),
        role=next((note for note in reversed(notes) if isinstance(note, Role)), None),
    )


def _notes(hint: Any) -> Iterator[Any]:
    if get_origin(hint) is Annotated:
        yield from get_args(hint)[1:]


def by_type_id(messages: tuple[type[Message], ...]) -> dict[int, type[Message]]:
    """The messages by their number; asserts that no number is used twice and each names its clause."""
    table: dict[int, type[Message]] = {}
    for cls in messages:
        declared = cls.declaration
        assert declared.spec, f"{cls.__name__} names no clause"
        assert declared.type_id not in table, f"type {declared.type_id} is {cls.__name__} and another"
        table[declared.type_id] = cls
    return table
