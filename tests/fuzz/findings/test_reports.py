"""Reports of runs: forms that CI and code scanning take."""

import json
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from wiretool.commands.fuzz.screen import FuzzScreen
from wiretool.fuzz.campaign import Counts
from wiretool.fuzz.findings.finding import Finding
from wiretool.fuzz.findings.investigation import Confirmed
from wiretool.fuzz.findings.reports import FuzzResult, junit_report, summary_line
from wiretool.fuzz.findings.sarif import (
    CLIENT_RULES,
    DECODER_RULES,
    PAGE,
    SERVER_RULES,
    RuleText,
    page_uri,
    sarif_report,
)
from wiretool.fuzz.oracles import Bucket, Suspicion
from wiretool.fuzz.sequences.sequence import FuzzSequence

SERVER_ORACLES = {"died", "silent", "undecodable", "wrong-answer", "unhealthy", "memory", "slow", "differs"}


def result(why_cut: str = "") -> FuzzResult:
    """Return a run with one finding."""
    suspicion = Suspicion(Bucket("died", message="Hello"), "the server ended", 0)
    finding = Finding(1, "sbp", "127.0.0.1:1", 0, Confirmed(suspicion, FuzzSequence((), ""), 3))
    return FuzzResult("sbp", "127.0.0.1:1", 0, findings=[(finding, "out dir/001-died-hello")], why_cut=why_cut)


def test_a_run_that_was_cut_short_is_an_error_in_junit() -> None:
    """A run whose server is gone must not be green where only the report is read."""
    suite = ElementTree.fromstring(junit_report(result("the server is gone")))
    assert (suite.get("errors"), suite.get("failures"), suite.get("tests")) == ("1", "1", "2")
    error = suite.find("testcase/error")
    assert error is not None
    assert error.get("message") == "the server is gone"
    whole = ElementTree.fromstring(junit_report(result()))
    assert whole.get("errors") == "0"
    assert whole.find("testcase/error") is None


def test_sarif_has_the_parts_that_code_scanning_requires() -> None:
    (run,) = json.loads(sarif_report(result("the server is gone")))["runs"]
    (found,) = run["results"]
    assert found["ruleId"] == run["tool"]["driver"]["rules"][0]["id"] == "died"
    assert found["message"]["text"] == "died: the server ended"
    (location,) = found["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "out%20dir/001-died-hello/README.md"},
        "region": {"startLine": 1},
    }
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert (notification["level"], notification["message"]["text"]) == ("error", "the server is gone")
    assert found["partialFingerprints"]["primaryLocationLineHash"].endswith(":1")
    (whole,) = json.loads(sarif_report(result()))["runs"]
    assert whole["invocations"] == [{"executionSuccessful": True}]


def test_rules_of_sarif_are_described() -> None:
    """SARIF 2.1.0 §3.49: descriptions are sentences, and results name their rule by index and id."""
    (run,) = json.loads(sarif_report(result()))["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "The server ends, or accepts no more connections."
    assert "the built-in mock has raised an exception" in rule["fullDescription"]["text"]
    assert rule["help"]["text"].startswith("The README.md of the finding")
    assert rule["helpUri"] == f"{PAGE}#oracles"
    assert rule["defaultConfiguration"] == {"level": "error"}
    (found,) = run["results"]
    assert (found["ruleIndex"], found["ruleId"], found["level"]) == (0, rule["id"], "error")


def test_each_result_names_the_rule_of_its_oracle() -> None:
    whole = result()
    for number, oracle in enumerate(("differs", "unhealthy", "died"), 2):
        suspicion = Suspicion(Bucket(oracle, message="Hello"), "why", 0)
        finding = Finding(number, "sbp", "127.0.0.1:1", 0, Confirmed(suspicion, FuzzSequence((), ""), 3))
        whole.findings.append((finding, f"found/{finding.id}"))
    (run,) = json.loads(sarif_report(whole))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["died", "differs", "unhealthy"]
    assert [rules[each["ruleIndex"]]["id"] for each in run["results"]] == [each["ruleId"] for each in run["results"]]
    levels = {rule["id"]: rule["defaultConfiguration"]["level"] for rule in rules}
    assert levels == {"died": "error", "differs": "note", "unhealthy": "error"}


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        (SERVER_RULES, {*SERVER_ORACLES, "lost-event", "doubled-event", "changed-event"}),
        (CLIENT_RULES, {"crash", "silent", "undecodable", "memory"}),
        (DECODER_RULES, {"died", "differs", "wrong-answer", "slow", "memory"}),
    ],
)
def test_each_oracle_has_a_rule(rules: Mapping[str, RuleText], names: set[str]) -> None:
    assert set(rules) == names
    for text in rules.values():
        assert (text.short[-1], text.short.count("."), text.full[-1]) == (".", 1, ".")


@pytest.mark.parametrize(
    ("is_client", "is_self", "section"),
    [(False, False, "oracles"), (True, False, "clients"), (False, True, "the-decoder-of-wiretool")],
)
def test_the_help_of_a_rule_is_a_section_of_the_page(is_client: bool, is_self: bool, section: str) -> None:
    whole = result()
    suspicion = Suspicion(Bucket("memory", message="Hello"), "why", 0)
    finding = Finding(1, "sbp", "target", 0, Confirmed(suspicion, FuzzSequence((), ""), 3))
    whole.findings, whole.is_client, whole.is_self = [(finding, "found")], is_client, is_self
    (run,) = json.loads(sarif_report(whole))["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["helpUri"] == f"{PAGE}#{section}"
    page = (Path(__file__).parents[3] / "docs" / "fuzzing.md").read_text("utf-8")
    heads = [line.removeprefix("## ").lower().replace("'", "").replace(" ", "-") for line in page.splitlines()]
    assert section in heads


@pytest.mark.parametrize(
    ("folder", "uri"), [("found/001%", "found/001%25/README.md"), ("/a b/001", "file:///a%20b/001/README.md")]
)
def test_pages_have_valid_uris(folder: str, uri: str) -> None:
    assert page_uri(str(Path(folder))) == uri


def test_figures_of_one_have_a_singular() -> None:
    one = FuzzResult("sbp", "x", 0, Counts(runs=1, messages=1, seconds=1.0, cases=1, features=1), phases=["a"])
    assert summary_line(one) == (
        "sbp, x: 1 sequence, 1 message in 1.0 s (1 messages/s), 1 phase, 1 kind of exchanges, "
        "1 run of conformance cases: 0 findings"
    )


def test_the_first_line_of_progress_has_rates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([100.0, 100.0, 105.0])
    monkeypatch.setattr("wiretool.commands.fuzz.screen.is_watched", lambda: False)
    monkeypatch.setattr("wiretool.commands.fuzz.screen.time.monotonic", lambda: next(clock))
    FuzzScreen("fuzz").update(Counts(runs=10, messages=50, findings=1, features=2))
    assert "fuzz: 10 sequences (2/s, 10 messages/s), 2 kinds of exchanges, 1 finding\n" in capsys.readouterr().err
