"""Times that passed, in buckets: any number of them in little memory."""

import math
from collections.abc import Iterable

from wiretool.analysis.buckets import Buckets

#: Quantiles are true to 1 in 2048: three digits.
BUCKETS = Buckets(11)


class Latencies:
    """Quantiles of nanoseconds, true to the width of `BUCKETS`; count, least and greatest are exact."""

    __slots__ = ("_buckets", "count", "max_ns", "min_ns")

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self.count = 0
        self.min_ns = 0
        self.max_ns = 0

    def add(self, time_ns: int) -> None:
        """Count a time; one below nothing (clocks that were set) counts as none."""
        time_ns = max(time_ns, 0)
        self.min_ns = time_ns if not self.count else min(self.min_ns, time_ns)
        self.max_ns = max(self.max_ns, time_ns)
        self.count += 1
        bucket = BUCKETS.bucket_of(time_ns)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    def add_counted(self, min_ns: int, max_ns: int, buckets: Iterable[tuple[int, int]]) -> None:
        """Count times by bucket, the number of each beside it; the least and the greatest of them, none below 0."""
        self.min_ns = min_ns if not self.count else min(self.min_ns, min_ns)
        self.max_ns = max(self.max_ns, max_ns)
        for bucket, count in buckets:
            self.count += count
            self._buckets[bucket] = self._buckets.get(bucket, 0) + count

    def quantile_ns(self, share: float) -> int:
        """The time within which that share of all passed; 0 where there are none."""
        wanted = max(1, math.ceil(self.count * share))
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen >= wanted:
                return min(max(BUCKETS.value_of(bucket), self.min_ns), self.max_ns)
        return 0
