"""Noise between two replays of one recording: the values that both runs were seen to vary.

Only a value can be learned. That a reply came in one of the runs and not in the other, that another message came in its
place or that the connection ended is a finding: a server that breaks in one of two runs has not shown what varies.
"""

from collections.abc import Iterable

from wiretool.records import Record
from wiretool.replay.adapter import Difference, Steps, Verdict
from wiretool.replay.compare_servers import keyed
from wiretool.replay.judging.outcomes import Outcome

LEARNT = "varied between the two runs"
ONCE = "in the first of the two runs only"


def without_noise(first: Iterable[Outcome], second: Iterable[Outcome]) -> list[Outcome]:
    """Return the outcomes of the second run without values that varied, and what only the first did wrong."""
    before = dict(keyed(first))
    found = list(second)
    for key, outcome in keyed(found):
        other = before.pop(key, None)
        if other is None:
            continue
        if outcome.verdict.is_finding:
            _accept_varying(outcome, other)
        if not outcome.verdict.is_finding and _has_message_finding(other):
            outcome.note(other.verdict, ONCE, [each for each in other.differences if not each.steps])
    return found + [_once(outcome) for outcome in before.values() if _has_message_finding(outcome)]


def _has_message_finding(outcome: Outcome) -> bool:
    """Return whether more than values of fields is wrong: a message, or the end of a connection."""
    is_about_values = outcome.differences and all(each.steps for each in outcome.differences)
    return outcome.verdict.is_finding and not is_about_values


def _once(outcome: Outcome) -> Outcome:
    outcome.note(outcome.verdict, ONCE)
    return outcome


def _accept_varying(outcome: Outcome, other: Outcome) -> None:
    """Turn values into noise that were not the same in the other run."""
    seen = {(difference.steps, repr(difference.live)) for difference in other.differences}
    places = {steps for steps, _ in seen}
    varying = [each for each in outcome.differences if _varied(each, seen, places, outcome, other)]
    if not varying:
        return
    outcome.differences = [each for each in outcome.differences if each not in varying]
    outcome.reasons.append(LEARNT)
    if not outcome.differences and outcome.verdict is Verdict.DIFFERENT:
        outcome.verdict = max([Verdict.NOISE, *(each.verdict for each in outcome.accounted)])
    for each in varying:
        outcome.account(Verdict.NOISE, LEARNT, each)


def _varied(
    difference: Difference,
    seen: set[tuple[Steps, str]],
    places: set[Steps],
    outcome: Outcome,
    other: Outcome,
) -> bool:
    """Return whether the other run had something else in that place: the recorded value, or a third."""
    if not difference.steps or (difference.steps, repr(difference.live)) in seen:
        return False
    return difference.steps in places or _messages(other.live) == _messages(outcome.live)


def _messages(records: Iterable[Record]) -> list[str]:
    return [record.message for record in records]
