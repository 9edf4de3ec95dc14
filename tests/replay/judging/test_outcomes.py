"""What is noted of an exchange."""

from hypothesis import given
from hypothesis import strategies as st

from wiretool.analysis.dialogues import Dialogue
from wiretool.replay.adapter import Difference, Verdict
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import Outcome

HERE = Dialogue(0, "10.0.0.1:1", "10.0.0.2:2")
_notes = st.lists(st.tuples(st.sampled_from(Verdict), st.sampled_from(["", "old", "slow", "dead"]), st.booleans()))


@given(_notes)
def test_the_worst_verdict_counts_and_each_reason_is_told_once(notes: list[tuple[Verdict, str, bool]]) -> None:
    outcome = Outcome(HERE, None)
    difference = Difference((), "Hello", ABSENT)
    for verdict, why, differs in notes:
        outcome.note(verdict, why, [difference] * differs)
    assert outcome.verdict is max((verdict for verdict, _, _ in notes), default=Verdict.SAME)
    assert outcome.reasons == list(dict.fromkeys(why for _, why, _ in notes if why))
    assert outcome.differences == [difference] * sum(differs for _, _, differs in notes)


def test_findings_are_what_a_replay_fails_by() -> None:
    assert [verdict.name for verdict in Verdict if verdict.is_finding] == ["EXTRA", "MISSING", "DIFFERENT"]


def test_two_outcomes_share_nothing() -> None:
    one, other = Outcome(HERE, None), Outcome(HERE, None)
    one.note(Verdict.DIFFERENT, "why", [Difference(("a",), 1, 2)])
    assert (other.verdict, other.reasons, other.differences, other.live) == (Verdict.SAME, [], [], [])
    assert one != Outcome(HERE, None, verdict=one.verdict, reasons=one.reasons, differences=one.differences)
