from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.bench_results import flat, nothing, result_of
from wiretool.errors import UsageError
from wiretool.load.measure.thresholds import EXAMPLE, Outcome, check_thresholds, threshold_from

RESULT = result_of([], operations={"append": flat(), "fetch": flat(count=0, errors=4), "idle": flat(count=0, errors=0)})


def outcome(text: str) -> Outcome:
    return check_thresholds([threshold_from(text)], RESULT)[0]


@pytest.mark.parametrize(
    ("text", "is_kept", "told"),
    [
        ("append.p99 < 5ms", False, "append: response p99 is 5.00 ms"),
        ("append.p99 <= 5ms", True, "append: response p99 is 5.00 ms"),
        ("append.p99 == 5000us", True, "append: response p99 is 5.00 ms"),
        ("append.p99<=0.005s", True, "append: response p99 is 5.00 ms"),
        ("append.response.p99 > 4.9 ms", True, "append: response p99 is 5.00 ms"),
        ("append.service.p99 < 5ms", True, "append: service p99 is 2.00 ms"),
        ("append.service.p99.9 >= 4ms", True, "append: service p99_9 is 4.00 ms"),
        ("append.max < 10ms", False, "append: response max is 10.0 ms"),
        ("append.p50 < 501µs", True, "append: response p50 is 500 µs"),
        ("append.p90 > 1s", False, "append: response p90 is 900 µs"),
        ("append.count >= 1k", True, "append: count is 1,000"),
        ("append.errors == 0", False, "append: errors is 10"),
        ("append.error_rate < 1%", True, "append: error_rate is 0.99 %"),
        ("append.error_rate < 0.0099", False, "append: error_rate is 0.99 %"),
        ("append.per_s >= 0.1k", True, "append: per_s is 100"),
        ("append.events_per_s > 1_000", False, "append: events_per_s is 1,000"),
        ("append.bytes_per_s >= 100kB", True, "append: bytes_per_s is 100 kB/s"),
        ("append.bytes_per_s > 150k", False, "append: bytes_per_s is 100 kB/s"),
        ("fetch.errors < 1", False, "fetch: errors is 4"),
        ("fetch.error_rate < 50%", False, "fetch: error_rate is 100 %"),
    ],
)
def test_figures_against_limits(text: str, is_kept: bool, told: str) -> None:
    found = outcome(text)
    assert (found.is_kept, found.told) == (is_kept, told)
    assert found.threshold.text == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("truncate.p99 < 5ms", "truncate did not occur; there were append, fetch, idle"),
        ("truncate.errors == 0", "truncate did not occur; there were append, fetch, idle"),
        ("fetch.p50 < 5s", "no fetch succeeded, so there is no p50; errors: 4"),
        ("idle.error_rate < 5%", "no idle succeeded, so there is no error_rate; errors: 0"),
    ],
)
def test_what_did_not_happen_keeps_no_threshold(text: str, told: str) -> None:
    assert outcome(text)[1:] == (False, told)


def test_nothing_at_all() -> None:
    found = check_thresholds([threshold_from("append.p99 > 0us")], nothing())
    assert found[0][1:] == (False, "append did not occur; nothing else did either")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected OPERATION.FIGURE"),
        ("p99 < 5ms", "expected OPERATION.FIGURE"),
        ("append.p99", "expected OPERATION.FIGURE"),
        ("append.p99 5ms", "expected OPERATION.FIGURE"),
        ("append.p99 < 5 ms or so", "p99 '5 ms or so': not a duration"),
        ("append.p99 =< 5ms", "expected OPERATION.FIGURE|equal"),
        ("append.p99 = 5ms", "'=': equal is =="),
        ("append.p95 < 5ms", r"'p95' is not a figure \(did you mean p9.*\?\); expected p50, p90"),
        ("append.mean < 5ms", "'mean' is not a figure; expected p50"),
        ("append.servce.p99 < 5ms", r"'servce': times are of service or response \(did you mean service\?\)"),
        ("append.service.count < 5", "count is not a time and has no service"),
        ("append.p99 < 5", "p99 '5': not a duration; expected a number with ns, us, ms, s"),
        ("append.p99 < 5M", "p99 '5M': not a duration"),
        ("append.p99 < ms", "p99 'ms': not a duration"),
        ("append.p99 < -5ms", "p99 '-5ms': not a duration"),
        ("append.count < 1e999", "count '1e999': not a count"),
        ("append.count < many", "count 'many': not a count; expected a number, with k or M if need be"),
        ("append.per_s < 5ms", "per_s '5ms': not a rate"),
        ("append.bytes_per_s < 5MiBit", "bytes_per_s '5MiBit': not a size; expected bytes"),
        ("append.error_rate < 5permille", "error_rate '5permille': not a share; expected a percentage"),
        ("append.error_rate < 1,,_%", "error_rate '1,,_%': not a share"),
    ],
)
def test_what_is_wrong_is_pointed_at_with_what_is_right(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        threshold_from(text)
    assert str(caught.value).startswith(f"--threshold {text!r}: ")
    assert str(caught.value).endswith(EXAMPLE)


def test_the_examples_are_right() -> None:
    assert [threshold_from(text).figure for text in EXAMPLE.split(", ")] == ["p99", "p99_9", "error_rate", "per_s"]


@given(st.text(alphabet="append.service_p9 <>=0.1%kMumsé\n", max_size=40) | st.text(max_size=30))
def test_any_text_is_a_threshold_or_refused(text: str) -> None:
    with suppress(UsageError):
        threshold = threshold_from(text)
        assert 0 <= threshold.limit < float("inf")
        assert len(check_thresholds([threshold], RESULT)) == 1


@given(st.sampled_from(["<", "<=", ">", ">=", "=="]), st.integers(0, 20_000))
def test_signs_mean_what_they_say(sign: str, limit: int) -> None:
    is_kept = {"<": limit > 5_000, "<=": limit >= 5_000, ">": limit < 5_000, ">=": limit <= 5_000, "==": limit == 5_000}
    assert outcome(f"append.p99 {sign} {limit}us").is_kept == is_kept[sign]
