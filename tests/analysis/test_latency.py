import math

from hypothesis import given
from hypothesis import strategies as st

from wiretool.analysis.latency import BUCKETS, Latencies

TIMES = st.integers(0, 10**12)


@given(st.lists(TIMES, min_size=1, max_size=200), st.sampled_from([0.01, 0.5, 0.9, 0.99, 1.0]))
def test_quantiles_are_those_of_the_sorted_times(times: list[int], share: float) -> None:
    latencies = Latencies()
    for time in times:
        latencies.add(time)
    exact = sorted(times)[max(math.ceil(len(times) * share), 1) - 1]
    assert abs(latencies.quantile_ns(share) - exact) <= exact >> BUCKETS.bits
    assert (latencies.min_ns, latencies.max_ns, latencies.count) == (min(times), max(times), len(times))


def test_no_times_have_no_quantiles_and_clocks_that_were_set_back_count_as_none() -> None:
    latencies = Latencies()
    assert latencies.quantile_ns(0.5) == 0
    latencies.add(-5)
    assert latencies.quantile_ns(0.5) == 0
    assert latencies.count == 1


def test_any_number_of_times_takes_little_memory() -> None:
    latencies = Latencies()
    for time in range(0, 50_000_000, 997):
        latencies.add(time)
    assert len(latencies._buckets) < 40_000
