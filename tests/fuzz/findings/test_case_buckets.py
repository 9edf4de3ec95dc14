"""Failed conformance cases: those that fail in the same way are one finding with the names of all, others are not."""

import json
from pathlib import Path

import pytest

from tests.fuzz.helpers import session_of
from tests.helpers.servers import wiretool
from wiretool.conformance.case import Case
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mutation.mutants import mutant_named
from wiretool.conformance.results import CaseResult, Event
from wiretool.fuzz.campaign import Limits
from wiretool.fuzz.findings.case_buckets import bucket_by_id, case_bucket, failure_kind
from wiretool.fuzz.findings.finding import Finding
from wiretool.fuzz.oracles import BYTES, WRONG_ANSWER, Bucket

CASE = session_of("pravega-draft").cases[0]
#: A mutant that makes thirty cases fail, all at the same reply.
MUTANT = "setup-new-as-today"


def failed(difference: str, expected: str, *, sent: str = "PING", case: Case = CASE) -> CaseResult:
    """Return the result of a case that failed after a request, at the reply to it."""
    events = (Event(0, "1", "client", sent, {}), Event(1, "1", "server", "PING", {}, is_marked=True))
    why = f"{difference}; expected {expected}"
    return CaseResult(case, Verdict.FAIL, why, expected, difference, events=events)


@pytest.mark.parametrize(
    ("difference", "expected", "kind"),
    [
        ("A.offset: expected 13, found -14", "A(offset=13)", "A.offset differs"),
        ("A.parts[3].data: expected 'ab', found 'cd'", "A(parts=[])", "A.parts[#].data differs"),
        (
            "A.status.code: expected 1502, found 1200",
            "A(status=code=1502)",
            "A.status.code differs: 1502 expected, 1200 found",
        ),
        (
            "A.at_tail: expected True, found False",
            "A(at_tail=True)",
            "A.at_tail differs: True expected, False found",
        ),
        ("no reply came in time", "A(text='x(1)') or B(n=2)", "no reply came in time; expected A or B"),
        ("B came", "(a pause of 0.3 s)", "B came; expected a pause of #.# s"),
        (
            "A: checksum_mismatch at byte 8 (checksum): the CRC is 1ee2, the frame has ab12",
            "A(n=1)",
            "A: checksum_mismatch (checksum)",
        ),
        (
            "(undecodable): incomplete: the stream ends",
            "A(n=1) or B(n=1)",
            "(undecodable): incomplete: the stream ends",
        ),
    ],
)
def test_a_kind_of_failure_has_no_values_of_its_case(difference: str, expected: str, kind: str) -> None:
    assert failure_kind(failed(difference, expected)) == kind


def test_failures_after_other_requests_and_with_other_replies_stay_apart() -> None:
    results = [
        failed("no reply came in time", "A(n=1)"),
        failed("no reply came in time", "B(n=1)"),
        failed("no reply came in time", "A(n=1)", sent="SEAL"),
        failed("B came", "A(n=1)"),
        failed("A.n: expected 1, found 2", "A(n=1)"),
        failed("A.code: expected 1, found 2", "A(code=1)"),
        failed("A.code: expected 1, found 3", "A(code=1)"),
    ]
    assert len({case_bucket(WRONG_ANSWER, each) for each in results}) == len(results)


@pytest.mark.parametrize(
    ("sent", "message"), [("ReadTable with the count -1", "ReadTable"), ("message 'hello'", BYTES), ("4 bytes", BYTES)]
)
def test_an_invalid_request_is_named_by_its_message(sent: str, message: str) -> None:
    assert case_bucket(WRONG_ANSWER, failed("no reply came in time", "A(n=1)", sent=sent)).message == message


def found_on(mutant: str, known: frozenset[Bucket] = frozenset()) -> tuple[list[Finding], dict[Bucket, list[str]]]:
    """Run the conformance cases on a mutant; return the findings, and the failed cases by their bucket."""
    session = session_of("pravega-draft")
    target = session.mock_target(mutant_named(session.part, mutant))
    found: list[Finding] = []
    campaign = session.campaign(
        target,
        session.investigation(target, is_reference=False),
        Limits(runs=1),
        known=known,
        on_finding=found.append,
    )
    campaign.run()
    return [each for each in found if each.confirmed.case is not None], campaign.failed_cases


def test_one_defect_is_one_finding() -> None:
    """Before, this mutant gave thirty findings."""
    (finding,), failed_cases = found_on(MUTANT)
    assert len(failed_cases[finding.bucket]) == 30
    assert finding.id == "001-wrong-answer-pravega-draft-setup-1"
    assert failed_cases[finding.bucket][0] == "pravega-draft/setup/1"


def test_cases_of_an_earlier_baseline_stay_known() -> None:
    """Earlier versions wrote a bucket for each case."""
    (finding,), failed_cases = found_on(MUTANT)
    ids = failed_cases[finding.bucket]
    results = [failed("", "", case=case) for case in session_of("pravega-draft").cases if case.id in ids]
    old = frozenset(bucket_by_id(WRONG_ANSWER, each) for each in results)
    assert found_on(MUTANT, old) == ([], {})


def test_the_finding_and_the_reports_name_all_cases(tmp_path: Path) -> None:
    done = wiretool(
        "fuzz", "pravega-draft", "--mutant", MUTANT, "--runs", "1", "-o", str(tmp_path / "found"),
        "--json", str(tmp_path / "report.json"), "--sarif", str(tmp_path / "report.sarif"),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "; 29 other conformance cases the same way; " in done.stdout.replace("\n", " ")
    place = tmp_path / "found" / "001-wrong-answer-pravega-draft-setup-1"
    form = json.loads((place / "finding.json").read_text())
    assert (form["case"], len(form["cases"])) == ("pravega-draft/setup/1", 30)
    assert "- conformance cases that fail in this way: 30: pravega-draft/setup/1, " in (place / "README.md").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["findings"][0]["cases"] == form["cases"]
    (run,) = json.loads((tmp_path / "report.sarif").read_text())["runs"]
    assert run["results"][0]["properties"]["cases"] == form["cases"]
    assert {each.name for each in place.iterdir()} == {"README.md", "finding.json", "repro.pcapng", "test_repro.py"}
