"""Many times at once, in the buckets of latency.py."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wiretool.analysis.latency import BUCKETS
from wiretool.codec.columns import Integers, begins_of

#: Every bucket is below 1 << this.
BUCKET_BITS = 17
#: Counts that wait at least before they are added to the earlier ones.
PENDING_MIN = 65_536
#: Counts are added up in an array of all possible codes where that is at most this many times as long as they are.
DENSE = 16


class BucketCounts(NamedTuple):
    """The arguments of `Latencies.add_counted`: the least, the greatest, and the number of times in each bucket."""

    min_ns: int
    max_ns: int
    buckets: list[tuple[int, int]]


class LatencyArrays:
    """Latencies of many rows: the least and the greatest by row, and counts by row and bucket."""

    def __init__(self) -> None:
        self._least = self._most = np.zeros(0, np.int64)
        #: Row and bucket as one number, and how many times; the first part is sorted.
        self._parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        self._pending = 0

    def make_room(self, more: int) -> None:
        """Make room for a number of further rows."""
        self._least = np.append(self._least, np.full(more, np.iinfo(np.int64).max))
        self._most = np.append(self._most, np.full(more, -1))

    def add(self, rows: Integers, times_ns: Integers, counts: Integers) -> None:
        """Count each of the times `counts` times, for its row; one below 0 (clocks that were set) counts as 0."""
        times_ns = np.maximum(times_ns, 0)
        np.minimum.at(self._least, rows, times_ns)
        np.maximum.at(self._most, rows, times_ns)
        self._parts.append((rows << BUCKET_BITS | BUCKETS.buckets_of(times_ns), counts))
        self._pending += len(rows)
        if self._pending >= max(PENDING_MIN, 2 * len(self._parts[0][0])):
            self._merge()

    def _merge(self) -> None:
        codes, counts = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        self._parts, self._pending = [sum_by_code(codes, counts)], 0

    def total(self) -> BucketCounts | None:
        """Return the times of all rows; None where there are none."""
        self._merge()
        codes, counts = self._parts[0]
        if not len(codes):
            return None
        buckets, counts = sum_by_code(codes & (1 << BUCKET_BITS) - 1, counts)
        pairs = list(zip(buckets.tolist(), counts.tolist(), strict=True))
        return BucketCounts(int(self._least.min()), int(self._most.max()), pairs)

    def by_row(self) -> Iterator[tuple[int, BucketCounts]]:
        """Yield the times of each row that has any."""
        self._merge()
        codes, counts = self._parts[0]
        begins = begins_of(codes >> BUCKET_BITS)
        rows, bounds = codes[begins] >> BUCKET_BITS, np.append(begins, len(codes)).tolist()
        pairs = list(zip((codes & (1 << BUCKET_BITS) - 1).tolist(), counts.tolist(), strict=True))
        columns = rows, self._least[rows], self._most[rows]
        for place, (row, least, most) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            yield row, BucketCounts(least, most, pairs[bounds[place] : bounds[place + 1]])


def sum_by_code(codes: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """Return the codes that there are, ascending, and the sum of the counts of each."""
    if not len(codes):
        return codes, counts
    low = int(codes.min())
    if int(codes.max()) - low <= DENSE * len(codes):
        sums = np.bincount(codes - low, counts).astype(np.int64)
        found = np.flatnonzero(sums)
        return found + low, sums[found]
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    begins = begins_of(codes)
    return codes[begins], np.add.reduceat(counts[order], begins)
