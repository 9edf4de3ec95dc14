"""Runs that may not be quoted, although the generator was able to measure."""

import msgspec
import pytest

from tests.load.bench_results import closed, flat
from wiretool.load.measure.verdict import doubts, expected_operations
from wiretool.load.planning.plan import Plan
from wiretool.load.result import Moment, Quantiles, Second, unfinished_operation

PLAN = Plan(protocol="pravega", appenders=4, duration_s=4.0, run="verdict")


def seconds_of(*counts: int, errors: int = 0) -> list[Second]:
    """Return seconds with so many appends each."""
    none = Quantiles()
    return [
        Second(
            second=number,
            operations={
                "append": Moment(count=count, errors=errors, events=count, bytes=0, service_us=none, response_us=none)
            }
            if count or errors
            else {},
        )
        for number, count in enumerate(counts)
    ]


def test_a_healthy_run_has_no_doubts() -> None:
    result = closed(4)
    assert doubts(result.operations, [("append",), ("fetch", "tail")], result.seconds, PLAN) == []


def test_appends_that_were_due_and_not_answered_are_counted() -> None:
    operation = unfinished_operation()
    operation.unfinished, operation.unfinished_us = 8_000, 4_500_000
    assert doubts({"append": operation}, [("append",)], seconds_of(0, 0, 0, 0), PLAN) == [
        "no append was measured in 4 seconds: 8,000 were due and not answered, the oldest due 4.50 s before the end; "
        "expected one at least"
    ]


def test_refused_appends_are_counted_with_what_was_said() -> None:
    operation = flat(count=0, errors=70, error_kinds={"NoSuchSegment": 60, "SegmentIsSealed": 10})
    (why,) = doubts({"append": operation}, [("append",)], seconds_of(0, 0, errors=35), PLAN)
    assert why == "no append was measured in 2 seconds: 70 failed (NoSuchSegment); expected one at least"


def test_fetchers_that_only_follow_what_is_written_are_measured_by_that() -> None:
    operations = {"append": flat(count=9, errors=0), "tail": flat(count=9, errors=0)}
    expected = [("append",), ("fetch", "tail")]
    assert doubts(operations, expected, seconds_of(9), PLAN) == []
    del operations["tail"]
    (why,) = doubts(operations, expected, seconds_of(9), PLAN)
    assert why == "no fetch was measured in 1 second: none was due; expected one at least"


def test_less_than_a_second_is_named_as_that() -> None:
    plan = msgspec.structs.replace(PLAN, duration_s=0.01)
    assert doubts({}, [("append",)], seconds_of(0), plan) == [
        "no append was measured in 10.0 ms: none was due; expected one at least"
    ]


def test_what_never_happened_is_missed() -> None:
    assert doubts({}, [("append",)], seconds_of(0), PLAN) == [
        "no append was measured in 1 second: none was due; expected one at least"
    ]


@pytest.mark.parametrize(("errors", "max_errors", "is_valid"), [(1, 0.01, True), (2, 0.01, False), (50, 0.5, True)])
def test_so_many_errors_are_too_many(errors: int, max_errors: float, is_valid: bool) -> None:
    plan = msgspec.structs.replace(PLAN, max_errors=max_errors)
    found = doubts({"append": flat(count=99, errors=errors)}, [("append",)], seconds_of(99), plan)
    assert found == ([] if is_valid else ["append: 2 % of 101 failed; expected 1 % at most (--max-errors)"])


def test_appends_without_an_answer_count_as_errors() -> None:
    operation = flat(count=664, errors=12, unfinished=600, unfinished_us=2_490_000, unanswered=588)
    assert doubts({"append": operation}, [("append",)], seconds_of(332, 332), PLAN) == [
        "append: 47 % of 1,264 failed or were not answered: 12 failed, 588 due and not answered 5 s after the end; "
        "expected 1 % at most (--max-errors)"
    ]


def test_few_appends_without_an_answer_and_those_answered_after_the_end_do_not_count() -> None:
    for unanswered in (0, 6):
        operation = flat(count=664, errors=0, unfinished=588, unfinished_us=1_490_000, unanswered=unanswered)
        assert doubts({"append": operation}, [("append",)], seconds_of(332, 332), PLAN) == []


def test_appends_to_a_server_that_usually_takes_longer_are_not_lost() -> None:
    slow = Quantiles(p50=6_000_000, p99=6_000_000)
    operation = flat(count=100, errors=0, unfinished=60, unfinished_us=6_000_000, unanswered=10, service_us=slow)
    assert doubts({"append": operation}, [("append",)], seconds_of(50, 50), PLAN) == []


@pytest.mark.parametrize(
    ("counts", "errors", "oldest_us", "is_silent"),
    [
        ((500, 500, 0, 0), 0, 2_100_000, True),
        ((500, 500, 500, 0), 0, 900_000, False),
        ((500, 0, 0, 500), 0, 2_100_000, False),
        ((500, 0, 0, 0), 1, 2_100_000, False),
    ],
    ids=["silent at the end", "a pause at the end", "a pause in between", "refused at the end"],
)
def test_a_target_that_falls_silent_is_found(
    counts: tuple[int, ...], errors: int, oldest_us: int, is_silent: bool
) -> None:
    operation = flat(count=1_000, errors=0)
    operation.unfinished, operation.unfinished_us = 64, oldest_us
    found = doubts({"append": operation}, [("append",)], seconds_of(*counts, errors=errors), PLAN)
    assert [why.split(":")[0] for why in found] == ["no append was answered in the last 2 seconds"] * is_silent


@pytest.mark.parametrize(
    ("changes", "is_drained", "expected"),
    [
        ({}, False, [("append",)]),
        ({"fetchers": 2}, False, [("append",), ("fetch", "tail")]),
        ({"fetchers": 2, "has_backlog": True}, False, [("append",)]),
        ({"fetchers": 2, "has_backlog": True}, True, [("append",), ("fetch", "tail")]),
        ({"protocol": "offramp", "appenders": 0, "fetchers": 2}, False, [("consume", "tail")]),
    ],
)
def test_what_users_do_is_expected(
    changes: dict[str, object], is_drained: bool, expected: list[tuple[str, ...]]
) -> None:
    assert expected_operations(msgspec.structs.replace(PLAN, **changes), is_drained=is_drained) == expected
