"""Columns of many messages of one class at once, out of its declaration: arrays instead of objects.

Like compiled.py it takes short cuts for the plain wire types only, and says of which messages it could not read: these
go through the decoder, so that the two cannot differ on values or errors.
"""

from collections.abc import Mapping, Sequence
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


Column = Numbers | Spans | Uuids | Choice | Objects
#: By the name of the field.
Columns = Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Decoded:
    """The columns of messages, where the last field of each ended, and which could be read so."""

    columns: Columns
    stops: Integers
    is_read: Flags


def windows(view: Bytes, size: int) -> NDArray[Any]:
    """Row i is `view[i : i + size]`: index it with offsets to gather that many bytes from each of them."""
    return np.lib.stride_tricks.sliding_window_view(view, size)


@cache
def has_columns(cls: type[Message]) -> bool:
    """Whether every field of the class is of a wire type that is read as an array."""
    return all(_is_plain(field) for field in fields_of(cls))


def _is_plain(field: Field) -> bool:
    wire = field.wire
    if isinstance(wire, Int):
        return wire.form != "Q"
    if type(wire) in (SizedBytes, RestBytes):
        return not field.is_optional
    return type(wire) is Bool or (type(wire) in (Uuid, Text16) and not field.is_optional)


def read_columns(cls: type[Message], data: bytes, starts: Integers, ends: Integers) -> Decoded:
    """The columns of the messages `data[starts[i] : ends[i]]`, all of a class that `has_columns`."""
    return _Reader(data, starts, ends).read(fields_of(cls))


class _Reader:
    """Goes through the fields of all messages at once."""

    def __init__(self, data: bytes, starts: Integers, ends: Integers) -> None:
        self.data = data
        self.view = np.frombuffer(data, np.uint8)
        self.at = starts
        self.ends = ends
        self.is_read = np.ones(len(starts), np.bool_)
        self.columns: dict[str, Column] = {}

    def read(self, fields: Sequence[Field]) -> Decoded:
        run: list[Field] = []
        for field in fields:
            if field.wire.form and not field.is_optional:
                run.append(field)
                continue
            self._fixed(run)
            run = []
            if field.is_optional:
                self._optional(field)
            else:
                self._sized(field)
        self._fixed(run)
        return Decoded(self.columns, self.at, self.is_read)

    def _gather(self, at: Integers, size: int) -> NDArray[Any]:
        """`size` bytes of each message; of one that is too short any."""
        if len(self.view) < size:
            return np.zeros((len(at), size), np.uint8)
        return windows(self.view, size)[np.minimum(at, len(self.view) - size)]

    def _fixed(self, run: Sequence[Field]) -> None:
        if not run:
            return
        size = sum(field.wire.size_min for field in run)
        raw = self._gather(self.at, size)
        self.at = self.at + size
        self.is_read &= self.at <= self.ends
        offset = 0
        for field in run:
            width = field.wire.size_min
            self.columns[field.name] = _column(field, np.ascontiguousarray(raw[:, offset : offset + width]))
            offset += width

    def _optional(self, field: Field) -> None:
        has = self.ends - self.at >= field.if_left
        size = field.wire.size_min
        column = _column(field, np.ascontiguousarray(self._gather(self.at, size)))
        assert isinstance(column, Numbers)
        self.columns[field.name] = Numbers(np.where(has, column.values, field.default))
        self.at = self.at + size * has
        self.is_read &= self.at <= self.ends

    def _sized(self, field: Field) -> None:
        wire, at = field.wire, self.at
        if isinstance(wire, RestBytes):
            length = np.maximum(self.ends - at, 0)
        else:
            form = np.dtype(">u2" if isinstance(wire, Text16) else ">i4")
            length = self._gather(at, form.itemsize).view(form)[:, 0].astype(np.int64)
            at = at + form.itemsize
            if isinstance(wire, SizedBytes) and wire.negative_is_empty:
                length = np.maximum(length, 0)
            self.is_read &= (length >= 0) & (at + length <= self.ends)
            length = np.where(self.is_read, length, 0)
        self.at = at + length
        self.columns[field.name] = Spans(at, length, isinstance(wire, Text16))
        if isinstance(wire, Text16) and not self.data.isascii():
            self.is_read &= ~has_high_bytes(self.view, at, length)


def _column(field: Field, raw: Bytes) -> Column:
    """A field of fixed width out of its bytes, a row a message."""
    if isinstance(field.wire, Uuid):
        return Uuids(raw)
    if isinstance(field.wire, Bool):
        return Numbers(raw[:, 0] != 0)
    return Numbers(raw.view(">" + field.wire.form)[:, 0].astype(np.int64))


def has_high_bytes(view: Bytes, starts: Integers, lengths: Integers) -> Flags:
    """Which of the spans have a byte above 127; those that reach past the end have none."""
    out = np.zeros(len(starts), np.bool_)
    rows = np.flatnonzero((lengths > 0) & (starts + lengths <= len(view)))
    if len(rows):
        # Between the beginning of one span and its end: every other stretch is that between two spans.
        bounds = np.stack((starts[rows], starts[rows] + lengths[rows]), 1).reshape(-1)
        high = np.append(view >= 128, False)
        out[rows] = np.logical_or.reduceat(high, bounds)[::2]
    return out
