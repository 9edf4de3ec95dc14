"""Columns of JSON forms as arrays of a given type: structures and lists without an object for each."""

from typing import Any

import numpy as np
import pyarrow as pa

from wiretool.batches.rows import values_of
from wiretool.codec.columns import Column, Columns, Lists, Made, Numbers, Spans, Sparse, Struct
from wiretool.sinks.arrow.arrays import numbers_of, spans_of


def typed(column: Column, kind: pa.DataType, data: bytes) -> pa.Array:
    """The column as an array of that type; ValueError where it has another shape. Bytes may be in any JSON form."""
    match column:
        case Sparse(inner, has):
            places = pa.array(np.cumsum(has) - 1, mask=~has)
            return typed(inner, kind, data).take(places) if has.any() else pa.nulls(len(has), kind)
        case Numbers(values, has) if kind in (pa.int64(), pa.bool_()):
            return _of_kind(numbers_of(values, has), kind)
        case Spans(starts, lengths, True) if kind == pa.string():
            return spans_of(data, starts, lengths, kind)
        case Made(Spans(starts, lengths, False)) if kind == pa.binary():
            return spans_of(data, starts, lengths, kind)
        case Struct(columns, count) if pa.types.is_struct(kind):
            return _structs(columns, count, kind, data)
        case Lists(counts, items) if pa.types.is_list(kind):
            offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
            return pa.ListArray.from_arrays(pa.array(offsets), typed(items, kind.value_type, data), type=kind)
        case _ if kind == pa.string():
            return _texts(values_of(column, data))
    raise ValueError(f"no {kind}")


def _of_kind(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type != kind:
        raise ValueError(f"no {kind}")
    return array


def _texts(values: list[Any]) -> pa.Array:
    if not all(value is None or type(value) is str for value in values):
        raise ValueError("no text")
    return pa.array(values, pa.string())


def _structs(columns: Columns, count: int, kind: pa.StructType, data: bytes) -> pa.Array:
    """Structures; a member that the type has and the columns have not is null."""
    fields = [kind.field(index) for index in range(kind.num_fields)]
    if columns.keys() - {field.name for field in fields}:
        raise ValueError(f"more than {kind}")
    members = [
        typed(columns[field.name], field.type, data) if field.name in columns else pa.nulls(count, field.type)
        for field in fields
    ]
    return pa.StructArray.from_arrays(members, fields=fields)
