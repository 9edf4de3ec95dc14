"""`wiretool conform --target` of which the deadline ends the run: every report names it."""

import json
import socket
from pathlib import Path

from tests.commands.test_conform import accepting, listener
from tests.helpers.servers import wiretool
from wiretool.conformance.results import NOT_RUN

REASON = "the run reached its deadline of 0.5 s"


def test_a_run_that_its_deadline_ends_has_it_in_its_last_line_and_remarks(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with listener() as address:
        words = ("--target", address, "--timeout", "9s", "--deadline", "0.5s", "--json", str(path))
        ended = wiretool("conform", "pravega", "--case", "pravega/append/[12]", *words)
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout.splitlines()[-1].endswith(f" s: 2 error; {REASON}")
    assert json.loads(path.read_text())["remarks"] == [REASON]


def test_a_run_that_ends_before_its_deadline_does_not_name_it(tmp_path: Path) -> None:
    with listener() as address:
        words = ("--target", address, "--timeout", "0.2s", "--deadline", "60s", "--format", "json")
        ended = wiretool("conform", "pravega", "--case", "pravega/append/1", *words)
    assert json.loads(ended.stdout)["remarks"] == []


def test_the_deadline_ends_the_runs_of_a_client(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    words = ("--deadline", "0.5s", "--json", str(path), "--client", "--", "sleep", "60")
    ended = wiretool("conform", "sbp", *words)
    assert ended.returncode == 1, ended.stderr
    assert ended.stdout.splitlines()[-1].endswith(f"; {REASON}")
    report = json.loads(path.read_text())
    assert report["remarks"] == [REASON]
    assert {case["verdict"] for case in report["cases"]} == {"error"}
    assert {case["why"] for case in report["cases"]} == {REASON, NOT_RUN}


def test_a_client_whose_runs_end_before_the_deadline_is_judged_as_without_it() -> None:
    words = ("--case", "sbp/client/frame/*", "--format", "json", "--deadline", "60s", "--client", "--", "true")
    report = json.loads(wiretool("conform", "sbp", *words).stdout)
    assert not any("deadline" in remark for remark in report["remarks"])
    assert {case["verdict"] for case in report["cases"]} == {"not-exercised"}


def test_the_built_in_mock_needs_no_deadline() -> None:
    ended = wiretool("conform", "sbp", "--case", "sbp/frame/1", "--deadline", "4s")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_capture_has_no_deadline() -> None:
    ended = wiretool("conform", "sbp", "--deadline", "4s", "--capture", "captures/sbp/sdk_main.pcap")
    why = "--deadline and --capture: only a run against a server or client has a deadline"
    assert (ended.returncode, ended.stderr) == (2, f"wiretool: {why}\n")


def test_a_target_that_the_deadline_left_no_time_to_answer_is_not_said_to_answer_nothing() -> None:
    ends: list[socket.socket] = []

    def act(end: socket.socket) -> None:
        """Close the connections of the greeting and of the first case; leave the next case without a reply."""
        ends.append(end)
        if len(ends) <= 2:
            end.close()

    with accepting(act) as address:
        cases = ("--case", "sbp/frame/15", "--case", "sbp/frame/16")
        words = ("--target", address, "--timeout", "9s", "--deadline", "0.5s", "--format", "json")
        ended = wiretool("conform", "sbp", *cases, *words)
    assert len(ends) == 3
    whys = {case["id"]: case["why"] for case in json.loads(ended.stdout)["cases"]}
    assert whys == {"sbp/frame/15": REASON, "sbp/frame/16": REASON}
