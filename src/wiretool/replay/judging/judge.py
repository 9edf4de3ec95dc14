"""A live reply held against the recorded one, field by field."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wiretool.codec.message import Issued, Position
from wiretool.faults.places import with_value
from wiretool.records import Record
from wiretool.replay.adapter import ABSENT as ABSENT
from wiretool.replay.adapter import Difference, Excuse, Place, ReplayAdapter, Steps, Verdict, is_noise
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.playing.id_map import Values, form_conflict

VARIES = "declared to vary from run to run"


@dataclass(slots=True)
class _Expected:
    """The recorded reply as it should be now, and what is known of its values."""

    form: Any
    #: Recorded values that stand for others now, and why.
    mapped: list[tuple[Difference, str]] = field(default_factory=list)
    #: Where anything may stand.
    varying: list[Steps] = field(default_factory=list)
    #: Values that no server may make up here, and why.
    refused: list[tuple[Difference, str]] = field(default_factory=list)


def judge(manner: ReplayAdapter, values: Values, outcome: Outcome, recorded: Record, live: Record, at: int) -> None:
    """Hold a reply against the recorded one; what the server made up in it is learnt.

    `at` says which of the replies it is, from 0; -1 is the request itself.
    """
    if recorded.message != live.message:
        _judge_difference(manner, outcome, Difference((), recorded.message, live.message, at), recorded, live)
        return
    if recorded.raw == live.raw and recorded.fields == live.fields is not None and not manner.roles(recorded):
        return  # true is equal to 1 in Python; not so their bytes
    expected = _expected(manner, values, recorded, live, outcome.request)
    _learn_told(manner, values, recorded, live, outcome.request)
    for difference, why in expected.mapped:
        outcome.account(Verdict.MAPPED, why, difference._replace(at=at))
    for difference, why in expected.refused:
        _judge_difference(manner, outcome, difference._replace(at=at), recorded, live, why)
    for each in differences(expected.form, manner.form(live)):
        difference = each._replace(at=at)
        if any(_begins(difference.steps, steps) for steps in expected.varying):
            outcome.account(Verdict.NOISE, VARIES, difference)
        else:
            _judge_difference(manner, outcome, difference, recorded, live)


def note_breach(manner: ReplayAdapter, outcome: Outcome, live: Record, recorded: Record | None = None) -> None:
    """Note the rule that a live message breaks, whatever was recorded; `recorded` is its counterpart, if any."""
    breach = manner.breach(live, recorded)
    if breach is not None:
        outcome.note(Verdict.DIFFERENT, breach.why, [breach.difference])


def note_unfound_breach(manner: ReplayAdapter, outcome: Outcome, live: Record, recorded: Record | None = None) -> None:
    """Note it where nothing else was found in the exchange: one fault is told once."""
    if not outcome.verdict.is_finding:
        note_breach(manner, outcome, live, recorded)


def judge_number(manner: ReplayAdapter, outcome: Outcome, why: str = "") -> None:
    """What did not come of the recorded replies, for the reason `why` if there is one, and what came too much."""
    judge_missing(manner, outcome, why)
    judge_extra(manner, outcome)


def judge_missing(manner: ReplayAdapter, outcome: Outcome, why: str = "") -> None:
    """What did not come of the recorded replies, for the reason `why` if there is one."""
    for at, recorded in enumerate(outcome.recorded[len(outcome.live) :], len(outcome.live)):
        if not (outcome.is_covered or outcome.verdict is Verdict.UNKNOWN):
            excuse = manner.excuse_missing(recorded, outcome.request, outcome.dialogue)
            missing = Difference((), recorded.message, ABSENT, at)
            _note(outcome, excuse, missing, Verdict.MISSING, why)


def judge_extra(manner: ReplayAdapter, outcome: Outcome) -> None:
    """What came too much."""
    for at, live in enumerate(outcome.live[len(outcome.recorded) :], len(outcome.recorded)):
        if live.kind == "frame" and not outcome.was_covered:
            excuse = manner.excuse_extra(live, outcome.request, outcome.dialogue)
            _note(outcome, excuse, Difference((), ABSENT, live.message, at), Verdict.EXTRA)


def _judge_difference(
    manner: ReplayAdapter, outcome: Outcome, difference: Difference, recorded: Record, live: Record, why: str = ""
) -> None:
    excuse = manner.excuse(difference, recorded, live, outcome.request)
    _note(outcome, excuse, difference, Verdict.DIFFERENT, why)


def _note(outcome: Outcome, excuse: Excuse | None, difference: Difference, verdict: Verdict, why: str = "") -> None:
    """Record a difference, with its verdict unless a rule explains it.

    A rule says that a difference is allowed, not that two runs were seen to vary: it never makes noise.
    """
    if excuse is None:
        outcome.note(verdict, why, [difference])
    else:
        outcome.account(max(excuse.verdict, Verdict.EXPLAINED), excuse.why, difference)


def _expected(
    manner: ReplayAdapter, values: Values, recorded: Record, live: Record, request: Record | None
) -> _Expected:
    """Return the recorded reply as it should be now; what the server makes up in the live one is learned."""
    form = manner.form(recorded)
    told = {place.steps: place.value for place in manner.places(live, manner.form(live), request)}
    found = _Expected(form)
    for place in manner.places(recorded, form, request):
        role = place.role
        if is_noise(role):
            found.varying.append(place.steps)
        elif isinstance(role, Issued | Position):
            _expect(found, manner, values, place, told.get(place.steps, ABSENT))
    return found


def _expect(found: _Expected, manner: ReplayAdapter, values: Values, place: Place, live: Any) -> None:
    """Put into the expected reply what a recorded value stands for now, and learn that from the live one."""
    role = place.role
    assert isinstance(role, Issued | Position)
    is_new = place.is_made or not values.knows(role, place.within, place.value)
    if is_new and live is not ABSENT:
        if isinstance(role, Issued) and (why := _form_conflict(manner, role, place.value, live)):
            # An impossible value teaches nothing: it stands as a difference, and what was recorded is expected on.
            found.refused.append((Difference(place.steps, place.value, live), why))
            found.form = with_value(found.form, place.steps, live)
            return
        if isinstance(role, Issued) and (why := values.reuse_conflict(role, place.within, place.value, live)):
            found.refused.append((Difference(place.steps, place.value, live), why))
        values.learn(role, place.within, place.value, live)
    now = values.live_of(role, place.within, place.value)
    if now != place.value:
        found.form = with_value(found.form, place.steps, now)
        if live in (now, ABSENT) and not any(each.steps == place.steps for each, _ in found.refused):
            found.mapped.append((Difference(place.steps, place.value, now), _why_mapped(role)))


def _form_conflict(manner: ReplayAdapter, role: Issued, recorded: Any, live: Any) -> str:
    """Return why a server cannot make up this value in place of the recorded one; empty if it can."""
    return form_conflict(role, recorded, live, is_name=role == manner.name_role)


def _why_mapped(role: Issued | Position) -> str:
    """Return why a value may be another one now."""
    if isinstance(role, Issued):
        return f"{role.kind}: generated by the server"
    return f"{role.kind} position: counted from where it begins on the server"


def _learn_told(manner: ReplayAdapter, values: Values, recorded: Record, live: Record, request: Record | None) -> None:
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
