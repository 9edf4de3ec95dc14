from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.analysis import latency_bulk
from wiretool.analysis.latency import Latencies
from wiretool.analysis.latency_bulk import BucketCounts, LatencyArrays, sum_by_code

TIMES = st.integers(-(10**6), 10**13) | st.sampled_from([0, 2047, 2048, 4095, 4096, 2**52 - 1, 2**53 + 1, 2**62])
#: Parts that are added one after another: the row, a time, and how often it is counted.
PARTS = st.lists(st.lists(st.tuples(st.integers(0, 5), TIMES, st.integers(1, 3)), max_size=20), max_size=5)


def counted(times: BucketCounts) -> tuple[object, ...]:
    latencies = Latencies()
    latencies.add_counted(*times)
    return numbers_of(latencies)


def numbers_of(latencies: Latencies) -> tuple[object, ...]:
    return latencies.count, latencies.min_ns, latencies.max_ns, dict(latencies._buckets)


def one_by_one(times: Iterable[tuple[int, int, int]]) -> tuple[object, ...]:
    latencies = Latencies()
    for _, time, count in times:
        for _ in range(count):
            latencies.add(time)
    return numbers_of(latencies)


@given(PARTS, st.sampled_from([1, 25, 1000]))
def test_latencies_by_row_are_those_of_each(parts: Sequence[Sequence[tuple[int, int, int]]], pending: int) -> None:
    """However many counts wait, and while rows are added."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latency_bulk, "PENDING_MIN", pending)
        arrays, rows = LatencyArrays(), 0
        for part in parts:
            more = max([rows, *(row + 1 for row, _, _ in part)]) - rows
            arrays.make_room(more)
            rows += more
            arrays.add(*np.array(part, np.int64).reshape(-1, 3).T)
        every = [each for part in parts for each in part]
        found = {row: counted(times) for row, times in arrays.by_row()}
        total = arrays.total()
    assert found == {row: one_by_one(each for each in every if each[0] == row) for row in {row for row, _, _ in every}}
    assert (None if total is None else counted(total)) == (one_by_one(every) if every else None)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=60), st.sampled_from([1, 10**9]))
def test_counts_are_added_up_by_code(pairs: list[tuple[int, int]], factor: int) -> None:
    """Few codes as well as those that are far apart."""
    codes, counts = np.array(pairs, np.int64).reshape(-1, 2).T
    found, sums = sum_by_code(codes * factor, counts)
    expected = {code: sum(count for each, count in pairs if each == code) for code in sorted(codes.tolist())}
    assert dict(zip((found // factor).tolist(), sums.tolist(), strict=True)) == expected
    assert found.tolist() == [code * factor for code in expected]
