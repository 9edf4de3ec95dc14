"""Times in HdrHistogram's buckets: small, exact to merge, in a text form that its own tools read.

The one home of the library. What it lacks for a hundred thousand times a second, counting in bulk and quantiles in one
pass, is done on its own counters; tests hold both to what the library's slower calls give.
"""

import base64
import zlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from hdrh.codec import HdrCookieException, HdrHistogramEncoder, HdrLengthException
from hdrh.histogram import HdrHistogram

from wiretool.analysis.buckets import Buckets
from wiretool.errors import DecodeError, OverLimit
from wiretool.load.result import Quantiles

#: The least that is told apart: below it a Python program measures itself. What took less counts as this.
LOWEST_US = 1
#: The greatest: no load waits longer for a reply than an hour. What took longer counts as this.
HIGHEST_US = 3_600_000_000
#: 1 part in 1000 (in fact 1 in 1024): finer than any two runs agree.
DIGITS = 3
#: Which counter a number of microseconds belongs to: HdrHistogram's "sub-bucket half count" for three digits is 2**10.
BUCKETS = Buckets(10)
#: Counters up to `HIGHEST_US` and on to the next power of two.
COUNTERS = 23 << BUCKETS.bits
#: Characters of a text: every counter in 9 bytes, in base64. A worker or a file that gives more is not read.
TEXT_CHARS_MAX = 300_000
#: Bytes of what a text unpacks to: the header and every counter in 9.
PAYLOAD_BYTES_MAX = 40 + 9 * COUNTERS
#: One counter: a thousand years of a million a second. Sums of all counters stay below 2**63.
COUNT_MAX = 2**45
#: Points of a curve, evenly on the scale that percentile plots use.
CURVE_POINTS = 100

#: What hdrh raises at a text that is none of its own.
BROKEN = (ValueError, TypeError, IndexError, OverflowError, RuntimeError, zlib.error, HdrCookieException)

Counts = npt.NDArray[np.uint64]
Whole = npt.NDArray[np.int64]


class Histogram:
    """How often which time was seen, in microseconds, true to three digits."""

    __slots__ = ("_counts", "_inner")

    def __init__(self) -> None:
        self._adopt(HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS))

    def _adopt(self, inner: Any) -> None:
        self._inner = inner
        #: The library's own counters, not a copy.
        self._counts: Counts = np.frombuffer(inner.counts, dtype=np.uint64)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """What `text()` gave; raises DecodeError for any other text, also one with other bounds or digits."""
        histogram = cls()
        if text:
            histogram._adopt(inner_from(text))
            if histogram._counts.max() > COUNT_MAX:
                raise OverLimit("histogram", "a count above 2**45", path="histogram")
        return histogram

    def text(self) -> str:
        """HdrHistogram's V2 form, compressed, in base64; empty where nothing is counted."""
        return str(self._inner.encode(), "ascii") if self.count else ""

    @property
    def count(self) -> int:
        """How many times were counted."""
        return int(self._inner.total_count)

    def add_seconds(self, values: Sequence[float]) -> None:
        """Count times in seconds, to the nearest microsecond; beyond the bounds they count as the bound."""
        if not values:
            return
        micros = np.fromiter(values, np.float64, len(values))  # a third less than asarray takes for a list
        micros *= 1e6
        np.clip(np.rint(micros, out=micros), LOWEST_US, HIGHEST_US, out=micros)
        places = BUCKETS.buckets_of(micros.astype(np.int64))
        self._counts += np.bincount(places, minlength=len(self._counts)).astype(np.uint64)
        self._inner.total_count += len(places)
        self._inner.max_value = max(self._inner.max_value, int(micros.max()))
        self._inner.min_value = min(self._inner.min_value, int(micros.min()))

    def merge(self, other: "Histogram") -> None:
        """Count what the other counted, exactly."""
        self._inner.add(other._inner)

    def quantiles(self) -> Quantiles:
        """The upper end of the bucket in which each share of all is reached, as HdrHistogram gives it."""
        if not self.count:
            return Quantiles()
        p50, p90, p99, p99_9 = self._reached([rank_of(percentile, self.count) for percentile in (50, 90, 99, 99.9)])
        return Quantiles(p50=p50, p90=p90, p99=p99, p99_9=p99_9, max=self.max_us)

    @property
    def max_us(self) -> int:
        """The upper end of the greatest bucket that is used; 0 where nothing is counted."""
        return int(self._inner.get_max_value())

    def curve(self) -> list[tuple[float, int]]:
        """(share of all, microseconds within which it was done), denser towards 1; the last is (1, the greatest).

        Evenly in log(1 / (1 - share)), the horizontal scale of percentile plots; none where nothing is counted.
        """
        if not self.count:
            return []
        shares = np.unique(1 - np.logspace(0, -np.log10(self.count), CURVE_POINTS))
        ranks = [max(1, int(np.ceil(share * self.count))) for share in shares]
        return [*zip(shares.tolist(), self._reached(ranks), strict=True), (1.0, self.max_us)]

    def recorded(self) -> tuple[Whole, Whole]:
        """The buckets in use: upper ends in microseconds, rising, and how many times are in each."""
        used = np.flatnonzero(self._counts)
        return BUCKETS.last_of(used), self._counts[used].astype(np.int64)

    def counters(self) -> Counts:
        """Return the count of each bucket: the counters themselves, which later times change."""
        return self._counts

    def _reached(self, ranks: Sequence[int]) -> list[int]:
        sums = np.cumsum(self._counts)
        places = np.searchsorted(sums, np.asarray(ranks, dtype=np.uint64))
        ends: list[int] = BUCKETS.last_of(places).tolist()
        return ends


def rank_of(percentile: float, count: int) -> int:
    """Which one of `count` sorted times stands for a percentile: the library's rounding, to agree with its tools."""
    return max(1, int(percentile * count / 100 + 0.5))


def inner_from(text: str) -> Any:
    """The library's histogram of a text; raises DecodeError if it is none, or has other bounds than ours."""
    if len(text) > TEXT_CHARS_MAX:
        raise OverLimit("histogram", f"a text of {len(text)} characters", path="histogram")
    try:
        refuse_bomb(text)
        read = HdrHistogramEncoder.decode(text)
        head = read.payload
        bounds = head.lowest_trackable_value, head.highest_trackable_value, head.significant_figures
        if bounds != (LOWEST_US, HIGHEST_US, DIGITS):
            raise DecodeError(
                "histogram", f"unexpected lowest value, highest value and digits: {bounds}", path="histogram"
            )
        return HdrHistogram(*bounds, hdr_payload=read)
    except (*BROKEN, HdrLengthException) as err:
        raise DecodeError("histogram", f"not HdrHistogram's text: {err}", path="histogram") from err


def refuse_bomb(text: str) -> None:
    """Raise OverLimit if a text unpacks to more than a histogram; the library itself unpacks whatever it gets."""
    packed = base64.b64decode(text, validate=True)[8:]
    if len(zlib.decompressobj().decompress(packed, PAYLOAD_BYTES_MAX + 1)) > PAYLOAD_BYTES_MAX:
        raise OverLimit("histogram", f"unpacks to more than {PAYLOAD_BYTES_MAX} bytes", path="histogram")
