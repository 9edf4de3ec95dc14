import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.intervals import BEGAN_AT, interval_of, text_of
from wiretool.load.measure.hdr_log import HdrLog
from wiretool.load.measure.histograms import DIGITS, HIGHEST_US, LOWEST_US
from wiretool.load.measure.intervals import Interval
from wiretool.load.measure.totals import Gathering, Totals
from wiretool.sinks.output import open_output


def log_of(*intervals: Interval, workers: int = 1, duration_s: float = 10.0) -> tuple[str, Totals]:
    """The log of a run, and its totals."""
    out, totals, gathering = io.StringIO(), Totals(duration_s), Gathering(workers)
    log = HdrLog(out.write, duration_s)
    for merged in [second for interval in intervals for second in gathering.add(interval)] + gathering.rest():
        log.add(merged)
        totals.add(merged)
    return out.getvalue(), totals


def read(text: str, folder: Path) -> Iterator[Any]:
    """What HdrHistogram's own reader makes of it."""
    path = folder / "load.hlog"
    path.write_text(text)
    reader = HistogramLogReader(str(path), HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS))
    try:
        while histogram := reader.get_next_interval_histogram():
            yield histogram
    finally:
        reader.close()


def summed(histograms: Iterator[Any]) -> dict[str, str]:
    """The sum of all with one tag, as text."""
    sums: dict[str, HdrHistogram] = {}
    for histogram in histograms:
        into = sums.setdefault(histogram.get_tag(), HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS))
        into.add(histogram)
    return {tag: histogram.encode().decode() for tag, histogram in sums.items()}


def test_the_log_of_a_run_line_by_line() -> None:
    text, _ = log_of(
        interval_of(-1, [9.0]),
        interval_of(0, [0.001, 0.002], response=[0.003, 0.004], wall_s=1.0021),
        interval_of(1, [0.5], wall_s=0.5),
    )
    assert text.splitlines() == [
        "#[Histogram log format version 1.3]",
        "#[Logged by wiretool: values are microseconds, Interval_Max is in milliseconds]",
        "#[BaseTime: 1700000000.250 (seconds since epoch)]",
        "#[StartTime: 1700000000.250 (seconds since epoch), 2023-11-14T22:13:20.250000+00:00]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
        f"Tag=append.service,0.000,1.002,2.000,{text_of([0.001, 0.002])}",
        f"Tag=append.response,0.000,1.002,4.001,{text_of([0.003, 0.004])}",
        f"Tag=append.service,1.000,0.500,500.223,{text_of([0.5])}",
        f"Tag=append.response,1.000,0.500,500.223,{text_of([0.5])}",
    ]


def test_hdrhistogram_s_own_reader_reads_it(tmp_path: Path) -> None:
    text, _ = log_of(interval_of(0, [0.001]), interval_of(2, [0.002, 0.004], response=[0.5, 0.5], wall_s=1.5))
    first, _, last, _ = read(text, tmp_path)
    assert (first.get_tag(), first.get_total_count(), first.get_max_value()) == ("append.service", 1, 1000)
    assert (first.get_start_time_stamp(), first.get_end_time_stamp()) == (BEGAN_AT * 1000, BEGAN_AT * 1000 + 1000)
    assert (last.get_tag(), last.get_total_count(), last.get_max_value()) == ("append.service", 2, 4001)
    assert last.get_start_time_stamp() == BEGAN_AT * 1000 + 2000
    assert last.get_end_time_stamp() == BEGAN_AT * 1000 + 3500


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abc"), st.integers(-2, 5), st.sampled_from(["append", "fetch"])),
        st.lists(st.floats(0, 4000), min_size=1, max_size=5),
        min_size=1,
    ),
    st.randoms(),
)
def test_the_log_sums_up_to_the_result(
    tmp_path_factory: pytest.TempPathFactory, told: dict[tuple[str, int, str], list[float]], order: Any
) -> None:
    intervals = [
        interval_of(second, times, response=[2 * each for each in times], worker=worker, operation=operation)
        for (worker, second, operation), times in told.items()
    ]
    order.shuffle(intervals)
    text, totals = log_of(*intervals, workers=3, duration_s=4.0)
    wanted = {}
    for name, operation in totals.operations().items():
        wanted[f"{name}.service"] = operation.service_histogram
        wanted[f"{name}.response"] = operation.response_histogram
    assert summed(read(text, tmp_path_factory.mktemp("log"))) == wanted


def test_times_are_from_the_beginning_also_where_nothing_was_told_of_it(tmp_path: Path) -> None:
    text, _ = log_of(interval_of(3, [0.001]))
    service, _ = read(text, tmp_path)
    assert f"#[StartTime: {BEGAN_AT:.3f} (" in text
    assert service.get_start_time_stamp() == BEGAN_AT * 1000 + 3000


def test_a_second_of_several_processes_is_one_line(tmp_path: Path) -> None:
    text, _ = log_of(
        interval_of(0, [0.001], worker="one", began_at=100.75),
        interval_of(0, [0.002], worker="two", began_at=100.5, wall_s=1.25),
        workers=2,
    )
    service, _ = read(text, tmp_path)
    assert service.get_total_count() == 2
    assert (service.get_start_time_stamp(), service.get_end_time_stamp()) == (100_500, 101_750)


def test_seconds_of_a_drain_are_when_they_were(tmp_path: Path) -> None:
    text, _ = log_of(
        interval_of(0, [0.001]),
        interval_of(1, [0.002], operation="fetch", began_at=BEGAN_AT + 4.75),
        interval_of(2, [0.002], operation="fetch", began_at=BEGAN_AT + 5.75, wall_s=0.5),
    )
    fetches = [each for each in read(text, tmp_path) if each.get_tag() == "fetch.service"]
    assert [(each.get_start_time_stamp(), each.get_end_time_stamp()) for each in fetches] == [
        (BEGAN_AT * 1000 + 4750, BEGAN_AT * 1000 + 5750),
        (BEGAN_AT * 1000 + 5750, BEGAN_AT * 1000 + 6250),
    ]


def test_a_clock_that_was_set_back_makes_no_time_before_the_beginning() -> None:
    text, _ = log_of(interval_of(0, [0.001]), interval_of(1, [0.002], began_at=BEGAN_AT - 3600))
    assert text.splitlines()[-1].startswith("Tag=append.response,0.000,1.000,")


def test_an_operation_that_had_errors_only_is_not_logged() -> None:
    text, _ = log_of(interval_of(0, [], errors={"lost": 3}))
    assert "Tag=" not in text


def test_names_are_fit_for_tags(tmp_path: Path) -> None:
    text, _ = log_of(interval_of(0, [0.001], operation="my append,\n\x1b[31m#1"))
    assert [each.get_tag() for each in read(text, tmp_path)] == [
        "my_append_\\x0a\\x1b[31m#1.service",
        "my_append_\\x0a\\x1b[31m#1.response",
    ]


def test_a_second_is_in_the_file_when_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    with open_output(path, at_once=True) as out:
        (merged,) = Gathering().add(interval_of(0, [0.001]))
        HdrLog(out.write, 10.0).add(merged)
        assert path.read_text().endswith(f"{text_of([0.001])}\n")
