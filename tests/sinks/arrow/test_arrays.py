"""Spans and UUIDs of a batch as Arrow arrays."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.sinks.arrow.arrays import _MIXER, coded_uuids_of, distinct_uuids, spans_of

DATA = bytes(range(65, 91))


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
@pytest.mark.parametrize("spans", [[], [(0, 3), (3, 0), (5, 2)], [(9, 2), (0, 3), (4, 5)], [(4, 6), (0, 9), (4, 6)]])
def test_spans_in_any_order_are_their_bytes(kind: pa.DataType, spans: list[tuple[int, int]]) -> None:
    starts, lengths = np.array(spans, np.int64).reshape(-1, 2).T
    wanted = pa.array([DATA[start : start + length] for start, length in spans], kind)
    assert spans_of(DATA, starts, lengths, kind).equals(wanted)


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), max_size=40))
def test_uuids_are_distinct_whatever_their_order(halves: list[list[int]]) -> None:
    raw = np.array(halves, np.int64).reshape(-1, 2).view(np.uint8)
    kinds, indices = distinct_uuids(raw)
    assert (kinds[indices] == raw).all()
    assert len({each.tobytes() for each in kinds}) == len(kinds)


def test_uuids_of_one_sum_are_not_mistaken_for_each_other() -> None:
    raw = np.array([[0, int(_MIXER)], [1, 0], [0, int(_MIXER)]], np.int64).view(np.uint8)
    texts = coded_uuids_of(raw).to_pylist()
    assert texts[0] == texts[2] != texts[1]
