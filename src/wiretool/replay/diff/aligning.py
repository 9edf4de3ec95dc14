"""Which elements of two sequences belong together: the most alike first, the rest by what they have in common."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeVar

T = TypeVar("T")
#: Comparisons that one stretch may take; what is longer, and much the same, is put together in its order.
COST_MAX = 2_000_000
Pairs = list[tuple[int, int]]


class Left(NamedTuple):
    """What is between two pairs: indices of both sequences that belong to nothing yet."""

    one: list[int]
    other: list[int]


def align(
    one: Sequence[T], other: Sequence[T], exact: Sequence[Callable[[T], Hashable]], alike: Callable[[T], Hashable]
) -> Pairs:
    """Pairs of indices of the two sequences, in the order of the first.

    What is the same by an `exact` key belongs together, also where its place is another. What is only `alike` does
    where it stands between the same neighbours.
    """
    pairs: Pairs = []
    left = [Left(list(range(len(one))), list(range(len(other))))]
    for key in exact:
        left = [part for each in left for part in _paired(one, other, key, each, pairs)]
        left = _moved(one, other, key, left, pairs)
    for each in left:
        _paired(one, other, alike, each, pairs)
    return sorted(pairs)


def _paired(one: Sequence[T], other: Sequence[T], key: Callable[[T], Hashable], left: Left, pairs: Pairs) -> list[Left]:
    """Add the pairs within a stretch; what is left between them."""
    if not left.one or not left.other:
        return [left]
    ones, others = [key(one[at]) for at in left.one], [key(other[at]) for at in left.other]
    rest: list[Left] = []
    start = other_start = 0
    for at, other_at in [*_common(ones, others), (len(ones), len(others))]:
        if at < len(ones):
            pairs.append((left.one[at], left.other[other_at]))
        if at > start or other_at > other_start:
            rest.append(Left(left.one[start:at], left.other[other_start:other_at]))
        start, other_start = at + 1, other_at + 1
    return rest


def _common(ones: Sequence[Hashable], others: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Where both have the same, neither going back."""
    begin, end = _shared_ends(ones, others)
    yield from ((at, at) for at in range(begin))
    middle, other_middle = ones[begin : len(ones) - end], others[begin : len(others) - end]
    if _cost(middle, other_middle) <= COST_MAX:
        matcher = SequenceMatcher(None, middle, other_middle, autojunk=False)
        for at, other_at, size in matcher.get_matching_blocks():
            yield from ((begin + at + step, begin + other_at + step) for step in range(size))
    else:
        yield from ((begin + at, begin + other_at) for at, other_at in _in_turn(middle, other_middle))
    yield from ((len(ones) - left, len(others) - left) for left in range(end, 0, -1))


def _shared_ends(ones: Sequence[Hashable], others: Sequence[Hashable]) -> tuple[int, int]:
    """How many are the same at the beginning, and behind that at the end."""
    shortest = min(len(ones), len(others))
    begin = next((at for at in range(shortest) if ones[at] != others[at]), shortest)
    most = shortest - begin
    end = next((at for at in range(most) if ones[-1 - at] != others[-1 - at]), most)
    return begin, end


def _cost(ones: Iterable[Hashable], others: Iterable[Hashable]) -> int:
    counts = Counter(others)
    return sum(count * counts[key] for key, count in Counter(ones).items())


def _in_turn(ones: Sequence[Hashable], others: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Each with the next one that is the same, as long as both run side by side."""
    ahead = 0
    for at, key in enumerate(ones):
        if ahead < len(others) and others[ahead] == key:
            yield at, ahead
            ahead += 1


def _moved(
    one: Sequence[T], other: Sequence[T], key: Callable[[T], Hashable], left: Sequence[Left], pairs: Pairs
) -> list[Left]:
    """Add pairs of what is the same in different places; what is left then."""
    waiting: dict[Hashable, deque[int]] = defaultdict(deque)
    for each in left:
        for at in each.other:
            waiting[key(other[at])].append(at)
    found = [(at, queue.popleft()) for each in left for at in each.one if (queue := waiting.get(key(one[at])))]
    pairs += found
    taken, other_taken = {at for at, _ in found}, {at for _, at in found}
    return [
        Left([at for at in each.one if at not in taken], [at for at in each.other if at not in other_taken])
        for each in left
    ]
