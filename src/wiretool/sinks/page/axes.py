"""Axes: where a value stands between two ends, and which values are marked."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

#: Nines of the highest percentile that is drawn: 99.9999 % and a little.
NINES_MAX = 6.5
#: Marks on a linear axis, about.
_MARKS = 5
#: How much higher than the greatest value it is, so that no line lies on the edge.
_HEADROOM = 1.04
#: On a logarithmic axis of no more powers of ten than this, 2 and 5 are marked too.
_FINE_DECADES = 2.3

#: Between marks of a clock: seconds, minutes, hours, days; and how many marks there are at most.
_CLOCK_STEPS_S = (
    *(1, 2, 5, 10, 15, 30),
    *(minutes * 60 for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * 3_600 for hours in (1, 2, 3, 6, 12)),
    *(days * 86_400 for days in (1, 2, 7, 14, 30, 91, 182, 365)),
)
_CLOCK_MARKS = 8

#: Shares of all that took no longer, rising, with microseconds.
Points = Sequence[tuple[float, float]]


class Axis(NamedTuple):
    """A named axis from `low` to `high`, both of which are powers of ten where it `is_log`; marks are (value, text)."""

    name: str
    low: float
    high: float
    marks: Sequence[tuple[float, str]]
    is_log: bool = False

    def place(self, value: float) -> float:
        """Where a value stands: 0 at the low end, 1 at the high; what lies beyond stands at the end."""
        if self.is_log:
            value = math.log10(max(value, 1e-9))
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


def linear_axis(name: str, values: Iterable[float], told: Callable[[float], str]) -> Axis:
    """From 0 to a round number well above all values."""
    top = max(values, default=0.0) * _HEADROOM or 1.0
    step = _round_step(top / _MARKS)
    many = math.ceil(top / step - 1e-9)
    return Axis(name, 0.0, many * step, [(number * step, told(number * step)) for number in range(many + 1)])


def _round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, at least so much."""
    power: float = 10.0 ** math.floor(math.log10(least))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= least * (1 - 1e-9)), 10 * power)


def log_axis(name: str, values: Iterable[float], told: Callable[[float], str]) -> Axis:
    """From a mark below all values to a mark above them; values below 1 stand at 1."""
    logs = [math.log10(max(value, 1.0)) for value in values] or [0.0, 3.0]
    least, most = min(logs), max(logs)
    factors = (1, 2, 5) if most - least <= _FINE_DECADES else (1,)
    marks = [factor * 10**power for power in range(math.floor(least), math.ceil(most) + 2) for factor in factors]
    first = max(sum(math.log10(mark) <= least + 1e-9 for mark in marks) - 1, 0)
    last = next(at for at, mark in enumerate(marks) if math.log10(mark) >= most - 1e-9)
    last += last == first
    shown = marks[first : last + 1]
    return Axis(name, math.log10(shown[0]), math.log10(shown[-1]), [(mark, told(mark)) for mark in shown], is_log=True)


def seconds_axis(seconds: Sequence[int]) -> Axis:
    """From the first second to the end of the last, marked at round ones."""
    low, high = (min(seconds), max(seconds) + 1) if seconds else (0, 1)
    step = max(round(_round_step((high - low) / 8)), 1)
    marks = range(math.ceil(low / step) * step, high + 1, step)
    return Axis("seconds", low, high, [(mark, f"{mark:,}") for mark in marks])


def moments_axis(low_ns: int, high_ns: int) -> Axis:
    """From one moment to another, ns since the epoch, marked at round times of UTC."""
    span_s = (high_ns - low_ns) / 1e9
    step_s = next((step for step in _CLOCK_STEPS_S if span_s / step <= _CLOCK_MARKS), math.ceil(span_s / _CLOCK_MARKS))
    step_ns = step_s * 10**9
    form = "%H:%M:%S" if step_s < 60 else "%H:%M" if step_s < 86_400 else "%m-%d"
    marks = range(-(-low_ns // step_ns) * step_ns, high_ns + 1, step_ns)
    texts = [(float(mark), f"{datetime.fromtimestamp(mark // 10**9, UTC):{form}}") for mark in marks]
    return Axis(f"UTC, from {datetime.fromtimestamp(low_ns // 10**9, UTC):%Y-%m-%d %H:%M:%S}", low_ns, high_ns, texts)


def nines_axis(count: int) -> Axis:
    """Percentiles as nines: 0 is 0 %, 1 is 90 %, 2 is 99 %; as far as so many exchanges can tell."""
    high = nines_of(count)
    marks = [(0.0, "0 %"), (-math.log10(0.5), "50 %")]
    marks += [(nines, f"{100 * (1 - 10.0**-nines):.{max(nines - 2, 0)}f} %") for nines in range(1, int(high) + 1)]
    return Axis("percentile", 0.0, high, marks)


def nines_of(count: int) -> float:
    """How many nines the highest percentile has of which `count` exchanges say something."""
    return min(max(math.log10(max(count, 1)), 1.0), NINES_MAX)


def at_nines(points: Points, nines: float, many: int) -> list[tuple[float, float]]:
    """A percentile curve at `many` places that are even in nines, the last of which is the maximum."""
    shares = [share for share, _ in points]
    places = [nines * number / (many - 1) for number in range(many)]
    found = [min(bisect_left(shares, 1.0 - 10.0**-place - 1e-12), len(points) - 1) for place in places[:-1]]
    return [(place, points[at][1]) for place, at in zip(places, [*found, len(points) - 1], strict=True)]
