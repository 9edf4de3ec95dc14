"""A run with a backlog in every report: what was built up, how it was read, and each phase with its own time."""

import csv
import io
import re

import msgspec
import pytest
from rich.console import Console

from tests.load.bench_results import Source, closed, drawn, operation_of, result_of
from wiretool.load.backlog import backlog_text, over_text
from wiretool.load.compare import compare
from wiretool.load.measure.health import reasons_from, remarks_from
from wiretool.load.measure.thresholds import check_thresholds, threshold_from
from wiretool.load.planning.plan import Plan
from wiretool.load.report.csv import csv_text
from wiretool.load.report.html import html_text
from wiretool.load.report.json import json_report, result_from
from wiretool.load.report.live import live_table
from wiretool.load.report.text import result_text
from wiretool.load.result import Backlog, Result, Second

DRAIN_S = 1.6
BACKLOG = Backlog(
    events=1_234_567, bytes=133_000_000, drain_s=DRAIN_S, events_per_s=771_604.0, bytes_per_s=83_125_000.0, readers=4
)
PLAN = Plan(protocol="pravega", appenders=1, fetchers=1, duration_s=4.0, has_backlog=True, run="x")


def built_up(seconds: int = 4, *, seed: int = 0, backlog: Backlog = BACKLOG) -> Result:
    """So many seconds of appends behind one of warm-up, then two in which they are read."""
    appends = [{"append": Source(drawn(seed + at, 400))} for at in range(seconds + 1)]
    fetches = [{"fetch": Source(drawn(seed + at + 500, 60, 3e-3))} for at in range(2)]
    result = result_of([*appends, *fetches], warm=1, duration_s=float(seconds), backlog=backlog)
    for second in result.seconds[-2:]:
        second.is_drain = True
    moments = {
        name: [each.operations[name] for each in result.seconds[1:] if name in each.operations] for name in NAMES
    }
    result.operations = {
        "append": operation_of(moments["append"], seconds, over_s=float(seconds)),
        "fetch": operation_of(moments["fetch"], DRAIN_S, over_s=DRAIN_S),
    }
    return result


NAMES = ("append", "fetch")


def test_the_text_says_over_what_time_each_rate_is_and_what_became_of_the_backlog() -> None:
    lines = result_text(built_up()).splitlines()
    assert "Throughput over 4 s (append), 1.6 s (fetch)" in lines
    assert ("backlog: 1,234,567 events, 133 MB; read in 1.60 s by 4 fetchers: 771,604 events/s, 83.1 MB/s") in lines
    assert next(line.split()[3] for line in lines if line.startswith("fetch ")) == "75"


def test_what_was_not_read_is_in_it() -> None:
    left = msgspec.structs.replace(BACKLOG, readers=1, readers_left=1, left_bytes=12_000_000)
    assert backlog_text(built_up(backlog=left)).startswith(
        "1,234,567 events, 133 MB; 12.0 MB of it not read in 1.60 s by 1 fetcher: "
    )


def test_without_a_backlog_nothing_is_said_of_one() -> None:
    assert "backlog" not in result_text(closed(2))
    assert "backlog" not in html_text(closed(2))
    assert over_text(closed(2)) == "2 s"


def test_the_page_shades_the_drain() -> None:
    page = html_text(built_up())
    assert page.count(">warm-up</text>") == page.count(">drain</text>") > 2
    assert "1,234,567 events, 133 MB; read in 1.60 s" in page
    assert "4 s (append), 1.6 s (fetch) measured from" in page
    assert ">drain</text>" not in html_text(closed(3, warm=1))
    # What is not done in a phase has no line there.
    assert re.search(r"<title>second 3\nappend: \d+</title>", page)
    assert re.search(r"<title>second 4\nfetch: \d+</title>", page)


def test_json_has_it_and_gives_it_back() -> None:
    result = built_up()
    text = json_report(result)
    assert result_from(text, "x") == result
    told = msgspec.json.decode(text)
    assert told["backlog"] == msgspec.to_builtins(BACKLOG)
    assert [second["is_drain"] for second in told["seconds"]] == [False] * 5 + [True] * 2
    assert msgspec.json.decode(json_report(closed(1)))["backlog"] is None


def test_rows_of_a_phase_are_of_what_is_done_in_it() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(built_up()))))
    assert [(row["second"], row["operation"]) for row in rows] == [
        *((str(second), "append") for second in range(-1, 4)),
        ("4", "fetch"),
        ("5", "fetch"),
    ]


def test_thresholds_on_what_is_fetched_go_by_the_drain() -> None:
    result = built_up()
    kept, broken = check_thresholds([threshold_from("fetch.per_s > 74"), threshold_from("fetch.per_s > 76")], result)
    assert (kept.is_kept, broken.is_kept) == (True, False)
    assert kept.told == "fetch: per_s is 75"


def test_the_live_table_says_that_it_is_read() -> None:
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as capture:
        console.print(live_table(built_up().seconds[-1], elapsed_s=6.0, duration_s=4.0, users=3))
    lines = capture.get().splitlines()
    assert lines[0] == "reading the backlog, 2 s so far, 3 users"
    assert lines[2].split()[0] == "fetch"


def test_a_comparison_judges_the_build_up_and_shows_the_drain() -> None:
    comparison = compare(built_up(10), built_up(10, seed=1_000))
    told = {(each.operation, each.figure): each for each in comparison.figures}
    assert told["append", "per_s"].low is not None
    assert told["fetch", "per_s"].verdict == "shown"
    assert told["fetch", "per_s"].a == pytest.approx(75)
    assert "A did fetch to drain a backlog, which goes as it goes: no interval" in comparison.remarks


# -- whether it counts -------------------------------------------------------------------------------------------------


def second_of(number: int, *, cpu: float = 0.5, waited: float = 0.01, lag_us: int = 100, worker: str = "one") -> Second:
    return Second(
        second=number,
        is_drain=number >= PLAN.duration_s,
        operations={},
        generator_cpu={worker: cpu},
        generator_waited={worker: waited},
        lag_us=lag_us,
    )


GOOD = [second_of(number) for number in range(4)]


def test_a_drain_that_could_not_be_measured_is_invalid() -> None:
    seconds = [*GOOD, *(second_of(number, waited=0.5) for number in (4, 5)), second_of(6)]
    (reason,) = reasons_from(seconds, PLAN)
    assert reason.startswith("while the backlog was read: load process one waited for a processor for up to 50 % of")
    assert "in 2 of 2 seconds" in reason
    seconds = [*GOOD, *(second_of(number, lag_us=300_000) for number in (4, 5)), second_of(6)]
    (reason,) = reasons_from(seconds, PLAN)
    assert reason.startswith("while the backlog was read: replies lay unread")


@pytest.mark.parametrize("seconds", [1, 2])
def test_a_drain_of_less_than_two_whole_seconds_is_not_judged(seconds: int) -> None:
    drained = [second_of(4 + number, waited=0.5, lag_us=300_000) for number in range(seconds)]
    assert reasons_from([*GOOD, *drained], PLAN) == []


def test_the_last_second_of_each_process_is_not_whole_and_not_judged() -> None:
    drained = [second_of(number) for number in range(4, 9)]
    for second in drained[:2]:
        second.generator_cpu["two"], second.generator_waited["two"] = 0.99, 0.9
    assert reasons_from([*GOOD, *drained], PLAN) == []
    drained[2].generator_cpu["two"], drained[2].generator_waited["two"] = 0.1, 0.0
    (reason,) = reasons_from([*GOOD, *drained], PLAN)
    assert reason.startswith("while the backlog was read: load process two waited for a processor for up to 90 % of")
    assert "in 2 of 4 seconds" in reason


def test_a_build_up_that_could_not_be_measured_is_invalid_whatever_the_drain_was() -> None:
    seconds = [second_of(number, waited=0.5) for number in range(4)] + [second_of(number) for number in range(4, 60)]
    (reason,) = reasons_from(seconds, PLAN)
    assert reason.startswith("load process one waited")


def test_who_has_read_all_that_it_is_to_need_say_no_more() -> None:
    others = [second_of(number, worker="two") for number in range(4)]
    both = [msgspec.structs.replace(a, generator_cpu={"one": 0.5, "two": 0.5}) for a in others]
    assert reasons_from([*both, *(second_of(number) for number in range(4, 12))], PLAN) == []


def test_readers_that_use_up_a_processor_may_be_the_limit() -> None:
    (remark,) = remarks_from([*GOOD, second_of(4, cpu=0.99)], PLAN)
    assert remark.startswith("while the backlog was read: load process one used 99 % of a processor")
    assert remarks_from(GOOD, PLAN) == []
    # What is left behind the last whole second says nothing of the others.
    assert remarks_from([*GOOD, *(second_of(number) for number in (4, 5)), second_of(6, cpu=0.99)], PLAN) == []
    (remark,) = remarks_from([*GOOD, second_of(4, cpu=0.99), second_of(5, cpu=0.1)], PLAN)
    assert "used 99 % of a processor" in remark


def test_a_second_of_a_run_without_a_backlog_behind_its_end_counts_for_nothing() -> None:
    plan = msgspec.structs.replace(PLAN, has_backlog=False)
    assert reasons_from([*GOOD, second_of(4, waited=0.5)], plan) == []
