"""The reports: each says the verdicts, the reasons and nothing that a terminal or browser would obey."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conformance.results import RESULTS, judged
from wiretool.conformance.compare import changes_between
from wiretool.conformance.report.badge import badge
from wiretool.conformance.report.html import html_report
from wiretool.conformance.report.json import json_report, read_report
from wiretool.conformance.report.junit import junit_report
from wiretool.conformance.report.sarif import sarif_report
from wiretool.conformance.report.text import report_lines
from wiretool.errors import UsageError


def test_text() -> None:
    lines = list(report_lines(judged()))
    assert not any("\x1b" in line for line in lines)
    text = "\n".join(lines)
    assert "pravega/x/1" not in text  # it passed
    assert "fail          pravega/x/2 (must)  DataAppended.event_number: expected 1, found 2" in lines
    assert "    > a <- DataAppended" in text
    assert "    run alone:   wiretool conform pravega --case pravega/x/2" in lines
    assert lines[-1] == (
        "pravega on 127.0.0.1:1: 6 cases in 1.5 s: 1 pass, 1 fail, 1 lenient, 1 unsupported, 1 not-exercised, 1 error"
    )


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json_report(judged()))
    report = read_report(path)
    assert report["summary"] == dict.fromkeys(("pass", "fail", "lenient", "unsupported", "not-exercised", "error"), 1)
    assert [case["id"] for case in report["cases"]] == [result.case.id for result in RESULTS]
    failed = report["cases"][1]
    assert {"id", "level", "requirement", "source", "verdict", "why", "seconds"} <= set(failed)
    assert failed["messages"][1] == {
        "connection": "a",
        "side": "server",
        "message": "DataAppended",
        "fields": {"event_number": 2, "text": "\x1b[31m<b>"},
        "is_marked": True,
    }


@pytest.mark.parametrize("text", ["", "[]", '{"cases": [1]}', '{"protocol": "p", "target": "t", "cases": [{}]}'])
def test_what_is_no_report(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"expected (a|one)"):
        read_report(path)


def test_junit() -> None:
    suite = ElementTree.fromstring(junit_report(judged())).find("testsuite")
    assert suite is not None
    numbers = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert numbers == {"tests": "6", "failures": "3", "errors": "1", "skipped": "1"}
    failure = suite.find("testcase[@name='pravega/x/2']/failure")
    assert failure is not None
    assert failure.get("message") == "DataAppended.event_number: expected 1, found 2"


def test_sarif() -> None:
    (run,) = json.loads(sarif_report(judged()))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [result.case.id for result in RESULTS]
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("pravega/x/2", "error"),
        ("pravega/x/3", "warning"),
        ("pravega/x/4", "note"),
        ("pravega/x/6", "error"),
    ]


def test_sarif_suppresses_what_is_expected() -> None:
    known = '[[expected]]\ncase = "pravega/x/2"\nreason = "issue 7"\n'
    (run,) = json.loads(sarif_report(judged(expect=known)))["runs"]
    assert run["results"][0]["suppressions"] == [{"kind": "external", "justification": "issue 7"}]
    assert run["results"][0]["level"] == "note"


def test_html() -> None:
    report = json.loads(json_report(judged()))
    other = {**report, "target": "other <server>"}
    page = html_report([report, other])
    assert "<b>other &lt;server&gt;</b>" in page
    assert "Requirement &lt;2&gt;." in page
    assert page.count('<span class="fail">fail</span>') == 2
    assert "\x1b" not in page
    assert '<b>"' not in page


def test_badge() -> None:
    image = ElementTree.fromstring(badge(judged()))
    assert "1 of 5" in "".join(image.itertext())
    assert "#c62828" in badge(judged())
    assert "#2e7d32" in badge(judged(RESULTS[0]))


def test_comparison() -> None:
    one = json.loads(json_report(judged(*RESULTS[:3])))
    other = json.loads(json_report(judged(*RESULTS[1:])))
    other["cases"][0] |= {"verdict": "pass", "why": ""}
    changes = list(changes_between(one, other))
    assert [(change.id, change.before, change.after) for change in changes] == [
        ("pravega/x/1", "pass", ""),
        ("pravega/x/2", "fail", "pass"),
        ("pravega/x/4", "", "unsupported"),
        ("pravega/x/5", "", "not-exercised"),
        ("pravega/x/6", "", "error"),
    ]
    assert [change.is_worse for change in changes] == [True, False, False, False, True]
