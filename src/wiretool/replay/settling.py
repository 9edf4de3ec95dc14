"""Differences that make no finding after all: the user expects them, ignores them, or has seen them vary."""

from collections.abc import Callable, Collection, Iterable

from wiretool.replay.judge import ABSENT
from wiretool.replay.manners.manner import Difference, Verdict
from wiretool.replay.outcomes import Outcome
from wiretool.replay.report.data import message_of
from wiretool.replay.spots import Spot

#: How the end of a connection is named, in place of a message.
END = Spot("end", ())
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
    left = [difference for difference, why in zip(known, whys, strict=True) if why is None]
    if len(left) == len(whys):
        return
    outcome.differences = left
    if not left:
        outcome.reasons.clear()  # those of the finding
    outcome.verdict = max([verdict, *map(verdict_of, left)])
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
        is_ignored = any(
            spot.holds(outcome, difference) or (not spot.steps and spot.message == message) for spot in spots
        )
        return "" if is_ignored else None

    settle(outcomes, ignores, Verdict.NOISE)
