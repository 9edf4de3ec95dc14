"""Appends by their place in a segment."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from heapq import merge

from wiretool.consistency.appended import AppendedBytes


class PlacedAppends:
    """Appends in the order of their places. They may overlap, where a server acknowledged one place twice.

    Those of one size, to the power of two, are in a list of their own: so a large one does not slow the search for
    small ones.
    """

    def __init__(self) -> None:
        self._by_bits: dict[int, list[AppendedBytes]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_bits)

    def __iter__(self) -> Iterator[AppendedBytes]:
        return merge(*self._by_bits.values(), key=_start_of)

    @property
    def end(self) -> int:
        """Return the largest offset after an append; 0 without any."""
        return max((append.end for appends in self._by_bits.values() for append in appends[-1:]), default=0)

    def add(self, append: AppendedBytes) -> None:
        """Add an append that has a start and bytes."""
        insort(self._by_bits.setdefault(len(append.data).bit_length(), []), append, key=_start_of)

    def add_all(self, appends: Iterable[AppendedBytes]) -> None:
        """Add several."""
        for append in appends:
            self.add(append)

    def overlapping(self, start: int, end: int | None = None) -> list[AppendedBytes]:
        """Return the appends with a byte from one offset to another, or to the end of all."""
        found = []
        for bits, appends in self._by_bits.items():
            first = bisect_left(appends, start - (1 << bits), key=_start_of)
            last = len(appends) if end is None else bisect_left(appends, end, key=_start_of)
            found += [append for append in appends[first:last] if append.end > start]
        return found


def _start_of(append: AppendedBytes) -> int:
    return append.start
