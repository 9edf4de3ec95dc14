"""`wiretool bench --backlog` as a user runs it: written while nobody reads, then read.

Whether a run is VALID hangs on what else this machine does, so no test here wants that it is.
"""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.benches import logged, report, wait_for
from tests.helpers.servers import started, wiretool

ANY = "127.0.0.1:0"
BUILT_UP = ("--backlog", "--appenders", "4", "--fetchers", "2", "--segments", "2", "--duration", "1", "--warmup", "0.3")
#: A backlog of some size, of which each piece takes a second to read.
SLOW = ("--batch", "50", "--fault", 'message == "SegmentRead": delay 1s')
END_S = 90.0


def begun(*arguments: str) -> "subprocess.Popen[str]":
    """`wiretool bench ARGUMENTS`."""
    command = [sys.executable, "-m", "wiretool", "bench", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_what_is_built_up_is_read_to_its_end(tmp_path: Path, processes: str) -> None:
    path, log = tmp_path / "report.json", tmp_path / "log"
    options = ("--processes", processes, "--threshold", "fetch.p50 < 1us")
    ended = wiretool("bench", *BUILT_UP, *options, "--json", str(path), "--hdr-log", str(log))
    assert ended.returncode == 1, ended.stderr
    found = report(path)
    backlog, append, fetch = found["backlog"], found["operations"]["append"], found["operations"]["fetch"]
    verification = found["verification"]
    # The warm-up is in the backlog and in no figure; each segment has one reader, who gets all of it.
    assert backlog["events"] == verification["acknowledged_events"] == verification["fetched_events"]
    assert backlog["events"] > append["count"] > 0
    assert backlog["bytes"] == 108 * backlog["events"]
    assert (verification["found"], backlog["readers"], backlog["readers_left"]) == (0, 2, 0)
    assert fetch["events_per_s"] == backlog["events_per_s"] == pytest.approx(backlog["events"] / backlog["drain_s"])
    assert (append["over_s"], fetch["over_s"]) == (pytest.approx(1.0, abs=0.1), backlog["drain_s"])
    assert append["per_s"] == pytest.approx(append["count"] / append["over_s"])
    assert set(found["operations"]) == {"append", "fetch"}
    drain = [second for second in found["seconds"] if second["is_drain"]]
    assert [second["second"] for second in drain] == [*range(1, 1 + len(drain))]
    assert sum(second["operations"]["fetch"]["count"] for second in drain) == fetch["count"]
    assert all([*second["operations"]] == ["fetch"] for second in drain if second["operations"])
    assert all([*each["operations"]] == ["append"] for each in found["seconds"] if not each["is_drain"])
    assert (logged(log, "append.service"), logged(log, "fetch.service")) == (append["count"], fetch["count"])
    assert re.search(r"^backlog: [\d,]+ events, .* by 2 fetchers: ", ended.stdout, re.MULTILINE)
    assert re.search(r"^broken  fetch.p50 < 1us: fetch: response p50 is", ended.stdout, re.MULTILINE)


def test_what_the_server_loses_is_found_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    rule = 'message == "AppendBlockEnd" nth=50: keep twice'
    options = ("--backlog", "--appenders", "1", "--fetchers", "2", "--duration", "1", "--warmup", "0")
    ended = wiretool("bench", *options, "--fault", rule, "--json", str(path))
    assert ended.returncode == 1
    found = report(path)
    assert found["verification"]["found"] == 1
    assert found["verification"]["findings"][0].startswith("doubled: ")
    # Both readers have all of it.
    assert found["verification"]["fetched_events"] >= 2 * found["backlog"]["events"] - 2
    assert found["backlog"]["readers_left"] == 0


def test_without_verification_it_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    ended = wiretool("bench", *BUILT_UP, "--no-verify", "--event-size", "uniform:20-200", "--json", str(path))
    found = report(path)
    assert ended.returncode == (0 if found["valid"] else 1), ended.stderr
    backlog = found["backlog"]
    assert backlog["readers_left"] == 0
    assert backlog["bytes_per_s"] * backlog["drain_s"] == pytest.approx(backlog["bytes"], rel=0.01)
    assert backlog["events_per_s"] * backlog["drain_s"] == pytest.approx(backlog["events"], rel=0.01)


@pytest.mark.parametrize("phase", ["append", "fetch"])
def test_a_run_that_is_stopped_in_either_phase_reports_what_it_has(tmp_path: Path, phase: str) -> None:
    path, log = tmp_path / "report.json", tmp_path / "log"
    duration = "60" if phase == "append" else "1"
    options = ("--backlog", "--appenders", "2", "--fetchers", "1", "--duration", duration, "--warmup", "0")
    process = begun(*options, *SLOW, "--json", str(path), "--hdr-log", str(log))
    wait_for(log, process, f"Tag={phase}")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=END_S)
    assert process.returncode == 130, stderr
    found = report(path)
    assert found["operations"]["append"]["count"] > 0
    assert found["verification"]["found"] == 0
    if phase == "append":
        assert found["backlog"] is None
        assert re.search(r"^it was stopped after [\d.]+ of 60 s$", stdout, re.MULTILINE)
        assert "\nno fetcher started to read the backlog\n" in stdout
        assert "fetch" not in found["operations"]
    else:
        assert found["backlog"]["readers_left"] == found["operations"]["fetch"]["unfinished"] == 1
        assert found["backlog"]["left_bytes"] > 0
        assert "\nit was stopped while the backlog was read\n" in stdout
        assert "1 of 1 fetcher has not come to the end of the backlog in " in stdout


@pytest.mark.parametrize("phase", ["append", "fetch"])
def test_a_server_that_dies_in_either_phase_leaves_a_result(tmp_path: Path, phase: str) -> None:
    path, log = tmp_path / "report.json", tmp_path / "log"
    serve = ("serve", "pravega", "--listen", ANY, "--controller", ANY, *SLOW[2:])
    duration = "60" if phase == "append" else "1"
    with started(tmp_path, *serve) as server:
        target = "{}:{}".format(*server.doors["store"])
        options = ("--backlog", "--target", target, "--appenders", "2", "--fetchers", "1", "--duration", duration)
        process = begun(*options, "--warmup", "0", *SLOW[:2], "--json", str(path), "--hdr-log", str(log))
        wait_for(log, process, f"Tag={phase}")
        server.stop(signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=END_S)
    assert process.returncode == 4, stderr
    assert "it ended early: the server is gone: no user could connect for 3 s" in stdout
    found = report(path)
    assert found["operations"][phase]["error_kinds"]["cannot connect: Connection refused"] > 0
    assert (found["backlog"] is None) == (phase == "append")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "--backlog: no fetchers; expected --fetchers M"),
        (
            ("--fetchers", "2", "--segments", "3"),
            "--backlog: --fetchers 2 cannot read all 3 segments; expected --fetchers 3 or more",
        ),
        (
            ("--protocol", "offramp", "--fetchers", "1"),
            "--backlog: roads of offramp fill by themselves; omit it",
        ),
    ],
)
def test_what_makes_no_sense(words: tuple[str, ...], why: str) -> None:
    ended = wiretool("bench", "--backlog", *words)
    assert (ended.returncode, ended.stderr) == (2, f"wiretool: {why}\n")
