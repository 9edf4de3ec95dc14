"""A live reply held against the recorded one, field by field."""

from collections.abc import Iterator, Mapping
from typing import Any

from wiretool.codec.message import Issued, Position
from wiretool.faults.places import with_value
from wiretool.records import Record
from wiretool.replay.manners.manner import Difference, Excuse, Manner, Steps, Verdict, is_noise
from wiretool.replay.outcomes import Outcome
from wiretool.replay.values import Values

#: Stands for what is not there.
ABSENT = "(absent)"


def judge(manner: Manner, values: Values, outcome: Outcome, recorded: Record, live: Record, at: int) -> None:
    """Hold a reply against the recorded one; what the server made up in it is learnt.

    `at` says which of the replies it is, from 0; -1 is the request itself.
    """
    if recorded.message != live.message:
        _judge_difference(manner, outcome, Difference((), recorded.message, live.message, at), recorded, live)
        return
    if recorded.raw == live.raw and recorded.fields == live.fields is not None and not manner.roles(recorded):
        return  # true is equal to 1 in Python; not so their bytes
    expected, is_mapped, noise = _expected(manner, values, recorded, live, outcome.request)
    _learn_told(manner, values, recorded, live, outcome.request)
    if is_mapped:
        outcome.note(Verdict.MAPPED)
    for each in differences(expected, manner.form(live)):
        difference = each._replace(at=at)
        if any(_begins(difference.steps, steps) for steps in noise):
            outcome.note(Verdict.NOISE)
        else:
            _judge_difference(manner, outcome, difference, recorded, live)


def judge_number(manner: Manner, outcome: Outcome, why: str = "") -> None:
    """What did not come of the recorded replies, for the reason `why` if there is one, and what came too much."""
    judge_missing(manner, outcome, why)
    judge_extra(manner, outcome)


def judge_missing(manner: Manner, outcome: Outcome, why: str = "") -> None:
    """What did not come of the recorded replies, for the reason `why` if there is one."""
    for at, recorded in enumerate(outcome.recorded[len(outcome.live) :], len(outcome.live)):
        if not (outcome.is_covered or outcome.verdict is Verdict.UNKNOWN):
            excuse = manner.excuse_missing(recorded, outcome.request, outcome.dialogue)
            missing = Difference((), recorded.message, ABSENT, at)
            _note(outcome, excuse, missing, Verdict.MISSING, why)


def judge_extra(manner: Manner, outcome: Outcome) -> None:
    """What came too much."""
    for at, live in enumerate(outcome.live[len(outcome.recorded) :], len(outcome.recorded)):
        if live.kind == "frame" and not outcome.was_covered:
            excuse = manner.excuse_extra(live, outcome.request, outcome.dialogue)
            _note(outcome, excuse, Difference((), ABSENT, live.message, at), Verdict.EXTRA)


def _judge_difference(manner: Manner, outcome: Outcome, difference: Difference, recorded: Record, live: Record) -> None:
    excuse = manner.excuse(difference, recorded, live, outcome.request)
    _note(outcome, excuse, difference, Verdict.DIFFERENT)


def _note(outcome: Outcome, excuse: Excuse | None, difference: Difference, verdict: Verdict, why: str = "") -> None:
    """A difference, with its verdict where there is no excuse for it."""
    if excuse is None:
        outcome.note(verdict, why, [difference])
    else:
        outcome.note(excuse.verdict, excuse.why)


def _expected(
    manner: Manner, values: Values, recorded: Record, live: Record, request: Record | None
) -> tuple[Any, bool, list[Steps]]:
    """The recorded reply as it should be now, whether that is another, and where anything may stand."""
    form = manner.form(recorded)
    told = {place.steps: place.value for place in manner.places(live, manner.form(live), request)}
    made: Any = form
    noise: list[Steps] = []
    for place in manner.places(recorded, form, request):
        role = place.role
        if is_noise(role):
            noise.append(place.steps)
        elif isinstance(role, Issued | Position):
            is_known = not place.is_made and values.knows(role, place.within, place.value)
            if place.steps in told and not is_known:
                values.learn(role, place.within, place.value, told[place.steps])
            now = values.live_of(role, place.within, place.value)
            if now != place.value:
                made = with_value(made, place.steps, now)
    return made, made is not form, noise


def _learn_told(manner: Manner, values: Values, recorded: Record, live: Record, request: Record | None) -> None:
    """Take over what follows from a reply, where it was not known."""
    followed = manner.told(recorded, manner.form(recorded), request)
    if not followed:
        return
    told = {place.steps: place.value for place in manner.told(live, manner.form(live), request)}
    for place in followed:
        role = place.role
        if isinstance(role, Issued) and place.steps in told and not values.knows(role, place.within, place.value):
            values.learn(role, place.within, place.value, told[place.steps])


def _begins(steps: Steps, whole: Steps) -> bool:
    """Whether a place is `whole`, or in it: where it lies around that, more differs than may."""
    return steps[: len(whole)] == whole


def differences(expected: Any, live: Any, steps: Steps = ()) -> Iterator[Difference]:
    """Where two forms differ, each place once, as deep as they are alike in shape."""
    if isinstance(expected, Mapping) and isinstance(live, Mapping):
        for name in dict.fromkeys((*expected, *live)):
            yield from differences(expected.get(name, ABSENT), live.get(name, ABSENT), (*steps, name))
    elif isinstance(expected, list | tuple) and isinstance(live, list | tuple) and len(expected) == len(live):
        for at, (one, other) in enumerate(zip(expected, live, strict=True)):
            yield from differences(one, other, (*steps, at))
    elif not _is_same(expected, live):
        yield Difference(steps, expected, live)


def _is_same(expected: Any, live: Any) -> bool:
    """Whether two values are one in JSON, where true is no 1; a text that reads as `ABSENT` is there."""
    if expected is ABSENT or live is ABSENT:
        return expected is live
    return bool(expected == live) and isinstance(expected, bool) == isinstance(live, bool)
