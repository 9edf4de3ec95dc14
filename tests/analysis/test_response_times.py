"""Times fall into the buckets of Prometheus: a bound belongs to its bucket."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wiretool.analysis.response_times import BOUNDS_S, Histogram


def test_a_bound_is_inclusive() -> None:
    histogram = Histogram()
    histogram.add(np.array([0, 100_000, 100_001, 60_000_000_000, 60_000_000_001]))
    assert histogram.counts[0] == 2
    assert histogram.counts[1] == 1
    assert histogram.counts[-2:].tolist() == [1, 1]


@given(st.lists(st.integers(0, 10**12), max_size=20))
def test_each_time_is_in_one_bucket(times_ns: list[int]) -> None:
    histogram = Histogram()
    histogram.add(np.array(times_ns, np.int64))
    assert histogram.sum_ns == sum(times_ns)
    assert histogram.counts.cumsum().tolist() == [
        *(sum(time_ns / 1e9 <= bound for time_ns in times_ns) for bound in BOUNDS_S),
        len(times_ns),
    ]
