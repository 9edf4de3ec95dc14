"""Draws lies: each kind of message as often as the others, and fields that are easily excused more often."""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.bench.census.allowed import Change, is_allowed
from tests.bench.census.lie import CONSTANT, TIES, Lie, Steps, pattern_of, same, values_in
from tests.bench.census.play import Played, Reply
from wiretool.replay.judging.outcomes import Outcome

#: Failures that are sent in place of a good reply, by protocol.
_FAILURES: Mapping[str, Sequence[str]] = {
    "pravega": ("NoSuchSegment", "SegmentIsSealed", "SegmentAlreadyExists", "OperationUnsupported"),
    "pravega-draft": ("NoSuchSegment", "SegmentIsSealed"),
}
#: What a form shows that follows from something else.
_NOT_SENT = ("opcode", "type", "header.table", "payload.hex", "payload.entries.length", "payload.entries.payload_len")
#: What enumerations may say, where no other message of the run shows it.
_WORDS = ("SUCCESS", "FAILURE", "ABORTED", "COMMITTED", "OK", "OPEN", "UNKNOWN")
_HEX = frozenset("0123456789abcdef")
#: Draws in a row that make no lie, after which none of that kind is expected: messages may have too few fields.
_FRUITLESS_MAX = 200


def lies_for(played: Played, protocol: str, kind: str, rng: random.Random) -> Iterator[Lie]:
    """Draw lies of a kind as long as there are any, each kind of message as often as the others."""
    by_message: dict[str, list[Reply]] = defaultdict(list)
    pairs = dict(_adjacent(played)) if kind == "reorder" else {}
    for reply in played.replies:
        if reply.protocol == protocol and (kind != "reorder" or reply.at in pairs):
            by_message[reply.record.message].append(reply)
    fruitless = 0
    while by_message and fruitless < _FRUITLESS_MAX:
        reply = rng.choice(by_message[rng.choice(sorted(by_message))])
        lie = Lie(kind, reply)
        if kind == "reorder":
            lie.other = pairs[reply.at]
        elif kind == "replace":
            _choose_other(lie, played, rng)
        elif kind.endswith("fields") or kind == "always":
            lie.changes = _changes(lie, played, int(kind[0]) if kind != "always" else 1, rng)
            if not lie.changes:
                fruitless += 1
                continue
        fruitless = 0
        yield lie


def _adjacent(played: Played) -> Iterator[tuple[int, Reply]]:
    """The messages that another follows on the connection although the client does not hear of them.

    Either the client sends nothing between the two, or it was recorded to send the request for the second one before
    it had heard the first.
    """
    exchanges = {
        (live.connection, live.offset): (each, at) for each in played.outcomes for at, live in enumerate(each.live)
    }
    last: dict[int, Reply] = {}
    for reply in played.replies:
        number = reply.record.connection
        before = last.get(number)
        if before is not None and (before.heard == reply.heard or _is_pipelined(before, reply, exchanges)):
            yield before.at, reply
        last[number] = reply


def _is_pipelined(before: Reply, reply: Reply, exchanges: Mapping[tuple[int, int], tuple[Outcome, int]]) -> bool:
    first = exchanges.get((before.record.connection, before.record.offset))
    second = exchanges.get((reply.record.connection, reply.record.offset))
    if first is None or second is None or second[0].request is None:
        return False
    outcome, at = first
    return at < len(outcome.recorded) and second[0].request.n < outcome.recorded[at].n


# -- fields ------------------------------------------------------------------------------------------------------------


def _changes(lie: Lie, played: Played, count: int, rng: random.Random) -> list[tuple[Steps, Any]]:
    """Changes of so many fields. Of half of the lies one change is allowed by itself: it must not hide the others."""
    places: dict[str, list[tuple[Steps, Any]]] = defaultdict(list)
    for steps, value in values_in(lie.reply.form):
        if value is not None and not (isinstance(value, list | tuple) and not value):
            places[pattern_of(steps)].append((steps, value))
    known = sorted(set(places) - set(_NOT_SENT) - (set(TIES) if rng.random() < 2 / 3 else set()))
    found = _allowed_change(lie, played, places, rng) if count > 1 and rng.random() < 1 / 2 else []
    taken = [pattern_of(steps) for steps, _ in found]
    rng.shuffle(known)
    for pattern in known:
        is_inside = any(pattern.startswith(each) or each.startswith(pattern) for each in taken)
        if len(found) < count and not is_inside:
            steps, value = rng.choice(places[pattern])
            others = _others_of(lie, played, steps, value, rng)
            if others:
                found.append((steps, rng.choice(others)))
                taken.append(pattern)
    return found if len(found) == count else []


def _allowed_change(
    lie: Lie, played: Played, places: Mapping[str, list[tuple[Steps, Any]]], rng: random.Random
) -> list[tuple[Steps, Any]]:
    """One change that a clause allows, if there is any in the message."""
    for pattern in rng.sample(sorted(places), len(places)):
        steps, value = rng.choice(places[pattern])
        others = _others_of(lie, played, steps, value, rng)
        allowed = [other for other in others if is_allowed(Change(lie, steps, value, other))]
        if allowed:
            return [(steps, rng.choice(allowed))]
    return []


def _others_of(lie: Lie, played: Played, steps: Steps, value: Any, rng: random.Random) -> list[Any]:
    seen = _seen(pattern_of(steps), lie.reply, played)
    return [other for other in _others(value, seen, rng) if not same(other, value)]


def _seen(pattern: str, reply: Reply, played: Played) -> list[Any]:
    """What the same field says in other messages of the run."""
    found: dict[str, Any] = {}
    for other in played.replies:
        if other.record.message == reply.record.message and len(found) < 32:
            for steps, value in values_in(other.form):
                if pattern_of(steps) == pattern and not isinstance(value, list | tuple) and value is not None:
                    found.setdefault(repr(value), value)
    return list(found.values())


def _others(value: Any, seen: Sequence[Any], rng: random.Random) -> list[Any]:
    """Other values: those of other messages, near ones, far ones."""
    alike = [each for each in seen if type(each) is type(value)][:3]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [*alike, value + 1, value - 1, value + 8, value - 8, value + 4096, 0, CONSTANT]
    if isinstance(value, float):
        return [*alike, value + 0.125, value / 2]
    if isinstance(value, str):
        return [*alike, *_texts(value, rng)]
    if isinstance(value, list | tuple):
        elements = list(value)
        return [elements[:-1], elements + elements[-1:], elements[::-1], elements[1:]]
    return []


def _texts(value: str, rng: random.Random) -> Iterator[str]:
    """Other texts; of bytes, which are hex, those that a reader may take for the same."""
    if not value:
        yield from ("x", "00")
        return
    at = rng.randrange(len(value))
    yield value[:at] + ("0" if value[at] != "0" else "1") + value[at + 1 :]
    if len(value) % 2 or set(value) - _HEX:
        yield from (value + "x", value[: len(value) // 2])
        yield from _WORDS if value.isupper() else ()
        return
    yield from (value[:8], value[: len(value) // 4 * 2], value[:-2], "")
    yield from (value + value[-2:], value + "0" * 16, "0" * len(value), "0" * 16)


# -- another message ---------------------------------------------------------------------------------------------------


def _choose_other(lie: Lie, played: Played, rng: random.Random) -> None:
    protocol, message = lie.reply.protocol, lie.reply.record.message
    failures = _FAILURES.get(protocol, ())
    others = [each for each in played.replies if each.protocol == protocol and each.form != lie.reply.form]
    # what another run will make up later is not known before it does
    others = [each for each in others if each.record.message != message or each.at < lie.reply.at]
    if protocol == "pravega-controller":  # a call has one type of answer
        others = [each for each in others if each.record.message == message]
    if failures and lie.reply.request is not None and (not others or rng.random() < 1 / 3):
        lie.failure = rng.choice(failures)
    elif others:
        names = sorted({each.record.message for each in others})
        name = rng.choice(names)
        lie.other = rng.choice([each for each in others if each.record.message == name])
