"""Differences that make no finding after all: the user expects them, ignores them, or has seen them vary."""

from collections.abc import Callable, Collection, Iterable

from wiretool.filter.names import spelt
from wiretool.replay.adapter import Difference, Verdict
from wiretool.replay.judging.field_selector import Spot
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import END_NAME, Accounted, Outcome
from wiretool.replay.report.data import message_of

#: The end of a connection.
END = Spot(END_NAME, ())
#: Why a difference is no finding; None where it is one.
Settles = Callable[[Outcome, Difference], str | None]


def settle(outcomes: Iterable[Outcome], settles: Settles, verdict: Verdict) -> None:
    """Take the differences that are settled out of findings; one with none left gets the verdict."""
    for outcome in outcomes:
        if outcome.verdict.is_finding:
            _settle(outcome, settles, verdict)


def _settle(outcome: Outcome, settles: Settles, verdict: Verdict) -> None:
    known = outcome.differences or _end_of(outcome)
    whys = [settles(outcome, difference) for difference in known]
    judged = list(zip(known, whys, strict=True))
    left = [difference for difference, why in judged if why is None]
    if len(left) == len(whys):
        return
    outcome.differences = left
    before = list(outcome.accounted)
    outcome.accounted += [Accounted(difference, verdict, why) for difference, why in judged if why is not None]
    if not left:  # the reasons of the finding go with it
        outcome.reasons[:] = dict.fromkeys(each.why for each in before if each.why and each.verdict > verdict)
    outcome.verdict = max([verdict, *(each.verdict for each in before), *map(verdict_of, left)])
    for why in whys:
        if why and why not in outcome.reasons:
            outcome.reasons.append(why)


def _end_of(outcome: Outcome) -> list[Difference]:
    """That a connection has ended, or has not, as a difference; nothing for what is about a message."""
    is_message = outcome.request is not None or outcome.recorded or outcome.live
    is_end = outcome.verdict is Verdict.DIFFERENT and not is_message
    return [Difference((), END.message, "another end")] if is_end else []


def verdict_of(difference: Difference) -> Verdict:
    """What one difference makes of an exchange."""
    if not difference.steps and difference.live is ABSENT:
        return Verdict.MISSING
    return Verdict.EXTRA if not difference.steps and difference.expected is ABSENT else Verdict.DIFFERENT


def ignore(outcomes: Iterable[Outcome], spots: Collection[Spot]) -> None:
    """Make noise of all differences in these fields; of a message without a field, of all that is about it."""

    def ignores(outcome: Outcome, difference: Difference) -> str | None:
        message = message_of(outcome, difference)
        for spot in spots:
            if spot.holds(outcome, difference) or (not spot.steps and spot.message == message):
                return f"ignored: {spelt((spot.message, *spot.steps))}"
        return None

    settle(outcomes, ignores, Verdict.NOISE)
