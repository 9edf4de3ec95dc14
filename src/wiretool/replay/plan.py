"""What a replay would do, before it does it: who says what to whom, what is made first, which values are exchanged."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from wiretool.analysis.dialogues import Recording
from wiretool.codec.message import Issued, Message, Position
from wiretool.filter.names import spelt
from wiretool.records import Record
from wiretool.replay.adapter import ReplayAdapter, Steps, Talk
from wiretool.replay.playing.id_map import Values
from wiretool.replay.script import Hear, Open, Say, Script
from wiretool.sinks.text.values import pairs_of

#: Messages of a talk that are listed at most: servers that are not there answer nothing, and some talks go on.
TALK_MESSAGES_MAX = 10_000


@dataclass(eq=False, slots=True)
class Exchanged:
    """A value that another server makes up otherwise, or a place that begins elsewhere there."""

    role: Issued | Position
    within: Hashable
    value: Hashable
    #: Where the recorded server told it first; None where it was known before the recording.
    issued: tuple[Record, Steps] | None = None
    #: Where clients say it.
    used: list[tuple[Record, Steps]] = field(default_factory=list)


def exchanged_in(script: Script, manners: Mapping[str, ReplayAdapter]) -> list[Exchanged]:
    """Every value that a client says and a server makes up, in the order in which they are first said or told.

    Positions are one entry for all of what they are in.
    """
    found: dict[Hashable, Exchanged] = {}
    asked = {step.record.n: step.record for step in script.steps if isinstance(step, Say)}
    for step in script.steps:
        if not isinstance(step, Say | Hear) or step.record.kind != "frame":
            continue
        manner, record = manners[step.dialogue.protocol], step.record
        if not manner.roles(record):
            continue
        request = asked.get(record.reply_to or 0)
        for place in manner.told(record, manner.form(record), request) if isinstance(step, Hear) else ():
            if isinstance(place.role, Issued):
                new = Exchanged(place.role, place.within, place.value, (record, place.steps))
                found.setdefault((place.role.kind, place.within, place.value), new)
        for place in manner.places(record, manner.form(record), request):
            role = place.role
            if not isinstance(role, Issued | Position) or place.value in role.besides:
                continue
            value = None if isinstance(role, Position) else place.value
            entry = found.setdefault((role.kind, place.within, value), Exchanged(role, place.within, value))
            if isinstance(step, Say):
                entry.used.append((record, place.steps))
            elif entry.issued is None and not entry.used:
                entry.issued = record, place.steps
    return [entry for entry in found.values() if entry.used]


def prepared_for(recording: Recording, manner: ReplayAdapter) -> list[Message]:
    """What is said first to a server that answers nothing, to bring it where the recording begins."""
    said: list[Message] = []
    for _, talk in manner.preparations(recording, Values()):
        _listen(talk, said)
    return said


def _listen(talk: Talk, said: list[Message]) -> None:
    try:
        messages = next(talk)
        while len(said) < TALK_MESSAGES_MAX:
            said += messages
            messages = talk.send(())
    except StopIteration:
        pass
    talk.close()


def plan_lines(
    recording: Recording, script: Script, manners: Mapping[str, ReplayAdapter], *, is_prepared: bool
) -> Iterator[str]:
    """The plan for people, line by line."""
    yield from _connection_lines(script, manners)
    for name, manner in manners.items() if is_prepared else ():
        said = prepared_for(recording, manner)
        if said:
            yield f"prepared first on {name}, as far as the server has it not:"
            yield from (f"  {line}" for line in _message_lines(said, manner))
    values = exchanged_in(script, manners)
    if values:
        yield "server-generated values, replaced by those of the live server:"
        yield from (f"  {_exchange_line(each)}" for each in values)
    reasons = Counter(
        f"{each.dialogue.name}: {each.why}" if each.record is None else each.why for each in script.left_out
    )
    if reasons:
        yield "skipped:"
        yield from (f"  {count:,} times: {why}" if count > 1 else f"  {why}" for why, count in reasons.items())


def _connection_lines(script: Script, manners: Mapping[str, ReplayAdapter]) -> Iterator[str]:
    said: dict[int, Counter[str]] = defaultdict(Counter)
    for step in script.steps:
        if isinstance(step, Say):
            said[step.dialogue.number][step.record.message or "bytes outside frames"] += 1
    start_ns = script.steps[0].time_ns if script.steps else 0
    for step in script.steps:
        if isinstance(step, Open):
            counts = ", ".join(f"{count:,} {name}" for name, count in said[step.dialogue.number].items()) or "nothing"
            door = manners[step.dialogue.protocol].door(step.dialogue)
            where = f"{step.dialogue.protocol} {door}".rstrip()
            yield f"{(step.time_ns - start_ns) / 1e9:9.6f} s  {step.dialogue.name}, {where}: {counts}"


def _message_lines(messages: Iterable[Message], manner: ReplayAdapter) -> Iterator[str]:
    """Messages of clients, as decode shows them."""
    conversation = manner.protocol.open(True)
    for n, message in enumerate(messages):
        data = manner.protocol.encode(message, "client")
        reading = conversation.read("client", data, 0, len(data), n)
        yield " ".join((reading.message, *(f"{name}={value}" for name, value in pairs_of(reading.fields))))


def _exchange_line(each: Exchanged) -> str:
    record, steps = each.used[0]
    used = f"{record.message}.{spelt(steps)} (record {record.n})"
    more = f" and {len(each.used) - 1:,} more" if len(each.used) > 1 else ""
    what = f"{each.role.kind} positions" if each.value is None else f"{each.role.kind} {_shortened(each.value)}"
    within = f" of {_shortened(each.within)}" if each.within is not None else ""
    if isinstance(each.role, Position):
        return f"{what}{within}: relative to its start on the server; used in {used}{more}"
    if each.issued is None:
        return f"{what}{within}: known before the recording; used in {used}{more}"
    teller, told = each.issued
    return f"{what}{within}: returned by {teller.message}.{spelt(told)} (record {teller.n}); used in {used}{more}"


def _shortened(value: object, length: int = 160) -> str:
    text = str(value)
    return text if len(text) <= length else f"{text[: length - 20]}... ({len(text):,} characters)"
