import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.load.bench_results import EVIL, Source, closed, drawn, flat, histogram_of, nothing, result_of, stopped
from wiretool.load.measure.figures import (
    generator_text,
    hidden_text,
    share_text,
    times_as_much,
    unfinished_texts,
    verification_text,
)
from wiretool.load.measure.thresholds import check_thresholds, threshold_from
from wiretool.load.report import write_report
from wiretool.load.report.chart import COLUMNS, ROWS, Curve, chart_text
from wiretool.load.report.live import live_table
from wiretool.load.report.text import FINDINGS_SHOWN, KINDS_SHOWN, result_text
from wiretool.load.result import Moment, Quantiles, Result, Second, Verification
from wiretool.sinks.output import Output
from wiretool.sinks.text.figures import bytes_text, rate_text, time_text

ESCAPES = re.compile(r"\x1b\[[\d;]*m")


# -- figures -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time_us", "text"),
    [(0, "0 µs"), (1, "1 µs"), (412, "412 µs"), (999, "999 µs"), (1_000, "1.00 ms"), (3_200, "3.20 ms"),
     (12_345, "12.3 ms"), (999_400, "999 ms"), (1_040_000, "1.04 s"), (61_000_000, "61.0 s"), (3.6e9, "3600 s")],
)  # fmt: skip
def test_times(time_us: float, text: str) -> None:
    assert time_text(time_us) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1.00 kB"), (26_700, "26.7 kB"), (123_456_789, "123 MB"), (9.996e9, "10.0 GB"),
     (999_700, "1.00 MB")],
)  # fmt: skip
def test_sizes(size: float, text: str) -> None:
    assert bytes_text(size) == text


def test_rates_and_shares() -> None:
    assert [rate_text(each) for each in (0, 0.123456, 12.34, 99.96, 84_210.4)] == [
        "0",
        "0.123",
        "12.3",
        "100",
        "84,210",
    ]
    assert [share_text(each) for each in (0, 0.000031, 0.0123, 0.5, 1)] == ["0 %", "0.0031 %", "1.2 %", "50 %", "100 %"]
    assert [times_as_much(each) for each in (1.314, 9.97, 1_675.2)] == ["1.31", "10", "1,675"]


# -- the report --------------------------------------------------------------------------------------------------------


def test_a_closed_loop_has_one_row_of_times_for_each_operation() -> None:
    lines = result_text(closed(2)).splitlines()
    assert lines[0] == "Throughput over 2 s"
    assert re.split(r"  +", lines[1]) == [
        "operation", "count", "errors", "per s", "events/s", "bytes/s",
    ]  # fmt: skip
    assert re.split(r"  +", lines[2]) == ["append", "800", "0", "400", "400", "40.0 kB/s"]
    times = lines[lines.index("Time of an exchange") + 1 :]
    assert times[0].split() == ["operation", "time", "p50", "p90", "p99", "p99.9", "max"]
    assert times[1].startswith("append     service = response  ")
    assert times[2].startswith("fetch      service = response  ")
    assert lines[-1] == "VALID: the generator kept up; these are figures of the target"


def test_narrow_tables_name_operations_and_times_in_full() -> None:
    result = closed(2)
    result.operations = {"append.conditional": result.operations["append"], "append.plain": result.operations["fetch"]}
    text = result_text(result, width=40)
    assert "…" not in text
    assert text.count("operation ") == 2
    rows = text[text.index("Time of an exchange") :].splitlines()[2:4]
    assert [row.split()[0] for row in rows] == ["append.conditional", "append.plain"]


def test_a_run_that_was_cut_short_is_not_called_valid_without_saying_so() -> None:
    result = closed(2, cut_short="the server is gone\x1b")
    told = "the generator kept up; these are figures of the target until it was cut short: the server is gone"
    last = result_text(result).splitlines()[-1]
    assert last.startswith(f"VALID: {told}")
    assert "\x1b" not in last


def test_what_coordinated_omission_hides_is_said_in_one_line() -> None:
    text = result_text(stopped(20))
    rows = [re.split(r"  +", line) for line in text.splitlines()]
    service = next(row for row in rows if row[:2] == ["append", "service"])
    response = next(row for row in rows if row[:2] == ["", "response"])
    assert service[4].endswith(" ms")
    assert response[4].endswith(" s")
    hidden = [line for line in text.splitlines() if line.startswith("append: p99 is ")]
    assert len(hidden) == 1
    assert f"{response[4]} from when it was due and {service[4]} from the sending" in hidden[0]
    assert "hides" not in result_text(closed(2))


def test_a_difference_that_rounding_makes_is_not_worth_a_line() -> None:
    same = Quantiles(p50=1, p90=1, p99=1_000, p99_9=1, max=1)
    assert hidden_text("x", flat(service_us=same, response_us=Quantiles(p99=1_049))) == ""
    assert hidden_text("x", flat(service_us=same, response_us=Quantiles(p99=1_051))) != ""
    assert hidden_text("x", flat(service_us=Quantiles(), response_us=Quantiles())) == ""


def test_invalid_is_the_first_and_the_last_thing_to_be_read() -> None:
    text = result_text(closed(2, valid=False, reasons=["the schedule was 52 ms late", EVIL]))
    lines = text.splitlines()
    alarm = [
        "INVALID: do not quote these figures",
        "  the schedule was 52 ms late",
        "  \\x1b[31m<script>alert(1)</script>&\\u202e]]>\\x00\"'",
    ]
    assert lines[0] == "INVALID: do not quote these figures; the reasons are at the end"
    assert lines[-3:] == alarm
    assert text.count("the schedule was 52 ms late") == 1
    assert not re.search(r"(?<!IN)VALID", text)
    assert "no reason is given" in result_text(nothing(valid=False))


def test_errors_are_told_by_kind_the_most_frequent_first() -> None:
    result = closed(2)
    result.operations["fetch"].error_kinds = {"timed out": 3, EVIL: 12, **{f"kind {n}": 1 for n in range(20)}}
    text = result_text(result)
    table = text[text.index(f"Errors ({KINDS_SHOWN} kinds of 22)") :].splitlines()
    assert table[2].split()[:2] == ["12", "fetch"]
    assert "\\x1b[31m" in table[2]
    assert table[3].split() == ["3", "fetch", "timed", "out"]
    assert len(table[2 : table.index("")]) == KINDS_SHOWN
    assert "Errors" not in result_text(closed(2))


def test_what_stands_around_the_figures() -> None:
    result = closed(2, remarks=[f"it ended early {EVIL}"])
    result.operations["append"].unfinished, result.operations["append"].unfinished_us = 12, 1_200_000
    lines = result_text(result).splitlines()
    assert "verified: all 5,000 acknowledged events are there once, in order, unchanged" in lines
    assert (
        "generator: 2 processes, each 45 % of a processor, 51 % at most; waited for a processor for up to 3 % of a "
        "second; event loop 901 µs late at most; schedule 300 µs late at most"
    ) in lines
    assert "target: 81 % of a processor, 82 % at most; 101 MB of memory at most" in lines
    assert "append: 12 unfinished at the end, the oldest due 1.20 s before; they are in no figure" in lines
    assert any(line.startswith("it ended early \\x1b[31m") for line in lines)


def test_the_warm_up_is_in_no_figure_of_the_generator() -> None:
    result = closed(3, warm=1)
    result.seconds[0].generator_cpu = {"1": 1.0}
    result.seconds[0].lag_us = 10_000_000
    assert "100 %" not in generator_text(result)
    assert "10.0 s" not in generator_text(result)
    assert unfinished_texts(result) == []


def test_verification_says_what_was_checked_and_found() -> None:
    def told(acknowledged: int, checked: int, found: int = 0) -> str:
        fields = Verification(is_on=True, acknowledged_events=acknowledged, checked_events=checked, found=found)
        return verification_text(nothing(verification=fields))

    assert told(10, 4) == "4 of 10 acknowledged events checked: once, in order, unchanged"
    assert told(10, 9, 1) == "1 finding in 9 of 10 acknowledged events"
    assert told(0, 0) == "nothing was acknowledged, so there is nothing to find again"
    assert verification_text(nothing(verification=Verification(is_on=False))).startswith(
        "not verified: acknowledged events were not read back"
    )


def test_what_fetchers_checked_is_said_too() -> None:
    def told(acknowledged: int, found: int) -> str:
        fields = Verification(
            is_on=True, acknowledged_events=acknowledged, checked_events=acknowledged, fetched_events=2_000, found=found
        )
        return verification_text(nothing(verification=fields))

    whole = "all 10 acknowledged events are there once, in order, unchanged"
    assert told(10, 0) == f"{whole}; 2,000 were checked as they were fetched"
    assert told(10, 2) == "2 findings in 10 of 10 acknowledged events; 2,000 were checked as they were fetched"
    assert told(0, 0) == "2,000 events were checked as they were fetched: each came once, in order"
    assert told(0, 1) == "2,000 events were checked as they were fetched: 1 finding"


def test_findings_stand_behind_the_figures() -> None:
    findings = [f"writer {n}: event 7 is missing {EVIL}" for n in range(30)]
    verification = Verification(is_on=True, acknowledged_events=99, checked_events=99, found=300, findings=findings)
    text = result_text(closed(1, verification=verification))
    assert text.count("event 7 is missing") == FINDINGS_SHOWN
    assert f"  and {300 - FINDINGS_SHOWN} more" in text
    assert "300 findings" in text


def test_thresholds_stand_above_the_verdict() -> None:
    result = closed(1)
    outcomes = check_thresholds(map(threshold_from, ("append.p99 < 1us", "append.errors == 0")), result)
    lines = result_text(result, outcomes).splitlines()
    assert lines[-4].startswith("broken  append.p99 < 1us: append: response p99 is ")
    assert lines[-3] == "kept    append.errors == 0: append: errors is 0"


def test_nothing_was_measured() -> None:
    text = result_text(nothing())
    assert text.startswith("nothing was measured in 0 s\n")
    only_errors = result_of([], operations={"append": flat(count=0, per_s=0.0)})
    assert "Time of an exchange" not in result_text(only_errors)


@pytest.mark.parametrize("result", [closed(2), stopped(20), nothing(valid=False, reasons=["x"])])
def test_colour_is_paint_only(result: Result) -> None:
    plain = result_text(result)
    painted = result_text(result, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[" in painted
    stripped = [line.rstrip() for line in ESCAPES.sub("", painted).splitlines()]
    assert stripped == plain.splitlines()


def test_no_terminal_no_colour() -> None:
    file = io.BytesIO()
    with Output(file) as output:
        write_report(closed(1), output)
    assert file.getvalue().decode() == result_text(closed(1))


@pytest.mark.parametrize("form", ["json", "csv", "html", "junit"])
def test_other_forms_are_written_by_name(form: str) -> None:
    file = io.BytesIO()
    with Output(file) as output:
        write_report(closed(1), output, form)
    start = {
        "json": b'{"wiretool_bench":1,',
        "csv": b"second,operation,",
        "html": b"<!DOCTYPE html>",
        "junit": b"<?xml ",
    }
    assert file.getvalue().startswith(start[form])


# -- the chart ---------------------------------------------------------------------------------------------------------


def chart_of(*curves: Curve) -> list[str]:
    return chart_text("append", curves).splitlines()


def curve(name: str, times: list[float], *, is_dashed: bool = False) -> Curve:
    histogram = histogram_of(times)
    return Curve(name, histogram.curve(), histogram.count, is_dashed)


def test_a_chart_has_its_axes_and_marks() -> None:
    lines = chart_of(curve("service = response", [n / 1e4 for n in range(1, 10_001)]))
    assert lines[0] == "append   ⠒⠒⠒⠒ service = response"
    assert len(lines) == ROWS + 3
    assert all(len(line) <= COLUMNS + 12 for line in lines)
    assert lines[1].startswith(" 1.00 s ┤")
    assert lines[-1].split() == ["50%", "90%", "99%", "99.9%", "99.99%"]
    assert lines[-2].count("┴") == 5


def test_times_rise_from_left_to_right() -> None:
    lines = chart_of(curve("x", [n / 1e4 for n in range(1, 10_001)]))[1 : ROWS + 1]
    body = [line.partition("┤" if "┤" in line else "│")[2].ljust(COLUMNS) for line in lines]
    tops = [next(row for row in range(ROWS) if body[row][column] != " ") for column in range(COLUMNS)]
    assert tops == sorted(tops, reverse=True)
    assert tops[0] == ROWS - 1
    assert tops[-1] == 0


def test_two_curves_are_told_apart_without_colours() -> None:
    slow, fast = curve("response", [2.0] * 100), curve("service", [0.001] * 100, is_dashed=True)
    lines = chart_of(slow, fast)
    assert lines[0] == "append   ⠒⠒⠒⠒ response   ⠒ ⠒  service"
    solid, dashed = lines[1].partition("┤")[2], lines[ROWS].partition("┤")[2]
    assert " " not in solid.strip()
    assert len(solid.strip()) == COLUMNS
    assert " " in dashed.strip()


def test_what_is_flat_stays_flat() -> None:
    lines = chart_of(curve("x", [0.001] * 50 + [0.00101] * 50))
    assert sum(any(char >= "⠀" and char <= "⣿" for char in line) for line in lines[1 : ROWS + 1]) <= 2


@pytest.mark.parametrize("width", [40, 60, 80, 110])
def test_a_chart_fits_the_terminal(width: int) -> None:
    text = chart_text("append", [curve("service = response", [n / 1e4 for n in range(1, 10_001)])], width=width)
    assert max(map(len, text.splitlines())) <= min(width, COLUMNS + 18)
    assert len(text.splitlines()) == ROWS + 3


def test_nothing_is_no_chart() -> None:
    assert chart_text("append", []) == ""
    assert chart_text("append", [Curve("x", [], 0)]) == ""


@given(st.lists(st.floats(0, 5_000), min_size=1, max_size=30), st.lists(st.floats(0, 5_000), min_size=1, max_size=30))
def test_any_times_fit(one: list[float], other: list[float]) -> None:
    lines = chart_of(curve("a", one), curve("b", other, is_dashed=True))
    assert len(lines) == ROWS + 3
    assert all(len(line) <= COLUMNS + 18 for line in lines)


# -- the live table ----------------------------------------------------------------------------------------------------


def live(second: Second | None, width: int = 160, **more: object) -> list[str]:
    options: dict[str, object] = {"elapsed_s": 3.2, "duration_s": 10.0, "users": 64}
    console = Console(file=io.StringIO(), width=width)
    with console.capture() as capture:
        console.print(live_table(second, width=width, **{**options, **more}))  # type: ignore[arg-type]
    return capture.get().splitlines()


def test_the_live_table_has_the_last_second() -> None:
    lines = live(stopped(20).seconds[10], width=80, errors={"append": 1_234, "fetch": 5})
    assert lines[0] == "3 s of 10 s, 7 s to go, 64 users"
    heads = ["per s", "events/s", "bytes/s", "p50", "p99", "max", "errors"]
    assert re.split(r"  +", lines[1].strip()) == heads
    row = re.split(r"  +", lines[2].rstrip())
    assert row[:5] == ["append", "300", "300", "30.0 kB", "service"]
    assert row[-1] == "1,234"
    below = re.split(r"  +", lines[3].strip())
    assert below[0] == "response"
    assert below[-1].endswith(" s")
    assert lines[4].split() == ["fetch", "0", "0", "0", "B", "5"]
    assert lines[5] == "generator 50 % 40 % of a processor, target 82 %, 110 MB"


@pytest.mark.parametrize("width", [40, 60])
def test_a_narrow_live_table_names_the_columns_without_room_and_keeps_the_errors(width: int) -> None:
    lines = live(stopped(20).seconds[10], width=width, errors={"append": 1_234})
    assert all(len(line.rstrip()) <= width for line in lines)
    heads = re.split(r"  +", lines[1].strip())
    assert heads[0] == "per s"
    assert heads[-1] == "errors"
    assert lines[2].rstrip().endswith("1,234")
    hidden = " ".join(lines[4:]).partition("(no room for: ")[2].partition(")")[0].split(", ")
    assert sorted(heads + hidden) == sorted(["per s", "events/s", "bytes/s", "p50", "p99", "max", "errors"])


def test_a_narrow_live_table_names_operations_in_full() -> None:
    second = result_of([{name: Source(drawn(1, 10)) for name in ("append.conditional", "append.plain")}]).seconds[0]
    lines = live(second, width=40)
    assert [line.split()[0] for line in lines[2:4]] == ["append.conditional", "append.plain"]


def test_the_live_table_of_a_closed_loop_has_one_kind_of_times() -> None:
    lines = live(closed(1).seconds[0])
    assert lines[1].split() == ["per", "s", "events/s", "bytes/s", "p50", "p99", "max", "errors"]


def test_before_the_first_second_and_while_it_warms_up() -> None:
    assert live(None, elapsed_s=-2.0, users=1) == ["warming up, 2 s to go, 1 user"]
    assert live(None, elapsed_s=11.0)[0] == "11 s of 10 s, 0 s to go, 64 users"


def test_a_second_in_which_nothing_ended_has_no_times() -> None:
    moment = Moment(count=0, errors=9, events=0, bytes=0, service_us=Quantiles(), response_us=Quantiles())
    assert live(Second(second=1, operations={"append": moment}))[2].split() == ["append", "0", "0", "0", "B", "0"]


def test_names_are_shown_as_they_are() -> None:
    second = result_of([{f"[bold]x[/bold] {EVIL}": Source(drawn(1, 10))}]).seconds[0]
    text = "\n".join(live(second, width=300))
    assert "[bold]x[/bold] \\x1b[31m" in text


@pytest.mark.parametrize("columns", [60, 80])
def test_lines_wrap_at_the_width_of_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wiretool.load.report.text.chart_text", lambda *curves, colour, width: "")
    found = closed(2, valid=False, reasons=["the schedule was late " * 10], remarks=["a remark of some length " * 10])
    text = result_text(found, width=columns)
    assert max(map(len, text.splitlines())) <= columns
    assert text.split().count("remark") == 10
    assert any(line.startswith("  ") for line in text[text.index("generator: ") :].splitlines())
