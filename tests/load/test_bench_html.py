import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.bench_results import EVIL, Source, closed, drawn, flat, nothing, result_of, stopped
from wiretool.load.measure.thresholds import check_thresholds, threshold_from
from wiretool.load.report.html import html_text
from wiretool.load.result import Result, Second, Verification
from wiretool.sinks.page.axes import at_nines, linear_axis, log_axis, nines_axis, seconds_axis
from wiretool.sinks.page.svg import HEIGHT, WIDTH


class Page(HTMLParser):
    """What a browser sees: tags, the text outside styles, and the tooltips."""

    def __init__(self, result: Result, *thresholds: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.tips: list[str] = []
        self.source = html_text(result, check_thresholds(map(threshold_from, thresholds), result))
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "title":
            self.tips.append("")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", {}))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "title":
            self.tips[-1] += data
        elif self.tags and self.tags[-1][0] != "style":
            self.text += data

    def classed(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for _, attributes in self.tags if name in (attributes.get("class") or "").split()]


def test_the_page_stands_by_itself() -> None:
    page = Page(stopped(20, warm=2))
    assert not {"src", "href", "onload", "style"} & {name for _, attributes in page.tags for name in attributes}
    assert not {"script", "link", "iframe", "img", "object"} & {tag for tag, _ in page.tags}
    policy = next(attributes for tag, attributes in page.tags if attributes.get("http-equiv"))
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert not re.search(r"https?://|url\(|@import", page.source)
    assert "color-scheme: light dark" in page.source


def test_figures_and_plots_are_there() -> None:
    page = Page(stopped(20, warm=2, remarks=["the target fell behind"]))
    for words in (
        "VALID: the generator kept up",
        "pravega 127.0.0.1:12345, 18 s measured from 2026-11-22T11:30:00Z",
        "26.7 kB/s",
        "the service time alone does not show",
        "the target fell behind",
        "Throughput over time",
        "append: times over time",
        "append: percentiles",
        "Processors over time",
        "Memory of the target over time",
        "exchanges/s",
        "warm-up",
        "99.9 %",
        "127.0.0.1:12345",
        "2.47.0",
    ):
        assert words in page.text, words
    assert "Errors over time" not in page.text
    assert len([1 for attributes in page.classed("plot") if "aria-label" in attributes]) == 5


def test_tooltips_tell_the_figures_of_a_place() -> None:
    page = Page(stopped(20, warm=2))
    assert "second -2\nappend: 300" in page.tips
    assert "second 6\nappend: 0" in page.tips
    assert any(re.fullmatch(r"second 8\nresponse max: 2.00 s\nservice max: .*", tip, re.DOTALL) for tip in page.tips)
    assert any(tip.startswith("maximum\nresponse: 2.00 s\nservice: ") for tip in page.tips)
    assert "second 3\ngenerator 1: 50 %\ngenerator 2: 40 %\ntarget: 84 %" in page.tips


def test_invalid_is_red_and_above_all_else() -> None:
    page = Page(closed(2, valid=False, reasons=["the schedule was 52 ms late", EVIL]), "append.p99 < 1us")
    assert page.tips[0] == "INVALID: wiretool bench"
    assert len(page.classed("invalid")) == 1
    assert page.classed("valid") == []
    assert 0 < page.text.index("the schedule was 52 ms late") < page.text.index("Thresholds")
    assert page.text.index("do not quote these figures") < page.text.index("Throughput")


def test_thresholds_findings_and_errors() -> None:
    verification = Verification(
        is_on=True, acknowledged_events=9, checked_events=9, found=2, findings=["event 7 is gone"]
    )
    result = closed(2, verification=verification)
    result.operations["append"].error_kinds = {"timed out": 7}
    result.operations["append"].errors = 7
    page = Page(result, "append.p99 < 1us", "append.errors == 7")
    assert re.search(r"broken\s*append.p99 < 1us\s*append: response p99 is ", page.text)
    assert re.search(r"kept\s*append.errors == 7", page.text)
    assert "event 7 is gone" in page.text
    assert "and 1 more" in page.text
    assert "timed out" in page.text
    assert "Errors over time" in page.text


def test_everything_is_escaped() -> None:
    result = result_of(
        [{EVIL: Source(drawn(1, 10), errors=1)}],
        valid=False,
        reasons=[EVIL],
        remarks=[EVIL],
        options={EVIL: EVIL},
        versions={EVIL: EVIL},
        began_at=EVIL,
        verification=Verification(is_on=True, acknowledged_events=1, checked_events=1, found=1, findings=[EVIL]),
    )
    result.operations[EVIL].error_kinds = {EVIL: 1}
    result.seconds[0].generator_cpu = {EVIL: 1.0}
    source = html_text(result)
    assert "<script" not in source
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", source)
    assert source.count("\\x1b[31m&lt;script&gt;") > 15


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_words_make_tags(one: str, other: str) -> None:
    plain = {tag for tag, _ in Page(nothing(options={"a": "b"}, remarks=["c"])).tags}
    page = Page(nothing(options={one: other}, remarks=[other]))
    assert {tag for tag, _ in page.tags} == plain


def gapped() -> Result:
    result = nothing()
    result.seconds = [Second(second=3, operations={}), Second(second=7, operations={}, generator_cpu={"1": 0.0})]
    return result


@pytest.mark.parametrize(
    "result",
    [
        nothing(),
        nothing(valid=False),
        closed(1),
        closed(2, warm=1),
        closed(3, warm=3),
        stopped(20),
        result_of([{}, {}]),
        result_of([], operations={"append": flat(count=0)}),
        result_of([], operations={"append": flat()}),
        gapped(),
    ],
    ids=lambda result: f"{len(result.seconds)}-{len(result.operations)}",
)
def test_few_seconds_or_none_make_a_page_too(result: Result) -> None:
    page = Page(result)
    assert "Throughput" in page.text
    for _, attributes in page.tags:
        for place in re.findall(r"-?\d+(?:\.\d+)?", attributes.get("d") or ""):
            assert 0 <= float(place) <= max(WIDTH, HEIGHT)
    assert "nan" not in page.source
    assert "inf" not in re.sub(r"<style>.*?</style>", "", page.source, flags=re.DOTALL)


def test_seconds_that_are_missing_are_gaps_in_the_lines() -> None:
    result = closed(9)
    del result.seconds[4]
    page = Page(result)
    lines = [attributes["d"] or "" for attributes in page.classed("line") if len(attributes["d"] or "") > 20]
    over_time = [line for line in lines if line.count("L") + line.count("M") == 8]
    assert over_time
    assert {line.count("M") for line in over_time} == {2}


def test_a_second_alone_is_a_dot() -> None:
    assert len(Page(closed(1)).classed("dot")) >= 5


def test_many_seconds_share_tooltips() -> None:
    result = closed(2)
    result.seconds = [Second(second=n, operations=result.seconds[n % 2].operations) for n in range(3_000)]
    page = Page(result)
    assert len(page.classed("tip")) < 400 * 3 + 240 * 2 + 10
    assert len(page.source) < 1_500_000


def test_many_processes_are_drawn_as_two_lines() -> None:
    result = closed(2)
    for second in result.seconds:
        second.generator_cpu = {str(n): n / 100 for n in range(61)}
    page = Page(result)
    assert "second 0\ngenerators on average: 30 %\nbusiest generator: 60 %\ntarget: 80 %" in page.tips


# -- axes --------------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1e12, allow_subnormal=False), max_size=5))
def test_a_linear_axis_holds_all_from_nothing_up(values: list[float]) -> None:
    axis = linear_axis("x", [value for value in values if value == 0 or value > 1e-9], "{:.3g}".format)
    assert axis.low == 0
    assert 2 <= len(axis.marks) <= 8
    assert axis.high >= max((value for value in values if value > 1e-9), default=0)
    assert axis.marks[-1][0] == axis.high


@given(st.lists(st.floats(0, 1e12), max_size=5))
def test_a_logarithmic_axis_holds_all(values: list[float]) -> None:
    axis = log_axis("x", values, "{:.3g}".format)
    assert 2 <= len(axis.marks) <= 15
    assert all(0 <= axis.place(value) <= 1 for value in values)
    for value in values:
        assert 10**axis.low * 0.999 <= max(value, 1) <= 10**axis.high * 1.001
    assert axis.place(axis.marks[0][0]) == pytest.approx(0)
    assert axis.place(axis.marks[-1][0]) == pytest.approx(1)


def test_marks_of_axes() -> None:
    assert [text for _, text in log_axis("x", [300, 4_000], "{:g}".format).marks] == [
        "200",
        "500",
        "1000",
        "2000",
        "5000",
    ]
    assert [text for _, text in linear_axis("x", [300], "{:g}".format).marks] == ["0", "100", "200", "300", "400"]
    assert [mark for mark, _ in seconds_axis([-2, 0, 17]).marks] == [0, 5, 10, 15]
    assert [mark for mark, _ in seconds_axis([0]).marks] == [0, 1]
    assert [text for _, text in nines_axis(12_345).marks] == ["0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %"]


def test_a_percentile_curve_ends_at_the_maximum() -> None:
    points = at_nines([(0.5, 10.0), (0.9, 20.0), (1.0, 99.0)], 1.0, 3)
    assert points == [(0.0, 10.0), (0.5, 20.0), (1.0, 99.0)]


def test_a_page_of_a_run_that_was_cut_short_says_so_with_its_verdict() -> None:
    page = html_text(closed(2, cut_short="the server is <gone>"))
    assert "the target until it was cut short: the server is &lt;gone&gt;</div>" in page
    assert "cut short" not in html_text(closed(2))
