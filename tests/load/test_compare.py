import json
import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.load.bench_courses import FIGURES, buckets_of, drifting, row, stretched, verdicts
from tests.load.bench_results import EVIL, Source, closed, drawn, flat, histogram_of, nothing, result_of, stopped
from wiretool.errors import DecodeError, UsageError
from wiretool.load.compare import (
    BEYOND_MIN,
    SHARES,
    Compared,
    Comparison,
    compare,
    judged,
    log_quantiles,
    tolerance_from,
    widths,
)
from wiretool.load.measure.histograms import COUNTERS, Histogram
from wiretool.load.measure.time_slices import Courses, Times, courses_of, stretches_of, times_of
from wiretool.load.report.comparison import comparison_json, comparison_text
from wiretool.load.result import Result


def by_name(comparison: Comparison) -> dict[tuple[str, str, str], Compared]:
    return {(each.operation, each.source, each.figure): each for each in comparison.figures}


def slower(seconds: int, factor: float, *, seed: int = 50, many: int = 2_000) -> Result:
    """The closed loop, with everything taking so much longer."""
    return result_of(
        [{"append": Source(drawn(seed + at, round(many / factor), 700e-6 * factor))} for at in range(seconds)]
    )


# -- it tells the truth ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "seed"), [(4, 1), (10, 2)])
def test_a_thing_against_itself_is_equal_in_95_of_100(seconds: int, seed: int) -> None:
    alarms = 0
    for number in range(100):
        rng = np.random.default_rng([seed, number])
        alarms += bool(verdicts(drifting(rng, seconds), drifting(rng, seconds)) & {"worse", "better"})
    assert alarms <= 5


def test_stalls_in_a_few_seconds_are_nobodys_fault() -> None:
    alarms = 0
    for number in range(50):
        rng = np.random.default_rng([3, number])
        one, other = (drifting(rng, 12, stalls=0.15, drift=0.02) for _ in range(2))
        alarms += bool(verdicts(one, other) & {"worse", "better"})
    assert alarms <= 2


def test_a_slowdown_of_30_percent_is_found() -> None:
    found = 0
    for number in range(40):
        rng = np.random.default_rng([4, number])
        found += "worse" in verdicts(drifting(rng, 10), drifting(rng, 10, slower=1.3))
    assert found >= 36


def test_faster_is_better_and_never_worse() -> None:
    rng = np.random.default_rng(5)
    said = verdicts(drifting(rng, 20, slower=1.4), drifting(rng, 20))
    assert "better" in said
    assert "worse" not in said


def test_the_interval_holds_the_true_ratio_and_is_worse_beyond_the_tolerance_only() -> None:
    a, b = closed(10, seed=1, many=2_000), slower(10, 1.5)
    found = by_name(compare(a, b))
    median = found["append", "response", "p50"]
    assert median.verdict == "worse"
    assert median.ratio == pytest.approx(1.5, rel=0.02)
    assert median.low is not None
    assert median.high is not None
    assert 1.05 < median.low < 1.5 < median.high
    rate = found["append", "", "per_s"]
    assert rate.verdict == "worse"
    assert rate.ratio == pytest.approx(1 / 1.5, rel=0.01)
    lenient = by_name(compare(a, b, tolerance=0.6))
    assert {lenient["append", "response", figure].verdict for figure in ("p50", "p90", "p99")} <= {"open", "same"}


def test_what_is_exactly_the_same_is_the_same() -> None:
    found = compare(closed(20, many=2_000), closed(20, many=2_000), tolerance=0.3)
    assert {each.verdict for each in found.figures if each.figure in ("per_s", "p50", "p90")} == {"same"}
    assert found.worse == found.better == []


def test_the_same_seed_gives_the_same_and_another_nearly() -> None:
    a, b = closed(8, seed=1), closed(8, seed=2)
    assert compare(a, b, seed=7) == compare(a, b, seed=7)
    one, other = by_name(compare(a, b, seed=7)), by_name(compare(a, b, seed=8))
    key = ("append", "response", "p50")
    assert one[key].low != other[key].low
    assert one[key].low == pytest.approx(other[key].low, rel=0.1)
    assert one[key].ratio == other[key].ratio


def test_a_minute_of_each_is_compared_in_two_seconds() -> None:
    a, b = closed(60, seed=1, many=1_000), closed(60, seed=2, many=1_000)
    began = time.process_time()
    compare(a, b)
    assert time.process_time() - began < 2


# -- what is compared --------------------------------------------------------------------------------------------------


def test_service_time_is_compared_where_it_is_another() -> None:
    assert {each.source for each in compare(closed(5), closed(5)).figures} == {"", "response"}
    found = by_name(compare(stopped(20), stopped(20)))
    assert found["append", "service", "p50"].low is not None
    assert found["append", "response", "p50"].low is not None
    assert found["append", "service", "p99"].a < 10_000 < 1_000_000 < found["append", "response", "p99"].a


def test_the_greatest_time_is_shown_and_not_judged() -> None:
    row = by_name(compare(closed(5), closed(5, seed=1)))["append", "response", "max"]
    assert (row.verdict, row.low, row.why) == ("shown", None, "a single exchange")
    assert row.ratio == row.b / row.a


def test_a_quantile_of_few_exchanges_is_not_judged() -> None:
    found = by_name(compare(closed(5, many=200), closed(5, many=200)))
    assert found["append", "response", "p99"].verdict != "shown"
    assert found["append", "response", "p99_9"].why == f"fewer than {BEYOND_MIN} exchanges beyond it"
    assert found["fetch", "response", "p99"].verdict == "shown"
    assert found["fetch", "response", "p90"].verdict != "shown"


def test_one_second_is_nothing_to_draw_from() -> None:
    found = compare(closed(1), closed(5))
    assert {each.verdict for each in found.figures} == {"shown"}
    assert "nothing can be compared" in comparison_text(found)


def test_a_second_that_the_end_cut_short_is_left_out() -> None:
    a, b = closed(6), closed(6)
    b.seconds[5] = result_of([{"append": Source(drawn(9, 20))}]).seconds[0]
    b.seconds[5].second = 5
    b.duration_s = 5.1
    assert courses_of(b, "B").operations["append"].counts.tolist() == [400.0] * 5
    assert courses_of(a, "A").stretches == 6


def test_the_warm_up_is_left_out() -> None:
    result = closed(6, warm=2)
    assert courses_of(result, "A").stretches == 4


def test_without_histograms_of_seconds_there_are_no_intervals_of_times() -> None:
    a, b = closed(5), closed(5)
    for second in b.seconds:
        for moment in second.operations.values():
            moment.response_histogram = moment.service_histogram = ""
    comparison = compare(a, b)
    found = by_name(comparison)
    assert found["append", "", "per_s"].low is not None
    assert found["append", "response", "p50"].verdict == "shown"
    assert "B has no histograms of its seconds for append: its times have no interval" in comparison.remarks


def test_a_damaged_histogram_is_named_with_its_place() -> None:
    b = closed(5)
    b.seconds[3].operations["fetch"].response_histogram = "HISTFAAAA"
    with pytest.raises(DecodeError, match="B: second 3, fetch, response_histogram"):
        compare(closed(5), b)


def test_what_only_one_of_them_did() -> None:
    a, b = closed(5), slower(5, 1.0, many=400)
    gone = compare(a, b)
    assert [(each.operation, each.figure, each.why) for each in gone.worse] == [("fetch", "count", "none in B")]
    new = compare(b, a)
    assert new.worse == []
    assert "fetch is in B alone" in new.remarks
    failed = closed(5)
    failed.operations["fetch"] = flat(count=0)
    assert ("fetch", "", "count") in by_name(compare(a, failed))


def test_nothing_against_nothing() -> None:
    comparison = compare(nothing(), nothing())
    assert comparison.figures == []
    assert comparison.invalid == ["A is INVALID: nothing was measured", "B is INVALID: nothing was measured"]
    assert not comparison.has_judged
    assert "\nA and B have no common operation\n" in comparison_text(comparison)


def test_what_else_was_not_the_same_is_said() -> None:
    a, b = closed(5), closed(5, valid=False, reasons=["too late", EVIL])
    b.options = {**b.options, "appenders": 32, "json": "b.json"}
    b.versions = {**b.versions, "wiretool": "0.2.0"}
    b.operations["append"].errors = 20
    comparison = compare(a, b)
    assert comparison.remarks == [
        "A and B differ in options: appenders 64 and 32",
        "A and B differ in versions: wiretool 0.1.0 and 0.2.0",
        "append: 0 % of all exchanges failed in A, 0.99 % in B",
    ]
    assert comparison.invalid == [f"B is INVALID: too late; {EVIL}"]
    text = comparison_text(comparison)
    assert text.startswith("B is INVALID: too late; \\x1b[31m")
    assert text.endswith(" (but of INVALID runs)\n")


@settings(max_examples=30)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=7), st.lists(st.integers(0, 40), min_size=1, max_size=7))
def test_any_two_runs_can_be_compared(one: list[int], other: list[int]) -> None:
    a, b = (
        result_of([{"append": Source(drawn(at, many))} if many else {} for at, many in enumerate(counts)])
        for counts in (one, other)
    )
    comparison = compare(a, b)
    json.loads(comparison_json(comparison))
    assert "nan" not in comparison_text(comparison)
    for each in comparison.figures:
        if each.low is not None and each.high is not None and each.ratio is not None:
            assert 0 <= each.low <= each.ratio <= each.high


# -- quantiles of draws ------------------------------------------------------------------------------------------------


def counted(stretches: Sequence[Histogram]) -> Times:
    return times_of(np.stack([each.counters() for each in stretches]).astype(np.float64))


def test_buckets_lose_less_than_a_part_in_a_thousand() -> None:
    times = drawn(1, 5_000, 3e-3, 1.0)
    histogram = histogram_of(times)
    quantiles = histogram.quantiles()
    rows = counted([histogram])
    found = np.exp([float(column[0]) for column in log_quantiles(np.ones((1, 1)), rows, list(SHARES.values()))])
    wanted = [getattr(quantiles, name) for name in SHARES]
    assert found == pytest.approx(wanted, rel=0.001)


def test_times_of_a_few_microseconds_are_told_apart_between_whole_ones() -> None:
    """Else 12 against 13 µs, one rounding, would be 8 % slower without any doubt."""
    rows = counted([histogram_of([12e-6] * 60 + [13e-6] * 40), histogram_of([12e-6] * 40 + [13e-6] * 60)])
    one, other = np.exp(next(iter(log_quantiles(np.eye(2), rows, [0.5]))))
    assert 12.2 < one < 12.5 < other < 12.8


def test_a_time_of_nothing_in_the_histogram_of_another_program_counts_as_half_a_microsecond() -> None:
    times = Times(np.array([0]), np.array([[3.0], [2.0]]))
    (column,) = log_quantiles(np.ones((1, 2)), times, [0.5])
    assert column.tolist() == [np.log(0.5)]


def test_draws_without_any_exchange_have_a_quantile_all_the_same() -> None:
    assert next(iter(log_quantiles(np.eye(2), counted([Histogram(), Histogram()]), [0.5]))).tolist() == [0.0, 0.0]
    one = counted([histogram_of([1e-3] * 5), Histogram()])
    assert np.isfinite(next(iter(log_quantiles(np.eye(2), one, [0.5])))).all()


@pytest.mark.parametrize(("seconds", "stretches"), [(1, 1), (6, 6), (7, 5), (15, 5), (20, 6), (30, 10), (3_600, 10)])
def test_stretches(seconds: int, stretches: int) -> None:
    assert stretches_of(seconds) == stretches


def test_more_stretches_make_a_narrower_interval() -> None:
    rng = np.random.default_rng(1)
    rows = rng.poisson(50, (30, COUNTERS)).astype(float)
    widths = []
    for seconds in (5, 30):
        a = b = stretched(rows[:seconds])
        found = judged([row("response", figure) for figure in FIGURES], a, b, 0.05, 1)
        widths.append([each.high / each.low for each in found if each.high and each.low])
    assert all(many < few for few, many in zip(*widths, strict=True))


def steady(seconds: int, median_us: float) -> Courses:
    """A run whose seconds are all alike: nothing in it says how far another run may be."""
    rows = np.zeros((seconds, COUNTERS))
    rows[:, buckets_of(median_us * np.linspace(0.5, 1.5, 1_000))] = 20
    return stretched(rows)


def test_two_starts_of_one_thing_may_differ_though_their_seconds_do_not() -> None:
    assert "worse" not in verdicts(steady(10, 1_000), steady(10, 1_080))
    assert "worse" in verdicts(steady(10, 1_000), steady(10, 1_300))


@pytest.mark.parametrize(("stalled", "verdict"), [(1, "open"), (3, "open"), (5, "worse")])
def test_stalls_in_three_of_ten_stretches_may_be_chance_in_half_of_them_not(stalled: int, verdict: str) -> None:
    def run(stalls: int) -> Courses:
        rows = np.zeros((30, COUNTERS))
        rows[:, buckets_of(1_000 * np.linspace(0.9, 1.1, 200))] = 50
        rows[0 : 3 * stalls : 3, buckets_of(np.array([50_000.0]))] = 9_000
        return stretched(rows)

    (found,) = judged([row("response", "p99")], run(0), run(stalled), 0.05, 1)
    assert found.verdict == verdict


def test_few_stretches_make_wider_intervals_as_student_has_them() -> None:
    draws = np.random.default_rng(1).normal(size=(20_000, 1))
    for freedom, wanted in ((2, 4.30), (8, 2.31), (1_000, 1.96)):
        wide, tail = widths(draws, freedom, np.random.default_rng(2))
        assert wide == pytest.approx(wanted, rel=0.05)
        assert tail == pytest.approx(0.025, rel=0.1)


def test_more_figures_make_wider_intervals() -> None:
    draws = np.random.default_rng(1).normal(size=(20_000, 10))
    wide, _ = widths(draws, 1_000, np.random.default_rng(2))
    assert wide == pytest.approx(2.80, rel=0.03)  # 10 that have nothing to do with each other (Sidak 1967)


def test_noise_is_not_taken_to_be_without_a_memory() -> None:
    """Five stretches 10 % apart: 0.27 if each were new to the others, 0.6 if they said nothing more than one does."""
    rows = np.zeros((5, COUNTERS))
    for each, factor in zip(rows, (0.8, 0.9, 1.0, 1.1, 1.2), strict=True):
        each[buckets_of(1_000 * factor * np.linspace(0.9, 1.1, 200))] = 500
    (found,) = judged([row("response", "p50")], stretched(rows), stretched(rows), 0.05, 1)
    assert found.high is not None
    assert 0.35 < np.log(found.high) < 0.5


def test_two_seconds_that_happen_to_be_alike_say_little() -> None:
    assert not verdicts(steady(2, 1_000), steady(2, 1_200)) & {"worse", "better"}
    assert "worse" in verdicts(steady(2, 1_000), steady(2, 2_500))


# -- words -------------------------------------------------------------------------------------------------------------


def test_the_table() -> None:
    text = comparison_text(compare(closed(10, seed=1, many=2_000), slower(10, 1.5)), width=120)
    lines = text.splitlines()
    assert lines[0].split() == ["operation", "figure", "A", "B", "B/A", "95%", "interval", "verdict", "remark"]
    assert lines[1].split()[:6] == ["append", "per", "s", "2,000", "1,333", "0.67"]
    assert lines[2].split()[:3] == ["append", "response", "p50"]
    assert lines[2].rstrip().endswith("worse")
    assert lines[-1].startswith("B against A: ")
    assert lines[-1].endswith(" worse beyond the tolerance of 5 %")
    painted = comparison_text(compare(closed(10, seed=1, many=2_000), slower(10, 1.5)), width=120, colour=True)
    assert "\x1b[1;31m" in painted
    equal = comparison_text(compare(closed(5), closed(5)))
    assert equal.endswith("B against A: equal, as no figure is shown to differ beyond the tolerance of 5 %\n")


def test_the_json_has_every_figure_and_what_follows() -> None:
    told = json.loads(comparison_json(compare(closed(10, seed=1, many=2_000), slower(10, 1.5), tolerance=0.1, seed=3)))
    assert (told["tolerance"], told["seed"], told["confidence"]) == (0.1, 3, 0.95)
    assert told["worse"] == len([each for each in told["figures"] if each["verdict"] == "worse"]) > 0
    assert told["better"] == 0
    assert {"operation", "source", "figure", "a", "b", "ratio", "low", "high", "verdict", "why"} == set(
        told["figures"][0]
    )


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0.05", 0.05), (" 12.5 % ", 0.125), ("0", 0), (".5", 0.5)])
def test_tolerances(text: str, share: float) -> None:
    assert tolerance_from(text) == share


@pytest.mark.parametrize("text", ["", "%", "five", "-5%", "1", "100%", "5", "5%%", "nan", "1e-3"])
def test_what_is_no_tolerance(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"--tolerance .*: (not a share; expected a percentage|out of range; expected 0)"
    ):
        tolerance_from(text)


@pytest.mark.parametrize("width", [40, 60])
def test_narrow_tables_tell_rows_apart(width: int) -> None:
    text = comparison_text(compare(closed(10, seed=1, many=2_000), slower(10, 1.5)), width=width)
    rows = [line.split()[:3] for line in text.splitlines() if line.startswith("append")]
    assert ["append", "response", "p99.9"] in rows
    assert len({tuple(row) for row in rows}) == len(rows)
