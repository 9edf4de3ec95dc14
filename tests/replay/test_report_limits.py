"""Reports of very much: what is shown, what is counted, and that nothing goes unsaid."""

from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.talks import PLAIN, reading, recorded, setting_up, talk
from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.replay.adapter import Difference, Verdict
from wiretool.replay.diff.comparing import compare
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.report import html, junit, text
from wiretool.replay.report.data import Report, differing, judged, message_of, record_of, report_of
from wiretool.replay.report.html import html_text
from wiretool.replay.report.junit import junit_text
from wiretool.replay.report.text import report_text
from wiretool.replay.script import LeftOut, Script

RECORDING = recorded(talk(reading(), setting_up()), talk(reading()))
HERE, THERE = RECORDING.dialogues
ASKED, ANSWER = HERE.records[2:4]
STRANGER = Dialogue(0, "10.9.9.9:1", "10.0.0.2:12345", "pravega")


def outcome(verdict: Verdict, *differences: Difference, why: str = "", dialogue: Dialogue = HERE) -> Outcome:
    found = Outcome(dialogue, ASKED, [ANSWER], [ANSWER])
    found.note(verdict, why, differences)
    return found


def report(*outcomes: Outcome, script: Script | None = None) -> Report:
    return report_of(RECORDING, script or Script(), outcomes)


# -- data ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from(Verdict), st.sampled_from([HERE, THERE, STRANGER])), max_size=30))
def test_every_outcome_is_counted_once_in_all_and_on_its_connection(some: list[tuple[Verdict, Dialogue]]) -> None:
    found = report(*(outcome(verdict, dialogue=dialogue) for verdict, dialogue in some))
    assert sum(found.counts.values()) == len(found.outcomes) == len(some)
    assert sum(sum(counts.values()) for counts in found.by_dialogue.values()) == len(some)
    for verdict in Verdict:
        assert found.counts.get(verdict, 0) == sum(each is verdict for each, _ in some)
    assert len(found.findings) == sum(verdict.is_finding for verdict, _ in some)
    told = sum(group.many for group in found.reasons)
    assert told == sum(verdict in (Verdict.EXPLAINED, Verdict.UNKNOWN) for verdict, _ in some)
    assert [found.is_live(each) for each in found.outcomes] == sorted(found.is_live(each) for each in found.outcomes)


def test_outcomes_are_in_the_order_of_the_recording_and_what_is_not_in_it_is_last() -> None:
    live = Outcome(STRANGER, ASKED)
    end = Outcome(HERE, None)
    later = Outcome(THERE, THERE.records[2])
    pushed = Outcome(HERE, None, [ANSWER])
    first = Outcome(HERE, ASKED)
    found = report(end, live, later, pushed, first)
    assert list(found.outcomes) == [first, pushed, later, live, end]
    assert record_of(pushed) is ANSWER
    assert record_of(end) is None
    data = judged(found, live)
    assert (data.is_live, data.n) == (True, ASKED.n)
    assert judged(found, end).n is None


@pytest.mark.parametrize(
    ("difference", "message"),
    [
        (Difference(("a",), 1, 2, 0), "SegmentRead"),
        (Difference(("a",), 1, 2, -1), "ReadSegment"),
        (Difference(("a",), 1, 2, 5), "AppendSetup"),
        (Difference((), "SegmentRead", ABSENT), "SegmentRead"),
        (Difference((), ABSENT, "Hello"), "Hello"),
        (Difference((), "SegmentRead", "Hello"), "SegmentRead"),
    ],
)
def test_a_difference_is_in_the_reply_in_which_it_is(difference: Difference, message: str) -> None:
    setup = next(record for record in HERE.records if record.message == "AppendSetup")
    assert message_of(Outcome(HERE, ASKED, [ANSWER], [ANSWER, setup]), difference) == message


def test_a_difference_of_nothing_is_nowhere() -> None:
    assert message_of(Outcome(HERE, None), Difference(("a",), 1, 2)) == ""
    assert message_of(Outcome(HERE, None), Difference(("a",), 1, 2, -1)) == ""


@pytest.mark.parametrize(
    ("steps", "name"),
    [((), "SegmentRead"), (("at_tail",), "SegmentRead.at_tail"), ((0, "a b"), 'SegmentRead[0]["a b"]')],
)
def test_a_place_is_named_as_expressions_do(steps: tuple[str | int, ...], name: str) -> None:
    difference = Difference(steps, 1, 2) if steps else Difference((), "SegmentRead", ABSENT)
    assert differing(outcome(Verdict.SAME), difference).name == name


# -- text ------------------------------------------------------------------------------------------------------------


def test_more_differences_of_one_than_anybody_reads_are_counted() -> None:
    many = [Difference((f"field_{at}",), at, -1) for at in range(text.DIFFERENCES_SHOWN + 3)]
    told = report_text(report(outcome(Verdict.DIFFERENT, *many)))
    assert sum("SegmentRead.field_" in line for line in told.splitlines()) == text.DIFFERENCES_SHOWN
    assert "  and 3 differences more\n" in told


def test_more_reasons_than_anybody_reads_are_added_up() -> None:
    many = [outcome(Verdict.EXPLAINED, why=f"reason {at}") for at in range(text.ROWS_SHOWN + 2)]
    told = report_text(report(*many))
    assert told.count("  explained  reason ") == text.ROWS_SHOWN
    assert told.splitlines()[-1].split() == ["2", "for", "2", "reasons", "more"]


def test_of_many_connections_those_with_findings_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "ROWS_SHOWN", 1)
    told = report_text(report(outcome(Verdict.SAME), outcome(Verdict.DIFFERENT, dialogue=THERE)))
    title, _, row, *_ = told[told.index("Connections") :].splitlines()
    assert title == "Connections (1 of 2, those with most findings first)"
    assert row.split()[:2] == [str(THERE.number), THERE.client]


# -- JUnit -----------------------------------------------------------------------------------------------------------


def suite_of(*outcomes: Outcome) -> ElementTree.Element:
    return ElementTree.fromstring(junit_text(report(*outcomes)))[0]


def test_of_one_connection_so_many_findings_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "CASES_MAX", 3)
    monkeypatch.setattr(junit, "TOLD_MAX", 2)
    bad = [outcome(Verdict.DIFFERENT, Difference(("at_tail",), True, False)) for _ in range(5)]
    suite = suite_of(*bad, outcome(Verdict.MISSING))
    (failure,) = suite.findall("testcase/failure")
    told = (failure.text or "").splitlines()
    assert sum("SegmentRead.at_tail: recorded true, live false" in line for line in told) == 2
    assert told[-1] == "and 4 more"
    assert (failure.get("type"), failure.get("message")) == ("different", "6 of 6 exchanges")
    assert [suite.get(name) for name in ("tests", "failures", "skipped", "errors")] == ["1", "1", "0", "0"]


def test_a_connection_without_findings_is_skipped_where_something_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "CASES_MAX", 1)
    odd = outcome(Verdict.UNKNOWN), outcome(Verdict.EXPLAINED, why="old"), outcome(Verdict.EXPLAINED, why="old")
    suite = suite_of(*odd, outcome(Verdict.SAME), outcome(Verdict.SAME, dialogue=THERE))
    (skipped,) = suite.findall("testcase/skipped")
    assert skipped.get("message") == "3 of 4 exchanges: unknown: not recorded / explained: old"
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["2", "0", "1"]


@given(st.lists(st.sampled_from(Verdict), max_size=12))
def test_the_numbers_of_a_suite_are_those_of_its_cases(verdicts: Sequence[Verdict]) -> None:
    suite = suite_of(*(outcome(verdict, why="why") for verdict in verdicts))
    is_short = not verdicts or 2 * verdicts.count(Verdict.UNKNOWN) > len(verdicts)
    assert int(suite.get("tests") or -1) == len(suite.findall("testcase")) == len(verdicts) + is_short
    assert len(suite.findall("testcase/failure[@type='coverage']")) == is_short
    assert int(suite.get("failures") or -1) == sum(verdict.is_finding for verdict in verdicts) + is_short
    skipped = sum(verdict in (Verdict.EXPLAINED, Verdict.UNKNOWN) for verdict in verdicts)
    assert int(suite.get("skipped") or -1) == skipped == len(suite.findall("testcase/skipped"))


# -- HTML ------------------------------------------------------------------------------------------------------------


def test_every_finding_is_on_the_page_and_of_the_rest_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "ROWS_MAX", 2)
    well = [outcome(Verdict.SAME) for _ in range(5)]
    page = html_text(report(*well, *(outcome(Verdict.MISSING) for _ in range(4))))
    assert page.count('<tr data-verdict="same"') == 2
    assert page.count('<tr data-verdict="missing"') == 4
    assert "<p>3 exchanges without a finding omitted here.</p>" in page
    assert "omitted here" not in html_text(report(*well[:2]))


@pytest.mark.parametrize(
    ("verdicts", "checked"),
    [([Verdict.SAME, Verdict.UNKNOWN], ["same", "unknown"]), ([Verdict.SAME, Verdict.EXTRA], ["extra"])],
)
def test_findings_are_shown_first_if_there_are_any(verdicts: list[Verdict], checked: list[str]) -> None:
    page = html_text(report(*(outcome(verdict) for verdict in verdicts)))
    assert [name for name in ("same", "unknown", "extra") if f'value="{name}" checked' in page] == checked


def test_what_was_left_out_is_on_the_page_by_its_reason() -> None:
    script = Script([], [LeftOut(HERE, None, "sbp is not replayed"), LeftOut(HERE, ASKED, "<b>")])
    page = html_text(report(script=script))
    assert "<tr><td>1<td>connection<td>sbp is not replayed</tr>" in page
    assert "<tr><td>1<td>ReadSegment<td>&lt;b&gt;</tr>" in page


def test_a_recording_compared_with_itself_makes_no_noise_in_any_form() -> None:
    found = report_of(RECORDING, Script(), compare(RECORDING, RECORDING, PLAIN))
    assert "no finding" in html_text(found)
    assert "failure" not in junit_text(found).replace('failures="0"', "")
    assert report_text(found).count("\n") == 2
    assert report_text(report_of(Recording(), Script(), [])).count("\n") == 1


@pytest.mark.parametrize("columns", [60, 80])
def test_the_lines_of_a_report_wrap_at_the_width_of_the_terminal(columns: int) -> None:
    explained = [outcome(Verdict.EXPLAINED, why="a reason") for _ in range(3)]
    told = report_text(report(*explained, outcome(Verdict.DIFFERENT, why="a long reason " * 20)), width=columns)
    assert max(map(len, told.splitlines())) <= columns
    assert told.split().count("long") == 20
