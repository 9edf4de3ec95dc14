"""The batches that a range server keeps: per range in the order of their offsets, and the oldest of all go first."""

from bisect import bisect_left, bisect_right
from collections import deque

from wiretool import limits

#: Batches gone from the front of a range before their places in the index are given up.
_GONE_MAX = 1_024
#: What a batch has in front of it where it is stored, which counts when a fetch adds up (sbp.md §3.4).
STORAGE_PREFIX_BYTES = 8


class Batches:
    """The batches of one range by their base offset."""

    __slots__ = ("_bases", "_data", "_first")

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._data: list[bytes] = []
        self._first = 0

    def put(self, base: int, data: bytes) -> int:
        """Keep a batch behind the others; one at the same offset (it held no record) makes room. Bytes made free."""
        if self._first < len(self._bases) and self._bases[-1] == base:
            freed = len(self._data[-1])
            self._data[-1] = data
            return freed
        self._bases.append(base)
        self._data.append(data)
        return 0

    def drop_first(self) -> int:
        """Forget the oldest batch; how many bytes it had."""
        size = len(self._data[self._first])
        self._data[self._first] = b""
        self._first += 1
        if self._first >= _GONE_MAX and self._first * 2 >= len(self._data):
            del self._bases[: self._first], self._data[: self._first]
            self._first = 0
        return size

    def __len__(self) -> int:
        return len(self._bases) - self._first

    @property
    def last_base(self) -> int:
        """Where the last batch begins; -1 without any."""
        return self._bases[-1] if len(self) else -1

    def between(self, offset: int, limit: int | None, bytes_wanted: int | None, bytes_max: int) -> list[bytes]:
        """Batches from the one that holds `offset` up to the last that begins in front of `limit`.

        They are taken until they have `bytes_wanted` bytes, so at least one where any is wanted, and `bytes_max` at
        most; the first is there even where it alone has more.
        """
        bases = self._bases
        at = bisect_right(bases, offset, self._first) - 1
        end = len(bases) if limit is None else bisect_left(bases, limit, self._first)
        found: list[bytes] = []
        stored = sent = 0
        for index in range(max(at, self._first), end):
            data = self._data[index]
            sent += len(data)
            if (found and sent > bytes_max) or (bytes_wanted is not None and stored >= bytes_wanted):
                break
            found.append(data)
            stored += len(data) + STORAGE_PREFIX_BYTES
        return found


class Keeper:
    """Holds all ranges together against what may be kept."""

    def __init__(self, retain_bytes: int) -> None:
        self.retain_bytes = retain_bytes
        self.held_bytes = 0
        self._order: deque[Batches] = deque()
        #: Entries of `_order` whose batch was dropped with its range.
        self._stale = 0

    def put(self, batches: Batches, base: int, data: bytes) -> None:
        """Keep a batch; the oldest of all go where that is too much."""
        freed = batches.put(base, data)
        self.held_bytes += len(data) - freed
        if not freed:
            self.held_bytes += limits.SBP_BATCH_OVERHEAD_BYTES
            self._order.append(batches)
        while self.held_bytes > self.retain_bytes and self._order:
            oldest = self._order.popleft()
            if len(oldest):
                self.held_bytes -= oldest.drop_first() + limits.SBP_BATCH_OVERHEAD_BYTES
            else:
                self._stale -= 1

    def drop(self, batches: Batches) -> None:
        """Forget all batches of a range, which takes no more."""
        self._stale += len(batches)
        while len(batches):
            self.held_bytes -= batches.drop_first() + limits.SBP_BATCH_OVERHEAD_BYTES
        if self._stale * 2 > len(self._order):
            self._order = deque(each for each in self._order if len(each))
            self._stale = 0
