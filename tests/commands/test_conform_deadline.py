"""`wiretool conform --target` of which the deadline ends the run: every report names it."""

import json
import socket
from pathlib import Path

from tests.commands.test_conform import accepting, listener
from tests.helpers.servers import wiretool

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
