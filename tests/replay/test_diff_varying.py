"""What varies between two captures of the same is noise; what does not is left."""

import pytest

from tests.replay.talks import PLAIN, Says, appending, reading, recorded, setting_up, talk
from wiretool.analysis.dialogues import Recording
from wiretool.replay.adapter import Difference, Verdict
from wiretool.replay.diff.comparing import compare
from wiretool.replay.diff.varying import WHY, without_varying
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import Outcome

PLAIN_READS = (reading(data=b"0"), reading(offset=5, data=b"0", request_id=4))


def left(one: Recording, other: Recording, like_one: Recording) -> list[Outcome]:
    """What is still a finding between the first two, where the third is another capture of the first."""
    outcomes = compare(one, other, PLAIN)
    without_varying(outcomes, compare(one, like_one, PLAIN))
    return [outcome for outcome in outcomes if outcome.verdict.is_finding]


def of(*parts: Says) -> Recording:
    return recorded(talk(*parts))


ONE = of(*PLAIN_READS)


def test_a_field_that_varies_once_varies_everywhere() -> None:
    like_one = of(reading(data=b"1"), PLAIN_READS[1])
    other = of(reading(data=b"2"), reading(offset=5, data=b"3", request_id=4))
    assert left(ONE, other, like_one) == []


def test_another_field_of_the_same_message_is_left() -> None:
    like_one = of(reading(data=b"1"), PLAIN_READS[1])
    (outcome,) = left(ONE, of(reading(data=b"2", at_tail=False), PLAIN_READS[1]), like_one)
    assert outcome.differences == [Difference(("at_tail",), True, False)]
    assert outcome.verdict is Verdict.DIFFERENT
    assert outcome.reasons == [WHY]


def test_a_field_of_the_same_name_in_another_message_is_left() -> None:
    """`data` is a field of the append too."""
    one = of(setting_up(), appending(event=b"1"), reading(data=b"0"))
    like_one = of(setting_up(), appending(event=b"1"), reading(data=b"1"))
    (outcome,) = left(one, of(setting_up(), appending(event=b"2"), reading(data=b"2")), like_one)
    assert [(each.steps, each.at) for each in outcome.differences] == [(("data",), -1)]


def test_what_varies_only_between_the_same_makes_nothing_of_the_rest() -> None:
    assert left(ONE, ONE, of(reading(data=b"1"), PLAIN_READS[1])) == []
    assert len(left(ONE, of(reading(data=b"1"), PLAIN_READS[1]), ONE)) == 1


def test_a_message_that_is_too_much_once_always_is() -> None:
    """Whoever says it: it is not asked for in the first capture."""
    like_one = of(*PLAIN_READS, appending(1)[:1])
    other = of(*PLAIN_READS, appending(8, request_id=44)[:1])
    assert left(ONE, other, like_one) == []
    (outcome,) = left(ONE, of(*PLAIN_READS, setting_up()[:1]), like_one)
    assert outcome.differences == [Difference((), ABSENT, "SetupAppend", -1)]


def test_what_is_missing_is_noise_only_where_it_is_missing() -> None:
    """Not what is missing elsewhere, though it has the same name."""
    without_first, without_second = of(PLAIN_READS[1]), of(PLAIN_READS[0])
    assert left(ONE, without_first, without_first) == []
    (outcome,) = left(ONE, without_first, without_second)
    assert outcome.verdict is Verdict.MISSING


def test_a_reply_that_is_missing_is_noise_where_that_reply_is_missing() -> None:
    half = of(PLAIN_READS[0][:1], PLAIN_READS[1])
    assert left(ONE, half, half) == []
    (outcome,) = left(ONE, half, of(PLAIN_READS[0], PLAIN_READS[1][:1]))
    assert outcome.request is not None
    assert outcome.differences == [Difference((), "SegmentRead", ABSENT, 0)]


def test_a_conversation_that_is_missing_is_noise_where_it_is_missing() -> None:
    first, second = talk(reading()), talk(setting_up(), *(appending(n, request_id=n) for n in range(9)))
    third = talk(*(reading(segment="s/z/0", offset=n) for n in range(9)))
    whole = recorded(first, second, third)
    assert left(whole, recorded(first, third), recorded(first, third)) == []
    (outcome,) = left(whole, recorded(first, third), recorded(first, second))
    assert (outcome.verdict, outcome.dialogue.number) == (Verdict.MISSING, 1)


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if not verdict.is_finding])
def test_what_is_no_finding_says_nothing_of_what_varies(verdict: Verdict) -> None:
    """Neither is it changed, nor does a place of it excuse another outcome there."""
    outcomes = compare(ONE, of(PLAIN_READS[0]), PLAIN)
    (missing,) = (outcome for outcome in outcomes if outcome.verdict.is_finding)
    like = Outcome(missing.dialogue, missing.request, verdict=verdict)
    without_varying(outcomes, [like])
    assert missing.verdict is Verdict.MISSING


def test_the_reason_is_told() -> None:
    outcomes = compare(ONE, of(reading(data=b"2"), PLAIN_READS[1]), PLAIN)
    without_varying(outcomes, compare(ONE, of(reading(data=b"1"), PLAIN_READS[1]), PLAIN))
    assert [(outcome.verdict, outcome.reasons) for outcome in outcomes if outcome.reasons] == [(Verdict.NOISE, [WHY])]
