"""The reports: each says the verdicts, the reasons and nothing that a terminal or browser would obey."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.conformance.results import FAILED, RESULTS, judged
from wiretool.conformance.case import MUST, Verdict
from wiretool.conformance.clients.case import PLAIN, ClientCase
from wiretool.conformance.compare import changes_between
from wiretool.conformance.recorded.rules import Rule
from wiretool.conformance.report.badge import badge
from wiretool.conformance.report.html import html_report
from wiretool.conformance.report.json import TEXT_MAX, json_report, report_from
from wiretool.conformance.report.junit import junit_report
from wiretool.conformance.report.sarif import CHANGED_RULE, ReportFiles, sarif_report
from wiretool.conformance.report.text import report_lines
from wiretool.conformance.results import CaseResult, Event
from wiretool.errors import InputError, UsageError


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


#: Files as a run with --capture and --expect has them.
FILES = ReportFiles(["captures/a%20b.pcap"], "ci/known.toml")


def test_json() -> None:
    report = report_from(json_report(judged()).encode(), name="a.json")
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


def test_json_of_a_failure_has_the_evidence() -> None:
    cases = {case["id"]: case for case in json.loads(json_report(judged()))["cases"]}
    failed = cases["pravega/x/2"]
    assert failed["difference"] == "DataAppended.event_number: expected 1, found 2"
    assert failed["accepted"] == "DataAppended(event_number=1)"
    assert (failed["sent"]["message"], failed["received"]["message"]) == ("KeepAlive", "DataAppended")
    assert failed["received"]["fields"]["event_number"] == 2
    assert not {"difference", "accepted", "sent", "received"} & set(cases["pravega/x/3"])


def test_json_of_a_missing_reply_has_received_nothing() -> None:
    silent = replace(FAILED, events=(Event(0, "a", "client", "KeepAlive", {}, is_marked=True),))
    (case,) = json.loads(json_report(judged(silent)))["cases"]
    assert case["sent"]["message"] == "KeepAlive"
    assert case["received"] is None


def test_json_judges_the_client_by_its_own_messages() -> None:
    events = (
        Event(0, "1", "server", "5 Hello", {}),
        Event(1, "1", "client", "6 Hello", {}, is_marked=True),
        Event(2, "1", "server", "7 Bye", {}),
    )
    rule = Rule("pravega/traffic/client/1", MUST, "R.", "§1", "client", lambda connection: ())
    scenario = ClientCase("pravega/client/x/1", MUST, "R.", "§1", PLAIN, lambda run: ())
    for case in (rule, scenario):
        (row,) = json.loads(json_report(judged(CaseResult(case, Verdict.FAIL, "w", events=events))))["cases"]
        assert (row["sent"]["message"], row["received"]["message"]) == ("5 Hello", "6 Hello")
        assert row["difference"] == "w"


def test_json_has_the_messages_of_passes_without_long_payloads() -> None:
    payload = "00" * 4_000_000
    passed = replace(
        RESULTS[0], events=(Event(0, "a", "client", "Append", {"data": payload, "list": [payload] * 500}),)
    )
    text = json_report(judged(passed))
    (message,) = json.loads(text)["cases"][0]["messages"]
    assert message["fields"]["data"] == f"{payload[:TEXT_MAX]}... (8,000,000 characters)"
    assert message["fields"]["list"][-1] == "... (500 entries)"
    assert len(text) < 100_000


@pytest.mark.parametrize("text", ["", "[]", '{"cases": [1]}', '{"protocol": "p", "target": "t", "cases": [{}]}'])
def test_what_is_no_report(text: str) -> None:
    with pytest.raises(UsageError, match=r"expected (a|one)"):
        report_from(text.encode(), name="a.json")


def _report(*cases: tuple[str, str]) -> bytes:
    texts = dict.fromkeys(("level", "requirement", "source", "why"), "")
    rows = [{"id": id, "verdict": verdict} | texts for id, verdict in cases]
    return json.dumps({"protocol": "sbp", "target": "t", "cases": rows}).encode()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (_report(), "no cases"),
        (_report(("sbp/x/1", "pass"), ("sbp/x/1", "fail")), "sbp/x/1 is in it twice"),
        (_report(("sbp/x/1", "passed")), "sbp/x/1: unknown verdict 'passed'"),
    ],
)
def test_a_report_that_cannot_be_compared_is_bad_input(data: bytes, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        report_from(data, name="a.json")
    expected = "expected one of `wiretool conform --json`"
    assert str(caught.value) == f"a.json: not a conformance report: {problem}; {expected}"
    assert caught.value.exit_code == 3


def test_junit() -> None:
    suite = ElementTree.fromstring(junit_report(judged())).find("testsuite")
    assert suite is not None
    numbers = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert numbers == {"tests": "6", "failures": "3", "errors": "1", "skipped": "1"}
    failure = suite.find("testcase[@name='pravega/x/2']/failure")
    assert failure is not None
    assert failure.get("message") == "DataAppended.event_number: expected 1, found 2"


def test_sarif() -> None:
    (run,) = json.loads(sarif_report(judged(), FILES))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [result.case.id for result in RESULTS]
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("pravega/x/2", "error"),
        ("pravega/x/3", "warning"),
        ("pravega/x/4", "note"),
        ("pravega/x/6", "error"),
    ]


def test_sarif_suppresses_what_is_expected() -> None:
    known = '[[expected]]\ncase = "pravega/x/2"\nreason = "issue 7"\n'
    (run,) = json.loads(sarif_report(judged(expect=known), FILES))["runs"]
    assert run["results"][0]["suppressions"] == [{"kind": "external", "justification": "issue 7"}]
    assert run["results"][0]["level"] == "note"


CHANGED = '[[expected]]\ncase = "pravega/x/2"\nreason = "a"\n\n[[expected]]\nreason = "b"\ncase = "pravega/x/1"\n'


def test_sarif_keeps_the_rules_of_the_format_and_of_github() -> None:
    """SARIF 2.1.0 §3.19.23, §3.27 and §3.30; GitHub: a rule's texts, and of each result a file, a line, an identity."""
    document = json.loads(sarif_report(judged(expect=CHANGED), FILES))
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert document["version"] == "2.1.0"
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    assert len(run["results"]) == 5
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] in (*FILES.judged, FILES.expected)
        assert place["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
        assert place["region"]["startLine"] >= 1
    identities = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len(set(identities)) == len(identities)
    again = json.loads(sarif_report(judged(FAILED), ReportFiles(["other.pcap"])))["runs"][0]["results"]
    assert again[0]["partialFingerprints"] == run["results"][0]["partialFingerprints"]


def test_sarif_has_known_failures_that_no_longer_hold() -> None:
    (run,) = json.loads(sarif_report(judged(expect=CHANGED), FILES))["runs"]
    result = run["results"][-1]
    assert (result["ruleId"], result["level"]) == (CHANGED_RULE, "error")
    assert result["message"]["text"] == "pravega/x/1 passes; remove it from the expected failures"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == FILES.expected
    assert place["region"]["startLine"] == 7


def test_sarif_relates_further_captures_and_leaves_absolute_uris_alone() -> None:
    files = ReportFiles(["file:///a.pcap", "b.pcap"])
    (run,) = json.loads(sarif_report(judged(FAILED), files))["runs"]
    (result,) = run["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///a.pcap"}
    assert result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "b.pcap"


def test_html_shows_the_messages_of_passes_and_problems_of_frames() -> None:
    events = (
        Event(0, "a", "client", "KeepAlive", {"n": 1}),
        Event(1, "a", "server", "KeepAlive", {"n": 2}, ("left-over: 3 <bytes>",)),
    )
    page = html_report([json.loads(json_report(judged(replace(RESULTS[0], events=events))))])
    row = page[page.index("<tbody>") :]
    assert "<details><summary>messages: 2</summary>" in row
    assert "-&gt; KeepAlive {&quot;n&quot;:1}" in row
    assert "left-over: 3 &lt;bytes&gt;" in row
    assert 'value="pass" checked' in page  # nothing else is to be shown


def test_html_names_the_target_in_each_cell_for_narrow_screens() -> None:
    report = json.loads(json_report(judged()))
    page = html_report([report, {**report, "target": 'a "server"'}])
    assert page.count('<td data-target="127.0.0.1:1">') == len(RESULTS)
    assert page.count('<td data-target="a &quot;server&quot;">') == len(RESULTS)
    assert 'value="pass"> pass' in page


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
