"""Two replays of one recording: what differs between their answers is another in each run, and no finding."""

from collections.abc import Iterable

from wiretool.records import Record
from wiretool.replay.grid import key_of
from wiretool.replay.manners.manner import Difference, Steps, Verdict
from wiretool.replay.outcomes import Outcome

LEARNT = "another in each of two runs"


def without_noise(first: Iterable[Outcome], second: Iterable[Outcome]) -> list[Outcome]:
    """The outcomes of the second run, with what was otherwise in the first one taken for noise."""
    before = {key_of(outcome): outcome for outcome in first}
    found = list(second)
    for outcome in found:
        other = before.get(key_of(outcome))
        if other is not None and outcome.verdict.is_finding:
            _excuse(outcome, other)
    return found


def _excuse(outcome: Outcome, other: Outcome) -> None:
    """Take for noise what was not so in the other run."""
    if outcome.verdict is not Verdict.DIFFERENT:
        if outcome.verdict is not other.verdict:
            outcome.verdict = Verdict.NOISE
            outcome.reasons.append(LEARNT)
        return
    seen = {(difference.steps, repr(difference.live)) for difference in other.differences}
    places = {steps for steps, _ in seen}
    kept = [each for each in outcome.differences if not _is_noise(each, seen, places, outcome, other)]
    if len(kept) < len(outcome.differences):
        outcome.reasons.append(LEARNT)
        outcome.differences = kept
        outcome.verdict = Verdict.DIFFERENT if kept else Verdict.NOISE


def _is_noise(
    difference: Difference,
    seen: set[tuple[Steps, str]],
    places: set[Steps],
    outcome: Outcome,
    other: Outcome,
) -> bool:
    """Whether the other run had something else in that place: the recorded value, or a third."""
    if (difference.steps, repr(difference.live)) in seen:
        return False
    return difference.steps in places or _messages(other.live) == _messages(outcome.live)


def _messages(records: Iterable[Record]) -> list[str]:
    return [record.message for record in records]
