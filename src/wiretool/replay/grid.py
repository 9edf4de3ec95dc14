"""Two servers side by side: what they answer differently to one recording."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from wiretool.replay.coverage import Coverage
from wiretool.replay.manners.manner import Verdict
from wiretool.replay.outcomes import Outcome
from wiretool.where.names import spelt

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
    """The exchanges in which the two are not alike, in the order of the recording."""
    theirs = {key_of(outcome): outcome for outcome in other}
    for outcome in one:
        counterpart = theirs.pop(key_of(outcome), None)
        row = Row(outcome, counterpart, said(outcome), said(counterpart))
        if row.says_one != row.says_other and not _is_explained(outcome, counterpart):
            yield row
    for outcome in theirs.values():
        if outcome.live:
            yield Row(None, outcome, said(None), said(outcome))


def _is_explained(one: Outcome, other: Outcome | None) -> bool:
    """Return whether two answers differ in no more than what the protocol allows each of them."""
    if other is None or max(one.verdict, other.verdict) > Verdict.EXPLAINED:
        return False
    return [record.message for record in one.live] == [record.message for record in other.live]


def coverage_of_both(one: Iterable[Outcome], other: Iterable[Outcome], required: float) -> Coverage:
    """Return how many exchanges could be judged with both servers."""
    judged = {key_of(outcome): outcome.is_judged for outcome in one}
    total = len(judged)
    theirs = {key_of(outcome): outcome.is_judged for outcome in other}
    alone = [key for key in theirs if key not in judged]
    both = sum(is_judged and theirs.get(key, True) for key, is_judged in judged.items())
    return Coverage(total + len(alone), both + sum(theirs[key] for key in alone), required)


def is_mute(outcomes: Iterable[Outcome]) -> bool:
    """Whether no request was answered, and nothing else said that was recorded."""
    return not any(outcome.live and (outcome.request or outcome.recorded) for outcome in outcomes)


def key_of(outcome: Outcome) -> Hashable:
    """What is the same exchange in several replays of one recording."""
    number = outcome.dialogue.number
    if outcome.request is not None:
        return number, outcome.request.n
    if outcome.recorded:
        return number, outcome.recorded[0].n
    return number, "unasked", outcome.live[0].message if outcome.live else "end"


def said(outcome: Outcome | None) -> str:
    """What a server answered, as far as it is not what was recorded."""
    if outcome is None:
        return "not there"
    if outcome.verdict in (Verdict.SAME, Verdict.MAPPED, Verdict.NOISE):
        return "as recorded"
    messages = ", ".join(record.message or record.error for record in outcome.live) or "nothing"
    if outcome.verdict is Verdict.EXTRA:  # another server may be allowed to send such a message
        return f"{messages} (extra)"
    fields = [
        f"{spelt(each.steps)} {each.live!r}" for each in sorted(outcome.differences, key=lambda each: str(each.steps))
    ]
    more = f", {len(fields) - FIELDS_MAX} more" if len(fields) > FIELDS_MAX else ""
    return (
        f"{messages}: {', '.join(fields[:FIELDS_MAX])}{more}" if fields and outcome.differences[0].steps else messages
    )


def grid_lines(rows: Sequence[Row], one: str, other: str, coverage: Coverage) -> Iterator[str]:
    """Yield the grid for people: a line for each exchange, and below it what each of the two servers says."""
    total, judged, _ = coverage
    unjudged = "" if judged == total else f"{judged:,} of {total:,} exchanges judged, {total - judged:,} could not be"
    if not rows:
        yield f"{unjudged}: {one} and {other} answer alike" if unjudged else f"{one} and {other} answer alike"
    yield from _row_lines(rows, one, other)
    if rows:
        yield f"{len(rows):,} exchange{'s' * (len(rows) != 1)} answered differently"
    if rows and unjudged:
        yield unjudged
    if coverage.shortfall:
        yield f"no success: {coverage.shortfall} (--min-judged {coverage.required:.0%})"


def _row_lines(rows: Sequence[Row], one: str, other: str) -> Iterator[str]:
    width = max(len(one), len(other))
    for row in rows:
        outcome = row.one or row.other
        assert outcome is not None
        asked = "unasked" if outcome.request is None else f"{outcome.request.message} (record {outcome.request.n})"
        yield f"{outcome.dialogue.name}: {asked}"
        yield f"  {one:<{width}}  {row.says_one}"
        yield f"  {other:<{width}}  {row.says_other}"
