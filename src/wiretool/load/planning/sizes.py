"""How large events are: `--event-size`, a number of bytes or a distribution of them."""

import math
from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from wiretool import limits
from wiretool.codec.event_trailer import MARK_BYTES
from wiretool.errors import UsageError
from wiretool.units import SIZE

EXAMPLE = (
    "not a size or distribution; expected a size such as 100 or 64KiB, or uniform:100-1k, normal:1000,200, "
    "exponential:500, lognormal:500,1.0, 100@9,10k@1"
)

#: Distributions without an end are cut off where one draw in a trillion would lie.
_SIGMAS = 7.0
_MEANS = 27.6


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of events in bytes, within `min` and `max`; one that is drawn outside of them is the nearer of the two."""

    min: int
    max: int
    pick: Callable[[Random], float]

    @property
    def is_fixed(self) -> bool:
        """Whether there is one size only."""
        return self.min == self.max

    def draw(self, random: Random) -> int:
        """The size of the next event."""
        return self.min if self.is_fixed else min(max(round(self.pick(random)), self.min), self.max)


def sizes_from(text: str, *, option: str, smallest: int = MARK_BYTES) -> Sizes:
    """The sizes that `text` names; UsageError for what names none, or any below `smallest` or above 8 MiB.

    `smallest` is what an event needs to be verified, unless it is not to be.
    """
    reader = _Reader(text, option, smallest)
    name, colon, rest = text.partition(":")
    if colon and name in _FORMS:
        return _FORMS[name](reader, rest)
    if "@" in text:
        return _listed(reader, text)
    size = reader.size(text)
    return Sizes(size, size, lambda _: size)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the numbers in a distribution, and says what is wrong with them."""

    text: str
    option: str
    smallest: int

    def error(self, why: str = EXAMPLE) -> UsageError:
        return UsageError(f"{self.option} {self.text!r}: {why}")

    def size(self, text: str) -> int:
        """Bytes within the bounds of an event."""
        size = self.bytes(text)
        if size < self.smallest:
            needs = f"the mark by which it is verified takes {MARK_BYTES}; --no-verify goes without"
            why = needs if self.smallest == MARK_BYTES else f"the least is {self.smallest}"
            raise self.error(f"an event of {size} bytes is too small: {why}")
        if size > limits.BENCH_EVENT_BYTES_MAX:
            raise self.error(f"an event of {size:,} bytes is too large: clients take 8MiB at most")
        return size

    def bytes(self, text: str) -> int:
        """Return the bytes of a size, rounded."""
        try:
            return round(SIZE.parse(text, self.option))
        except UsageError as err:
            raise self.error() from err

    def pair(self, text: str, between: str) -> tuple[str, str]:
        first, found, second = text.partition(between)
        if not found:
            raise self.error()
        return first, second

    def number(self, text: str, what: str, most: float) -> float:
        """A number above 0, up to `most`."""
        try:
            number = float(text)
        except ValueError:
            raise self.error() from None
        if not 0 < number <= most:
            raise self.error(f"{what} is above 0 and {most:,.0f} at most, not {text}")
        return number

    def within(self, largest: float, pick: Callable[[Random], float]) -> Sizes:
        """Sizes from the smallest event on, as far as the distribution goes."""
        return Sizes(self.smallest, max(self.smallest, min(math.ceil(largest), limits.BENCH_EVENT_BYTES_MAX)), pick)


def _uniform(reader: _Reader, text: str) -> Sizes:
    first, second = reader.pair(text, "-")
    low, high = reader.size(first), reader.size(second)
    if low > high:
        raise reader.error(f"{low:,} is more than {high:,}: the smaller one comes first")
    return Sizes(low, high, lambda random: random.randint(low, high))


def _normal(reader: _Reader, text: str) -> Sizes:
    first, second = reader.pair(text, ",")
    mean = reader.size(first)
    sigma = reader.number(second, "the standard deviation", limits.BENCH_EVENT_BYTES_MAX)
    return reader.within(mean + _SIGMAS * sigma, lambda random: random.normalvariate(mean, sigma))


def _exponential(reader: _Reader, text: str) -> Sizes:
    mean = reader.size(text)
    return reader.within(mean * _MEANS, lambda random: random.expovariate(1 / mean))


def _lognormal(reader: _Reader, text: str) -> Sizes:
    first, second = reader.pair(text, ",")
    middle = math.log(reader.size(first))
    sigma = reader.number(second, "sigma, of the logarithm,", 10)
    return reader.within(math.exp(middle + _SIGMAS * sigma), lambda random: random.lognormvariate(middle, sigma))


def _listed(reader: _Reader, text: str) -> Sizes:
    items = [reader.pair(item, "@") for item in text.split(",")]
    if len(items) > limits.BENCH_SIZES_MAX:
        raise reader.error(f"{len(items):,} sizes are too many: a list has {limits.BENCH_SIZES_MAX:,} at most")
    sizes = [reader.size(size) for size, _ in items]
    sums = list(accumulate(reader.number(weight, "a weight", 1e9) for _, weight in items))
    last = len(sums) - 1
    return Sizes(min(sizes), max(sizes), lambda random: sizes[bisect(sums, random.random() * sums[-1], 0, last)])


_FORMS: dict[str, Callable[[_Reader, str], Sizes]] = {
    "uniform": _uniform,
    "normal": _normal,
    "exponential": _exponential,
    "lognormal": _lognormal,
}
