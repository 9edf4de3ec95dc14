"""Reports: their figures are those of the tables, and each row leads back to its packets."""

import gzip
import json
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.helpers.captures import pcap_bytes, pcapng_bytes, tcp_packets
from tests.helpers.closed import LONG, shut
from tests.helpers.examples import needs_protocol
from tests.helpers.records import Paper
from wiretool.capture.files.reading import read_packets
from wiretool.commands.options import Engine
from wiretool.commands.slice.run import Slicing, slice_into
from wiretool.filter.syntax import parse
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import read_manifest, write_manifest
from wiretool.pipeline.local import run_local
from wiretool.pipeline.report import Report, report_on, text, write_report
from wiretool.pipeline.report.figures import QUESTIONS, Figure
from wiretool.pipeline.report.leads import where_of
from wiretool.pipeline.report.report import STEPS_MAX, STEPS_NS, step_of
from wiretool.pipeline.views import Times

CAPTURES = Path(__file__).parents[2] / "captures"
SOME = ("pravega/reconnect.pcap", "pravega-draft/blocks.pcap", "sbp/rs_append.pcap", "offramp/err_handshake.pcap")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report") / "tables"
    run_local(Job([CAPTURES / name for name in SOME], root), tell=lambda _: None, watch=lambda _: None)
    return root


@pytest.fixture(scope="module")
def report(tables: Path) -> Report:
    return report_on(tables, Times(), 3)


def text_of(report: Report, form: str = "text") -> str:
    paper = Paper()
    write_report(report, paper, form)
    return paper.text


def figures(report: Report) -> dict[str, Figure]:
    return {figure.question.name: figure for figure in report.figures}


@needs_protocol("offramp")
def test_figures(tables: Path, report: Report) -> None:
    manifest = read_manifest(tables)
    found = figures(report)
    assert list(found) == [question.name for question in QUESTIONS]
    whole = report_on(tables, Times(), 10_000)
    protocols = figures(whole)["protocols"].rows
    for name in ("frames", "gaps", "problems", "payload_bytes"):
        assert sum(row[name] for row in protocols) == manifest.total[name]
    messages = figures(whole)["messages"].rows
    assert sum(row["frames"] for row in messages) == manifest.total["frames"]
    assert sum(row["exchanges"] for row in messages) == manifest.rows("exchanges")
    slowest = figures(whole)["slowest"].rows
    assert [row["latency_ns"] for row in slowest] == sorted((row["latency_ns"] for row in slowest), reverse=True)
    assert {"HTTP 404", "RANGE_NOT_FOUND"} <= {row["error"] for row in figures(whole)["errors"].rows}
    assert all(len(figure.rows) <= 3 <= max(figure.count, 3) for figure in report.figures)
    assert found["slowest"].count == len(slowest)


@needs_protocol("offramp")
def test_every_row_leads_to_packets(tables: Path, tmp_path: Path) -> None:
    """The commands are run as they stand, by what `wiretool slice` calls."""
    count = 0
    for figure in report_on(tables, Times(), 1).figures:
        for row in figure.rows:
            words = shlex.split(row["slice"])
            assert words[:2] == ["wiretool", "slice"]
            at = words.index("--where")
            captures, where = [Path(word) for word in words[2:at]], words[at + 1]
            is_whole = "--conversation" in words
            path = tmp_path / words[-1]
            wanted = Slicing(captures, "auto", {}, Engine.ROWS, where, None, whole_connections=is_whole)
            slice_into(path, wanted)
            packets = sum(1 for _ in read_packets([path]))
            assert packets, row["slice"]
            if figure.question.lead == "exchange":
                assert packets <= 4
            count += 1
    assert count >= 8


@needs_protocol("offramp")
def test_a_capture_that_was_packed_since_is_named_as_it_is_called_now(tmp_path: Path) -> None:
    capture, packed = tmp_path / "one.pcap", tmp_path / "one.pcap.gz"
    capture.write_bytes((CAPTURES / SOME[0]).read_bytes())
    run_local(Job([capture], tmp_path / "tables"), tell=lambda _: None, watch=lambda _: None)
    names = []
    for change in (lambda: None, lambda: packed.write_bytes(gzip.compress(capture.read_bytes())), capture.unlink):
        change()
        row = figures(report_on(tmp_path / "tables", Times(), 1))["slowest"].rows[0]
        words = shlex.split(row["slice"])
        names.append(words[2])
        slice_into(
            tmp_path / "cut.pcapng",
            Slicing([Path(words[2])], "auto", {}, Engine.ROWS, words[4], None, whole_connections=False),
        )
    packed.unlink()
    row = figures(report_on(tmp_path / "tables", Times(), 1))["slowest"].rows[0]
    assert [*names, shlex.split(row["slice"])[2]] == [str(capture), str(capture), str(packed), str(capture)]


@needs_protocol("offramp")
def test_a_capture_that_we_may_not_look_at_is_named_as_it_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, root = tmp_path / "captures", tmp_path / "tables"
    folder.mkdir()
    (folder / "one.pcap").write_bytes((CAPTURES / SOME[0]).read_bytes())
    run_local(Job([folder], root), tell=lambda _: None, watch=lambda _: None)
    shut(folder, monkeypatch)
    row = figures(report_on(root, Times(), 1))["slowest"].rows[0]
    assert shlex.split(row["slice"])[2] == str(folder / "one.pcap")


@needs_protocol("offramp")
def test_a_capture_whose_name_cannot_be_longer(tmp_path: Path) -> None:
    name = LONG[:253]  # which leaves no room for ".gz"
    capture, root = tmp_path / name, tmp_path / "tables"
    capture.write_bytes((CAPTURES / SOME[0]).read_bytes())
    run_local(Job([capture], root), tell=lambda _: None, watch=lambda _: None)
    capture.unlink()
    row = figures(report_on(root, Times(), 1))["slowest"].rows[0]
    assert shlex.split(row["slice"])[2] == str(capture)


@needs_protocol("offramp")
def test_a_capture_is_looked_for_once_in_each_report(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    exists = os.path.exists

    def counted(path: str) -> bool:
        asked[str(path)] += str(path).startswith(str(CAPTURES))
        return exists(path)

    monkeypatch.setattr(os.path, "exists", counted)
    for count in (1, 2):
        report_on(tables, Times(), 10)
        assert {asked[str(CAPTURES / name)] for name in SOME} == {count}


@needs_protocol("offramp")
def test_a_time_without_anything(tables: Path) -> None:
    empty = report_on(tables, Times(1, 2), 5)
    assert [figure.rows for figure in empty.figures] == [[]] * len(QUESTIONS)
    assert "nothing in that time" in text_of(empty)
    assert "<svg" not in text_of(empty, "html")
    assert json.loads(text_of(empty, "json"))["first_ns"] is None


@needs_protocol("offramp")
def test_a_stretch_of_time(tables: Path, report: Report) -> None:
    assert report.first_ns is not None
    assert report.last_ns is not None
    cut = report_on(tables, Times(report.first_ns + 3_600 * 10**9, report.last_ns), 10_000)
    assert 0 < figures(cut)["slowest"].count < figures(report)["slowest"].count


# -- forms -------------------------------------------------------------------------------------------------------------


@needs_protocol("offramp")
def test_text(report: Report) -> None:
    told = text_of(report)
    assert told.startswith(str(report.root))
    assert "Slowest exchanges (3 of " in told
    assert "packets of the first: wiretool slice " in told
    assert "nothing of: idle connections\n" in told


@needs_protocol("offramp")
def test_long_commands_fill_no_terminal(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "LEAD_CHARACTERS_MAX", 9)
    told = text_of(report)
    assert "wiretool slice" not in told
    assert "by a command over many captures, which --html and --json have" in told


@needs_protocol("offramp")
def test_json_has_numbers_as_they_are(report: Report) -> None:
    told = json.loads(text_of(report, "json"))
    assert [each["path"] for each in told["captures"]] == sorted(str(CAPTURES / name) for name in SOME)
    rows = told["figures"]["slowest"]["rows"]
    assert rows == [dict(row) for row in figures(report)["slowest"].rows]
    assert {"step_ns", "counts", "times"} == set(told["course"])


class Page(HTMLParser):
    """What is in a page: its tags, and the text in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name in ("src", "href", "onclick") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@needs_protocol("offramp")
def test_page(report: Report) -> None:
    page = Page(text_of(report, "html"))
    assert not {"script", "link", "img"}.intersection(page.tags)
    assert page.tags.count("details") == sum(len(figure.rows) for figure in report.figures)
    assert page.tags.count("svg") >= 5
    for figure in report.figures:
        for row in figure.rows:
            assert row["slice"] in page.texts


@needs_protocol("offramp")
def test_text_from_the_wire_is_escaped(tmp_path: Path) -> None:
    """A road is what a client says it is."""
    road = "%3Cscript%3Ealert(1)%3C%2Fscript%3E%1B%5B31m"
    request = f"GET /offramp/v2/roads/{road}/streams/s/messages HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    path = tmp_path / "odd.pcap"
    path.write_bytes(pcap_bytes(tcp_packets([("client", request), ("server", answer)])))
    root = tmp_path / "tables"
    run_local(Job([path], root), tell=lambda _: None, watch=lambda _: None)
    told = report_on(root, Times(), 5)
    assert "<script>" not in text_of(told, "html")
    assert "&lt;script&gt;alert(1)" in text_of(told, "html")
    assert all("\x1b" not in text_of(told, form) for form in ("text", "html"))
    assert r"<script>alert(1)</script>\x1b[31m" in text_of(told)


ASKED = b"GET /offramp/v2/roads/r/streams/s/messages HTTP/1.1\r\nHost: x\r\n\r\n"
REFUSED = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def told_of(folder: Path, times_ns: Callable[[int, int], int]) -> Report:
    """The report on one exchange whose packets were captured at these times: by number, and how many there are."""
    packets = tcp_packets([("client", ASKED), ("server", REFUSED)])
    late = [packet._replace(time_ns=times_ns(number, len(packets))) for number, packet in enumerate(packets)]
    (folder / "x.pcapng").write_bytes(pcapng_bytes(late))
    run_local(Job([folder / "x.pcapng"], folder / "tables"), tell=lambda _: None, watch=lambda _: None)
    return report_on(folder / "tables", Times(), 5)


@needs_protocol("offramp")
@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_the_last_times_there_are(tmp_path: Path, form: str) -> None:
    report = told_of(tmp_path, lambda number, count: 2**63 - count + number)
    assert figures(report)["messages"].rows[0]["last_ns"] == 2**63 - 1
    assert "HTTP 404" in text_of(report, form)


@needs_protocol("offramp")
def test_where_times_go_back_an_answer_is_found_at_its_own(tmp_path: Path) -> None:
    report = told_of(tmp_path, lambda number, count: (2 * count - number) * 10**9)
    for name in ("slowest", "times", "errors"):
        (row,) = figures(report)[name].rows
        assert row["last_ns"] < row["first_ns"]
        assert f"time_ns in [{row['first_ns']}, {row['last_ns']}]" in row["slice"]
        where = shlex.split(row["slice"])[4]
        wanted = Slicing([tmp_path / "x.pcapng"], "auto", {}, Engine.ROWS, where, None, whole_connections=False)
        slice_into(tmp_path / "cut.pcapng", wanted)
        cut = [packet.data for packet in read_packets([tmp_path / "cut.pcapng"])]
        assert all(any(packet.endswith(data) for packet in cut) for data in (ASKED, REFUSED))


@needs_protocol("offramp")
def test_damaged_captures_are_named(tmp_path: Path, tables: Path) -> None:
    manifest = read_manifest(tables)
    first, *others = manifest.inputs
    damaged = msgspec.structs.replace(first, damage="cut <short> at byte 9")
    root = tmp_path / "tables"
    root.mkdir()
    shutil.copytree(tables / "frames", root / "frames")
    only = {"frames": manifest.tables["frames"]}
    write_manifest(root, msgspec.structs.replace(manifest, inputs=[damaged, *others], tables=only))
    told = report_on(root, Times(), 2)
    assert f"damaged  {first.path}: cut <short> at byte 9" in text_of(told)
    assert "cut &lt;short&gt; at byte 9" in text_of(told, "html")


# -- parts -------------------------------------------------------------------------------------------------------------


ROW: dict[str, Any] = {
    "protocol": "offramp",
    "message": 'a "b" \\ \n',
    "side": "server",
    "client": "[::1]:4",
    "server": "h:1",
    "host": "[::1]",
    "first_ns": 5,
    "last_ns": 9,
}


@pytest.mark.parametrize("lead", sorted({question.lead for question in QUESTIONS}))
def test_expressions_can_be_read(lead: Any) -> None:
    where = where_of(lead, ROW)
    parse(where)
    assert not re.search(r"\bconnection\b", where), "they have other numbers elsewhere"


def test_bytes_of_no_protocol_lead_to_others() -> None:
    assert where_of("protocol", {"protocol": "none"}) == 'kind == "other"'


@pytest.mark.parametrize("span_s", [0, 1, 59, 400, 4_000, 10**5, 10**7, 10**9])
def test_steps_are_not_too_many(span_s: int) -> None:
    step = step_of(span_s * 10**9)
    assert span_s * 10**9 // step < STEPS_MAX
    shorter = [each for each in STEPS_NS if each < step]
    assert not shorter or span_s * 10**9 // shorter[-1] >= STEPS_MAX
