"""Fetchers in a run of their own: `wiretool bench --fetchers`."""

import json
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "--target with offramp wants --road NAME, a road that it has"),
        (("--road", "one", "--rate", "5k"), "--rate 5k: what comes to the roads of a target is not ours to say"),
    ],
)
def test_what_cannot_be_asked_of_a_target(words: tuple[str, ...], why: str) -> None:
    ended = wiretool("bench", "--protocol", "offramp", "--fetchers", "1", "--target", "127.0.0.1:1", *words)
    assert (ended.returncode, ended.stderr) == (2, f"wiretool: {why}\n")
