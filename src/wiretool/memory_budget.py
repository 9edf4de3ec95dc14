"""One bound on the bytes that many holders keep together, and which of them are to let go."""

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

Holder = TypeVar("Holder", bound=Hashable)


class MemoryBudget(Generic[Holder]):
    """Counts what each holder keeps, in bytes."""

    def __init__(self, bytes_max: int, number_of: Callable[[Holder], int] | None = None) -> None:
        """Of two that keep the same, the one with the smaller number lets go first; without it the older one."""
        self.bytes_max = bytes_max
        #: Bytes of all holders together.
        self.size = 0
        self._sizes: dict[Holder, int] = {}
        self._number_of = number_of

    @property
    def is_exceeded(self) -> bool:
        """Return whether the holders keep more than the bound."""
        return self.size > self.bytes_max

    def note(self, holder: Holder, size: int) -> None:
        """Set what a holder keeps now."""
        before = self._sizes.get(holder, 0)
        if size == before:
            return
        self.size += size - before
        if size:
            self._sizes[holder] = size
        else:
            del self._sizes[holder]

    def count_again(self) -> None:
        """Count again the bytes of all holders together."""
        self.size = sum(self._sizes.values())

    def excess(self) -> Iterator[Holder]:
        """Yield the holders that are to let go, the largest first, until a quarter of the bound is free.

        Each must note what it keeps afterwards. They are sorted once for that quarter: many small ones are no slower.
        """
        if not self.is_exceeded:
            return
        holders = list(self._sizes) if self._number_of is None else sorted(self._sizes, key=self._number_of)
        for holder in sorted(holders, key=self._sizes.__getitem__, reverse=True):
            if self.size <= self.bytes_max * 3 // 4:
                break
            yield holder
