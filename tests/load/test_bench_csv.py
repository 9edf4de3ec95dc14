import csv
import io

import pytest

from tests.load.bench_results import Source, closed, drawn, nothing, result_of, stopped
from wiretool.load.report.csv import NAMES, csv_text
from wiretool.load.result import Result, Second


def rows_of(result: Result) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_text(result))))


def test_a_row_for_each_operation_in_each_second() -> None:
    result = stopped(20, warm=2)
    rows = rows_of(result)
    assert [int(row["second"]) for row in rows] == list(range(-2, 18))
    assert {row["operation"] for row in rows} == {"append"}
    moment = result.seconds[10].operations["append"]
    assert rows[10]["count"] == "300"
    assert rows[10]["bytes"] == "30000"
    assert int(rows[10]["service_us_p50"]) == moment.service_us.p50
    assert int(rows[10]["response_us_p99_9"]) == moment.response_us.p99_9
    assert int(rows[10]["response_us_max"]) > 1_900_000 > 100_000 > int(rows[10]["service_us_max"])
    assert rows[10]["generator_cpu"] == "0.9"
    assert rows[10]["target_cpu"] == "0.82"
    assert rows[10]["target_bytes"] == "110000000"


def test_columns_add_up_to_the_totals() -> None:
    result = closed(5)
    for name, operation in result.operations.items():
        rows = [row for row in rows_of(result) if row["operation"] == name]
        assert sum(int(row["count"]) for row in rows) == operation.count
        assert sum(int(row["events"]) for row in rows) == operation.events_per_s * 5


def test_a_second_without_an_operation_has_its_row_all_the_same() -> None:
    quiet: dict[str, Source] = {}
    result = result_of([{"append": Source(drawn(1, 10), errors=2)}, quiet, {"fetch": Source(drawn(2, 5))}])
    rows = rows_of(result)
    assert [(row["second"], row["operation"], row["count"], row["errors"]) for row in rows] == [
        ("0", "append", "10", "2"),
        ("0", "fetch", "0", "0"),
        ("1", "append", "0", "0"),
        ("1", "fetch", "0", "0"),
        ("2", "append", "0", "0"),
        ("2", "fetch", "5", "0"),
    ]
    assert rows[1]["service_us_p50"] == rows[1]["response_us_max"] == ""


def test_what_nobody_looked_at_is_empty() -> None:
    result = result_of([{"append": Source(drawn(1, 10))}])
    result.seconds = [Second(second=0, operations=result.seconds[0].operations)]
    row = rows_of(result)[0]
    assert row["generator_cpu"] == row["target_cpu"] == row["target_bytes"] == ""


@pytest.mark.parametrize("result", [nothing(), closed(1)])
def test_the_names_stand_above(result: Result) -> None:
    assert csv_text(result).splitlines()[0] == ",".join(NAMES)


def test_seconds_are_in_order_whatever_order_they_came_in() -> None:
    result = closed(5)
    text = csv_text(result)
    result.seconds.reverse()
    assert csv_text(result) == text
