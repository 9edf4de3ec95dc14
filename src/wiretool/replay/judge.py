"""A live reply held against the recorded one, field by field."""

from collections.abc import Iterator, Mapping
from typing import Any

from wiretool.codec.message import Issued, Position
from wiretool.faults.places import with_value
from wiretool.records import Record
from wiretool.replay.manners.manner import Difference, Manner, Steps, Verdict, is_noise
from wiretool.replay.outcomes import Outcome
from wiretool.replay.values import Values

#: Stands for what is not there.
ABSENT = "(absent)"


def judge(manner: Manner, values: Values, outcome: Outcome, recorded: Record, live: Record) -> None:
    """Hold a reply against the recorded one; what the server made up in it is learnt."""
    if recorded.message != live.message:
        _judge_difference(manner, outcome, Difference((), recorded.message, live.message), recorded, live)
        return
    if recorded.fields == live.fields and not manner.roles(recorded):
        return
    expected, is_mapped, noise = _expected(manner, values, recorded, live, outcome.request)
    if is_mapped:
        outcome.note(Verdict.MAPPED)
    for difference in differences(expected, manner.form(live)):
        if any(_begins(difference.steps, steps) for steps in noise):
            outcome.note(Verdict.NOISE)
        else:
            _judge_difference(manner, outcome, difference, recorded, live)


def _judge_difference(manner: Manner, outcome: Outcome, difference: Difference, recorded: Record, live: Record) -> None:
    excuse = manner.excuse(difference, recorded, live, outcome.request)
    if excuse is None:
        outcome.note(Verdict.DIFFERENT, differences=[difference])
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
            if place.steps in told and not values.knows(role, place.within, place.value):
                values.learn(role, place.within, place.value, told[place.steps])
            now = values.live_of(role, place.within, place.value)
            if now != place.value:
                made = with_value(made, place.steps, now)
    return made, made is not form, noise


def _begins(steps: Steps, whole: Steps) -> bool:
    """Whether one of two places is the other, or in it."""
    shorter = min(len(steps), len(whole))
    return steps[:shorter] == whole[:shorter]


def differences(expected: Any, live: Any, steps: Steps = ()) -> Iterator[Difference]:
    """Where two forms differ, each place once, as deep as they are alike in shape."""
    if isinstance(expected, Mapping) and isinstance(live, Mapping):
        for name in dict.fromkeys((*expected, *live)):
            yield from differences(expected.get(name, ABSENT), live.get(name, ABSENT), (*steps, name))
    elif isinstance(expected, list | tuple) and isinstance(live, list | tuple) and len(expected) == len(live):
        for at, (one, other) in enumerate(zip(expected, live, strict=True)):
            yield from differences(one, other, (*steps, at))
    elif expected != live:
        yield Difference(steps, expected, live)
