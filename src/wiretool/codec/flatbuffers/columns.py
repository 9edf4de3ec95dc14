"""Columns of many FlatBuffers tables of one class at once, out of their declaration: arrays instead of objects.

As `compiled.py` it gives up on whatever is out of the ordinary, and returns which buffers these are: they go through
the reader, so that the two cannot differ on values or errors.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wiretool import limits
from wiretool.codec.columns import (
    Bytes,
    Column,
    Columns,
    Flags,
    Integers,
    Lists,
    Made,
    Numbers,
    Objects,
    Spans,
    Sparse,
    Struct,
    gathered,
    has_high_bytes,
    items_of,
)
from wiretool.codec.flatbuffers.declaration import (
    BytesSlot,
    Scalar,
    ScalarsSlot,
    SlotType,
    StringSlot,
    Table,
    TableSlot,
    TablesSlot,
    UnionSlot,
    slots_of,
)

#: Tables in tables that are followed; a class that holds itself would go on without end.
DEPTH_MAX = 16


class Tables(NamedTuple):
    """The fields of tables in their JSON form, and which of them could be read so."""

    fields: Struct
    is_read: Flags


def read_tables(cls: type[Table], data: bytes, starts: Integers, ends: Integers) -> Tables:
    """The tables that the buffers `data[starts[i] : ends[i]]` are the roots of, with all that is required."""
    reader = TablesReader(data, starts, ends)
    fields = reader.roots(cls)
    return Tables(fields, reader.is_read)


def gather(view: Bytes, at: Integers, form: str | np.dtype[Any]) -> NDArray[Any]:
    """Return the numbers of a dtype at these places; of one that is not whole there any."""
    if len(at) and at.min() < 0:
        at = np.maximum(at, 0)
    return gathered(view, at, form)


class Within(NamedTuple):
    """Of which buffer each of some places is, and where that ends."""

    of: Integers
    ends: Integers

    def take(self, rows: Flags) -> "Within":
        return Within(self.of[rows], self.ends[rows])

    def repeat(self, counts: Integers) -> "Within":
        return Within(np.repeat(self.of, counts), np.repeat(self.ends, counts))


class TablesReader:
    """Goes through all buffers at once. Whatever is wrong in one only makes it count as not read.

    Of such a one the values are any, but no more of them are made than its bytes allow.
    """

    def __init__(self, data: bytes, starts: Integers, ends: Integers) -> None:
        self.data = data
        self.view = np.frombuffer(data, np.uint8)
        self.starts = starts
        self.ends = ends
        self.is_read = np.ones(len(starts), np.bool_)
        sizes = ends - starts
        self.tables_left = np.minimum(limits.FLATBUFFER_TABLES_MAX, sizes)
        self.bytes_left = limits.FLATBUFFER_SHARING_MAX * sizes
        self.is_ascii = data.isascii()

    def roots(self, cls: type[Table]) -> Struct:
        within = Within(np.arange(len(self.starts)), self.ends)
        return self._tables(cls, self.starts + self._number(self.starts, "<u4", within), within, 1)

    # -- bounds ----------------------------------------------------------------------------------------------------

    def _refuse(self, within: Within, is_good: Flags) -> None:
        """The buffers of all that is not good are not read."""
        if not is_good.all():
            self.is_read[within.of[~is_good]] = False

    def _doubt(self, within: Within, is_good: Flags) -> None:
        """Refuse buffers that the reader of single ones may accept."""
        self._refuse(within, is_good)

    def _number(self, at: Integers, form: str, within: Within) -> Integers:
        """The numbers at these places, which must lie in their buffers."""
        self._refuse(within, at + np.dtype(form).itemsize <= within.ends)
        return gather(self.view, at, form).astype(np.int64)

    def _spend(self, left: Integers, counts: Integers, within: Within) -> Integers:
        """The counts, 0 for each buffer that cannot be read or has less left than all of its own."""
        # Weights are added up as floats: exact to 2**53, far above what a buffer may have.
        spent = np.bincount(within.of, weights=counts, minlength=len(left))
        left -= np.minimum(spent, 2**53).astype(np.int64)
        self.is_read &= left >= 0
        return np.where(self.is_read[within.of], counts, 0)

    # -- tables ----------------------------------------------------------------------------------------------------

    def _tables(self, cls: type[Table], at: Integers, within: Within, depth: int) -> Struct:
        """The tables at these places."""
        if depth > DEPTH_MAX:
            self._doubt(within, np.zeros(len(at), np.bool_))
            return Struct({}, len(at))
        self._spend(self.tables_left, np.ones(len(at), np.int64), within)
        slots = slots_of(cls)
        offsets = self._offsets(at, within, len(slots))
        columns: dict[str, Column] = {}
        for offset, (name, wire, default) in zip(offsets, slots, strict=True):
            if isinstance(wire, Scalar):
                columns[name] = self._scalar(wire, default, at, offset, within)
            else:
                columns[name] = self._slot(name, wire, at, offset, within, depth)
        self._check_layout(cls, at, offsets, columns, within)
        return Struct(columns, len(at))

    def _check_layout(
        self, cls: type[Table], at: Integers, offsets: Sequence[Integers | int], columns: Columns, within: Within
    ) -> None:
        """Refuse tables that no writer lays out so, where that matters."""

    def _offsets(self, at: Integers, within: Within, count: int) -> Sequence[Integers | int]:
        """For each slot where in the tables the field is, 0 where it is not there; one number if it is so in all."""
        vtable = at - self._number(at, "<i4", within)
        size = self._number(vtable, "<u2", within)
        is_good = (vtable >= self.starts[within.of]) & (size >= 4) & (size & 1 == 0) & (vtable + size <= within.ends)
        self._refuse(within, is_good)
        if not is_good.all() or not len(at):
            return [self._offset(vtable, size, index) for index in range(count)]
        low, high = int(size.min()), int(size.max())
        if low == high:  # most writers lay out all tables of a class alike
            every = gather(self.view, vtable, f"V{low}")
            if (every == every[0]).all():
                have: list[int] = every[:1].view("<u2")[2:].tolist()
                return (have + [0] * count)[:count]
        return [self._offset(vtable, size, index) for index in range(count)]

    def _offset(self, vtable: Integers, size: Integers, index: int) -> Integers:
        offset = gather(self.view, vtable + 4 + 2 * index, "<u2")
        return np.where(size >= 6 + 2 * index, offset, 0).astype(np.int64)

    # -- slots -----------------------------------------------------------------------------------------------------

    def _scalar(self, wire: Scalar, default: Any, at: Integers, offset: Integers | int, within: Within) -> Numbers:
        kind = np.bool_ if wire.form == "?" else np.int64
        has = np.asarray(offset) > 0
        if not has.any():
            return Numbers(np.full(len(at), default, kind))
        assert wire.form in "?bBhHiIq", "no number that an int64 does not hold"
        at = at + offset
        self._refuse(within, ~has | (at + wire.inline <= within.ends))
        values: NDArray[Any] = gather(self.view, at, "u1" if wire.form == "?" else "<" + wire.form).astype(kind)
        return Numbers(values if has.all() else np.where(has, values, default))

    def _refuse_without(self, name: str, within: Within, has: Flags) -> None:
        """Refuse tables that lack a required field."""
        self._refuse(within, has)

    def _slot(
        self, name: str, wire: SlotType, at: Integers, offset: Integers | int, within: Within, depth: int
    ) -> Column:
        has = np.broadcast_to(np.asarray(offset) > 0, at.shape)
        if wire.is_required:
            self._refuse_without(name, within, has)
        if not has.any():
            return Sparse(Objects(()), has)
        if isinstance(wire, UnionSlot):
            self._doubt(within, ~has)
            return Sparse(Objects([None] * int(has.sum())), has)
        place = at + offset
        if has.all():
            return self._behind(wire, place + self._number(place, "<u4", within), within, depth)
        place, within = place[has], within.take(has)
        return Sparse(self._behind(wire, place + self._number(place, "<u4", within), within, depth), has)

    def _behind(self, wire: SlotType, at: Integers, within: Within, depth: int) -> Column:
        """What an offset leads to."""
        if isinstance(wire, TableSlot):
            return self._tables(wire.cls, at, within, depth + 1)
        if isinstance(wire, TablesSlot):
            counts = self._counts(at, 4, within)
            items, within = items_of(at + 4, counts, 4), within.repeat(counts)
            return Lists(counts, self._tables(wire.cls, items + self._number(items, "<u4", within), within, depth + 1))
        if isinstance(wire, ScalarsSlot):
            counts = self._counts(at, wire.element.inline, within)
            self._check_vector(at + 4, wire.element, within)
            items = items_of(at + 4, counts, wire.element.inline)
            return Lists(counts, Numbers(gather(self.view, items, "<" + wire.element.form).astype(np.int64)))
        lengths = self._counts(at, 1, within)
        if isinstance(wire, StringSlot):
            if not self.is_ascii:
                self._doubt(within, ~has_high_bytes(self.data, at + 4, lengths))
            self._check_text(at + 4 + lengths, within)
            return Spans(at + 4, lengths, is_text=True)
        assert isinstance(wire, BytesSlot)
        return Made(Spans(at + 4, lengths, is_text=False), wire.to_json)

    def _check_vector(self, at: Integers, element: Scalar, within: Within) -> None:
        """Refuse vectors of numbers that no writer lays out so, where that matters."""

    def _check_text(self, ends: Integers, within: Within) -> None:
        """Refuse texts that no writer ends so, where that matters."""

    def _counts(self, at: Integers, width: int, within: Within) -> Integers:
        """How many elements the vectors at these places have; none in a buffer that cannot be read."""
        counts = self._number(at, "<u4", within)
        self._refuse(within, at + 4 + counts * width <= within.ends)
        counts = np.where(self.is_read[within.of], counts, 0)
        return self._spend(self.bytes_left, counts * width, within) // width
