"""Fetchers in a run of their own: `wiretool bench --fetchers`."""

import json
from pathlib import Path

import pytest

from tests.helpers.examples import needs_protocol
from tests.helpers.servers import wiretool

SHORT = ("--duration", "1", "--warmup", "0.3")


def test_fetchers_follow_appenders_and_check_what_they_get(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    rule = 'message == "SegmentRead" nth=30: set data="00000000000000026161"'
    users = ("--appenders", "6", "--fetchers", "4", "--segments", "2")
    ended = wiretool("bench", *users, *SHORT, "--fault", rule, "--json", str(path))
    assert ended.returncode == 1, ended.stderr
    report = json.loads(path.read_text())
    verification, operations = report["verification"], report["operations"]
    assert verification["found"] == 1
    assert verification["findings"][0].endswith("(as it was fetched)")
    # Each segment has two readers, each of them got all, but for what was damaged.
    acknowledged = verification["acknowledged_events"]
    assert verification["checked_events"] == acknowledged
    assert 2 * acknowledged - 20 < verification["fetched_events"] < 2 * acknowledged
    assert operations["tail"]["errors"] == operations["append"]["errors"] == 0
    assert 1.5 < operations["tail"]["count"] / operations["append"]["count"] < 2.5
    assert 0 < operations["tail"]["service_us"]["p50"] <= operations["tail"]["service_us"]["max"]
    assert f"{verification['fetched_events']:,} were checked as they were fetched" in ended.stdout
    assert [report["seconds"][1]["operations"][name]["count"] for name in ("append", "tail")] == [
        operations[name]["count"] for name in ("append", "tail")
    ]


@pytest.mark.parametrize(
    ("protocol", "rule", "finding"),
    [
        # Altered as it is fetched by one; as it is stored, which each fetcher of it and who reads it back finds.
        ("pravega-draft", 'message == "SegmentRead" nth=20: set data="00000000000000026161"', "(as it was fetched)"),
        ("sbp", 'message == "APPEND" and side == "client" nth=20: set payload.entries[0].payload="abc"', "broken"),
        ("sbp-0.1", 'message == "APPEND" and side == "client" nth=20: duplicate', "doubled"),
    ],
)
def test_fetchers_of_other_protocols_follow_what_their_own_process_appends(
    tmp_path: Path, protocol: str, rule: str, finding: str
) -> None:
    path = tmp_path / "report.json"
    users = ("--appenders", "4", "--fetchers", "4", "--processes", "2", "--rate", "150")
    wiretool("bench", "--protocol", protocol, *users, *SHORT, "--fault", rule, "--json", str(path))
    report = json.loads(path.read_text())
    verification, operations = report["verification"], report["operations"]
    assert any(finding in words for words in verification["findings"]), verification["findings"]
    # Of the draft each fetcher has the one segment, else each has an appender's stream. Who has got what is no event
    # looks for the next one when much more has come: of that fetcher most may be missing.
    least, most = (3, 4) if protocol == "pravega-draft" else (1, 1)
    acknowledged = verification["acknowledged_events"]
    assert least * acknowledged - 50 < verification["fetched_events"] <= most * acknowledged + 50
    # Of those that another process appended the times are not known.
    low, high = (1.0, 2.5) if protocol == "pravega-draft" else (0.5, 1.5)
    assert low < operations["tail"]["count"] / operations["append"]["count"] < high
    assert 0 < operations["tail"]["service_us"]["p50"] <= operations["tail"]["response_us"]["max"]


@needs_protocol("sbp-0.1")
def test_fetchers_go_on_in_the_stream_that_their_appender_goes_on_in(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    rule = 'message == "APPEND" and side == "server" nth=60: reset'
    users = ("--protocol", "sbp-0.1", "--appenders", "1", "--fetchers", "2", "--rate", "100")
    wiretool("bench", *users, *SHORT, "--fault", rule, "--json", str(path))
    report = json.loads(path.read_text())
    verification, operations = report["verification"], report["operations"]
    assert (operations["append"]["errors"], operations["tail"]["errors"]) == (1, 0)
    assert verification["found"] == 0
    # What was stored and not acknowledged comes too.
    assert verification["acknowledged_events"] > 60
    assert verification["fetched_events"] >= 2 * verification["acknowledged_events"]


def test_more_processes_than_appenders_have_nobody_to_follow() -> None:
    ended = wiretool("bench", "--protocol", "sbp", "--appenders", "1", "--fetchers", "2", "--processes", "2")
    assert ended.returncode == 2
    assert ended.stderr.startswith("wiretool: --processes 2: with sbp a fetcher follows an appender of its own load ")


@needs_protocol("offramp")
def test_consumers_read_a_road_and_commit(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    rule = 'message == "MESSAGE" nth=500: drop'
    users = ("--protocol", "offramp", "--fetchers", "3", "--rate", "500", "--batch", "20")
    ended = wiretool("bench", *users, "--duration", "2", "--warmup", "0.3", "--fault", rule, "--json", str(path))
    assert ended.returncode == 1, ended.stderr
    report = json.loads(path.read_text())
    verification, operations = report["verification"], report["operations"]
    assert verification["found"] == 1
    assert verification["findings"][0].startswith("lost: road bench_")
    assert operations["consume"]["errors"] == operations["commit"]["errors"] == operations["tail"]["errors"] == 0
    assert operations["tail"]["count"] > 500
    assert operations["commit"]["count"] > 20
    assert operations["consume"]["events_per_s"] + operations["tail"]["events_per_s"] > 500
    assert verification["fetched_events"] > 500
    assert "events were checked as they were fetched: 1 finding" in ended.stdout
    assert report["options"]["feed_per_s"] == 500


@needs_protocol("offramp")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "--target: missing road; expected --road NAME with offramp"),
        (("--road", "one", "--rate", "5k"), "--rate 5k: not allowed with --target; only the mock's roads have a rate"),
    ],
)
def test_what_cannot_be_asked_of_a_target(words: tuple[str, ...], why: str) -> None:
    ended = wiretool("bench", "--protocol", "offramp", "--fetchers", "1", "--target", "127.0.0.1:1", *words)
    assert (ended.returncode, ended.stderr) == (2, f"wiretool: {why}\n")
