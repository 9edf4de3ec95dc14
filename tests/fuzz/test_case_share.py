"""Conformance cases at the start of a run have a share of its time, so that mutated sequences run, too."""

import pytest

from tests.fuzz.helpers import session_of
from wiretool.commands.fuzz.options import FuzzOptions
from wiretool.commands.fuzz.screen import FuzzScreen
from wiretool.commands.fuzz.setup import limits_of
from wiretool.conformance.levels import Verdict
from wiretool.fuzz.campaign import Counts, Limits
from wiretool.fuzz.findings.reports import FuzzResult, report_lines
from wiretool.fuzz.targets.socket import open_target

PROTOCOL = "sbp"


@pytest.mark.parametrize("cases_s", [0.0, None])
def test_cases_end_at_their_limit(cases_s: float | None) -> None:
    session = session_of(PROTOCOL)
    target = session.mock_target()
    seen: list[tuple[int, int]] = []
    campaign = session.campaign(
        target,
        session.investigation(target, is_reference=True),
        Limits(runs=5, cases_s=cases_s),
        on_progress=lambda counts: seen.append((counts.start_cases, counts.planned_cases)),
    )
    counts = campaign.run()
    assert counts.runs == 5
    assert counts.planned_cases == len(session.cases)
    assert counts.start_cases == (len(session.cases) if cases_s is None else 0)
    assert (seen[0] == (16, len(session.cases))) == (cases_s is None), "their progress is reported"


def test_cases_over_sockets_have_a_third_of_the_time() -> None:
    over_sockets, target = FuzzOptions(PROTOCOL, uses_sockets=True, time_s=24), FuzzOptions(PROTOCOL, time_s=9)
    assert limits_of(over_sockets).cases_s == pytest.approx(8)
    assert limits_of(target).cases_s == pytest.approx(3)
    assert limits_of(FuzzOptions(PROTOCOL, uses_sockets=True, runs=5)).cases_s == pytest.approx(20)
    assert limits_of(FuzzOptions(PROTOCOL, runs=5)).cases_s is None, "a run in memory is repeated exactly"


def test_cases_over_sockets_are_cut_at_their_limit() -> None:
    session = session_of(PROTOCOL)
    with open_target(session, None, patience_s=5, jobs=4) as target:
        cases = [case for case in session.cases if target.has_case(case)]
        assert 0 < len(cases) < len(session.cases)
        results = target.run_cases(cases[:8], within_s=0.0)
        assert {each.verdict for each in results} == {Verdict.ERROR}
        assert target.last_message, "a server that answers nothing would have been reported"
        assert [each.verdict for each in target.run_cases(cases[:1])] == [Verdict.PASS]
        assert target.cases_at_once == 16


def test_the_figures_of_cases_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counts(start_cases=24, planned_cases=147, cases_s=3.5)
    screen = FuzzScreen("fuzz sbp")
    screen._next_s = 0
    screen.update(counts)
    assert capsys.readouterr().err == "wiretool: fuzz: 24 of 147 conformance cases, 0 findings\n"
    counts.runs, counts.messages = 5, 9
    lines = list(report_lines(FuzzResult(PROTOCOL, "127.0.0.1:1", 0, counts)))
    assert lines[0].startswith("24 of 147 conformance cases were run in their share of the time, 3.5 s; ")


def test_the_limit_of_findings_is_reported() -> None:
    result = FuzzResult(PROTOCOL, "x", 0, Counts(runs=7, messages=9, findings=100, has_enough=True))
    assert any(line.startswith("the run ended early, after 100 findings; ") for line in report_lines(result))
