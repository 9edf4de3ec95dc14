import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wiretool.sessions.latency import Latencies, bucket_of
from wiretool.sessions.latency_bulk import FEW_CELLS, buckets_of, counts_of, firsts_of, spread

TIMES = st.integers(-(10**6), 10**13) | st.sampled_from([0, 2047, 2048, 4095, 4096, 2**52 - 1, 2**53 + 1, 2**62])


@given(st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 63).map(lambda bits: 2**bits - 1), min_size=1))
def test_buckets_are_those_of_each(values: list[int]) -> None:
    assert buckets_of(np.array(values, np.int64)).tolist() == list(map(bucket_of, values))


@given(st.lists(st.tuples(st.integers(0, 3), TIMES), max_size=50))
def test_many_times_are_counted_as_each(pairs: list[tuple[int, int]]) -> None:
    found = sorted({cell for cell, _ in pairs})
    cells = np.array([found.index(cell) for cell, _ in pairs], np.int64)
    told = spread(np.array([time for _, time in pairs], np.int64), cells, len(found))
    for cell, times in zip(found, told, strict=True):
        many, each = Latencies(), Latencies()
        many.add_counted(*times)
        for time in (time for mine, time in pairs if mine == cell):
            each.add(time)
        assert (many.count, many.min_ns, many.max_ns) == (each.count, each.min_ns, each.max_ns)
        assert many._buckets == each._buckets


@given(st.lists(st.integers(0, 40), max_size=60), st.sampled_from([41, 10**9]))
def test_codes_are_counted(codes: list[int], size: int) -> None:
    found, counts = counts_of(np.array(codes, np.int64), size)
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == {code: codes.count(code) for code in codes}
    assert found.tolist() == sorted(set(codes))


@given(st.lists(st.integers(0, 11), max_size=60), st.sampled_from([12, FEW_CELLS, 3]))
def test_firsts_are_where_a_cell_comes_first(cells: list[int], count: int) -> None:
    cells = [each for each in [0, *cells] if each < count]
    found = firsts_of(np.array(cells, np.int64), count)
    assert [found[each] for each in cells] == [cells.index(each) for each in cells]
