"""Columns in columns: what rows they have, and what is left when some are taken."""

from typing import Any

import numpy as np
import pytest

from wiretool.batches.rows import values_of
from wiretool.codec.columns import Column, Lists, Made, Numbers, Spans, Sparse, Struct, items_of

DATA = b"abcdef"
NUMBERS = Numbers(np.array([1, 2, 3]))
HAS = np.array([True, False, True, False, True])
SPARSE = Sparse(NUMBERS, HAS)
TEXTS = Spans(np.arange(5), np.ones(5, np.int64), is_text=True)
CASES: list[tuple[Column, list[Any]]] = [
    (Made(NUMBERS, "{:02x}".format), ["01", "02", "03"]),
    (SPARSE, [1, None, 2, None, 3]),
    (
        Struct({"a": SPARSE, "b": TEXTS}, 5),
        [{"a": 1, "b": "a"}, {"b": "b"}, {"a": 2, "b": "c"}, {"b": "d"}, {"a": 3, "b": "e"}],
    ),
    (Lists(np.array([2, 0, 3]), TEXTS), [["a", "b"], [], ["c", "d", "e"]]),
    (Sparse(Lists(np.array([1, 2, 2]), TEXTS), HAS), [["a"], None, ["b", "c"], None, ["d", "e"]]),
    (Struct({}, 2), [{}, {}]),
]


@pytest.mark.parametrize(("column", "values"), CASES)
def test_rows_of_columns_in_columns(column: Column, values: list[Any]) -> None:
    assert values_of(column, DATA) == values
    flags = np.arange(len(values)) % 2 == 0
    assert values_of(column.take(flags), DATA) == values[::2]
    backwards = np.arange(len(values))[::-1]
    assert values_of(column.take(backwards), DATA) == values[::-1]
    assert values_of(column.take(~flags & flags), DATA) == []


def test_items_of() -> None:
    assert items_of(np.array([10, 50, 20]), np.array([2, 0, 3]), 4).tolist() == [10, 14, 20, 24, 28]
    assert items_of(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []
