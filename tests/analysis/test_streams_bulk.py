from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.records import a_record
from wiretool.analysis.streams_bulk import stream_ids
from wiretool.analysis.subjects import Subject, Subjects
from wiretool.batches.rows import values_of
from wiretool.codec.columns import Choice, Column, Lists, Made, Numbers, Objects, Sparse, Struct

COUNT = 4


@st.composite
def columns(draw: st.DrawFn, count: int, depth: int) -> Column:
    """Any column of so many rows, structures within structures."""
    kinds = ["numbers", "text"] + (["struct", "list", "sparse"] if depth else [])
    match draw(st.sampled_from(kinds)):
        case "struct":
            names = draw(st.lists(st.sampled_from(["a", "b", "stream_id"]), unique=True))
            of = {name: draw(ids(count) if name == "stream_id" else columns(count, depth - 1)) for name in names}
            return Struct(of, count)
        case "list":
            counts = np.array(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)), np.int64)
            return Lists(counts, draw(columns(int(counts.sum()), depth - 1)))
        case "sparse":
            has = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)
            return Sparse(draw(columns(int(has.sum()), depth - 1)), has)
        case "text":
            return Choice(np.zeros(count, np.int64), ("text",))
    return draw(ids(count))


@st.composite
def ids(draw: st.DrawFn, count: int) -> Column:
    values = np.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), np.int64)
    has = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)
    forms: list[Column] = [Numbers(values), Numbers(values, has), Sparse(Numbers(values[has]), has)]
    return draw(st.sampled_from(forms))


def one_by_one(of: dict[str, Column]) -> list[tuple[Subject, ...]]:
    values = [values_of(column, b"") for column in of.values()]
    rows: list[dict[str, Any]] = [dict(zip(of, row, strict=True)) for row in zip(*values, strict=True)]
    return [Subjects().of(a_record(protocol="sbp", fields=row)) for row in rows]


@given(columns(COUNT, 8), columns(COUNT, 3))
def test_streams_are_those_of_each_frame(header: Column, payload: Column) -> None:
    of = {"stream_id": Numbers(np.arange(COUNT)), "payload": payload, "header": header}
    found = stream_ids(of)
    assert found is not None
    assert found.rows.tolist() == sorted(found.rows.tolist())
    names = [dict.fromkeys(found.ids[found.rows == row].tolist()) for row in range(COUNT)]
    assert [tuple(Subject("stream", str(name)) for name in row) for row in names] == one_by_one(of)


def test_what_only_the_values_can_tell_is_left_to_them() -> None:
    assert stream_ids({"header": Objects([{"stream_id": 1}])}) is None
    assert stream_ids({"header": Struct({"stream_id": Objects([1])}, 1)}) is None
    assert stream_ids({"header": Made(Objects([1]), str)}) is None
    assert stream_ids({"header": Objects(["text", None])}) is not None
