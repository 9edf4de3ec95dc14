"""Numbers by their name inside the fields of many frames; so the data streams that `subjects` finds in one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wiretool.analysis.subjects import DEPTH_MAX
from wiretool.codec.columns import (
    Choice,
    Column,
    Columns,
    Integers,
    Lists,
    Made,
    Numbers,
    Objects,
    Spans,
    Sparse,
    Struct,
)


class Found(NamedTuple):
    """Numbers, ascending by the row that they are in, and in each in the order of its values."""

    rows: Integers
    ids: Integers


NOTHING = Found(np.zeros(0, np.int64), np.zeros(0, np.int64))


def stream_ids(columns: Columns) -> Found | None:
    """The ids in the columns `header` and `payload`; None where only the values themselves can tell."""
    parts = [_inside(columns[name], "stream_id", 0) for name in ("header", "payload") if name in columns]
    return _together(parts)


def _inside(column: Column, name: str, depth: int) -> Found | None:
    """The numbers called so in the structures of a column, `depth` deep."""
    match column:
        case Struct(columns):
            return numbers_named(columns, name, depth)
        case Sparse(inner, has):
            found = _inside(inner, name, depth)
            return None if found is None else Found(np.flatnonzero(has)[found.rows], found.ids)
        case Lists(counts, items):
            found = _inside(items, name, depth + 1) if depth < DEPTH_MAX else NOTHING
            return None if found is None else Found(np.repeat(np.arange(len(counts)), counts)[found.rows], found.ids)
        case Choice(_, values) | Objects(values):
            return NOTHING if all(isinstance(value, str | int | float | None) for value in values) else None
        case Made(inner, _):
            # Forms of bytes and numbers are text: body_form's {"hex": ...} has no ids either.
            return NOTHING if isinstance(inner, Spans | Numbers) else None
    return NOTHING


def numbers_named(columns: Columns, name: str, depth: int = 0) -> Found | None:
    """The numbers of that name among the columns and inside them; None where only the values themselves can tell."""
    parts = [_own(columns[name])] if name in columns else []
    if depth < DEPTH_MAX:
        parts += [_inside(column, name, depth + 1) for column in columns.values()]
    return _together(parts)


def _own(column: Column) -> Found | None:
    match column:
        case Numbers(ids, has):
            rows = np.arange(len(ids)) if has is None else np.flatnonzero(has)
            return Found(rows, ids[rows].astype(np.int64))
        case Sparse(inner, has):
            found = _own(inner)
            return None if found is None else Found(np.flatnonzero(has)[found.rows], found.ids)
    return None


def _together(parts: Sequence[Found | None]) -> Found | None:
    """What was found in several places of the same rows, one after the other in each."""
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    found = [part for part in found if len(part.rows)]
    if len(found) < 2:
        return found[0] if found else NOTHING
    rows, ids = np.concatenate([part.rows for part in found]), np.concatenate([part.ids for part in found])
    order = np.argsort(rows, kind="stable")
    return Found(rows[order], ids[order])
