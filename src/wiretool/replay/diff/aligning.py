"""Which elements of two sequences belong together: the most alike first, the rest by what they have in common."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeVar

T = TypeVar("T")
Key = Callable[[T], Hashable]
#: Comparisons that a stretch may take; a longer one of much the same is put together in its order.
COST_MAX = 2_000_000


class Stretch(NamedTuple):
    """Parts of both sequences, from and up to."""

    one: int
    one_end: int
    other: int
    other_end: int


def align(one: Sequence[T], other: Sequence[T], keys: Sequence[Key[T]]) -> list[tuple[int, int]]:
    """Pairs of indices; each key looks at what those before it have left, and at nothing across their pairs.

    Those that are the same by the first key but have changed places are put together too.
    """
    pairs: list[tuple[int, int]] = []
    left = [Stretch(0, len(one), 0, len(other))]
    for number, key in enumerate(keys):
        ones, others = _Keyed(one, key), _Keyed(other, key)
        rest: list[Stretch] = []
        for stretch in left:
            found = list(_alike(ones, others, stretch))
            pairs += found
            rest += _between(found, stretch)
        left = rest
        if number == 0:
            moved = _moved(ones, others, left)
            pairs += moved
            left = [part for stretch in left for part in _without(stretch, moved)]
    return sorted(pairs)


class _Keyed(Sequence[Hashable]):
    """The keys of a sequence, each made when it is asked for."""

    def __init__(self, items: Sequence[T], key: Key[T]) -> None:
        self._items = items
        self._key = key
        self._made: dict[int, Hashable] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, at: int) -> Hashable:  # type: ignore[override]
        if at not in self._made:
            self._made[at] = self._key(self._items[at])
        return self._made[at]
