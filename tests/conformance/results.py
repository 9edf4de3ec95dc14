"""Results for tests of reports."""

from wiretool.conformance.case import MUST, OBSERVED, SHOULD, Case, Level, Verdict, case, send
from wiretool.conformance.expectations import expected_from
from wiretool.conformance.judged import JudgedRun
from wiretool.conformance.results import CaseResult, Event, RunResult


def case_at(number: int, level: Level = MUST) -> Case:
    return case(f"pravega/x/{number}", level, f"Requirement <{number}>.", f"§{number}", send("KeepAlive"))


FAILED = CaseResult(
    case_at(2),
    Verdict.FAIL,
    "DataAppended.event_number: expected 1, found 2",
    "DataAppended(event_number=1)",
    "DataAppended.event_number: expected 1, found 2",
    0.25,
    (
        Event(0, "a", "client", "KeepAlive", {}),
        Event(1, "a", "server", "DataAppended", {"event_number": 2, "text": "\x1b[31m<b>"}, is_marked=True),
    ),
)
RESULTS = (
    CaseResult(case_at(1), Verdict.PASS, seconds=0.1),
    FAILED,
    CaseResult(case_at(3, SHOULD), Verdict.LENIENT, "it is accepted"),
    CaseResult(case_at(4, OBSERVED), Verdict.UNSUPPORTED, "it has no tables"),
    CaseResult(case_at(5), Verdict.NOT_EXERCISED, "the recording does not show it"),
    CaseResult(case_at(6), Verdict.ERROR, "connection a: Connection refused"),
)
RUN = RunResult("pravega", "127.0.0.1:1", RESULTS, 1.5, ("the server ended and was started again 1 times",))


def judged(*results: CaseResult, expect: str = "", allows_lenient: bool = False) -> JudgedRun:
    """Return a judged run of some results, of all without any."""
    run = RunResult("pravega", "127.0.0.1:1", results or RESULTS, 1.5, RUN.remarks)
    known = [result.case.id for result in RESULTS]
    return JudgedRun(run, expected=expected_from(expect, known, name="known.toml"), allows_lenient=allows_lenient)
