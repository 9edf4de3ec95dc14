"""Runs as a comparison sees them, with what disturbs real ones: seconds that drift, stalls, starts that differ."""

import math

import numpy as np

from wiretool.load.compare import Compared, judged
from wiretool.load.measure.histograms import BUCKETS, COUNTERS, Whole
from wiretool.load.measure.time_slices import Course, Courses, Floats, stretches_of, times_of

FIGURES = ("p50", "p90", "p99", "p99_9")


def drifting(
    rng: np.random.Generator,
    seconds: int,
    *,
    many: int = 1_000,
    slower: float = 1.0,
    drift: float = 0.05,
    memory: float = 0.7,
    stalls: float = 0.05,
    start: float = 0.0,
) -> Courses:
    """A closed loop of 1 / time: the median of a second is `drift` (a spread) off, and 0.7 of that stays in the next.

    In `stalls` of all seconds some exchanges wait up to 20 ms; the whole run is `start` (a spread) off.
    """
    rows = np.zeros((seconds, COUNTERS))
    state = rng.normal(0, drift)
    run = rng.normal(0, start)
    for row in rows:
        state = memory * state + rng.normal(0, drift * math.sqrt(1 - memory**2))
        median_us = 700 * slower * math.exp(state + run)
        times = rng.lognormal(math.log(median_us), 0.4, rng.poisson(many * 700 / median_us))
        if rng.random() < stalls:
            held = rng.integers(0, max(len(times) // 25, 1))
            times[:held] += rng.random(held) * 20_000 * slower
        row += np.bincount(buckets_of(times), minlength=COUNTERS)
    return stretched(rows)


def buckets_of(micros: Floats) -> Whole:
    """The counters to which times belong, to the nearest microsecond."""
    return BUCKETS.buckets_of(np.rint(micros).astype(np.int64))


def stretched(rows: Floats) -> Courses:
    """The run of one operation whose seconds have such buckets."""
    parts = np.array_split(rows, stretches_of(len(rows)))
    buckets = np.stack([part.sum(axis=0) for part in parts])
    course = Course(buckets.sum(axis=1), {"response": times_of(buckets)})
    return Courses(np.array([float(len(part)) for part in parts]), {"append": course}, [])


def verdicts(a: Courses, b: Courses, tolerance: float = 0.05) -> set[str]:
    """What is said of B against A, over all figures."""
    rows = [row("", "per_s"), *(row("response", figure) for figure in FIGURES)]
    return {each.verdict for each in judged(rows, a, b, tolerance, 1)}


def row(source: str, figure: str) -> Compared:
    return Compared(operation="append", source=source, figure=figure, a=1, b=1, verdict="shown")
