"""The oracle `differs`: answers that the reference does not give are found, and nothing where both are one server."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.servers import wiretool
from wiretool.conformance.mutation.mutants import mutant_named
from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.differences import AFTER_BYTES
from wiretool.fuzz.oracles import DIFFERS
from wiretool.fuzz.session import FuzzSession


def run_compared(protocol: str, mutant: str, *, runs: int) -> list[Any]:
    """Fuzz a mutant of the mock without its conformance cases; return the findings."""
    session = FuzzSession(protocol)
    session.add_cases()
    session.compare_answers()
    target = session.mock_target(mutant_named(session.part, mutant) if mutant else None)
    found: list[Any] = []
    investigation = session.investigation(target, is_reference=False)
    session.cases = []
    session.campaign(target, investigation, Limits(runs=runs, findings=3), on_finding=found.append).run()
    return found


def test_another_answer_is_found() -> None:
    """This mutant refuses clients whose highest version is the server's lowest."""
    (found,) = run_compared("pravega", "hello-oldest-refused", runs=700)
    assert found.bucket.oracle == DIFFERS
    assert "the built-in mock gives KeepAlive" in found.why
    assert found.messages <= 3


def test_answers_after_broken_bytes_are_found() -> None:
    """This mutant skips frames that cannot be decoded, where the reference ends the connection."""
    found = run_compared("pravega", "undecodable-ignored", runs=700)
    assert {each.bucket.reply for each in found} == {f"more {AFTER_BYTES}"}


@pytest.mark.parametrize("protocol", ["pravega", "pravega-draft", "sbp", "sbp-0.1", "offramp"])
def test_the_mock_does_not_differ_from_itself(protocol: str) -> None:
    found = run_compared(protocol, "", runs=200)
    assert [each.title for each in found if each.bucket.oracle == DIFFERS] == []


def test_the_command_reports_and_replays_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--mutant", "hello-oldest-refused", "--runs", "700", "--differs", "--case", "number/*")
    ended = wiretool("fuzz", "pravega", *options, "--json", "a.json", "--sarif", "a.sarif")
    assert ended.returncode == 1, ended.stderr
    findings = json.loads((tmp_path / "a.json").read_text())["findings"]
    (folder,) = [each["folder"] for each in findings if each["oracle"] == DIFFERS]
    results = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["results"]
    levels = {each["ruleId"]: each["level"] for each in results}
    assert levels == {DIFFERS: "note", "wrong-answer": "error"}
    again = wiretool("fuzz", "pravega", "--replay", folder)
    assert again.returncode == 1
    assert "still fails: differs" in again.stdout


def test_the_mock_itself_has_no_other_answers() -> None:
    ended = wiretool("fuzz", "pravega", "--differs")
    assert ended.returncode == 2
    assert "--differs: the target is the built-in mock itself; expected --target, --mutant or --sockets" in ended.stderr
