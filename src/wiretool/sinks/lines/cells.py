"""Columns as text: what stands in one place of many lines."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wiretool.batches.batch import FrameRun
from wiretool.batches.rows import values_of
from wiretool.codec.columns import (
    Bytes,
    Choice,
    Column,
    Flags,
    Integers,
    Lists,
    Made,
    Numbers,
    Spans,
    Sparse,
    Struct,
    Uuids,
)
from wiretool.codec.flatbuffers.declaration import BytesSlot
from wiretool.codec.json_text import json_text, quoted
from wiretool.codec.types import Data, WireType, uuid_text
from wiretool.protocols.base.columns import Events
from wiretool.sinks.arrow.arrays import choices_of, hex_of, spans_of, uuid_texts
from wiretool.sinks.lines.strings import Piece, in_csv, in_json, in_terminal, joined, without_formulas


class NoFormError(Exception):
    """These values are written record by record."""


class Sort(Enum):
    """What a cell holds."""

    NUMBER = auto()
    #: A string: `raw` are its characters.
    TEXT = auto()
    #: A truth, list or structure: CSV has its JSON text.
    JSON = auto()
    #: Values that JSON and CSV do not write alike.
    MIXED = auto()


@dataclass(frozen=True, slots=True)
class Cell:
    """The JSON text of one value in each of many rows, in pieces; with `may_miss` rows without one have none."""

    sort: Sort
    pieces: Sequence[Piece]
    raw: Piece = ""
    may_miss: bool = False

    def json(self, count: int, *, null: str = "null") -> Sequence[Piece]:
        """Its JSON text in `count` rows; `null` where there is no value."""
        if not self.may_miss:
            return self.pieces
        return [joined(self.pieces, count).fill_null(null)]

    def csv(self, count: int) -> Piece:
        """What stands in CSV: nothing where there is no value."""
        if self.sort is Sort.MIXED:
            raise NoFormError
        pieces = [self.raw] if self.sort is Sort.TEXT else self.pieces
        is_constant = all(isinstance(piece, str) for piece in pieces)
        text = joined(pieces, 1 if is_constant else count)
        if self.sort is not Sort.NUMBER:
            text = in_csv(without_formulas(in_terminal(text)) if self.sort is Sort.TEXT else text)
        text = text.fill_null("")
        return text[0].as_py() if is_constant else text


def number_cell(values: Integers, has: Flags | None = None) -> Cell:
    """Whole numbers or truths; with `has` only those rows have one."""
    sort = Sort.JSON if values.dtype == np.bool_ else Sort.NUMBER
    if has is None and _are_equal(values):
        return Cell(sort, [json_text(values[0].item())])
    array = pa.array(values, mask=None if has is None else ~has)
    return Cell(sort, [array.cast(pa.string())], may_miss=has is not None)


def _are_equal(values: Integers | Bytes) -> bool:
    return len(values) > 0 and bool((values == values[0]).all())


def constant_cell(text: str) -> Cell:
    """One string in all rows."""
    return Cell(Sort.TEXT, [quoted(text)], text)


def text_cell(text: pa.Array, *, is_clean: bool = False, may_miss: bool = False) -> Cell:
    """Strings; clean ones have nothing to escape."""
    return Cell(Sort.TEXT, ['"', text if is_clean else in_json(text), '"'], text, may_miss)


class Columns:
    """Makes columns of a run into cells. Text that several places of its lines have is made once."""

    def __init__(self, run: FrameRun) -> None:
        self._connections = run.connections
        self._data = run.frames.data
        self._hex: pa.Buffer | None = None
        self._of_connections: dict[str, tuple[pa.Array, pa.Array]] = {}

    def numbers_of_connections(self, indices: Integers) -> Cell:
        """The numbers of the connections with these indices."""
        return Cell(Sort.NUMBER, [self._texts_of("connection")[0].take(pa.array(indices))])

    def ends_of_connections(self, name: str, indices: Integers) -> Cell:
        """The `client` or `server` of the connections with these indices."""
        raw, escaped = self._texts_of(name)
        places = pa.array(indices)
        text = raw.take(places)
        return Cell(Sort.TEXT, ['"', text if escaped is raw else escaped.take(places), '"'], text)

    def _texts_of(self, name: str) -> tuple[pa.Array, pa.Array]:
        """Return the text of one value of each connection, also as it stands in JSON: that array itself if alike."""
        if name not in self._of_connections:
            raw = pa.array([str(getattr(ends, name)) for ends in self._connections], pa.string())
            self._of_connections[name] = raw, in_json(raw)
        return self._of_connections[name]

    def cell(self, column: Column, wire: WireType | None = None) -> Cell:
        """The values of a column; with a wire type, which has a JSON form of its own, those of a field of a message."""
        if isinstance(column, Choice):
            return choice_cell(column.codes, [_form(value, wire) for value in column.values])
        cell = None
        if wire is None:
            cell = self._scalars(column) or self._structures(column)
        elif isinstance(wire, Data) and type(wire).to_json is Data.to_json:
            cell = self._hex_of(column)
        if cell is not None:
            return cell
        forms = [_form(value, wire) for value in values_of(column, self._data)]
        return choice_cell(np.arange(len(forms)), forms)

    def _scalars(self, column: Column) -> Cell | None:
        match column:
            case Numbers(values, has):
                return number_cell(values, has)
            case Uuids(raw) if _are_equal(raw):
                return constant_cell(uuid_text(raw[0].tobytes()))
            case Uuids(raw):
                return text_cell(uuid_texts(raw), is_clean=True)
            case Spans(starts, lengths, is_text=True):
                return text_cell(spans_of(self._data, starts, lengths, pa.string()))
        return None

    def _structures(self, column: Column) -> Cell | None:
        match column:
            case Made(inner, make):
                return self._made(inner, make)
            case Sparse(inner, has):
                return _spread(self.cell(inner), has)
            case Struct(columns, count):
                members = [(name, self.cell(each)) for name, each in columns.items()]
                return Cell(Sort.JSON, object_of(members, count))
            case Lists(counts, items):
                return _list_cell(counts, self.cell(items).json(int(counts.sum())))
        return None

    def _made(self, inner: Column, make: Callable[[Any], Any]) -> Cell | None:
        if isinstance(inner, Choice):
            codes = inner.codes
            made = [*map(make, inner.values), make(None)] if (codes < 0).any() else [*map(make, inner.values)]
            return choice_cell(np.where(codes < 0, len(inner.values), codes), made)
        hexed = self._hex_of(inner)
        if hexed is None or make is bytes.hex:
            return hexed
        if getattr(make, "__func__", None) is BytesSlot.to_json:
            return Cell(Sort.JSON, object_of([("hex", hexed)], len(hexed.raw)))
        return None

    def _hex_of(self, column: Column) -> Cell | None:
        """Spans of the data in hex, which is made once: what stood at `i` stands at `2 * i`, twice as long."""
        if not isinstance(column, Spans) or column.is_text:
            return None
        if self._hex is None:
            self._hex = hex_of(self._data)
        return text_cell(spans_of(self._hex, 2 * column.starts, 2 * column.lengths, pa.string()), is_clean=True)

    def events_cell(self, events: Events, count: int) -> Cell:
        """The events of each of `count` rows; what an event does not have is left out."""
        members = [(name, self.cell(column)) for name, column in events.columns.items()]
        members.append(("data", self.cell(Made(events.body, bytes.hex))))
        pieces = object_of(members, len(events.rows))
        if np.array_equal(events.rows, np.arange(count)):  # one each
            return Cell(Sort.JSON, ["[", *pieces, "]"])
        return _list_cell(np.bincount(events.rows, minlength=count), pieces)


def object_of(members: Sequence[tuple[str, Cell]], count: int) -> Sequence[Piece]:
    """The JSON text of structures; what a row does not have is left out."""
    pieces: list[Piece] = []
    for name, cell in members:
        member = [f",{quoted(name)}:", *cell.pieces]
        pieces += [joined(member, count).fill_null("")] if cell.may_miss else member
    # The comma in front of the first member goes, whichever of them that is.
    if not pieces or isinstance(pieces[0], str):
        return ["{", *(piece[1:] if at == 0 else piece for at, piece in enumerate(pieces)), "}"]
    return ["{", pc.ascii_ltrim(joined(pieces, count), ","), "}"]


def _list_cell(counts: Integers, items: Sequence[Piece]) -> Cell:
    """Lists of the next so many items each."""
    bounds = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(bounds), joined(items, int(bounds[-1])))
    return Cell(Sort.JSON, ["[", pc.binary_join(lists, ","), "]"])


def _spread(cell: Cell, has: Flags) -> Cell:
    """A cell of the rows that have a value as one of all rows."""
    count, places = int(has.sum()), pa.array(np.cumsum(has) - 1, mask=~has)
    if cell.sort is not Sort.TEXT:
        return Cell(cell.sort, [joined(cell.pieces, count).take(places)], may_miss=True)
    raw = joined([cell.raw], count).take(places)
    return text_cell(raw, may_miss=True)


def is_as_it_is(wire: WireType) -> bool:
    """Whether values of the type are JSON values already."""
    return type(wire).to_json is WireType.to_json


def _form(value: Any, wire: WireType | None) -> Any:
    return value if wire is None else wire.to_json(value)


def choice_cell(codes: Integers, values: Sequence[Any]) -> Cell:
    """The JSON value of each code; none for -1, nor where the value is None."""
    if any(value is None for value in values):
        known = np.array([-1 if value is None else code for code, value in enumerate(values)])
        codes = np.where(codes < 0, -1, known[codes])
    may_miss = bool((codes < 0).any())
    sort = _sort_of([value for value in values if value is not None])
    if sort is Sort.TEXT and all(value is None or value.isascii() for value in values):
        return text_cell(choices_of(codes, values, pa.string()), may_miss=may_miss)
    sort = Sort.MIXED if sort is Sort.TEXT else sort
    texts = [None if value is None else json_text(value) for value in values]
    return Cell(sort, [choices_of(codes, texts, pa.string())], may_miss=may_miss)


def _sort_of(values: Sequence[Any]) -> Sort:
    sorts = {_SORTS.get(type(value), Sort.MIXED) for value in values}
    if not sorts:  # nothing to write
        return Sort.NUMBER
    return sorts.pop() if len(sorts) == 1 else Sort.MIXED


_SORTS: Mapping[type, Sort] = {
    str: Sort.TEXT,
    int: Sort.NUMBER,
    bool: Sort.JSON,
    dict: Sort.JSON,
    list: Sort.JSON,
    tuple: Sort.JSON,
}
