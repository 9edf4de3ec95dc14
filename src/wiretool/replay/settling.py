"""Differences that make no finding after all: the user expects them, ignores them, or has seen them vary."""

from collections.abc import Callable, Collection, Iterable

from wiretool.replay.judge import ABSENT
from wiretool.replay.manners.manner import Difference, Verdict
from wiretool.replay.outcomes import Outcome
from wiretool.replay.report.data import message_of
from wiretool.replay.spots import Spot

#: Why a difference is no finding; None where it is one.
Settles = Callable[[Outcome, Difference], str | None]


def settle(outcomes: Iterable[Outcome], settles: Settles, verdict: Verdict) -> None:
    """Take the differences that are settled out of findings; one with none left gets the verdict."""
    for outcome in outcomes:
        if outcome.verdict.is_finding and outcome.differences:
            _settle(outcome, settles, verdict)


def _settle(outcome: Outcome, settles: Settles, verdict: Verdict) -> None:
    whys = [settles(outcome, difference) for difference in outcome.differences]
    left = [difference for difference, why in zip(outcome.differences, whys, strict=True) if why is None]
    if len(left) == len(whys):
        return
    outcome.differences = left
    if not left:
        outcome.reasons.clear()  # those of the finding
    outcome.verdict = max([verdict, *map(verdict_of, left)])
    for why in whys:
        if why and why not in outcome.reasons:
            outcome.reasons.append(why)


def verdict_of(difference: Difference) -> Verdict:
    """What one difference makes of an exchange."""
    if not difference.steps and difference.live is ABSENT:
        return Verdict.MISSING
    return Verdict.EXTRA if not difference.steps and difference.expected is ABSENT else Verdict.DIFFERENT


def ignore(outcomes: Iterable[Outcome], spots: Collection[Spot]) -> None:
    """Make noise of all differences in these fields; of a message without a field, of all that is about it."""

    def ignores(outcome: Outcome, difference: Difference) -> str | None:
        message = message_of(outcome, difference)
        is_ignored = any(
            spot.holds(outcome, difference) or (not spot.steps and spot.message == message) for spot in spots
        )
        return "" if is_ignored else None

    settle(outcomes, ignores, Verdict.NOISE)
