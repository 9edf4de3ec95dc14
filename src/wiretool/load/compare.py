"""Two runs beside each other: by how much the second is slower, and how sure that is.

Exchanges of one second are alike (one garbage collection delays them all), and seconds are like those beside them, so
single exchanges are no sample: a run is cut into a few stretches of whole seconds, and stretches are drawn with
replacement (a block bootstrap; Künsch 1989). Each draw has a histogram, and so every quantile that is asked for.

Looking at many figures at once finds something in some of them by chance. The intervals are made so wide that all of
them together should hold in 95 of 100 comparisons (the greatest of all deviations, each in units of its own spread;
Romano and Wolf 2005), with Student's correction for the few stretches.

What one run of each cannot show is how much two runs of the same thing differ, and two or three seconds say little of
how unequal seconds are: by chance they may be alike. So each run counts as two stretches longer than it was, and those
are as unequal as `UNEQUAL` says. That was measured: 56 runs of 2 s, 64 appenders as fast as a mock could, on a virtual
machine of two processors (tests/bench/same.py). From run to run their rate differed by 13 % (a standard deviation), p50
by 16, p99 by 20 and p99.9 by 33 %, and of 55 pairs 53 were called equal (47 without those stretches). Of 40 others, in
an hour in which p99.9 differed by 49 %, 32 were: what a machine does to whole runs, no interval that is made of two of
them shows. `STARTS_SPREAD` and `GAIN` are assumptions.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from wiretool.load.measure.figures import error_rate, share_text
from wiretool.load.measure.histograms import BUCKETS
from wiretool.load.measure.time_slices import SOURCES, Courses, Times, courses_of
from wiretool.load.result import Operation, Quantiles, Result
from wiretool.units import SHARE

#: Share of comparisons in which every interval is meant to hold; above is what came of it.
CONFIDENCE = 0.95
#: The same of one figure alone, in standard deviations to either side.
NORMAL = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
DRAWS = 1_000
#: Quantiles that are judged; the greatest time is a single exchange, so it is shown and not judged.
SHARES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}
#: Exchanges beyond a quantile in each run, below which it hangs on a few of them and is not judged.
BEYOND_MIN = 10
#: How unequal stretches are taken to be before any was seen: standard deviations, as shares, from second to second of
#: the measured runs; and as how many stretches that counts.
UNEQUAL: Mapping[str, float] = {"per_s": 0.11, "p50": 0.15, "p90": 0.08, "p99": 0.15, "p99_9": 0.22}
BEFORE = 2
#: By how much two starts of one thing are taken to differ, whatever the seconds of each say: a standard deviation, as
#: a share. Assumed.
STARTS_SPREAD = 0.02
#: What a mean is taken to gain from more stretches: its variance falls with their number to this power. 1 would be
#: noise without a memory, 0 one of long waves alone. Assumed, in the middle: machines are disturbed by both.
GAIN = 0.5
#: Options that say where reports go, not what is measured.
_ASIDE = frozenset(
    {"json", "csv", "html", "junit", "hdr_log", "keep_slow", "seed", "run", "threshold", "thresholds", "max_errors"}
)
#: B may not be as much worse as one can be.
TOLERANCE_MAX = 0.99

Floats = npt.NDArray[np.float64]


class Compared(msgspec.Struct, kw_only=True, frozen=True):
    """One figure of one operation, times in microseconds; `ratio` is B's over A's, between `low` and `high`.

    `verdict`: `worse` or `better` where the whole interval lies beyond the tolerance, `same` where all of it lies
    within, else `open`; `shown` where nothing is judged, and `why` says what that would take.
    """

    operation: str
    #: `response` or `service` of a time, else empty.
    source: str
    figure: str
    a: float
    b: float
    verdict: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


class Comparison(msgspec.Struct, kw_only=True, frozen=True):
    """What came of it; `invalid` says which run measured nothing that counts, and why."""

    tolerance: float
    confidence: float
    seed: int
    figures: list[Compared]
    invalid: list[str] = []
    remarks: list[str] = []

    @property
    def worse(self) -> list[Compared]:
        """The figures that are worse beyond the tolerance."""
        return [figure for figure in self.figures if figure.verdict == "worse"]

    @property
    def better(self) -> list[Compared]:
        """The figures that are better beyond the tolerance."""
        return [figure for figure in self.figures if figure.verdict == "better"]

    @property
    def has_judged(self) -> bool:
        """Whether any figure was judged at all."""
        return any(figure.low is not None for figure in self.figures) or bool(self.worse)


class Drawn(NamedTuple):
    """Logarithms of figures, a column each: of the run itself, and of each draw of its stretches."""

    itself: Floats
    draws: Floats


class _Figure(NamedTuple):
    """A figure of both runs that can be judged: A's and B's value as reported, and the logarithm of its ratio."""

    row: Compared
    log_ratio: float
    draws: Floats
    #: The standard deviation of the logarithm, from what the runs are made of.
    spread: float


def tolerance_from(text: str) -> float:
    """Return `5%` or `0.05` as a share; UsageError for anything else."""
    return SHARE.parse(text, "--tolerance", most=TOLERANCE_MAX)


def compare(a: Result, b: Result, tolerance: float = 0.05, seed: int = 0) -> Comparison:
    """B against A, figure by figure; the same seed gives the same intervals.

    DecodeError where a histogram in one of them is damaged, with its place.
    """
    courses = courses_of(a, "A"), courses_of(b, "B")
    rows = [row for name in a.operations if name in b.operations for row in _rows(name, a, b)]
    return Comparison(
        tolerance=tolerance,
        confidence=CONFIDENCE,
        seed=seed,
        figures=[*judged(rows, *courses, tolerance, seed), *_gone(a, b)],
        invalid=[*_invalid("A", a), *_invalid("B", b)],
        remarks=[*_remarks(a, b), *courses[0].remarks, *courses[1].remarks],
    )


def judged(rows: Sequence[Compared], a: Courses, b: Courses, tolerance: float, seed: int) -> list[Compared]:
    """The rows, those that can be judged with their interval and verdict."""
    rng = np.random.default_rng(seed)
    drawn = _drawn(a, rng), _drawn(b, rng)
    figures = [figure for row in rows if (figure := _figure(row, drawn, (a, b)))]
    freedom = a.stretches + b.stretches - 2 + 2 * BEFORE
    found = {_key(each): each for each in _with_intervals(figures, freedom, tolerance, rng)}
    return [found.get(_key(row), row) for row in rows]


def _key(row: Compared) -> tuple[str, str, str]:
    return row.operation, row.source, row.figure


# -- what is compared --------------------------------------------------------------------------------------------------


def _rows(name: str, a: Result, b: Result) -> Iterator[Compared]:
    """The figures of an operation, none of them judged yet; service times only where they are not the response's."""
    one, other = a.operations[name], b.operations[name]
    yield _row(name, "", "per_s", one.per_s, other.per_s)
    if not one.count or not other.count:
        return
    for source in SOURCES:
        if source == "service" and all(each.service_us == each.response_us for each in (one, other)):
            continue
        times = _times(one, source), _times(other, source)
        for figure in (*SHARES, "max"):
            a_us, b_us = (float(getattr(each, figure)) for each in times)
            yield _row(name, source, figure, a_us, b_us, _why(figure, one, other))


def _row(name: str, source: str, figure: str, a: float, b: float, why: str = "") -> Compared:
    ratio = b / a if a else None
    return Compared(operation=name, source=source, figure=figure, a=a, b=b, ratio=ratio, verdict="shown", why=why)


def _times(operation: Operation, source: str) -> Quantiles:
    return operation.service_us if source == "service" else operation.response_us


def _why(figure: str, one: Operation, other: Operation) -> str:
    """Why a figure is not judged; empty if it is."""
    if figure == "max":
        return "a single exchange"
    beyond = min(one.count, other.count) * (1 - SHARES[figure])
    return "" if beyond >= BEYOND_MIN - 1e-6 else f"fewer than {BEYOND_MIN} exchanges beyond it"


def _gone(a: Result, b: Result) -> Iterator[Compared]:
    """What A did and B did not do at all."""
    for name, operation in a.operations.items():
        if operation.count and (name not in b.operations or not b.operations[name].count):
            why = "none in B"
            yield Compared(operation=name, source="", figure="count", a=operation.count, b=0, verdict="worse", why=why)


# -- drawing -----------------------------------------------------------------------------------------------------------


def _drawn(courses: Courses, rng: np.random.Generator) -> dict[tuple[str, str, str], Drawn]:
    """Every figure of a run, by operation, source and name; the draws are the same stretches for all of them."""
    many = courses.stretches
    if many < 2:  # nothing to draw from
        return {}
    drawn: dict[tuple[str, str, str], Drawn] = {}
    weights = np.vstack([np.ones(many), rng.multinomial(many, np.full(many, 1 / many), DRAWS)])
    for name, course in courses.operations.items():
        rates = np.maximum(weights @ course.counts, 0.5) / (weights @ courses.seconds)  # none is less than one
        drawn[name, "", "per_s"] = _split(np.log(rates))
        for source, times in course.times.items():
            columns = log_quantiles(weights, times, list(SHARES.values()))
            drawn |= {(name, source, figure): _split(column) for figure, column in zip(SHARES, columns, strict=True)}
    return drawn


def _split(column: Floats) -> Drawn:
    return Drawn(column[:1], column[1:])


def log_quantiles(weights: Floats, times: Times, shares: Sequence[float]) -> Iterator[Floats]:
    """For each share the logarithm of the time within which it was done, for each row of weights.

    `weights` has shape (draws, stretches); in a bucket, times lie evenly.
    """
    used = times.buckets
    if not len(used):
        return (np.zeros(len(weights)) for _ in shares)
    # From half a microsecond before the first to half of one after the last, as times are rounded; none is below that.
    low = np.maximum(BUCKETS.first_of(used) - 0.5, 0.5)
    high = np.maximum(BUCKETS.last_of(used) + 0.5, low)
    sums = np.cumsum(times.counts, axis=1)
    return (_log_quantile(weights, sums, low, high, share) for share in shares)


def _log_quantile(weights: Floats, sums: Floats, low: Floats, high: Floats, share: float) -> Floats:
    ranks = share * (weights @ sums[:, -1])
    first, last = np.zeros(len(weights), dtype=np.intp), np.full(len(weights), sums.shape[1] - 1)
    while (first < last).any():  # the bucket in which each row reaches its rank, all searched for at once
        middle = (first + last) // 2
        is_below = _summed(weights, sums, middle) < ranks
        first, last = np.where(is_below, middle + 1, first), np.where(is_below, last, middle)
    below = np.where(first > 0, _summed(weights, sums, first - 1), 0.0)
    inside = np.maximum(_summed(weights, sums, first) - below, 1e-9)
    part = np.clip((ranks - below) / inside, 0.0, 1.0)
    return np.asarray(np.log(low[first] + part * (high[first] - low[first])))


def _summed(weights: Floats, sums: Floats, places: npt.NDArray[np.intp]) -> Floats:
    """For each row of weights, how many times lie below the end of its bucket."""
    return np.asarray(np.einsum("rk,kr->r", weights, sums[:, places]))


def _figure(
    row: Compared, drawn: Sequence[Mapping[tuple[str, str, str], Drawn]], courses: Sequence[Courses]
) -> _Figure | None:
    """A row that can be judged, None for one that cannot."""
    if row.why or any(_key(row) not in each for each in drawn):
        return None
    one, other = (each[_key(row)] for each in drawn)
    log_ratio = float(other.itself[0] - one.itself[0])
    spread = math.hypot(*(_spread(*each, row.figure) for each in zip((one, other), courses, strict=True)))
    return _Figure(row, log_ratio, other.draws - one.draws, spread)


def _spread(drawn: Drawn, courses: Courses, figure: str) -> float:
    """How far another run of the same thing may be, as a standard deviation.

    From how unequal its stretches are (the draws of n spread by (n - 1) / n of that, and as means of them by 1 / n) and
    those that are added; see `GAIN` for what a mean of them gains.
    """
    many = courses.stretches
    seen = float(drawn.draws.var()) * many**2 / (many - 1)
    unequal = (BEFORE * UNEQUAL[figure] ** 2 + (many - 1) * seen) / (BEFORE + many - 1)
    return math.sqrt(unequal / many**GAIN)


# -- judging -----------------------------------------------------------------------------------------------------------


def _with_intervals(
    figures: Sequence[_Figure], freedom: int, tolerance: float, rng: np.random.Generator
) -> Iterator[Compared]:
    """The rows with their intervals, which hold all together, and what follows from them."""
    if not figures:
        return
    draws = np.stack([figure.draws for figure in figures], axis=1)
    wide, tail = widths(draws, freedom, rng)
    # Where one stretch has what others have not, draws are far from normal: then their own ends say more.
    lows, highs = np.quantile(draws, [tail, 1 - tail], axis=0)
    for figure, drawn_low, drawn_high in zip(figures, lows, highs, strict=True):
        reach = math.hypot(wide * figure.spread, math.sqrt(2) * NORMAL * STARTS_SPREAD)
        low = min(figure.log_ratio - reach, float(drawn_low))
        high = max(figure.log_ratio + reach, float(drawn_high))
        yield _with_interval(figure, low, high, tolerance)


def widths(draws: Floats, freedom: int, rng: np.random.Generator) -> tuple[float, float]:
    """How many standard deviations each interval reaches so that all hold, and the share of draws beyond each end."""
    spreads = np.maximum(draws.std(axis=0), 1e-12)
    greatest = np.max(np.abs(draws - draws.mean(axis=0)) / spreads, axis=1)
    students = greatest / np.sqrt(rng.chisquare(freedom, len(greatest)) / freedom)
    wide, tail = (max(float(np.quantile(each, CONFIDENCE)), NORMAL) for each in (students, greatest))
    return wide, 1 - NormalDist().cdf(tail)


def _with_interval(figure: _Figure, low: float, high: float, tolerance: float) -> Compared:
    ratio, lowest, highest = (math.exp(min(value, 700.0)) for value in (figure.log_ratio, low, high))
    verdict = _verdict(lowest, highest, tolerance)
    if figure.row.figure == "per_s":  # the more the better
        verdict = {"worse": "better", "better": "worse"}.get(verdict, verdict)
    return msgspec.structs.replace(figure.row, ratio=ratio, low=lowest, high=highest, verdict=verdict)


def _verdict(low: float, high: float, tolerance: float) -> str:
    if low > 1 + tolerance:
        return "worse"
    if high < 1 - tolerance:
        return "better"
    return "same" if low >= 1 - tolerance and high <= 1 + tolerance else "open"


# -- what else is to be said -------------------------------------------------------------------------------------------


def _invalid(name: str, result: Result) -> Iterator[str]:
    if not result.valid:
        yield f"{name} is INVALID: {'; '.join(result.reasons) or 'no reason is given'}"
    elif not any(operation.count for operation in result.operations.values()):
        yield f"{name} is INVALID: nothing was measured"


def _remarks(a: Result, b: Result) -> Iterator[str]:
    for what, one, other in (("options", a.options, b.options), ("versions", a.versions, b.versions)):
        names = [name for name in {**one, **other} if name not in _ASIDE and one.get(name) != other.get(name)]
        told = ", ".join(f"{name} {one.get(name)} and {other.get(name)}" for name in names)
        if told:
            yield f"A and B differ in {what}: {told}"
    yield from _new(a, b)
    for name in a.operations:
        shares = [share_text(error_rate(each.operations[name])) for each in (a, b) if name in each.operations]
        if len(set(shares)) > 1:
            yield f"{name}: {shares[0]} of all exchanges failed in A, {shares[1]} in B"


def _new(a: Result, b: Result) -> Iterator[str]:
    for name, operation in b.operations.items():
        if operation.count and (name not in a.operations or not a.operations[name].count):
            yield f"{name} is in B alone"
