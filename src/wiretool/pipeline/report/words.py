"""Values of figures in words."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from wiretool.pipeline.report.figures import Column, Figure, Kind, Row
from wiretool.pipeline.report.report import Report
from wiretool.sinks.text.figures import bytes_text
from wiretool.sinks.text.line import duration


def told(column: Column, row: Row) -> str:
    """A value of a row; empty where there is none."""
    value = row.get(column.key)
    return "" if value is None else _TOLD[column.kind](value)


def moment_text(time_ns: int) -> str:
    """A moment in UTC, to the millisecond."""
    at = datetime.fromtimestamp(time_ns // 10**9, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}.{time_ns // 10**6 % 1000:03}"


def span_text(span_ns: int) -> str:
    """How long a capture is: days and hours where seconds would be many."""
    seconds = span_ns // 10**9
    if seconds < 600:
        return duration(span_ns)
    parts = ((seconds // 86_400, "d"), (seconds // 3_600 % 24, "h"), (seconds // 60 % 60, "min"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def step_text(step_ns: int) -> str:
    """A step of time: `10 s`, `1 min`."""
    seconds = step_ns // 10**9
    size, unit = next((each for each in ((86_400, "d"), (3_600, "h"), (60, "min")) if seconds % each[0] == 0), (1, "s"))
    return f"{seconds // size} {unit}"


_TOLD: Mapping[Kind, Any] = {
    "text": str,
    "count": "{:,}".format,
    "bytes": bytes_text,
    "time": duration,
    "moment": moment_text,
}


def title_of(figure: Figure) -> str:
    """The heading: with how many there are, where not all are shown."""
    more = figure.count > len(figure.rows)
    return figure.question.title + (f" ({len(figure.rows):,} of {figure.count:,})" if more else "")


def subtitle_of(report: Report) -> str:
    """What was captured when, and in how many files."""
    files = len(report.manifest.inputs)
    where = f"{report.root}: {files:,} capture{'s' * (files != 1)}"
    if report.first_ns is None or report.last_ns is None:
        return f"{where}, nothing in that time"
    span = span_text(report.last_ns - report.first_ns)
    still = report.manifest.open
    is_open = f"; connections that may still be open: {still:,}" if still else ""
    return f"{where}, {span} from {moment_text(report.first_ns)} UTC{is_open}"


def damage_of(report: Report) -> Iterator[tuple[str, str]]:
    """The captures that are damaged, and how."""
    return ((each.path, each.damage) for each in report.manifest.inputs if each.damage)
