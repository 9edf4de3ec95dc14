import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.intervals import interval_of, text_of
from wiretool.errors import DecodeError
from wiretool.load.measure.histograms import Histogram
from wiretool.load.measure.intervals import Interval, Pulse, Tally
from wiretool.load.measure.totals import PATIENCE_S, Gathering, MergedSecond, Totals, joined, second_from
from wiretool.load.result import Operation, Quantiles

DURATION_S = 3.0
TIMES = st.lists(st.floats(1e-6, 10), max_size=5)


def merged_of(*intervals: Interval, workers: int = 1) -> list[MergedSecond]:
    gathering = Gathering(workers)
    return [second for interval in intervals for second in gathering.add(interval)] + gathering.rest()


def totals_of(*intervals: Interval, workers: int = 1, duration_s: float = DURATION_S) -> Totals:
    totals = Totals(duration_s)
    for second in merged_of(*intervals, workers=workers):
        totals.add(second)
    return totals


def test_only_measured_seconds_count() -> None:
    totals = totals_of(*(interval_of(second, [0.001 * (second + 5)]) for second in range(-2, 6)))
    append = totals.operations()["append"]
    assert append.count == 3
    assert Histogram.from_text(append.service_histogram).text() == text_of([0.005, 0.006, 0.007])
    assert [second.second for second in totals.seconds] == [-2, -1, 0, 1, 2]
    assert append.per_s == 1.0


def test_a_last_second_that_is_cut_short_counts() -> None:
    totals = totals_of(*(interval_of(second, [0.001]) for second in range(4)), duration_s=2.5)
    assert totals.operations()["append"].count == 3
    assert totals.operations()["append"].per_s == pytest.approx(1.2)


def test_an_operation_has_all_figures() -> None:
    first = interval_of(0, [0.001] * 99, response=[0.002] * 99, events=990, size=9900, errors={"lost": 1})
    second = interval_of(1, [0.5], response=[1.0], events=10, size=100, errors={"lost": 2, "refused": 1})
    append = totals_of(first, second).operations(2.0)["append"]
    assert append == Operation(
        count=100,
        errors=4,
        per_s=50.0,
        events_per_s=500.0,
        bytes_per_s=5000.0,
        service_us=Quantiles(p50=1000, p90=1000, p99=1000, p99_9=500_223, max=500_223),
        response_us=Quantiles(p50=2000, p90=2000, p99=2000, p99_9=1_000_447, max=1_000_447),
        error_kinds={"lost": 3, "refused": 1},
        service_histogram=text_of([0.001] * 99 + [0.5]),
        response_histogram=text_of([0.002] * 99 + [1.0]),
        over_s=2.0,
    )


def test_no_time_measured_has_no_rates() -> None:
    append = totals_of(interval_of(0, [0.001])).operations(0.0)["append"]
    assert (append.count, append.per_s, append.events_per_s, append.bytes_per_s) == (1, 0.0, 0.0, 0.0)


def test_late_arrivals_of_all_processes_are_added_up() -> None:
    one, two, later = (interval_of(0, [0.001], worker=name) for name in ("one", "two", "two"))
    for interval, late in ((one, 1), (two, 2), (later, 4)):
        interval.pulse.arrivals, interval.pulse.late_arrivals = 10, late
    (second,) = totals_of(one, two, workers=2).seconds
    assert (second.arrivals, second.late_arrivals) == (20, 3)
    given_up = joined(second, second_from(merged_of(later)[0]))
    assert (given_up.arrivals, given_up.late_arrivals) == (30, 7)


def test_a_second_has_what_all_processes_did() -> None:
    one = interval_of(0, [0.001], worker="one", cpu_s=0.5, waited_s=0.1, wall_s=1.0, lag_us=5, lateness_us=90)
    two = interval_of(0, [0.003], worker="two", cpu_s=0.9, waited_s=0.2, wall_s=2.0, lag_us=7, lateness_us=20)
    (second,) = totals_of(one, two, workers=2).seconds
    assert second.generator_cpu == {"one": 0.5, "two": 0.45}
    assert second.generator_waited == {"one": 0.1, "two": 0.1}
    assert (second.lag_us, second.lateness_us) == (7, 90)
    moment = second.operations["append"]
    assert (moment.count, moment.errors) == (2, 0)
    assert (moment.service_us.p50, moment.service_us.max) == (1000, 3001)
    assert moment.response_histogram == text_of([0.001, 0.003])
    assert moment.service_histogram == ""


def test_both_histograms_are_kept_of_a_second_where_they_differ() -> None:
    (second,) = totals_of(interval_of(0, [0.001], response=[0.009])).seconds
    moment = second.operations["append"]
    assert (moment.service_histogram, moment.response_histogram) == (text_of([0.001]), text_of([0.009]))


def test_a_pulse_of_no_time_is_no_division() -> None:
    (second,) = totals_of(interval_of(0, [], wall_s=0.0, cpu_s=0.1)).seconds
    assert second.generator_cpu == {"one": 0.0}


def test_a_second_is_given_when_all_have_told_it() -> None:
    gathering = Gathering(workers=2)
    assert gathering.add(interval_of(0, [0.1], worker="one")) == []
    assert gathering.add(interval_of(1, [0.1], worker="one")) == []
    (whole,) = gathering.add(interval_of(0, [0.1], worker="two"))
    assert (whole.second, whole.operations["append"].count, len(whole.pulses)) == (0, 2, 2)
    (left,) = gathering.rest()
    assert (left.second, left.operations["append"].count) == (1, 1)
    assert gathering.rest() == []


def test_a_process_that_skips_a_second_holds_nobody_up() -> None:
    gathering = Gathering(workers=2)
    for second in range(3):
        assert gathering.add(interval_of(second, [0.1], worker="one")) == []
    given_now = gathering.add(interval_of(2, [0.1], worker="two"))
    assert [each.second for each in given_now] == [0, 1, 2]


def test_what_is_told_out_of_order_sets_nobody_back() -> None:
    gathering = Gathering(workers=2)
    for second in (3, 0):
        assert gathering.add(interval_of(second, [0.1], worker="two")) == []
    assert [each.second for each in gathering.add(interval_of(3, [0.1], worker="one"))] == [0, 3]


def test_a_process_that_hangs_is_not_waited_for_for_ever() -> None:
    gathering = Gathering(workers=2)
    gathering.add(interval_of(0, [0.1], worker="two"))
    seen = [len(gathering.add(interval_of(second, [0.1], worker="one"))) for second in range(PATIENCE_S + 3)]
    assert seen == [1] + [0] * PATIENCE_S + [1, 1]
    (late,) = gathering.add(interval_of(1, [0.2], worker="two"))
    assert (late.second, late.operations["append"].count) == (1, 1)


def test_a_process_that_never_comes_is_not_waited_for_for_ever() -> None:
    gathering = Gathering(workers=2)
    given_by = [len(gathering.add(interval_of(second, [0.1]))) for second in range(PATIENCE_S + 2)]
    assert given_by == [0] * PATIENCE_S + [1, 1]


def test_a_process_that_has_ended_is_not_waited_for() -> None:
    gathering = Gathering(workers=2)
    gathering.add(interval_of(0, [0.1], worker="two"))
    gathering.add(interval_of(0, [0.1], worker="one"))
    assert gathering.add(interval_of(1, [0.1], worker="one")) == []
    assert [each.second for each in gathering.leave("two")] == [1]
    assert [each.second for each in gathering.add(interval_of(2, [0.1], worker="one"))] == [2]
    assert gathering.leave("one") == []
    assert gathering.leave("never heard of") == []


def test_when_a_second_began_is_when_the_first_began_it() -> None:
    first, other = interval_of(0, [], worker="one", began_at=100.5), interval_of(0, [], worker="two", began_at=100.2)
    assert merged_of(first, other, workers=2)[0].began_at == 100.2


def test_what_comes_late_is_in_its_second_and_in_the_sum() -> None:
    early = [interval_of(second, [0.001], worker="one", errors={"lost": 1}) for second in range(PATIENCE_S + 2)]
    late = interval_of(0, [0.5], worker="two", response=[0.7], errors={"refused": 2}, lag_us=12_000_000, cpu_s=0.25)
    totals = totals_of(*early, late, workers=2, duration_s=20)
    append = totals.operations()["append"]
    assert append.count == PATIENCE_S + 3
    assert append.error_kinds == {"lost": PATIENCE_S + 2, "refused": 2}
    first = totals.seconds[0]
    assert set(first.generator_cpu) == {"one", "two"}
    assert first.lag_us == 12_000_000
    moment = first.operations["append"]
    assert (moment.count, moment.errors) == (2, 3)
    assert (moment.service_histogram, moment.response_histogram) == (text_of([0.001, 0.5]), text_of([0.001, 0.7]))
    assert [second.operations["append"].count for second in totals.seconds[1:3]] == [1, 1]


def test_what_the_target_used_stays_with_its_second() -> None:
    totals, gathering = Totals(DURATION_S), Gathering()
    for second in range(PATIENCE_S):
        for merged in gathering.add(interval_of(second, [0.1])):
            totals.add(merged)
    totals.sampled(1, 0.5, 4096)
    totals.sampled(77, 0.9, 1)
    for merged in gathering.add(interval_of(1, [0.1], worker="two")):
        totals.add(merged)
    assert [(each.target_cpu, each.target_bytes) for each in totals.seconds] == [
        (None, None),
        (0.5, 4096),
        (None, None),
    ]
    assert totals.seconds[1].operations["append"].count == 2


@given(st.dictionaries(st.tuples(st.sampled_from("abc"), st.integers(-2, 4)), st.tuples(TIMES, TIMES)), st.randoms())
def test_nothing_is_lost_and_nothing_counted_twice(
    told: dict[tuple[str, int], tuple[list[float], list[float]]], order: random.Random
) -> None:
    intervals = []
    for (worker, second), (service, response) in told.items():
        # As many of both, as there are of one exchange.
        pairs = list(zip(service, response, strict=False))
        own = [pair[0] for pair in pairs]
        errors = Counter({"lost": len(service)})
        intervals.append(interval_of(second, own, response=[pair[1] for pair in pairs], worker=worker, errors=errors))
    order.shuffle(intervals)
    totals = totals_of(*intervals, workers=3, duration_s=DURATION_S)
    measured = [each.operations["append"] for each in intervals if 0 <= each.second < DURATION_S]
    found = totals.operations().get("append", None)
    if not measured:
        assert found is None
        return
    assert found is not None
    assert found.count == sum(tally.count for tally in measured)
    assert found.errors == sum(tally.errors["lost"] for tally in measured)
    for text, parts in (
        (found.service_histogram, [tally.service for tally in measured]),
        (found.response_histogram, [tally.response for tally in measured]),
    ):
        whole = Histogram()
        for part in parts:
            whole.merge(Histogram.from_text(part))
        assert text == whole.text()
    moments = [second.operations["append"] for second in totals.seconds if second.second >= 0]
    assert sum(moment.count for moment in moments) == found.count
    assert sum(moment.errors for moment in moments) == found.errors


def test_a_tally_with_a_broken_histogram_is_refused() -> None:
    pulse = Pulse(worker="one")
    broken = Interval(second=0, began_at=0.0, pulse=pulse, operations={"append": Tally(count=1, service="junk")})
    with pytest.raises(DecodeError, match="not HdrHistogram's text"):
        Gathering().add(broken)


def test_seconds_of_a_drain_are_kept_and_have_rates_of_their_own() -> None:
    totals = Totals(1.5, 62.0)
    built_up = [interval_of(second, [0.001] * 3, events=30, size=300) for second in (-1, 0, 1)]
    drained = [interval_of(second, [0.1] * 2, operation="fetch", events=20, size=200) for second in (2, 3)]
    beyond = interval_of(62, [0.1], operation="fetch")
    for second in merged_of(*built_up, *drained, beyond):
        totals.add(second)
    assert [(second.second, second.is_drain) for second in totals.seconds] == [
        (-1, False),
        (0, False),
        (1, False),
        (2, True),
        (3, True),
    ]
    operations = totals.operations(1.5, 0.5)
    append, fetch = operations["append"], operations["fetch"]
    assert (append.count, append.over_s, append.per_s, append.events_per_s) == (6, 1.5, 4.0, 40.0)
    assert (fetch.count, fetch.over_s, fetch.per_s, fetch.bytes_per_s) == (4, 0.5, 8.0, 800.0)


def test_what_comes_late_of_a_drain_is_still_of_the_drain() -> None:
    totals = Totals(1.0, 61.0)
    for worker in ("one", "two"):
        for second in merged_of(interval_of(1, [0.1], operation="fetch", worker=worker)):
            totals.add(second)
    (both,) = totals.seconds
    assert (both.is_drain, both.operations["fetch"].count) == (True, 2)
