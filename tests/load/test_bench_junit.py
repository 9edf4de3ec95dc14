from xml.etree import ElementTree

from tests.load.bench_results import EVIL, closed, nothing
from wiretool.load.measure.thresholds import check_thresholds, threshold_from
from wiretool.load.report.junit import junit_text
from wiretool.load.result import Result, Verification


def suite_of(result: Result, *thresholds: str) -> ElementTree.Element:
    text = junit_text(result, check_thresholds([threshold_from(each) for each in thresholds], result))
    suite = ElementTree.fromstring(text).find("testsuite")
    assert suite is not None
    return suite


def failures(suite: ElementTree.Element) -> dict[str, tuple[str, str]]:
    return {
        case.attrib["name"]: (failure.attrib["message"], failure.text or "")
        for case in suite.iter("testcase")
        for failure in case.iter("failure")
    }


def test_a_good_run_has_its_two_cases() -> None:
    suite = suite_of(closed(2))
    assert [case.attrib["name"] for case in suite] == ["valid", "verify"]
    assert {name: suite.attrib[name] for name in ("tests", "failures", "skipped", "errors", "time")} == {
        "tests": "2",
        "failures": "0",
        "skipped": "0",
        "errors": "0",
        "time": "2.000",
    }
    assert suite.attrib["timestamp"] == "2026-11-22T11:30:00Z"


def test_a_case_for_each_threshold_fails_with_its_figure() -> None:
    suite = suite_of(closed(2), "append.p99 < 1us", "append.errors == 0", "truncate.count > 0")
    assert [case.attrib["name"] for case in suite][2:] == [
        "append.p99 < 1us",
        "append.errors == 0",
        "truncate.count > 0",
    ]
    found = failures(suite)
    assert set(found) == {"append.p99 < 1us", "truncate.count > 0"}
    assert found["append.p99 < 1us"][0].startswith("append: response p99 is 1.")
    assert found["append.p99 < 1us"][1].endswith("\nexpected: append.p99 < 1us")
    assert found["truncate.count > 0"][0] == "truncate did not occur; there were append, fetch"
    assert suite.attrib["failures"] == "2"


def test_a_generator_that_could_not_measure_fails() -> None:
    found = failures(suite_of(closed(2, valid=False, reasons=["the schedule was 52 ms late", "no CPU left"])))
    message, text = found["valid"]
    assert message == "the schedule was 52 ms late"
    assert "no CPU left" in text
    assert "generator: 2 processes, each 45 % of a processor, 51 % at most" in text


def test_a_reason_is_not_needed_to_fail() -> None:
    assert failures(suite_of(nothing(valid=False)))["valid"][0] == "generator: no figures"


def test_findings_fail_with_the_evidence() -> None:
    verification = Verification(
        is_on=True, acknowledged_events=100, checked_events=99, found=3, findings=["event 7 is missing", EVIL]
    )
    message, text = failures(suite_of(closed(1, verification=verification)))["verify"]
    assert message == "3 findings in 99 of 100 acknowledged events"
    assert "event 7 is missing" in text
    assert text.endswith("and 1 more")
    assert "\\x1b[31m" in text
    assert "\x1b" not in text


def test_what_was_not_verified_is_skipped() -> None:
    suite = suite_of(closed(1, verification=Verification(is_on=False)))
    skipped = suite.find("testcase[@name='verify']/skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "not verified: acknowledged events were not read back"
    assert suite.attrib["skipped"] == "1"
