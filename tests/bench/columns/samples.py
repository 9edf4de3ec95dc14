"""Values for every field of a declared message, drawn by a seed: the frames of mixed captures are made of them."""

import random
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from wiretool.codec.flatbuffers.declaration import (
    BytesSlot,
    Scalar,
    ScalarsSlot,
    SlotType,
    StringSlot,
    Table,
    TableSlot,
    TablesSlot,
)
from wiretool.codec.message import Field, Message, fields_of
from wiretool.codec.nested import Nested
from wiretool.codec.types import Bool, Data, Int, ListOf, NamedByte, Text16, Uuid
from wiretool.protocols.pravega.structures import EventFrame, InnerEvent, SizedKey, SizedValue, TableKey, TableValue

M = TypeVar("M", bound=Message)

#: The largest number of a field.
NUMBER_MAX = 1_000_000
LIST_MAX = 3
#: Layouts of each FlatBuffers table, as different clients write it, and the share of slots that one leaves out.
LAYOUTS, ABSENT_SHARE = 4, 0.25

#: Wire type, and a value of it; the first that fits counts.
_VALUES: Sequence[tuple[Any, Callable[[Any, random.Random], Any]]] = (
    (Int, lambda wire, rng: rng.randrange(min(wire.high, NUMBER_MAX))),
    (Bool, lambda wire, rng: rng.random() < 0.5),
    (Uuid, lambda wire, rng: str(uuid.UUID(int=rng.getrandbits(128)))),
    (Text16, lambda wire, rng: f"scope/stream/{rng.randrange(100)}.#epoch.0"),
    (Data, lambda wire, rng: rng.randbytes(rng.randrange(20, 100))),
    (ListOf, lambda wire, rng: tuple(value_of(wire.element, rng) for _ in range(rng.randint(1, LIST_MAX)))),
    (NamedByte, lambda wire, rng: rng.choice(sorted(wire.names.values()))),
    (Nested, lambda wire, rng: message_of(wire.cls, rng)),
    (EventFrame, lambda wire, rng: InnerEvent(data=rng.randbytes(40))),
    (SizedKey, lambda wire, rng: TableKey(data=rng.randbytes(12), key_version=rng.randrange(NUMBER_MAX))),
    (SizedValue, lambda wire, rng: TableValue(data=rng.randbytes(30))),
    (Scalar, lambda wire, rng: _scalar(wire, rng)),
    (StringSlot, lambda wire, rng: f"10.0.0.{rng.randrange(256)}:{rng.randrange(1024, 65536)}"),
    (BytesSlot, lambda wire, rng: rng.randbytes(rng.randrange(1, 30))),
    (ScalarsSlot, lambda wire, rng: tuple(_scalar(wire.element, rng) for _ in range(rng.randint(1, LIST_MAX)))),
    (TableSlot, lambda wire, rng: table_of(wire.cls, rng)),
    (TablesSlot, lambda wire, rng: tuple(table_of(wire.cls, rng) for _ in range(rng.randint(1, LIST_MAX)))),
)


def message_of(cls: type[M], rng: random.Random, **given: Any) -> M:
    """Return a message with a value in every field; `given` are those of the caller."""
    drawn = {field.name: value_of(field.wire, rng) for field in fields_of(cls) if field.name not in given}
    return cls(**drawn, **given)


def table_of(cls: type[Table], rng: random.Random, **given: Any) -> Table:
    """Return a FlatBuffers table in one of a few layouts: without some of the slots that may be absent."""
    layout = random.Random(f"{cls.__name__} {rng.randrange(LAYOUTS)}")
    absent = {field.name for field in fields_of(cls) if layout.random() < ABSENT_SHARE}
    kept = {field.name: value_of(field.wire, rng) for field in fields_of(cls) if _is_kept(field, absent)}
    return cls(**(kept | given))


def _is_kept(field: Field, absent: set[str]) -> bool:
    """Return whether a slot is in a layout: a required one always is."""
    return field.name not in absent or (isinstance(field.wire, SlotType) and field.wire.is_required)


def value_of(wire: Any, rng: random.Random) -> Any:
    """Return a value of a wire type."""
    return next(draw for kind, draw in _VALUES if isinstance(wire, kind))(wire, rng)


def _scalar(wire: Scalar, rng: random.Random) -> Any:
    if wire.form == "?":
        return rng.random() < 0.5
    if wire.names:
        return rng.choice(sorted(wire.names))
    return rng.randrange(min(wire.high, NUMBER_MAX))
