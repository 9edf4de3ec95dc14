"""Types of fields in saved object graphs: how each looks on the wire, and how it is dumped and loaded.

An object is a reference on the wire, to a row of a list of objects; everything else is in place. References are
negative numbers, so that nobody takes them for the numbers of records or packets.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import msgspec
import numpy as np

#: Bytes of one number in a column.
_NUMBER_BYTES = 8
Reference = Annotated[int, msgspec.Meta(lt=0)]


class StateError(ValueError):
    """Saved bytes do not follow the schema."""


class Dumper(Protocol):
    """What a type asks while values are dumped."""

    def refer(self, each: Any, /) -> int: ...
    def add_array(self, numbers: Any, /) -> None: ...


class Loader(Protocol):
    """What a type asks while values are loaded; `hosts` are what no state has, by name."""

    hosts: Mapping[str, Any]

    def find(self, reference: int, classes: tuple[type, ...], /) -> Any: ...


class FieldType(NamedTuple):
    """A type on the wire, and how values get there and back; None where they are the same."""

    wire: Any
    dump: Callable[[Any, Dumper], Any] | None = None
    load: Callable[[Any, Loader], Any] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether a value is itself on the wire."""
        return self.dump is None

    def dump_of(self) -> Callable[[Any, Dumper], Any]:
        """How a value gets to the wire."""
        return self.dump or _same

    def load_of(self) -> Callable[[Any, Loader], Any]:
        """How it gets back."""
        return self.load or _same


def _same(value: Any, _: Any) -> Any:
    return value


def plain(wire: Any) -> FieldType:
    """Return the type of values that msgspec writes and checks by itself."""
    return FieldType(wire)


INT, BOOL, TEXT, BYTES = plain(int), plain(bool), plain(str), plain(bytes)
#: A length, a count or anything else that is never negative.
NATURAL = plain(Annotated[int, msgspec.Meta(ge=0)])
#: A sum over what an object holds: never taken from a state, but counted again by `complete` of its class.
COUNTED = FieldType(None, lambda _, __: None, lambda _, __: 0)
BUFFER, SIDE = plain(bytearray), plain(Literal["client", "server"])


def ref(*classes: type) -> FieldType:
    """Return the type of an object of one of these classes."""
    return FieldType(
        Reference, lambda each, dumper: dumper.refer(each), lambda reference, loader: loader.find(reference, classes)
    )


def method(cls: type, name: str) -> FieldType:
    """Return the type of a bound method: always this one, of an object of that class."""
    return FieldType(
        Reference,
        lambda bound, dumper: dumper.refer(bound.__self__),
        lambda reference, loader: getattr(loader.find(reference, (cls,)), name),
    )


def optional(of: FieldType) -> FieldType:
    """Return the type of such a value, or None."""
    if of.is_plain:
        return plain(of.wire | None)
    dump, load = of.dump_of(), of.load_of()
    return FieldType(
        of.wire | None,
        lambda value, dumper: None if value is None else dump(value, dumper),
        lambda value, loader: None if value is None else load(value, loader),
    )


def either(of: FieldType, wire: type, other: FieldType, runtime: type) -> FieldType:
    """Return the type of plain values, or others, which are of `wire` there and of `runtime` here."""
    dump, load = other.dump_of(), other.load_of()
    return FieldType(
        of.wire | other.wire,
        lambda value, dumper: dump(value, dumper) if isinstance(value, runtime) else value,
        lambda value, loader: load(value, loader) if isinstance(value, wire) else value,
    )


def many(of: FieldType, made: Callable[[Iterable[Any]], Any] = list) -> FieldType:
    """Return the type of a list, or of what is `made` of one: a tuple, a set."""
    dump, load = of.dump_of(), of.load_of()
    if of.is_plain and made is list:
        return plain(list[of.wire])  # type: ignore[name-defined]
    if of.is_plain:
        return FieldType(list[of.wire], lambda values, _: list(values), lambda values, _: made(values))  # type: ignore[name-defined]
    return FieldType(
        list[of.wire],  # type: ignore[name-defined]
        lambda values, dumper: [dump(each, dumper) for each in values],
        lambda values, loader: made([load(each, loader) for each in values]),
    )


def pairs(key: FieldType, value: FieldType, made: Callable[[Any], Any] = dict) -> FieldType:
    """Return the type of a mapping in its order, or of what is `made` of its pairs."""
    dump_key, load_key, dump, load = key.dump_of(), key.load_of(), value.dump_of(), value.load_of()
    return FieldType(
        list[tuple[key.wire, value.wire]],  # type: ignore[name-defined]
        lambda values, dumper: [(dump_key(name, dumper), dump(each, dumper)) for name, each in values.items()],
        lambda values, loader: made([(load_key(name, loader), load(each, loader)) for name, each in values]),
    )


def by_side(of: FieldType) -> FieldType:
    """Return the type of a mapping that has a value for the client and one for the server."""
    dump, load = of.dump_of(), of.load_of()
    return FieldType(
        tuple[of.wire, of.wire],  # type: ignore[name-defined]
        lambda values, dumper: (dump(values["client"], dumper), dump(values["server"], dumper)),
        lambda values, loader: {"client": load(values[0], loader), "server": load(values[1], loader)},
    )


def row(*of: FieldType) -> FieldType:
    """Return the type of a tuple of these."""
    wire: Any = tuple.__class_getitem__(tuple(each.wire for each in of))
    if all(each.is_plain for each in of):
        return plain(wire)
    dumps, loads = [each.dump_of() for each in of], [each.load_of() for each in of]
    return FieldType(
        wire,
        lambda values, dumper: [dump(each, dumper) for dump, each in zip(dumps, values, strict=True)],
        lambda values, loader: tuple([load(each, loader) for load, each in zip(loads, values, strict=True)]),
    )


def named(known: Callable[[], Mapping[str, Any]], name: Callable[[Any], str]) -> FieldType:
    """Return the type of what is there once in every process, and known by a name."""

    def load(text: str, _: Loader) -> Any:
        try:
            return known()[text]
        except KeyError:
            raise StateError(f"nothing is called {text[:80]!r}") from None

    return FieldType(str, lambda value, _: name(value), load)


def fresh(made: Callable[[], Any]) -> FieldType:
    """Return the type of a value that is always as it was `made` when it is saved, and made anew."""

    def dump(value: Any, _: Dumper) -> None:
        assert value == made(), "it is empty when a state is saved"

    return FieldType(None, dump, lambda _, __: made())


def host(of: Callable[[Loader], Any]) -> FieldType:
    """Return the type of what is not saved, but belongs to whoever loads."""
    return FieldType(None, lambda _, __: None, lambda _, loader: of(loader))


def _dump_array(numbers: Any, dumper: Dumper) -> bytes:
    dumper.add_array(numbers)
    data: bytes = np.ascontiguousarray(numbers, "<i8").tobytes()
    return data


def _load_array(data: bytes, _: Loader) -> Any:
    if len(data) % _NUMBER_BYTES:
        raise StateError(f"{len(data)} bytes of a column of numbers with {_NUMBER_BYTES} bytes each")
    return np.frombuffer(bytearray(data), "<i8").astype(np.int64, copy=False)


def _dump_longs(numbers: "array[int]", dumper: Dumper) -> bytes:
    return _dump_array(np.frombuffer(numbers, np.int64), dumper)


def _load_longs(data: bytes, loader: Loader) -> "array[int]":
    return array("q", _load_array(data, loader).tobytes())


#: Columns of 64-bit numbers, of NumPy and of `array`; and of such that are no numbers of records or packets.
ARRAY, LONGS = FieldType(bytes, _dump_array, _load_array), FieldType(bytes, _dump_longs, _load_longs)
OFFSETS = FieldType(bytes, lambda numbers, _: numbers.astype("<i8").tobytes(), _load_array)
