"""The tables of messages: one for each name that a protocol gives, its columns out of the declaration."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from wiretool.batches.batch import Batch, FrameRun
from wiretool.batches.rows import records_of, values_of
from wiretool.codec.columns import Choice, Column, Numbers, Spans, Uuids
from wiretool.codec.json_text import json_text
from wiretool.codec.message import SIDES, Message, fields_of
from wiretool.errors import EncodeError
from wiretool.protocols.base.columns import Group
from wiretool.records import Record
from wiretool.sinks.arrow.arrays import coded_of, coded_uuids_of, numbers_of, spans_of
from wiretool.sinks.arrow.forms import typed
from wiretool.sinks.arrow.leaves import CODED, JSON, Leaf
from wiretool.sinks.arrow.shapes import Entry, Shape, shape_of

#: Protocol and name of a message.
Key = tuple[str, str]
_UNFIT = (ValueError, TypeError, KeyError, OverflowError, EncodeError, pa.ArrowException)


def message_tables(batch: Batch) -> Iterator[tuple[Key, pa.Table]]:
    """The messages of a batch by their names, those of one name as a table in the order of their numbers."""
    parts: dict[Key, list[pa.Table]] = defaultdict(list)
    for run in batch.runs:
        for group in run.groups:
            parts[run.protocol, group.name].append(_of_group(run, group))
    for key, records in _by_key(batch.records).items():
        parts[key].append(_of_records(shape_of(*key), records))
    for key, tables in parts.items():
        yield key, in_order(tables)


def in_order(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of one schema as one, in the order of their first column, in which each of them is already."""
    if len(tables) == 1:
        return tables[0]
    table = pa.concat_tables(tables)
    numbers = table.column(0).to_numpy()
    if (np.diff(numbers) > 0).all():
        return table
    return table.unify_dictionaries().take(pa.array(np.argsort(numbers, kind="stable")))


def sides_of(is_server: Any) -> pa.Array:
    """The names of sides."""
    return coded_of(is_server.astype(np.int32), SIDES)


# -- columns -------------------------------------------------------------------------------------------------------


def _of_group(run: FrameRun, group: Group) -> pa.Table:
    shape, count = shape_of(run.protocol, group.name), len(group.rows)
    if group.columns.keys() <= shape.entries.keys():
        read = _array if group.cls is not None else _array_of_form
        rest: dict[str, Column] = {}
        try:
            arrays = [
                read(name, entry, group.columns[name], run.frames.data, rest)
                if name in group.columns
                else _nulls(entry, count)
                for name, entry in shape.entries.items()
            ]
        except _UNFIT:  # a value that has no place in its column: each row by itself
            pass
        else:
            return _table(shape, _key_of_group(run, group), arrays, _rest(rest, count, run.frames.data))
    return _of_records(shape, records_of(Batch(0, 0, [replace(run, groups=[group])], ())))


def _rest(columns: Mapping[str, Column], count: int, data: bytes) -> pa.Array:
    """Those of the columns that a row has, as a JSON object."""
    if not columns:
        return pa.nulls(count, pa.string())
    texts: list[str | None] = []
    for row in zip(*(values_of(column, data) for column in columns.values()), strict=True):
        held = {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        texts.append(json_text(held) if held else None)
    return pa.array(texts, pa.string())


def _key_of_group(run: FrameRun, group: Group) -> list[pa.Array]:
    rows = group.rows
    return [
        numbers_of(run.frames.numbers[rows]),
        numbers_of(run.times[rows]),
        numbers_of(run.numbers_of_connections(rows)),
        sides_of(run.frames.is_server[rows]),
    ]


def _array_of_form(name: str, entry: Entry, column: Column, data: bytes, rest: dict[str, Column]) -> pa.Array:
    """A column of JSON forms as the array of its entry; what stands beside it is put into `rest`."""
    if entry.unfold is None:
        if pa.types.is_struct(entry.leaf.type) or entry.leaf is JSON:
            raise ValueError("each value has to be looked at")
        return typed(column, entry.leaf.type, data)
    own, more = entry.unfold(column)
    if more is not None:
        rest[name] = more
    return typed(own, entry.leaf.type, data)


def _array(name: str, entry: Entry, column: Column, data: bytes, rest: dict[str, Column]) -> pa.Array:
    """A column of a class as the array of its entry; what has no short cut goes value by value."""
    kind = entry.leaf.type
    match column:
        case Numbers(values, has) if not entry.is_mixed and kind in (pa.int64(), pa.bool_()):
            return numbers_of(values, has).cast(kind)
        case Spans(starts, lengths, is_text) if kind == (pa.string() if is_text else pa.binary()):
            return spans_of(data, starts, lengths, kind)
        case Uuids(raw) if kind == CODED:
            return coded_uuids_of(raw)
        case Choice(codes, values) if kind in (CODED, pa.string()) and not entry.is_mixed:
            coded = coded_of(codes, [None if value is None else entry.leaf.convert(value) for value in values])
            return coded.cast(kind)
        case _:
            return _checked(entry, values_of(column, data))


def _checked(entry: Entry, values: Sequence[Any]) -> pa.Array:
    return entry.leaf.array([entry.to_json(value) for value in values] if entry.is_mixed else values)


def _nulls(entry: Entry, count: int) -> pa.Array:
    kind = entry.leaf.type
    if kind == CODED:
        return coded_of(np.full(count, -1), ())
    return pa.nulls(count, kind)


# -- records -------------------------------------------------------------------------------------------------------


def _by_key(records: Sequence[Record]) -> Mapping[Key, list[Record]]:
    found: dict[Key, list[Record]] = defaultdict(list)
    for record in records:
        if record.kind == "frame" and record.fields is not None:
            found[record.protocol, record.message].append(record)
    return found


def _of_records(shape: Shape, records: Sequence[Record]) -> pa.Table:
    rest: list[dict[str, Any]] = [{} for _ in records]
    values = [_values(shape, record.fields, left) for record, left in zip(records, rest, strict=True)]
    arrays = [
        _fitting(entry.leaf, name, [row.get(name) for row in values], shape, records, rest)
        for name, entry in shape.entries.items()
    ]
    key = [
        numbers_of(np.fromiter((record.n for record in records), np.int64, len(records))),
        numbers_of(np.fromiter((record.time_ns for record in records), np.int64, len(records))),
        numbers_of(np.fromiter((record.connection for record in records), np.int64, len(records))),
        sides_of(np.fromiter((record.side == "server" for record in records), np.bool_, len(records))),
    ]
    texts = pa.array([json_text(left) if left else None for left in rest], pa.string())
    return _table(shape, key, arrays, texts)


def _values(shape: Shape, fields: Any, rest: dict[str, Any]) -> dict[str, Any]:
    """The values of the columns that a message has; what has none is put into `rest`, in its JSON form."""
    if isinstance(fields, Message):
        return _values_of_message(shape, fields, rest)
    values: dict[str, Any] = {}
    for name, form in fields.items():
        entry = shape.entries.get(name)
        if entry is None:
            rest[name] = form
            continue
        try:
            values[name] = entry.from_json(form)
        except _UNFIT:
            rest[name] = form
            continue
        if entry.beside is not None and (more := entry.beside(form)) is not None:
            rest[name] = more
    return values


def _values_of_message(shape: Shape, message: Message, rest: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    is_known = type(message) in shape.classes
    for field in fields_of(type(message)):
        value, entry = getattr(message, field.name), shape.entries.get(field.name) if is_known else None
        if entry is None:
            rest[field.name] = field.wire.to_json(value)
        else:
            values[field.name] = field.wire.to_json(value) if entry.is_mixed and value is not None else value
    return values


def _fitting(
    leaf: Leaf,
    name: str,
    values: Sequence[Any],
    shape: Shape,
    records: Sequence[Record],
    rest: Sequence[dict[str, Any]],
) -> pa.Array:
    """The values as an array; one that does not fit is null there and put into the rest of its row."""
    try:
        return _coded(leaf, values)
    except _UNFIT:
        pass
    fitting: list[Any] = []
    for value, record, left in zip(values, records, rest, strict=True):
        try:
            _coded(leaf, [value])
            fitting.append(value)
        except _UNFIT:
            fitting.append(None)
            left[name] = _form(shape.entries[name], record, name, value)
    return _coded(leaf, fitting)


def _form(entry: Entry, record: Record, name: str, value: Any) -> Any:
    """The JSON form of a value."""
    if isinstance(record.fields, Message):
        return value if entry.is_mixed else entry.to_json(value)
    assert record.fields is not None, "only frames have a table"
    return record.fields[name]


def _coded(leaf: Leaf, values: Sequence[Any]) -> pa.Array:
    if leaf.type != CODED:
        return leaf.array(values)
    return Leaf(pa.string(), leaf.convert).array(values).dictionary_encode()


def _table(shape: Shape, key: Sequence[pa.Array], arrays: Sequence[pa.Array], rest: pa.Array) -> pa.Table:
    return pa.Table.from_arrays([*key, *arrays, rest], schema=shape.schema)
