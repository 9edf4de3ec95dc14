"""`wiretool bench` as a user runs it, against mocks of its own and servers that were started before.

Whether a run is VALID hangs on what else this machine does, so no test here wants that it is.
"""

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.helpers.bench_lines import without_waiting
from tests.helpers.benches import is_progress, logged, report, wait_for
from tests.helpers.servers import Server, started, wiretool

SHORT = ("--appenders", "8", "--duration", "1", "--warmup", "0.3")
ANY = "127.0.0.1:0"
SERVE = ("serve", "pravega", "--listen", ANY, "--controller", ANY)


def target_of(server: Server) -> str:
    host, port = server.doors["store"]
    return f"{host}:{port}"


def test_with_nothing_else_a_mock_is_loaded_and_what_it_has_is_checked(tmp_path: Path) -> None:
    files = {option: tmp_path / f"report.{option}" for option in ("json", "csv", "html", "junit", "hdr-log")}
    written = [word for option, path in files.items() for word in (f"--{option}", str(path))]
    ended = wiretool("bench", *SHORT, "--batch", "3", "--segments", "2", "--pipeline", "2", *written)
    found = report(files["json"])
    assert ended.returncode == (0 if found["valid"] else 1), ended.stderr
    append = found["operations"]["append"]
    assert append["count"] > 0
    assert append["errors"] == 0
    assert append["events_per_s"] == pytest.approx(3 * append["count"] / found["duration_s"])
    assert append["bytes_per_s"] == pytest.approx(300 * append["count"] / found["duration_s"])
    assert 0 < append["service_us"]["p50"] <= append["service_us"]["p99_9"] <= append["service_us"]["max"]
    assert [second["second"] for second in found["seconds"]] == [-1, 0]
    assert found["seconds"][1]["operations"]["append"]["count"] == append["count"]
    verification = found["verification"]
    assert verification["is_on"]
    assert verification["found"] == 0
    assert verification["checked_events"] == verification["acknowledged_events"] >= 3 * append["count"]
    assert found["options"]["batch"] == 3
    assert set(found["versions"]) >= {"wiretool", "locust", "python"}
    assert f"verified: all {verification['acknowledged_events']:,} acknowledged events are there" in ended.stdout
    assert files["csv"].read_text().count("append") == 2
    assert "<svg" in files["html"].read_text()
    assert 'name="valid"' in files["junit"].read_text()
    assert logged(files["hdr-log"], "append.service") == append["count"]


def test_an_open_loop_sends_what_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    wiretool("bench", *SHORT, "--rate", "400", "--json", str(path), "--event-size", "uniform:50-200")
    append = report(path)["operations"]["append"]
    assert append["count"] + append["unfinished"] == pytest.approx(400, rel=0.2)
    assert append["response_us"]["p50"] >= append["service_us"]["p50"]


def test_a_threshold_that_is_broken_is_a_finding(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    rules = ("--threshold", "append.p99 < 1us", "--threshold", "append.count > 0", "--junit", str(junit))
    ended = wiretool("bench", *SHORT, *rules, "--no-verify")
    assert ended.returncode == 1
    assert "broken  append.p99 < 1us" in ended.stdout
    assert "kept    append.count > 0" in ended.stdout
    assert 'name="append.p99 &lt; 1us"' in junit.read_text()


@pytest.mark.parametrize(("how", "kind"), [("nothing", "lost"), ("twice", "doubled"), ("late", "out of order")])
def test_one_acknowledged_event_in_a_hundred_thousand_that_is_not_kept_well_is_found(
    tmp_path: Path, how: str, kind: str
) -> None:
    path = tmp_path / "report.json"
    rule = f'message == "AppendBlockEnd" nth=1000: keep {how}'
    options = ("--appenders", "4", "--batch", "100", "--duration", "3", "--warmup", "0")
    ended = wiretool("bench", *options, "--fault", rule, "--json", str(path))
    assert ended.returncode == 1, ended.stderr
    verification = report(path)["verification"]
    assert verification["acknowledged_events"] > 100_000
    assert verification["found"] == 1
    assert kind in verification["findings"][0]
    assert kind in ended.stdout


def test_a_changed_event_is_found(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    other = "00000000" + "00000064" + "61" * 100
    rule = f'message == "AppendBlock" nth=50: set data="{other}"'
    ended = wiretool("bench", *SHORT, "--fault", rule, "--appenders", "1", "--json", str(path))
    assert ended.returncode == 1
    verification = report(path)["verification"]
    assert verification["found"] == 1
    assert "bench-" in verification["findings"][0]


def test_nobody_there_is_told_before_there_is_any_load(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
    path = tmp_path / "kept.json"
    path.write_text("what was there")
    ended = wiretool("bench", "--target", address, "--json", str(path))
    assert ended.returncode == 4
    assert ended.stderr == f"wiretool: cannot reach {address}: Connection refused\n"
    assert path.read_text() == "what was there"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_reports_what_it_has(tmp_path: Path, number: int) -> None:
    path = tmp_path / "report.json"
    command = ["bench", "--appenders", "2", "--duration", "60", "--warmup", "0", "--hdr-log", str(tmp_path / "log")]
    process = subprocess.Popen(
        [sys.executable, "-m", "wiretool", *command, "--json", str(path)], stdout=subprocess.PIPE, text=True
    )
    wait_for(tmp_path / "log", process)
    process.send_signal(number)
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    found = report(path)
    assert "it was stopped after" in stdout
    assert found["operations"]["append"]["count"] > 0
    assert found["verification"]["found"] == 0
    assert found["verification"]["checked_events"] > 0


def test_the_address_of_locusts_page_is_printed_when_it_can_be_opened(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        page = f"127.0.0.1:{listening.getsockname()[1]}"
    command = ["bench", "--appenders", "2", "--duration", "1", "--warmup", "0", "--no-verify", "--web", page]
    with subprocess.Popen(
        [sys.executable, "-m", "wiretool", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = without_waiting(iter(process.stderr.readline, ""))
        assert next(iter(lines)) == f"wiretool: Locust's page: http://{page} while it runs\n"
        with urlopen(f"http://{page}/stats/requests", timeout=20) as reply:
            assert json.load(reply)["state"]
        process.communicate(timeout=60)
    assert process.returncode in (0, 1)


def test_locusts_page_shows_the_run_while_it_goes_on(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        page = f"127.0.0.1:{listening.getsockname()[1]}"
    log = tmp_path / "log"
    command = ["bench", "--appenders", "2", "--duration", "60", "--warmup", "0", "--hdr-log", str(log), "--web", page]
    with subprocess.Popen(
        [sys.executable, "-m", "wiretool", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(log, process)
        with urlopen(f"http://{page}/stats/requests", timeout=20) as reply:
            told = json.load(reply)
        foreign = ({"Origin": "http://evil.example"}, {"Referer": "http://evil.example/x"})
        for headers in (*foreign, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
            with pytest.raises(HTTPError, match="403"):  # so a page elsewhere cannot stop it, nor begin another load
                urlopen(Request(f"http://{page}/stop", data=b"", headers=headers), timeout=60)
        with urlopen(f"http://{page}/stop", data=b"", timeout=60) as reply:
            assert json.load(reply)["success"]
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode in (0, 1), stderr
    first, *lines = without_waiting(stderr.splitlines())
    assert first == f"wiretool: Locust's page: http://{page} while it runs"
    assert all(is_progress(line) for line in lines), stderr
    rows = {row["name"]: row for row in told["stats"]}
    assert rows["append"]["num_requests"] > 0
    assert told["user_count"] == 2
    assert "verified: all" in stdout
    assert "of 60 s" in stdout  # the button has stopped it


def test_a_server_that_dies_in_mid_run_leaves_a_result_and_its_errors(tmp_path: Path) -> None:
    path, log = tmp_path / "report.json", tmp_path / "log"
    with started(tmp_path, *SERVE) as server:
        command = ["bench", "--target", target_of(server), "--appenders", "4", "--duration", "60", "--warmup", "0"]
        command += ["--json", str(path), "--hdr-log", str(log), "--sample-pid", str(server.process.pid)]
        process = subprocess.Popen(
            [sys.executable, "-m", "wiretool", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        wait_for(log, process)
        server.stop(signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 4, stderr
    assert "it ended early: the server is gone: no user could connect for 3 s" in stdout
    found = report(path)
    append = found["operations"]["append"]
    assert append["count"] > 0
    assert append["error_kinds"]["cannot connect: Connection refused"] > 0
    assert append["errors"] == sum(append["error_kinds"].values())
    assert found["seconds"][0]["target_bytes"] > 10_000_000
    assert not found["verification"]["is_on"]
    why = "the server is gone: no user could connect for 3 s"
    assert found["cut_short"] == why
    assert not found["valid"] or stdout.endswith(f"figures of the target until it was cut short: {why}\n")
    # What was done counts over the time in which there was a server, not over the three seconds without one.
    assert re.search(r"^no user had a connection in the last 3(\.\d+)? s, which are in no rate$", stdout, re.MULTILINE)
    assert found["duration_s"] < found["seconds"][-1]["second"] - 1
    assert append["per_s"] == pytest.approx(append["count"] / found["duration_s"])


def test_users_that_cannot_set_up_say_so_in_one_line(tmp_path: Path) -> None:
    with started(tmp_path, *SERVE) as server:
        ended = wiretool(
            "bench", "--protocol", "sbp", "--target", target_of(server), "--appenders", "4", "--warmup", "0"
        )
    assert ended.returncode == 4, ended.stderr
    assert "it ended early: " in ended.stdout
    assert "Traceback" not in ended.stderr


def test_more_processes_than_users_are_not_taken_for_a_server_that_is_gone() -> None:
    ended = wiretool("bench", "--appenders", "1", "--processes", "2", "--warmup", "0", "--duration", "4")
    assert ended.returncode in (0, 1), ended.stdout
    assert "it ended early" not in ended.stdout


def test_a_master_that_waits_can_be_stopped() -> None:
    command = [sys.executable, "-m", "wiretool", "bench", "--master", "--master-address", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "waiting for 1 workers" in next(without_waiting(process.stderr))
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "it was stopped after 0 of 10 s" in stdout


def test_the_servers_own_words_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    rule = 'message == "AppendBlockEnd" every=20: answer NoSuchSegment segment="x", request_id=1'
    ended = wiretool("bench", *SHORT, "--fault", rule, "--json", str(path))
    assert ended.returncode == 1 or report(path)["valid"]
    kinds = report(path)["operations"]["append"]["error_kinds"]
    assert "an append answered with NoSuchSegment" in kinds


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--fault", "garbage"], "--fault 'garbage'"),
        (["--threshold", "apend.p99 < 5ms"], "pravega has no operation 'apend'.*append, fetch, tail"),
        (["--protocol", "http"], "no protocol is called 'http'; there are "),
        (["--event-size", "5"], "--event-size '5'"),
        (["--duration", "2d"], "--duration 172800: a run of 172,802 s; 3,600 s is the most"),
        (["--duration", "2w"], "--duration '2w': not a duration"),
        (["--rate", "fast"], "--rate 'fast'"),
        (
            ["--target", "192.0.2.1:12345"],
            "--target 192.0.2.1:12345: another machine; --allow-remote 192.0.2.1 allows it",
        ),
        (["--target", "x"], "--target 'x'"),
        (["--target", "127.0.0.1:1", "--fault", "message == 1: drop"], "--fault: not allowed with --target"),
        (["--sample-pid", "1"], "--sample-pid: requires --target"),
        (["--threshold", "append.p98 < 1ms"], "--threshold 'append.p98 < 1ms'"),
        (["--json", "same", "--csv", "same"], "--json and --csv would both be written to same"),
        (["--json", "none/such/folder"], "cannot write none/such/folder"),
        (["--appenders", "0"], "--appenders"),
        (["--web", "192.0.2.1:1"], "--web 192.0.2.1:1: Cannot assign requested address"),
        (["--conditional", "--processes", "2"], "--conditional: requires one load process; expected --processes 1"),
        (["--processes", "65"], "'--processes': expected 1 to 64"),
        (["--processes", "1000"], "'--processes': expected 1 to 64"),
        (["--expect-workers", "1001", "--master"], "'--expect-workers': expected 1 to 1000"),
        (["--worker", "--master"], "--worker: not allowed with --master; start two processes"),
        (
            ["--worker", "--rate", "5", "--json", "x"],
            "--rate, --json: not allowed with --worker; give it to the master",
        ),
        (["--expect-workers", "1"], "--expect-workers: requires --master"),
        (["--master-address", "127.0.0.1:5557"], "--master-address: requires --master or --worker"),
        (["--master", "--processes", "2"], "--processes: not allowed with --master, whose workers generate the load"),
    ],
)
def test_refusals_before_there_is_any_load(arguments: list[str], says: str) -> None:
    ended = wiretool("bench", *arguments)
    assert ended.returncode in (2, 4)
    assert len(list(without_waiting(ended.stderr.splitlines()))) == 1
    assert re.search(says, ended.stderr), ended.stderr
