"""Which conversations of two recordings are the same: those that ask the same, of the same kind of server."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from wiretool.analysis.dialogues import Dialogue
from wiretool.codec.message import SIDES
from wiretool.records import Record

#: Below this likeness, from 0 to 1, two conversations are two things.
LIKENESS_MIN = 0.25
#: Pairs whose likeness is looked at; of more, all that are left belong together in their order.
PAIRS_MAX = 40_000
#: What it is worth beside what is said that the server's port is the same, and the addresses and ports of both.
_SAME_PORT = 0.01
_SAME_ENDS = LIKENESS_MIN
Subject = Callable[[Record], Hashable]


class Matched(NamedTuple):
    """Conversations that belong together, and those that nobody has a counterpart for."""

    pairs: list[tuple[Dialogue, Dialogue]]
    one: list[Dialogue]
    other: list[Dialogue]


def match(
    one: Sequence[Dialogue],
    other: Sequence[Dialogue],
    subject: Subject,
    other_subject: Subject,
    own: Callable[[Record], Hashable] | None = None,
) -> Matched:
    """Match the conversations of one protocol: first those in the same bytes, then of the same, then the like.

    Of those that ask in the same bytes first those that are answered so. Of those that ask of the same, first those
    that ask the same; `own` is what a frame says, whatever ids stand in it.
    """
    matched = Matched([], list(one), list(other))
    _take_equal(matched, _all_bytes_of, _all_bytes_of)
    _take_equal(matched, _bytes_of, _bytes_of)
    if own is not None:
        _take_equal(matched, lambda each: _said_of(each, subject, own), lambda each: _said_of(each, other_subject, own))
    _take_equal(matched, lambda each: _words_of(each, subject), lambda each: _words_of(each, other_subject))
    _take_alike(matched, subject, other_subject)
    return matched


def asked(each: Dialogue) -> list[Record]:
    """What was said by itself, and not to answer."""
    return [record for record in each.records if record.kind == "frame" and record.reply_to is None]


def _all_bytes_of(each: Dialogue) -> Hashable:
    """What both sides said, also what is no frame."""
    return tuple(tuple(record.raw for record in each.records if record.side == side) for side in SIDES)


def _bytes_of(each: Dialogue) -> Hashable:
    return tuple(record.raw for record in each.records if record.kind == "frame" and record.side == "client")


def _words_of(each: Dialogue, subject: Subject) -> Hashable:
    return tuple((record.message, subject(record)) for record in asked(each) if record.side == "client")


def _said_of(each: Dialogue, subject: Subject, own: Callable[[Record], Hashable]) -> Hashable:
    return tuple((own(record), subject(record)) for record in asked(each) if record.side == "client")


def _take_equal(
    matched: Matched, key: Callable[[Dialogue], Hashable], other_key: Callable[[Dialogue], Hashable]
) -> None:
    waiting: dict[Hashable, deque[Dialogue]] = defaultdict(deque)
    for each in matched.other:
        waiting[other_key(each)].append(each)
    _take(matched, [(each, queue.popleft()) for each in matched.one if (queue := waiting.get(key(each)))])


def _take(matched: Matched, pairs: Sequence[tuple[Dialogue, Dialogue]]) -> None:
    matched.pairs.extend(pairs)
    taken = {each for pair in pairs for each in pair}
    matched.one[:] = [each for each in matched.one if each not in taken]
    matched.other[:] = [each for each in matched.other if each not in taken]


def _take_alike(matched: Matched, subject: Subject, other_subject: Subject) -> None:
    """The most alike first, and of those equally alike the nearest."""
    if len(matched.one) * len(matched.other) > PAIRS_MAX:
        _take(matched, list(zip(matched.one, matched.other, strict=False)))
        return
    ones = [_Profile.of(each, subject) for each in matched.one]
    others = [_Profile.of(each, other_subject) for each in matched.other]
    scored = sorted(
        (-_likeness(profile, counterpart), abs(at - other_at), at, other_at)
        for at, profile in enumerate(ones)
        for other_at, counterpart in enumerate(others)
    )
    taken: set[int] = set()
    other_taken: set[int] = set()
    pairs = []
    for score, _, at, other_at in scored:
        if -score >= LIKENESS_MIN and at not in taken and other_at not in other_taken:
            taken.add(at)
            other_taken.add(other_at)
            pairs.append((matched.one[at], matched.other[other_at]))
    _take(matched, sorted(pairs, key=lambda pair: pair[0].number))


class _Profile(NamedTuple):
    """What is said on a connection, in numbers."""

    ends: tuple[str, str]
    messages: Mapping[Hashable, int]
    words: Mapping[Hashable, int]

    @classmethod
    def of(cls, each: Dialogue, subject: Subject) -> "_Profile":
        said = asked(each)
        words = Counter[Hashable]((record.message, subject(record)) for record in said)
        return cls((each.client, each.server), Counter[Hashable](record.message for record in said), words)


def _likeness(one: _Profile, other: _Profile) -> float:
    if one.ends == other.ends:
        hint = _SAME_ENDS
    else:
        hint = _SAME_PORT * (one.ends[1].rpartition(":")[2] == other.ends[1].rpartition(":")[2])
    return (_shared(one.messages, other.messages) + _shared(one.words, other.words)) / 2 + hint


def _shared(one: Mapping[Hashable, int], other: Mapping[Hashable, int]) -> float:
    """How much of two bags is in both, from 0 to 1."""
    total = sum(one.values()) + sum(other.values())
    return 2 * sum(min(count, other.get(key, 0)) for key, count in one.items()) / total if total else 0.0
