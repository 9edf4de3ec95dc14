"""Two servers side by side: what they answer differently to one recording."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from wiretool.codec.message import Message, Named
from wiretool.filter.names import spelt
from wiretool.records import Record
from wiretool.replay.adapter import Verdict
from wiretool.replay.adapters import adapter_of
from wiretool.replay.judging.coverage import Coverage
from wiretool.replay.judging.outcomes import END_NAME, Outcome

#: Fields that are shown of one answer at most.
FIELDS_MAX = 4


class Row(NamedTuple):
    """An exchange to which two servers answer otherwise; one of the outcomes may be lacking."""

    one: Outcome | None
    other: Outcome | None
    #: What each says, in words.
    says_one: str
    says_other: str


def grid(one: Iterable[Outcome], other: Iterable[Outcome]) -> Iterator[Row]:
    """Yield the exchanges that two servers answer differently, in the order of the recording.

    All fields are compared, however many of them a row shows.
    """
    plain = _PlainFields()
    theirs = dict(keyed(other))
    for key, outcome in keyed(one):
        counterpart = theirs.pop(key, None)
        if _is_absent([outcome, counterpart]):
            continue
        if counterpart is None:
            if _differs_alone(outcome):
                lacking = _lacking(outcome)
                yield Row(outcome, None, _answer_of(outcome, plain).text_beside(lacking), lacking.messages)
            continue
        first, second = _answer_of(outcome, plain), _answer_of(counterpart, plain)
        if not _is_alike(outcome, first, counterpart, second) and not _is_explained(outcome, counterpart):
            yield Row(outcome, counterpart, first.text_beside(second), second.text_beside(first))
    for outcome in theirs.values():
        if _differs_alone(outcome):
            lacking = _lacking(outcome)
            yield Row(None, outcome, lacking.messages, _answer_of(outcome, plain).text_beside(lacking))


def _differs_alone(outcome: Outcome) -> bool:
    """Return whether an outcome of one server is a difference where the other one has none."""
    return bool(outcome.live) or outcome.verdict.is_finding


def _is_alike(one: Outcome, first: "_Answer", other: Outcome, second: "_Answer") -> bool:
    """Return whether two servers answer the same: of ends, an unknown one may be a finding of the other server."""
    is_unknown_end = one.end is not None and not (one.is_judged and other.is_judged)
    return first == second and (is_unknown_end or one.verdict.is_finding == other.verdict.is_finding)


def _is_explained(one: Outcome, other: Outcome) -> bool:
    """Return whether two answers differ in no more than what the protocol allows each of them."""
    if max(one.verdict, other.verdict) > Verdict.EXPLAINED:
        return False
    return [record.message for record in one.live] == [record.message for record in other.live]


def coverage_of_both(
    one: Iterable[Outcome], other: Iterable[Outcome], required: float, *, is_prepared: bool = True
) -> Coverage:
    """Return how many exchanges were judged with both servers, at least one of which sent a reply."""
    first, second = dict(keyed(one)), dict(keyed(other))
    pairs = [(first.get(key), second.get(key)) for key in dict.fromkeys((*first, *second))]
    judged = [pair for pair in pairs if not _is_absent(pair) and all(each is None or each.is_judged for each in pair)]
    further, further_judged = _further_of(pairs), _further_of(judged)
    return Coverage(len(pairs), len(judged), required, is_prepared, further, further_judged)


def _further_of(pairs: Iterable[Iterable[Outcome | None]]) -> int:
    """Return how many pairs are no exchange of the recording."""
    return sum(not any(each is not None and each.is_exchange for each in pair) for pair in pairs)


def _is_absent(outcomes: Iterable[Outcome | None]) -> bool:
    """Return whether neither server sent anything in an exchange that has recorded replies."""
    there = [outcome for outcome in outcomes if outcome is not None]
    return any(outcome.recorded for outcome in there) and not any(outcome.live for outcome in there)


def is_mute(outcomes: Iterable[Outcome]) -> bool:
    """Whether no request was answered, and nothing else said that was recorded."""
    return not any(outcome.live and (outcome.request or outcome.recorded) for outcome in outcomes)


def keyed(outcomes: Iterable[Outcome]) -> Iterator[tuple[Hashable, Outcome]]:
    """Yield outcomes with what is the same in several replays; several of one key on a connection are numbered."""
    seen: Counter[Hashable] = Counter()
    for outcome in outcomes:
        key = key_of(outcome)
        yield (key, seen[key]), outcome
        seen[key] += 1


def key_of(outcome: Outcome) -> Hashable:
    """What is the same exchange in several replays of one recording."""
    number = outcome.dialogue.number
    if outcome.request is not None:
        return number, outcome.request.n
    if outcome.recorded:
        return number, outcome.recorded[0].n
    return number, "unasked", outcome.live[0].message if outcome.live else "end"


class _Answer(NamedTuple):
    """What a server answered, as far as it is not what was recorded: its messages, and fields with their values."""

    messages: str
    fields: Mapping[str, str] = MappingProxyType({})

    def text_beside(self, other: "_Answer") -> str:
        """Return the answer in words: of two alike in messages, the fields that differ come first."""
        names = sorted(self.fields, key=lambda name: (self.fields[name] == other.fields.get(name), name))
        texts = [f"{name} {self.fields[name]}" for name in names[:FIELDS_MAX]]
        more = f", {len(names) - FIELDS_MAX} more" if len(names) > FIELDS_MAX else ""
        return f"{self.messages}: {', '.join(texts)}{more}" if texts else self.messages


def _lacking(outcome: Outcome) -> _Answer:
    """Return the answer of a server without such an outcome: only an end that is not as recorded has one."""
    return _Answer("as recorded" if outcome.end else "not there")


def _answer_of(outcome: Outcome, plain: "_PlainFields") -> _Answer:
    if outcome.end is not None:
        return _Answer(f"connection {outcome.end.live}")
    if outcome.verdict in (Verdict.SAME, Verdict.MAPPED, Verdict.NOISE):
        return _Answer("as recorded")
    messages = ", ".join(record.message or record.error for record in outcome.live) or "nothing"
    if outcome.verdict is Verdict.EXTRA:  # another server may be allowed to send such a message
        messages = f"{messages} (extra)"
    fields = {spelt(each.steps): repr(each.live) for each in outcome.differences if each.steps}
    for at, record in enumerate(outcome.live):
        if at >= len(outcome.recorded) or outcome.recorded[at].message != record.message:
            fields |= plain.fields_of(record)
    return _Answer(messages, fields)


class _PlainFields:
    """Reads fields of replies that have no recorded counterpart: those that servers do not make up."""

    def __init__(self) -> None:
        self._adapter_of = cache(adapter_of)

    def fields_of(self, record: Record) -> Mapping[str, str]:
        """Return the values by field; none where the frame is of no known message."""
        if record.kind != "frame" or not isinstance(record.fields, Message):
            return {}
        adapter = self._adapter_of(record.protocol)
        form = adapter.form(record)
        made_up = {place.steps[0] for place in adapter.places(record, form) if not isinstance(place.role, Named)}
        return {spelt((name,)): repr(value) for name, value in form.items() if name not in made_up}


def grid_lines(rows: Sequence[Row], one: str, other: str, coverage: Coverage) -> Iterator[str]:
    """Yield the grid for people: a line for each exchange, and below it what each of the two servers says."""
    exchanges = coverage.subject()
    if not rows:
        yield f"{exchanges}: {one} and {other} answer alike" if coverage.judged and coverage.is_prepared else exchanges
    yield from _row_lines(rows, one, other)
    if rows:
        yield f"{exchanges}; {len(rows):,} answered differently"
    if coverage.shortfall:
        hint = f" (--min-judged {coverage.required:.0%})" if coverage.share < coverage.required else ""
        yield f"no success: {coverage.shortfall}{hint}"


def _row_lines(rows: Sequence[Row], one: str, other: str) -> Iterator[str]:
    width = max(len(one), len(other))
    for row in rows:
        outcome = row.one or row.other
        assert outcome is not None
        yield f"{outcome.dialogue.name}: {_subject(outcome)}"
        yield f"  {one:<{width}}  {row.says_one}"
        yield f"  {other:<{width}}  {row.says_other}"


def _subject(outcome: Outcome) -> str:
    if outcome.end is not None:
        return f"{END_NAME} of the connection"
    return "unasked" if outcome.request is None else f"{outcome.request.message} (record {outcome.request.n})"
