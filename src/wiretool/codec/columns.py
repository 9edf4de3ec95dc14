"""Columns of many messages of one class at once, out of its declaration: arrays instead of objects.

Like compiled.py it takes short cuts for the plain wire types only, and says of which messages it could not read: these
go through the decoder, so that the two cannot differ on values or errors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wiretool.codec.message import Field, Message, fields_of
from wiretool.codec.types import Bool, Int, RestBytes, SizedBytes, Text16, Uuid

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
NO_INTEGERS: Integers = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Whole numbers, or truths where the dtype is bool; with `has` only those rows have one."""

    values: NDArray[Any]
    has: Flags | None = None

    def take(self, rows: Any) -> "Numbers":
        """Those of some rows (indices, or one truth a row)."""
        return Numbers(self.values[rows], None if self.has is None else self.has[rows])


@dataclass(frozen=True, slots=True)
class Spans:
    """Text (ASCII) or bytes: each is `data[starts[i] : starts[i] + lengths[i]]` of the data they were read from."""

    starts: Integers
    lengths: Integers
    is_text: bool

    def take(self, rows: Any) -> "Spans":
        """Those of some rows."""
        return Spans(self.starts[rows], self.lengths[rows], self.is_text)


@dataclass(frozen=True, slots=True)
class Uuids:
    """UUIDs, 16 bytes a row."""

    raw: Bytes

    def take(self, rows: Any) -> "Uuids":
        """Those of some rows."""
        return Uuids(self.raw[rows])


@dataclass(frozen=True, slots=True)
class Choice:
    """Values that come again: row i has `values[codes[i]]`, none where the code is -1."""

    codes: Integers
    values: Sequence[Any]

    def take(self, rows: Any) -> "Choice":
        """Those of some rows."""
        return Choice(self.codes[rows], self.values)


@dataclass(frozen=True, slots=True)
class Objects:
    """Values as a message has them, for what has no form as arrays."""

    values: Sequence[Any]

    def take(self, rows: Any) -> "Objects":
        """Those of some rows."""
        picked = np.arange(len(self.values))[rows].tolist()
        return Objects([self.values[row] for row in picked])


@dataclass(frozen=True, slots=True)
class Made:
    """What `make` makes of each value of another column."""

    column: "Column"
    make: Callable[[Any], Any]

    def take(self, rows: Any) -> "Made":
        """Those of some rows."""
        return Made(self.column.take(rows), self.make)


@dataclass(frozen=True, slots=True)
class Sparse:
    """Values that only the rows with `has` have: those of `column`, one after the other; the other rows have none."""

    column: "Column"
    has: Flags

    def take(self, rows: Any) -> "Sparse":
        """Those of some rows."""
        has = self.has[rows]
        return Sparse(self.column.take((np.cumsum(self.has) - 1)[rows][has]), has)


@dataclass(frozen=True, slots=True)
class Struct:
    """Structures: in each row the values of these columns by their names, less those that it does not have."""

    columns: "Columns"
    count: int

    def take(self, rows: Any) -> "Struct":
        """Those of some rows."""
        count = len(np.arange(self.count)[rows])
        return Struct({name: column.take(rows) for name, column in self.columns.items()}, count)


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists: row i has the next `counts[i]` of the items."""

    counts: Integers
    items: "Column"

    def take(self, rows: Any) -> "Lists":
        """Those of some rows."""
        counts = self.counts[rows]
        return Lists(counts, self.items.take(items_of((np.cumsum(self.counts) - self.counts)[rows], counts)))


def items_of(starts: Integers, counts: Integers, width: int = 1) -> Integers:
    """Where items are of which each start is followed by a count, `width` apart: all of them, one after the other."""
    behind = np.cumsum(counts)
    place = np.arange(behind[-1] if len(behind) else 0) - np.repeat(behind - counts, counts)
    items: Integers = np.repeat(starts, counts) + place * width
    return items


Column = Numbers | Spans | Uuids | Choice | Objects | Made | Sparse | Struct | Lists
#: By the name of the field.
Columns = Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Decoded:
    """The columns of messages, where the last field of each ended, and which could be read so."""

    columns: Columns
    stops: Integers
    is_read: Flags


def begins_of(values: NDArray[Any]) -> Integers:
    """Where each stretch of equal values begins."""
    behind = np.flatnonzero(values[1:] != values[:-1]) + 1
    return np.concatenate(([0], behind)) if len(values) else behind


def overlaid(data: bytes | Bytes, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Items that lie over one another: item i is what begins at byte i, as far as one is whole."""
    # Taken as plain bytes those with names are copied much faster.
    kind = f"V{dtype.itemsize}" if dtype.names else dtype
    return np.ndarray((max(len(data) + 1 - dtype.itemsize, 0),), kind, data, 0, (1,))


def gathered(data: bytes | Bytes, at: Integers, kind: str | np.dtype[Any]) -> NDArray[Any]:
    """The value of a NumPy type that begins at each place; where it would end behind the data, any value."""
    dtype = np.dtype(kind)
    every = overlaid(data, dtype)
    if not len(every):
        return np.zeros(len(at), dtype)
    found: NDArray[Any] = every[np.minimum(at, len(every) - 1)].view(dtype)
    return found


@cache
def has_columns(cls: type[Message]) -> bool:
    """Whether every field of the class is of a wire type that is read as an array."""
    return all(_is_plain(field) for field in fields_of(cls))


def _is_plain(field: Field) -> bool:
    wire = field.wire
    if isinstance(wire, Int):
        return wire.form != "Q"
    if type(wire) in (SizedBytes, RestBytes, Uuid):
        return not field.is_optional
    return type(wire) is Bool or (type(wire) is Text16 and (not field.is_optional or field.default == ""))


def read_columns(cls: type[Message], data: bytes, starts: Integers, ends: Integers) -> Decoded:
    """The columns of the messages `data[starts[i] : ends[i]]`, all of a class that `has_columns`."""
    return _Reader(data, starts, ends).read(fields_of(cls))


class _Reader:
    """Goes through the fields of all messages at once."""

    def __init__(self, data: bytes, starts: Integers, ends: Integers) -> None:
        self.data = data
        self.at = starts
        self.ends = ends
        self.is_read = np.ones(len(starts), np.bool_)
        self.columns: dict[str, Column] = {}

    def read(self, fields: Sequence[Field]) -> Decoded:
        run: list[Field] = []
        for field in fields:
            if field.wire.form:
                run.append(field)
            else:
                self._sized(run, field)
                run = []
        self._run(run)
        return Decoded(self.columns, self.at, self.is_read)

    def _run(self, run: Sequence[Field], count: str = "") -> NDArray[Any] | None:
        """Fields of fixed width, and behind them a count of that type: one behind the other, so all at once.

        Where a message lacks one of them they are read one by one.
        """
        parts = [(field.name, _form(field)) for field in run] + ([("(count)", count)] if count else [])
        if not parts:
            return None
        form = np.dtype(parts)
        if any(field.is_optional for field in run) and not self._all_have(run, form.itemsize):
            for field in run:
                self._single(field)
            return self._run([], count)
        raw = gathered(self.data, self.at, form)
        self.at = self.at + form.itemsize
        self.is_read &= self.at <= self.ends
        for field in run:
            self.columns[field.name] = _column(field, raw[field.name])
        return raw["(count)"] if count else None

    def _all_have(self, run: Sequence[Field], size: int) -> bool:
        """Whether all messages have the fields, which together take so many bytes."""
        is_sure = all(field.if_left <= field.wire.size_min for field in run)
        return is_sure and bool((self.ends - self.at >= size).all())

    def _single(self, field: Field) -> None:
        if not field.is_optional:
            self._run([field])
            return
        has = self.ends - self.at >= field.if_left
        column = _column(field, gathered(self.data, self.at, _form(field)))
        assert isinstance(column, Numbers)
        self.columns[field.name] = Numbers(np.where(has, column.values, field.default))
        self.at = self.at + field.wire.size_min * has
        self.is_read &= self.at <= self.ends

    def _sized(self, run: Sequence[Field], field: Field) -> None:
        """Fields of fixed width, and one behind them that says its size or takes the rest."""
        wire = field.wire
        if isinstance(wire, RestBytes):
            self._run(run)
            at, length = self.at, np.maximum(self.ends - self.at, 0)
        else:
            at, length = self._counted(run, field, ">u2" if isinstance(wire, Text16) else ">i4")
        self.at = at + length
        self.columns[field.name] = Spans(at, length, isinstance(wire, Text16))
        if isinstance(wire, Text16) and not self.data.isascii():
            self.is_read &= ~has_high_bytes(self.data, at, length)

    def _counted(self, run: Sequence[Field], field: Field, form: str) -> tuple[Integers, Integers]:
        """Where bytes behind their count begin, and how many they are; where they are not there, none."""
        before: Integers | None = None
        if field.is_optional:
            self._run(run)
            run, before = [], self.at
        found = self._run(run, form) if before is None else gathered(self.data, before, form)
        assert found is not None
        at, length = self.at, found.astype(np.int64)
        if before is not None:
            has = self.ends - before >= field.if_left
            at, length = before + np.dtype(form).itemsize * has, np.where(has, length, 0)
        if isinstance(field.wire, SizedBytes) and field.wire.negative_is_empty:
            length = np.maximum(length, 0)
        self.is_read &= (length >= 0) & (at + length <= self.ends)
        return at, np.where(self.is_read, length, 0)


def _form(field: Field) -> str:
    """The NumPy type of a field of fixed width."""
    if isinstance(field.wire, Uuid):
        return "V16"
    return "u1" if isinstance(field.wire, Bool) else ">" + field.wire.form


def _column(field: Field, raw: NDArray[Any]) -> Column:
    """A field of fixed width out of what was gathered of it, a row a message."""
    if isinstance(field.wire, Uuid):
        return Uuids(np.ascontiguousarray(raw).view(np.uint8).reshape(-1, 16))
    if isinstance(field.wire, Bool):
        return Numbers(raw != 0)
    return Numbers(raw.astype(np.int64))


def has_high_bytes(data: bytes, starts: Integers, lengths: Integers) -> Flags:
    """Return which spans have a byte above 127; those that reach past the end of the data have none."""
    out = np.zeros(len(starts), np.bool_)
    is_there = (lengths > 0) & (starts + lengths <= len(data))
    early = np.flatnonzero(is_there & (starts + lengths < 8))
    out[early] = [not data[at : at + int(lengths[row])].isascii() for row, at in zip(early, starts[early], strict=True)]
    rows = np.flatnonzero(is_there & (starts + lengths >= 8))
    if len(rows):
        out[rows] = _have_high_words(data, starts[rows], lengths[rows])
    return out


def _have_high_words(data: bytes, starts: Integers, lengths: Integers) -> Flags:
    """Do the same for spans that are not empty, each with 8 bytes or more before its end."""
    words = (lengths + 7) // 8
    # Backwards from the end of each; of its first word the bytes before the span do not count.
    found = overlaid(data, np.dtype("<u8"))[items_of(starts + lengths - 8 * words, words, 8).clip(0)] & _HIGH_BITS
    first = np.cumsum(words) - words
    found[first] >>= (8 * (8 * words - lengths)).astype(np.uint64)
    has: Flags = np.bitwise_or.reduceat(found, first) != 0
    return has


_HIGH_BITS = np.uint64(0x8080_8080_8080_8080)
