"""Object graphs as bytes, by an explicit schema: each class by a name, each of its fields by a type.

Nothing but what the schema names can be loaded, and only with values of the types that it says. Classes may move and be
renamed; where a class or a field is added or changed, the fingerprint of the schema is another one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from wiretool.codec.columns import Integers
from wiretool.codec.state_types import FieldType, StateError
from wiretool.expectations import json_problem

_MISSING = object()


class NotInSchemaError(AssertionError):
    """An object is to be saved whose class the schema does not have."""

    def __init__(self, cls: type) -> None:
        super().__init__(f"the schema has no {cls}")
        self.cls = cls


@dataclass(frozen=True)
class StateClass:
    """A class whose objects are saved: under which name, and the types of its fields.

    By default the fields are attributes, and objects are made without a call. Others are made by `make`, of the fields'
    values in their order; and where `split` is given, that gives the values.
    """

    name: str
    cls: type
    fields: Mapping[str, FieldType]
    make: Callable[..., Any] | None = None
    split: Callable[[Any], Sequence[Any]] | None = None
    #: Restores a bare object from the fields' values, where setting them is not all.
    restore: Callable[..., None] | None = None
    #: Counts again what an object holds, and checks it, once all objects are there. StateError where it is impossible.
    complete: Callable[[Any], None] | None = None


def attributes(
    name: str, cls: type, complete: Callable[[Any], None] | None = None, /, **fields: FieldType
) -> StateClass:
    """Return the description of a class whose objects are their attributes."""
    return StateClass(name, cls, fields, complete=complete)


def value(name: str, cls: type, /, **fields: FieldType) -> StateClass:
    """Return the description of a class that is called with the values of its fields: a tuple, say."""
    return StateClass(name, cls, fields, make=cls)


@dataclass
class _Compiled:
    """A class with its row on the wire, and what is to be done with the fields that are not plain."""

    of: StateClass
    number: int
    row: type[msgspec.Struct]
    split: Callable[[Any], Sequence[Any]]
    dumps: Sequence[tuple[int, Callable[[Any, Any], Any]]]
    loads: Sequence[tuple[int, Callable[[Any, Any], Any]]]
    has_dict: bool


class Schema:
    """All classes that may be saved."""

    def __init__(self, classes: Iterable[StateClass]) -> None:
        compiled = [_compiled(number, each) for number, each in enumerate(classes)]
        self.by_class = {each.of.cls: each for each in compiled}
        self.by_row = {each.row: each for each in compiled}
        assert len(self.by_class) == len({each.of.name for each in compiled}) == len(compiled), "each is named once"
        rows: Any = compiled[0].row
        for each in compiled[1:]:
            rows |= each.row
        self._encoder = msgspec.msgpack.Encoder(enc_hook=_plain_number)
        self._decoder = msgspec.msgpack.Decoder(list[rows])
        text = ";".join(f"{each.of.name}:{each.row.__annotations__}" for each in compiled)
        #: Another one for each other schema.
        self.fingerprint = blake2b(text.encode(), digest_size=6).hexdigest()

    def dump(self, roots: Sequence[Any], late: Mapping[int, Callable[[Integers], None]]) -> bytes:
        """Return some objects, and all that they refer to, as bytes.

        Those whose identity is in `late` are dumped last: each is told before all whole numbers that are in the others.
        """
        dumper = _Dumper(self)
        for root in roots:
            dumper.refer(root)
        dumper.run(late)
        data: bytes = self._encoder.encode(dumper.rows)
        return data

    def load(self, data: bytes, classes: Sequence[type], hosts: Mapping[str, Any]) -> Sequence[Any]:
        """Return the objects that were dumped as roots, one of each of the classes. StateError where they are none."""
        try:
            rows = self._decoder.decode(data)
        except (msgspec.DecodeError, RecursionError) as err:
            raise StateError(json_problem(err, "MessagePack")) from None
        try:
            loader = _Loader(self, rows, hosts)
            return [loader.find(-1 - at, (cls,)) for at, cls in enumerate(classes)]
        except (ValueError, RecursionError) as err:
            raise StateError(str(err)) from None


def _compiled(number: int, of: StateClass) -> _Compiled:
    names, types = list(of.fields), list(of.fields.values())
    row = msgspec.defstruct(
        f"Row{number}",
        [(f"f{at}", each.wire) for at, each in enumerate(types)],
        tag=of.name,
        tag_field="is",
        array_like=True,
        forbid_unknown_fields=True,
        gc=False,
    )
    split = of.split or _getter(names)
    dumps = [(at, each.dump) for at, each in enumerate(types) if each.dump is not None]
    loads = [(at, each.load) for at, each in enumerate(types) if each.load is not None]
    has_dict = of.make is None and of.split is None and bool(getattr(of.cls, "__dictoffset__", 0))
    return _Compiled(of, number, row, split, dumps, loads, has_dict)


def _getter(names: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda each: (getattr(each, names[0]),)) if names else (lambda each: ())


def _plain_number(each: Any) -> int:
    if isinstance(each, np.integer):
        return int(each)
    raise TypeError(f"no field of the schema takes a {type(each)}")


@dataclass
class _Dumper:
    """Rows of objects, in the order in which they are referred to."""

    schema: Schema
    rows: list[msgspec.Struct | None] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    references: dict[int, int] = field(default_factory=dict)
    arrays: list[Integers] = field(default_factory=list)

    def refer(self, each: Any) -> int:
        """Return the reference to an object, which will have its row."""
        known = self.references.get(id(each))
        if known is None:
            self.objects.append(each)
            known = self.references[id(each)] = -len(self.objects)
        return known

    def add_array(self, numbers: Integers) -> None:
        """Note of numbers that are bytes on the wire."""
        self.arrays.append(numbers.ravel())

    def run(self, late: Mapping[int, Callable[[Integers], None]]) -> None:
        """Make the rows of all objects."""
        waiting = self._add_rows(late)
        numbers = self._numbers() if waiting else None
        for at in waiting:
            assert numbers is not None, "a reference to them is pending"
            late[id(self.objects[at])](numbers)
            self.rows[at] = self._row(self.objects[at])
        self._add_rows({})

    def _add_rows(self, late: Mapping[int, Any]) -> list[int]:
        """Make the rows of all objects that have none yet; return the places of those that are late."""
        waiting = []
        while len(self.rows) < len(self.objects):
            each = self.objects[len(self.rows)]
            if id(each) in late:
                waiting.append(len(self.rows))
            self.rows.append(None if id(each) in late else self._row(each))
        return waiting

    def _row(self, each: Any) -> msgspec.Struct:
        kind = self.schema.by_class.get(type(each))
        if kind is None:
            raise NotInSchemaError(type(each))
        values = list(kind.split(each))
        assert not kind.has_dict or vars(each).keys() <= kind.of.fields.keys(), f"fields of {type(each)} are missing"
        for at, dump in kind.dumps:
            values[at] = dump(values[at], self)
        return kind.row(*values)

    def _numbers(self) -> Integers:
        """The whole numbers that are in the rows so far, as far as they fit in 64 bits and are not negative."""
        single: list[int] = []
        stack: list[Any] = [
            getattr(row, name) for row in self.rows if row is not None for name in type(row).__struct_fields__
        ]
        while stack:
            each = stack.pop()
            kind = type(each)
            if kind is int or kind is np.int64:
                single.append(each)
            elif kind is list or kind is tuple:
                stack.extend(each)
        small = [number for number in single if 0 <= number < 1 << 63]
        return np.unique(np.concatenate([np.array(small, np.int64), *self.arrays]))


class _Loader:
    """Objects of rows: bare ones first, so that they may refer to one another; then their fields."""

    def __init__(self, schema: Schema, rows: Sequence[msgspec.Struct], hosts: Mapping[str, Any]) -> None:
        self.hosts = hosts
        self._rows = rows
        self._kinds = [schema.by_row[type(each)] for each in rows]
        self._objects: list[Any] = [
            object.__new__(kind.of.cls) if kind.of.make is None else _MISSING for kind in self._kinds
        ]
        self._making: set[int] = set()
        for at, kind in enumerate(self._kinds):
            if kind.of.make is None:
                self._fill(at, kind)
        for each, kind in zip(self._objects, self._kinds, strict=True):
            if kind.of.complete is not None:
                kind.of.complete(each)

    def find(self, reference: int, classes: tuple[type, ...]) -> Any:
        """Return the object that is referred to. StateError where there is none, or it is none of these."""
        at = -1 - reference
        if not 0 <= at < len(self._objects):
            raise StateError(f"object {at} of {len(self._objects)} is referred to")
        each = self._objects[at]
        if each is _MISSING:
            each = self._made(at)
        if not isinstance(each, classes):
            raise StateError(f"a {self._kinds[at].of.name} stands where a {classes[0].__name__} should")
        return each

    def _made(self, at: int) -> Any:
        if at in self._making:
            raise StateError(f"object {at} is part of itself")
        self._making.add(at)
        make = self._kinds[at].of.make
        assert make is not None, "others are made at once"
        each = self._objects[at] = make(*self._values(at, self._kinds[at]))
        return each

    def _fill(self, at: int, kind: _Compiled) -> None:
        each, values = self._objects[at], self._values(at, kind)
        if kind.of.restore is not None:
            kind.of.restore(each, *values)
            return
        for name, one in zip(kind.of.fields, values, strict=True):
            setattr(each, name, one)

    def _values(self, at: int, kind: _Compiled) -> list[Any]:
        values = list(msgspec.structs.astuple(self._rows[at]))
        for place, load in kind.loads:
            values[place] = load(values[place], self)
        return values
