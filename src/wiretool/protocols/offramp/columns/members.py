"""Members of many JSON objects as columns, out of the declarations of events.

The plain kinds of members are checked all at once; where that finds anything, and for the other kinds, `JsonType.parse`
judges them one by one, as in the row path.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeVar, overload

import msgspec
import numpy as np

from wiretool.codec.columns import Choice, Column, Integers, Numbers, Objects
from wiretool.codec.json_types import JsonBool, JsonInt, JsonName, JsonText, JsonType, JsonValue
from wiretool.codec.message import REQUIRED, Field, Message, fields_of
from wiretool.errors import DecodeError
from wiretool.protocols.base.columns import NO_REPLY, Group

_parse = msgspec.json.Decoder().decode
T = TypeVar("T")
_NONE = type(None)
#: Of which Python type alone the values of a plain kind are.
_KINDS: dict[type[JsonType], type] = {JsonInt: int, JsonText: str, JsonBool: bool, JsonName: str}


class Members:
    """The fields of objects of one class, by name; of those in `bad`, which are indices, they mean nothing."""

    def __init__(self, cls: type[Message], objects: Sequence[dict[str, Any]]) -> None:
        self.bad: set[int] = set()
        self.values = {field.name: self._read(field, objects) for field in fields_of(cls)}

    def _read(self, field: Field, objects: Sequence[dict[str, Any]]) -> list[Any]:
        name, wire = field.name, field.wire
        assert isinstance(wire, JsonType)
        try:
            values = [each[name] for each in objects]
        except KeyError:
            return self._read_one_by_one(field, wire, objects)
        return values if _are_plain(wire, values) else self._read_one_by_one(field, wire, objects)

    def _read_one_by_one(self, field: Field, wire: JsonType, objects: Sequence[dict[str, Any]]) -> list[Any]:
        values: list[Any] = []
        for index, members in enumerate(objects):
            value = None
            try:
                if field.name in members:
                    value = wire.parse(members[field.name], field.name)
                elif field.default is REQUIRED:
                    self.bad.add(index)
                else:
                    value = field.default
            except DecodeError:
                self.bad.add(index)
            values.append(value)
        return values


def _are_plain(wire: JsonType, values: Sequence[Any]) -> bool:
    """Whether each of the values is one of that type as it stands."""
    if type(wire) is JsonValue:
        return True
    kind = _KINDS.get(type(wire))
    if kind is None:
        return False
    kinds = set(map(type, values))
    if wire.nullable and _NONE in kinds:
        kinds.remove(_NONE)
        values = [value for value in values if value is not None]
    if kinds - {kind}:
        return False
    if isinstance(wire, JsonInt):
        return not values or wire.low <= min(values) <= max(values) <= wire.high
    return not isinstance(wire, JsonName) or values.count(wire.text) == len(values)


class Reread(Sequence[Any]):
    """Members of plain objects by one name: kept as the texts of these, and read again each time they are wanted.

    As texts they take a fifth of what objects take, and the collector does not go through them.
    """

    def __init__(self, name: str, texts: Sequence[bytes]) -> None:
        self._name = name
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Reread(self._name, self._texts[index])
        return _parse(self._texts[index])[self._name]

    def __iter__(self) -> Iterator[Any]:
        name = self._name
        for text in self._texts:
            yield _parse(text)[name]


class Gathered:
    """The events of one class that were read so far: their rows, their fields, and what they answer."""

    def __init__(self, cls: type[Message]) -> None:
        self._cls = cls
        self._rows: list[int] = []
        #: Fields that may hold anything, and the texts of all events where there are any.
        loose = (field for field in fields_of(cls) if isinstance(field.wire, JsonValue) and field.default is REQUIRED)
        self._loose = {field.name for field in loose}
        self._texts: list[bytes] = []
        self._values: dict[str, list[Any]] = {field.name: [] for field in fields_of(cls)}
        self._replies: dict[int, int] = {}

    def add(self, rows: Sequence[int], members: Members, texts: Sequence[bytes]) -> None:
        """Add those that are not bad; `rows` and `texts` are those of all, ascending within each connection."""
        good = [index for index in range(len(rows)) if index not in members.bad]
        self._rows += [rows[index] for index in good]
        if self._loose:
            self._texts += [texts[index] for index in good]
        for name, values in members.values.items():
            if name not in self._loose:
                self._values[name] += [values[index] for index in good] if members.bad else values

    def answers(self, row: int, record: int) -> None:
        """The event in this row answers that record."""
        self._replies[row] = record

    def group(self, places: Integers) -> Group:
        """Return all of them as columns; row i of the frames is in the place `places[i]` of all."""
        rows, order = places[np.array(self._rows, np.int64)], None
        by_place = np.argsort(rows, kind="stable")
        if (by_place[1:] < by_place[:-1]).any():
            rows, order = rows[by_place], by_place.tolist()
        values = {name: _picked(each, order) for name, each in self._values.items()}
        columns = {field.name: _column(field, values[field.name]) for field in fields_of(self._cls)}
        columns |= {name: Objects(Reread(name, _picked(self._texts, order))) for name in self._loose}
        reply_to: Integers | None = None
        if self._replies:
            replies = [self._replies.get(row, NO_REPLY) for row in self._rows]
            reply_to = np.array(_picked(replies, order), np.int64)
        return Group(self._cls, self._cls.declaration.name, rows, columns, reply_to)


def _picked(values: list[T], order: Sequence[int] | None) -> list[T]:
    """Return values in this order, if they are in another one; fields that are read again have none."""
    if order is None or len(values) < 2:
        return values
    return list(itemgetter(*order)(values))


def _column(field: Field, values: list[Any]) -> Column:
    wire = field.wire
    if isinstance(wire, JsonName):
        return Choice(np.zeros(len(values), np.int64), (wire.text,))
    if isinstance(wire, JsonBool) and not wire.nullable:
        return Numbers(np.array(values, np.bool_))
    if isinstance(wire, JsonInt):
        if None not in values:
            return Numbers(np.array(values, np.int64))
        has = np.array([value is not None for value in values])
        return Numbers(np.array([value or 0 for value in values], np.int64), has)
    return Objects(values)
