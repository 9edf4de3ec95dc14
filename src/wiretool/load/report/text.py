"""A result for a terminal: whether it counts, throughput, times, what went wrong, and a chart of the times."""

from collections.abc import Iterator, Sequence

from wiretool.load.backlog import backlog_text, over_text
from wiretool.load.measure.figures import (
    QUANTILES,
    generator_text,
    hidden_text,
    target_text,
    times_text,
    unfinished_texts,
    valid_text,
    verification_text,
)
from wiretool.load.measure.histograms import Histogram
from wiretool.load.measure.thresholds import Outcome
from wiretool.load.report.chart import Curve, chart_text
from wiretool.load.result import Operation, Result
from wiretool.sinks.printable import printable
from wiretool.sinks.text.colour import Colour
from wiretool.sinks.text.figures import bytes_text, rate_text
from wiretool.sinks.text.tables import Head, table_text
from wiretool.sinks.text.wrapping import wrap_lines
from wiretool.units import counted

#: Kinds of errors and findings that a person is shown; JSON has all.
KINDS_SHOWN = 10
FINDINGS_SHOWN = 10
#: The first and the last line of what may not be quoted; in the last place its reasons follow.
INVALID = "INVALID: do not quote these figures"
_RED, _GREEN, _YELLOW = "1;31", "32", "33"
_CYAN, _MAGENTA = "36", "35"


def result_text(result: Result, outcomes: Sequence[Outcome] = (), *, colour: bool = False, width: int = 0) -> str:
    """The whole report. What is INVALID says so above the figures and below them, there with the reasons."""
    return "\n".join(part for part in _parts(result, outcomes, Colour(colour), width) if part)


def _parts(result: Result, outcomes: Sequence[Outcome], paint: Colour, width: int) -> Iterator[str]:
    if not result.valid:
        yield wrap_lines([paint.paint(_RED, f"{INVALID}; the reasons are at the end")], width)
    yield _throughput(result, paint, width)
    yield _times(result, paint, width)
    yield from _charts(result, paint, width)
    yield _errors(result, paint, width)
    yield _around(result, paint, width)
    yield _findings(result, paint, width)
    yield _kept(outcomes, paint, width)
    yield _verdict(result, paint, width)


def _verdict(result: Result, paint: Colour, width: int) -> str:
    """The last thing to be seen: whether the figures may be quoted, and why not."""
    if result.valid:
        text = f"VALID: {printable(valid_text(result))}"
        return wrap_lines([paint.paint(_YELLOW if result.cut_short else _GREEN, text)], width)
    why = result.reasons or ["no reason is given"]
    lines = [paint.paint(_RED, INVALID)]
    return wrap_lines((*lines, *(f"  {printable(reason)}" for reason in why)), width)


def _throughput(result: Result, paint: Colour, width: int) -> str:
    if not result.operations:
        return f"nothing was measured in {result.duration_s:.3g} s\n"
    heads = [
        Head("operation", is_key=True),
        *(Head(name, True) for name in ("count", "errors", "per s", "events/s", "bytes/s")),
    ]
    rows = [
        (
            name,
            f"{each.count:,}",
            f"{each.errors:,}",
            rate_text(each.per_s),
            rate_text(each.events_per_s),
            f"{bytes_text(each.bytes_per_s)}/s",
        )
        for name, each in result.operations.items()
    ]
    return table_text(f"Throughput over {over_text(result)}", heads, rows, colour=paint.is_on, width=width)


def _times(result: Result, paint: Colour, width: int) -> str:
    rows = [row for name, operation in result.operations.items() for row in _time_rows(name, operation)]
    if not rows:
        return ""
    heads = (
        Head("operation", is_key=True),
        Head("time", is_key=True),
        *(Head(name, True) for name in QUANTILES.values()),
    )
    table = table_text("Time of an exchange", heads, rows, colour=paint.is_on, width=width)
    hidden = [hidden_text(name, operation) for name, operation in result.operations.items()]
    return table + wrap_lines((paint.paint(_YELLOW, line) for line in map(printable, hidden) if line), width)


def _time_rows(name: str, operation: Operation) -> Iterator[tuple[str, ...]]:
    if not operation.count:
        return
    if operation.service_us == operation.response_us:
        yield name, "service = response", *times_text(operation.response_us)
        return
    yield name, "service", *times_text(operation.service_us)
    yield "", "response", *times_text(operation.response_us)


def _charts(result: Result, paint: Colour, width: int) -> Iterator[str]:
    for name, operation in result.operations.items():
        yield chart_text(printable(name), curves_of(operation), colour=paint.is_on, width=width)


def curves_of(operation: Operation) -> list[Curve]:
    """The percentile curves of an operation: one where service and response time are the same."""
    if operation.service_us == operation.response_us:
        return [*_curve("service = response", operation.response_histogram, _CYAN)]
    return [
        *_curve("response", operation.response_histogram, _CYAN),
        *_curve("service", operation.service_histogram, _MAGENTA, is_dashed=True),
    ]


def _curve(name: str, text: str, colour: str, *, is_dashed: bool = False) -> Iterator[Curve]:
    if text:
        histogram = Histogram.from_text(text)
        yield Curve(name, list(histogram.curve()), histogram.count, is_dashed, colour)


def _errors(result: Result, paint: Colour, width: int) -> str:
    kinds = [
        (f"{count:,}", name, kind)
        for name, operation in result.operations.items()
        for kind, count in sorted(operation.error_kinds.items(), key=lambda item: -item[1])
    ]
    if not kinds:
        return ""
    left = len(kinds) - KINDS_SHOWN
    title = f"Errors ({KINDS_SHOWN} kinds of {len(kinds):,})" if left > 0 else "Errors"
    heads = (Head("", True, style="31"), Head("operation"), Head("what", folds=True))
    return table_text(title, heads, kinds[:KINDS_SHOWN], colour=paint.is_on, width=width)


def _around(result: Result, paint: Colour, width: int) -> str:
    """What stands beside the figures: a line each."""
    named = (
        ("backlog", backlog_text(result)),
        ("verified", verification_text(result)),
        ("generator", generator_text(result)),
        ("target", target_text(result)),
    )
    lines = [f"{paint.dim(f'{name}:')} {text}" for name, text in named if text]
    notes = [*unfinished_texts(result), *result.remarks]
    return wrap_lines((*lines, *(paint.paint(_YELLOW, printable(note)) for note in notes)), width)


def _findings(result: Result, paint: Colour, width: int) -> str:
    found = result.verification.found
    if not found:
        return ""
    shown = result.verification.findings[:FINDINGS_SHOWN]
    lines = [paint.paint(_RED, counted(found, "finding")), *(f"  {printable(line)}" for line in shown)]
    if found > len(shown):
        lines.append(f"  and {found - len(shown):,} more")
    return wrap_lines(lines, width)


def _kept(outcomes: Sequence[Outcome], paint: Colour, width: int) -> str:
    """A line for each threshold."""
    words = {True: paint.paint(_GREEN, "kept  "), False: paint.paint(_RED, "broken")}
    lines = (
        f"{words[outcome.is_kept]}  {printable(outcome.threshold.text)}: {printable(outcome.told)}"
        for outcome in outcomes
    )
    return wrap_lines(lines, width)
