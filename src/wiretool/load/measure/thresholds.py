"""Thresholds, as `append.p99 < 5ms`: what a load must come to, checked on its result."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from wiretool.codec.jsonform import nearest
from wiretool.errors import UsageError
from wiretool.load.measure.figures import error_rate, share_text
from wiretool.load.result import Operation, Result
from wiretool.sinks.text.figures import bytes_text, rate_text, time_text
from wiretool.units import COUNT, DURATION, RATE, SHARE, SIZE, Kind

#: An example for every message.
EXAMPLE = "append.p99 < 5ms, append.service.p99_9 <= 1s, append.error_rate < 0.1%, fetch.per_s > 10k"
_FORM = re.compile(
    r"\s*(?P<operation>[A-Za-z_][\w-]*)\.(?:(?P<of>[A-Za-z_]+)\.)?(?P<figure>[A-Za-z_][A-Za-z_0-9]*(?:\.\d+)?)"
    r"\s*(?P<sign><=|>=|==|=|<|>)\s*(?P<limit>.*?)\s*"
)
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
_SOURCES = ("service", "response")


class _Kind(NamedTuple):
    """How limits of one kind of figure are written, how many units of the figure that is, and how it is shown."""

    quantity: Kind
    scale: float
    told: Callable[[float], str]
    needs_unit: bool = False


_TIME = _Kind(DURATION, 1e6, time_text, needs_unit=True)
_COUNT = _Kind(COUNT, 1.0, lambda value: f"{value:,.0f}")
_RATE = _Kind(RATE, 1.0, rate_text)
_BYTES = _Kind(SIZE, 1.0, lambda value: f"{bytes_text(value)}/s")
_SHARE = _Kind(SHARE, 1.0, share_text)
_TIMES = ("p50", "p90", "p99", "p99_9", "max")
_FIGURES: Mapping[str, _Kind] = {
    **dict.fromkeys(_TIMES, _TIME),
    "count": _COUNT,
    "errors": _COUNT,
    "error_rate": _SHARE,
    "per_s": _RATE,
    "events_per_s": _RATE,
    "bytes_per_s": _BYTES,
}


class Threshold(NamedTuple):
    """One threshold: `text` as given; `limit` in microseconds, bytes, events or as a share."""

    text: str
    operation: str
    #: `service` or `response`, of a time.
    source: str
    figure: str
    sign: str
    limit: float


class Outcome(NamedTuple):
    """Whether a threshold was kept, and what the figure is or why there is none."""

    threshold: Threshold
    is_kept: bool
    told: str


def threshold_from(text: str) -> Threshold:
    """The threshold that a text says; UsageError points at what is wrong and shows what is right."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise _wrong(text, "not a threshold; expected OPERATION.FIGURE, one of < <= > >= ==, and a value")
    operation, source, figure, sign, limit = found.groups()
    figure = figure.replace(".", "_")
    if figure not in _FIGURES:
        raise _wrong(text, f"{figure!r} is not a figure{nearest(figure, _FIGURES)}; expected {', '.join(_FIGURES)}")
    _check_source(text, source, figure)
    if sign not in _SIGNS:
        raise _wrong(text, f"{sign!r}: equal is ==")
    kind = _FIGURES[figure]
    try:
        value = kind.quantity.parse(limit, figure, needs_unit=kind.needs_unit) * kind.scale
    except UsageError as err:
        raise _wrong(text, str(err)) from err
    return Threshold(text.strip(), operation, (source or "response") if kind is _TIME else "", figure, sign, value)


def _check_source(text: str, source: str | None, figure: str) -> None:
    if source is None:
        return
    if source not in _SOURCES:
        raise _wrong(text, f"{source!r}: times are of service or response{nearest(source, _SOURCES)}")
    if figure not in _TIMES:
        raise _wrong(text, f"{figure} is not a time and has no {source}")


def _wrong(text: str, why: str) -> UsageError:
    return UsageError(f"--threshold {text!r}: {why}; right are, for example: {EXAMPLE}")


def check_thresholds(thresholds: Iterable[Threshold], result: Result) -> list[Outcome]:
    """What became of each; one on what did not happen is not kept, and says so."""
    return [_checked(threshold, result) for threshold in thresholds]


def _checked(threshold: Threshold, result: Result) -> Outcome:
    operation = result.operations.get(threshold.operation)
    if operation is None:
        there = f"there were {', '.join(result.operations)}" if result.operations else "nothing else did either"
        return Outcome(threshold, False, f"{threshold.operation} did not occur; {there}")
    value = _value(threshold, operation)
    if value is None:
        told = f"no {threshold.operation} succeeded, so there is no {threshold.figure}; errors: {operation.errors:,}"
        return Outcome(threshold, False, told)
    is_kept = _SIGNS[threshold.sign](value, threshold.limit)
    return Outcome(threshold, is_kept, f"{_name(threshold)} is {_FIGURES[threshold.figure].told(value)}")


def _value(threshold: Threshold, operation: Operation) -> float | None:
    """The figure; None for a time of something that never succeeded, or a share of nothing."""
    if threshold.source:
        quantiles = operation.service_us if threshold.source == "service" else operation.response_us
        return float(getattr(quantiles, threshold.figure)) if operation.count else None
    if threshold.figure == "error_rate":
        return error_rate(operation) if operation.count + operation.errors else None
    return float(getattr(operation, threshold.figure))


def _name(threshold: Threshold) -> str:
    source = f"{threshold.source} " if threshold.source else ""
    return f"{threshold.operation}: {source}{threshold.figure}"
