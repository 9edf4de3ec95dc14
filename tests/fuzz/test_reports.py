"""Reports of runs: forms that CI and code scanning take."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from wiretool.fuzz.findings import Finding
from wiretool.fuzz.investigation import Confirmed
from wiretool.fuzz.oracles import Bucket, Suspicion
from wiretool.fuzz.reports import FuzzResult, junit_report, page_uri, sarif_report
from wiretool.fuzz.sequence import FuzzSequence


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
    assert run["invocations"] == [{"executionSuccessful": False}]


@pytest.mark.parametrize(
    ("folder", "uri"), [("found/001%", "found/001%25/README.md"), ("/a b/001", "file:///a%20b/001/README.md")]
)
def test_pages_have_valid_uris(folder: str, uri: str) -> None:
    assert page_uri(str(Path(folder))) == uri
