"""How the values of a wire type are stored: the Arrow type of a column, and what a value becomes there.

All types are such that every reader has them: int64, double, bool, string, binary, lists and structures of these.
What a declaration gives no shape to is JSON text.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from wiretool.codec.flatbuffers.declaration import Scalar, ScalarsSlot, TableSlot, TablesSlot
from wiretool.codec.json_text import json_text
from wiretool.codec.json_types import JsonList
from wiretool.codec.message import Message, fields_of
from wiretool.codec.nested import Nested, Structure
from wiretool.codec.types import ListOf, Stored, WireType

#: How deep structures are followed; what is deeper, or in a structure that holds itself, is JSON text.
DEPTH_MAX = 8
#: Text that comes again and again: its values are kept once for a whole row group.
CODED = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Leaf:
    """The type of a column, and a function from a value that is not None to one that Arrow takes for that type.

    The function raises ValueError or TypeError for a value that the type cannot hold.
    """

    type: pa.DataType
    convert: Callable[[Any], Any]

    def array(self, values: Sequence[Any]) -> pa.Array:
        """The values, of which some may be None; ValueError, TypeError or OverflowError where one does not fit."""
        convert = self.convert
        return pa.array([None if value is None else convert(value) for value in values], self.type)


def plain(kind: pa.DataType) -> pa.DataType:
    """The type as readers see it: text that is coded is text."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def same(value: Any) -> Any:
    """A value that Arrow takes as it is."""
    return value


def whole(value: Any) -> int:
    """A whole number; ValueError for anything else, also for one that takes more than 64 bits."""
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError("no whole number of 64 bits")
    return value


def truth(value: Any) -> bool:
    """True or false."""
    if type(value) is not bool:
        raise ValueError("neither true nor false")
    return value


def text(value: Any) -> str:
    """Text that has a form in UTF-8; a number stands for the name that it does not have."""
    if type(value) is int:
        return str(value)
    if type(value) is not str:
        raise ValueError("no text")
    if not value.isascii():
        value.encode()
    return value


def binary(value: Any) -> bytes:
    """Bytes."""
    if type(value) is not bytes:
        raise ValueError("no bytes")
    return value


def _double(value: Any) -> float:
    return (
        float(value) if type(value) in (int, float) else {"NaN": math.nan, "Infinity": math.inf}.get(value, -math.inf)
    )


WHOLE = Leaf(pa.int64(), whole)
TRUTH = Leaf(pa.bool_(), truth)
TEXT = Leaf(pa.string(), text)
BINARY = Leaf(pa.binary(), binary)
#: JSON values as their text.
JSON = Leaf(pa.string(), json_text)

_SIMPLE: Mapping[Stored, Leaf] = {
    "whole": WHOLE,
    "truth": TRUTH,
    "double": Leaf(pa.float64(), _double),
    "text": TEXT,
    "coded": Leaf(CODED, text),
    "bytes": BINARY,
}


def leaf_of(wire: WireType, depth: int = 0) -> Leaf:
    """How values of a wire type are stored."""
    if isinstance(wire, Scalar):
        return TRUTH if wire.form == "?" else Leaf(pa.float64(), float) if wire.form in "df" else WHOLE
    found = _SIMPLE.get(wire.stored)
    if found is not None:
        return found if depth == 0 else Leaf(plain(found.type), found.convert)
    made = _composed(wire, depth + 1) if depth < DEPTH_MAX else None
    return made or Leaf(pa.string(), lambda value: json_text(wire.to_json(value)))


def _composed(wire: WireType, depth: int) -> Leaf | None:
    """A list or structure; None where the declaration does not say what is in it."""
    if isinstance(wire, ListOf | JsonList | ScalarsSlot):
        return _list(leaf_of(wire.element, depth))
    if isinstance(wire, TablesSlot):
        return _list(_struct(wire.cls, depth))
    if isinstance(wire, Nested | Structure | TableSlot):
        return _struct(wire.cls, depth)
    return None


def _list(element: Leaf | None) -> Leaf | None:
    if element is None:
        return None
    convert = element.convert
    return Leaf(pa.list_(element.type), lambda values: [None if each is None else convert(each) for each in values])


def _struct(cls: type[Message], depth: int) -> Leaf | None:
    """A structure of the fields of `cls`; None for one without any, which Parquet has no form for."""
    if depth > DEPTH_MAX:
        return None
    return structure({field.name: leaf_of(field.wire, depth) for field in fields_of(cls)})


def structure(leaves: "dict[str, Leaf]", more: Iterable[tuple[str, pa.DataType]] = ()) -> Leaf | None:
    """A structure with these members, taken from the attributes of a value; None where there are none."""
    if not leaves:
        return None
    members = [(name, leaf.convert) for name, leaf in leaves.items()]

    def convert(value: Any) -> dict[str, Any]:
        out = {}
        for name, one in members:
            held = getattr(value, name)
            out[name] = None if held is None else one(held)
        return out

    return Leaf(pa.struct([*more, *((name, leaf.type) for name, leaf in leaves.items())]), convert)
