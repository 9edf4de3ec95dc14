"""The slowest of many, told apart by one comparison each."""

from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Generic, TypeVar

from wiretool import limits

_Thing = TypeVar("_Thing")


class Slowest(Generic[_Thing]):
    """Keeps up to `limit` things that took longest, of `bytes_max` bytes together; nothing before it is opened.

    Whoever has something that took longer than `floor` adds it; with anything else that would be for nothing.
    """

    __slots__ = ("_bytes", "_bytes_max", "_dropped", "_heap", "_least", "_numbers", "cut", "floor", "limit")

    def __init__(self, limit: int, bytes_max: int = limits.BENCH_SLOW_BYTES_MAX) -> None:
        self.limit = limit
        #: In the unit that things are added with; infinity where none is wanted.
        self.floor = inf
        #: The same while it is open.
        self._least = 0.0 if limit else inf
        self._bytes_max = bytes_max
        #: How long it took, its number, its bytes, what it is; the least slow first.
        self._heap: list[tuple[float, int, int, _Thing]] = []
        self._bytes = 0
        self._numbers = count()
        self._dropped = 0
        #: What took no longer than that was left out, as there were too many bytes; 0 where nothing was.
        self.cut = 0.0

    def open(self) -> None:
        """Take things from now on, for the first time or again."""
        self.floor = self._least

    def close(self) -> None:
        """Take nothing more."""
        self.floor = inf

    def add(self, took: float, size: int, thing: _Thing) -> None:
        """One that took longer than the floor, of so many bytes; others go where there is no room for it."""
        heappush(self._heap, (took, next(self._numbers), size, thing))
        self._bytes += size
        if len(self._heap) > self.limit:
            self._drop()
        while self._bytes > self._bytes_max and len(self._heap) > 1:
            self._leave_out()
        if len(self._heap) == self.limit:
            self._least = self._heap[0][0]
        self.floor = self._least

    def _drop(self) -> None:
        """Let the least slow go. What took no longer has no place any more: it would be in and a slower one out."""
        took, _, size, _ = heappop(self._heap)
        self._bytes -= size
        self._least = took

    def leave_out(self, cut: float) -> None:
        """Let all go that took no longer than that: others that took longer had to go elsewhere."""
        while self._heap and self._heap[0][0] <= cut:
            self._leave_out()
        self._least = max(self._least, cut)
        self.floor = self._least

    def _leave_out(self) -> None:
        self._drop()
        self._dropped += 1
        self.cut = self._least

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def left_out(self) -> int:
        """How many there were too many bytes for, of those that would be here."""
        return min(self._dropped, self.limit - len(self._heap))

    def things(self) -> list[_Thing]:
        """What is kept, in the order in which it came."""
        return [thing for _, _, _, thing in sorted(self._heap, key=lambda entry: entry[1])]

    def ranked(self) -> list[_Thing]:
        """What is kept, the slowest first; of those that took as long, the one that came first."""
        return [thing for _, _, _, thing in sorted(self._heap, key=lambda entry: (-entry[0], entry[1]))]
