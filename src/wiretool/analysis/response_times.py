"""Response times by request, in the buckets of a Prometheus histogram."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from wiretool import limits
from wiretool.analysis.exchanges import NONE, Exchanged
from wiretool.analysis.stats import OTHERS
from wiretool.codec.columns import Flags, Integers

#: Upper bounds of the buckets in seconds, inclusive: a mock answers in 100 µs, a read at the tail waits for a minute.
BOUNDS_S = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
_BOUNDS_NS = np.array([round(bound * 1e9) for bound in BOUNDS_S], np.int64)
#: A protocol and the name of a request.
RequestKey = tuple[str, str]


def _no_counts() -> Integers:
    return np.zeros(len(BOUNDS_S) + 1, np.int64)


@dataclass(slots=True)
class Histogram:
    """Times by bucket, the last without a bound, and their sum in ns."""

    counts: Integers = field(default_factory=_no_counts)
    sum_ns: int = 0

    def add(self, times_ns: Integers) -> None:
        """Count times."""
        buckets = np.searchsorted(_BOUNDS_NS, times_ns, side="left")
        self.counts += np.bincount(buckets, minlength=len(self.counts))
        self.sum_ns += int(times_ns.sum())


class ResponseTimes:
    """Answered requests with their times; those that failed, and those without a reply."""

    def __init__(self) -> None:
        self.histograms: dict[RequestKey, Histogram] = {}
        self.failed: Counter[RequestKey] = Counter()
        self.unanswered: Counter[RequestKey] = Counter()

    def add(self, exchanged: Exchanged) -> None:
        """Count exchanges, of which each is seen once."""
        source = exchanged.requests.source
        for code in np.unique(source).tolist():
            asked = exchanged.sources[code]
            self._add_those(exchanged, source == code, (asked.protocol, asked.message))

    def _add_those(self, exchanged: Exchanged, rows: Flags, key: RequestKey) -> None:
        if key not in self.histograms and len(self.histograms) >= limits.METRIC_SERIES_MAX:
            key = (key[0], OTHERS)
        is_answered = rows & (exchanged.reply_n != NONE)
        self.histograms.setdefault(key, Histogram()).add(exchanged.latency_ns[is_answered])
        self.failed[key] += int(np.count_nonzero(exchanged.failure[is_answered]))
        self.unanswered[key] += int(np.count_nonzero(rows & ~is_answered))
