"""Findings that are settled: what is left of them, and nothing else is touched."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.forms import spots_in
from tests.replay.talks import PLAIN, appending, reading, recorded, setting_up, talk
from wiretool.replay.adapter import Difference, Verdict
from wiretool.replay.diff.comparing import compare
from wiretool.replay.judging.accept import END, ignore, settle, verdict_of
from wiretool.replay.judging.field_selector import Spot
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import Outcome

HERE = recorded(talk(reading())).dialogues[0]
ASKED, ANSWER = HERE.records[2:4]
#: A field, a message that is missing, one that is too much, and another in its place.
_differences = st.one_of(
    st.builds(Difference, st.sampled_from([("a",), ("b",), ("c", 0, "d")]), st.just(1), st.just(2)),
    st.just(Difference((), "SegmentRead", ABSENT)),
    st.just(Difference((), ABSENT, "SegmentRead")),
    st.just(Difference((), "SegmentRead", "NoSuchSegment")),
)
SETTLED = (Verdict.NOISE, Verdict.EXPLAINED)


def finding(differences: Sequence[Difference], *, why: str = "") -> Outcome:
    outcome = Outcome(HERE, ASKED, [ANSWER], [ANSWER])
    for each in differences:
        outcome.note(verdict_of(each), why, [each])
    return outcome


@given(st.lists(_differences, min_size=1, max_size=5), st.lists(st.booleans(), min_size=5), st.sampled_from(SETTLED))
def test_what_is_left_decides(differences: list[Difference], settled: list[bool], verdict: Verdict) -> None:
    outcome = finding(differences, why="it ended")
    before = outcome.verdict
    whys = iter(settled)
    settle([outcome], lambda *_: "known" if next(whys) else None, verdict)
    left = [each for each, is_settled in zip(differences, settled, strict=False) if not is_settled]
    assert outcome.differences == left
    if len(left) == len(differences):
        assert (outcome.verdict, outcome.reasons) == (before, ["it ended"])
    elif left:
        assert outcome.verdict is max(map(verdict_of, left))
        assert outcome.reasons == ["it ended", "known"]
    else:
        assert (outcome.verdict, outcome.reasons) == (verdict, ["known"])


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if not verdict.is_finding])
def test_what_is_no_finding_is_let_alone(verdict: Verdict) -> None:
    outcome = Outcome(HERE, ASKED)
    outcome.note(verdict, "why", [Difference(("a",), 1, 2)])
    settle([outcome], lambda *_: "known", Verdict.NOISE)
    assert (outcome.verdict, outcome.reasons, len(outcome.differences)) == (verdict, ["why"], 1)


def test_an_empty_reason_settles_and_tells_nothing() -> None:
    outcome = finding([Difference(("a",), 1, 2)], why="it ended")
    settle([outcome], lambda *_: "", Verdict.NOISE)
    assert (outcome.verdict, outcome.reasons, outcome.differences) == (Verdict.NOISE, [], [])


def test_the_end_of_a_connection_is_settled_by_its_name() -> None:
    outcome = Outcome(HERE, None)
    outcome.note(Verdict.DIFFERENT, "the server ended the connection")
    seen: list[Difference] = []
    settle([outcome], lambda _, difference: seen.append(difference), Verdict.NOISE)
    assert seen == [Difference((), END.message, "another end")]
    assert outcome.verdict.is_finding
    ignore([outcome], [END])
    assert not outcome.verdict.is_finding


@pytest.mark.parametrize(
    ("request_", "recorded_", "live", "verdict"),
    [
        (ASKED, [], [], Verdict.DIFFERENT),
        (None, [ANSWER], [], Verdict.DIFFERENT),
        (None, [], [ANSWER], Verdict.DIFFERENT),
        (None, [], [], Verdict.MISSING),
    ],
)
def test_what_is_about_a_message_or_a_conversation_is_no_end(
    request_: None, recorded_: list[object], live: list[object], verdict: Verdict
) -> None:
    outcome = Outcome(HERE, request_, recorded_, live)  # type: ignore[arg-type]
    outcome.note(verdict, "why")
    ignore([outcome], [END])
    assert (outcome.verdict, outcome.reasons) == (verdict, ["why"])


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        (Difference((), "Hello", ABSENT), Verdict.MISSING),
        (Difference((), ABSENT, "Hello"), Verdict.EXTRA),
        (Difference((), "Hello", "KeepAlive"), Verdict.DIFFERENT),
        (Difference(("a",), 1, ABSENT), Verdict.DIFFERENT),
        (Difference(("a",), ABSENT, 1), Verdict.DIFFERENT),
    ],
)
def test_one_difference_makes_of_an_exchange_what_it_is(difference: Difference, verdict: Verdict) -> None:
    assert verdict_of(difference) is verdict


# -- ignored ---------------------------------------------------------------------------------------------------------


def two_runs() -> list[Outcome]:
    """A reply that differs in two fields, one that is missing, and a request that differs in one."""
    one = recorded(talk(setting_up(), appending(event=b"1"), appending(2, request_id=7), reading()))
    says = setting_up(), appending(event=b"2"), appending(2, request_id=7)[:1], reading(at_tail=False, data=b"x")
    return compare(one, recorded(talk(*says)), PLAIN)


@pytest.mark.parametrize(
    ("spots", "left"),
    [
        ([], 4),
        ([Spot("SegmentRead", ("at_tail",))], 3),
        ([Spot("SegmentRead", ())], 2),
        ([Spot("ReadSegment", ())], 4),
        ([Spot("AppendBlockEnd", ("data",))], 3),
        ([Spot("AppendBlockEnd", ())], 3),
        ([Spot("DataAppended", ("event_number",))], 4),
        ([Spot("DataAppended", ())], 3),
        ([Spot("SegmentRead", ("data",)), Spot("DataAppended", ()), Spot("AppendBlockEnd", ("data",))], 1),
        ([END], 4),
    ],
)
def test_what_is_ignored_is_gone_and_all_else_is_left(spots: list[Spot], left: int) -> None:
    outcomes = two_runs()
    ignore(outcomes, spots)
    assert sum(len(outcome.differences) for outcome in outcomes) == left
    for outcome in outcomes:
        assert outcome.verdict.is_finding == bool(outcome.differences)
        assert not spots_in([outcome]) & {*spots}


def test_ignoring_all_that_differs_leaves_no_finding() -> None:
    outcomes = two_runs()
    ignore(outcomes, spots_in(outcomes))
    assert not [outcome for outcome in outcomes if outcome.verdict.is_finding]
    assert not spots_in(outcomes)
