"""What happened over time, as plots: frames, bytes, exchanges, errors, and how long answers took."""

from collections.abc import Callable, Iterator, Sequence

from wiretool.pipeline.report.figures import Row
from wiretool.pipeline.report.report import Course
from wiretool.pipeline.report.words import moment_text, step_text
from wiretool.sinks.page.axes import Axis, linear_axis, log_axis, moments_axis
from wiretool.sinks.page.svg import Line, Tip, plot_svg
from wiretool.sinks.text.figures import bytes_text, rate_text, time_text

#: Colours there are for things beside each other.
_COLOURS = 6


def plots_of(course: Course) -> Iterator[tuple[str, str]]:
    """Each plot with its title; nothing where nothing was captured."""
    if not course.counts:
        return
    yield _title(course, "Frames"), _rates(course, "frames", "frames/s", rate_text)
    yield _title(course, "Bytes of frames"), _rates(course, "bytes", "bytes/s", lambda value: f"{bytes_text(value)}")
    yield _title(course, "Exchanges"), _rates(course, "exchanges", "exchanges/s", rate_text)
    if any(row["errors"] or row["unanswered"] for row in course.counts):
        yield _title(course, "Errors, and requests without a reply"), _troubles(course)
    for name, title in (("p50_ns", "Latency, p50"), ("p99_ns", "Latency, p99")):
        if course.times:
            yield _title(course, title), _times(course, name)


def _title(course: Course, what: str) -> str:
    return f"{what}, in steps of {step_text(course.step_ns)}"


def _rates(course: Course, key: str, unit: str, text: Callable[[float], str]) -> str:
    """A line for each protocol."""
    protocols = sorted({row["protocol"] for row in course.counts if row[key]})
    lines = [
        _line(course, name, f"s{index % _COLOURS}", [row for row in course.counts if row["protocol"] == name], key)
        for index, name in enumerate(protocols)
    ]
    return _plot(course, unit, lines, linear_axis, text)


def _troubles(course: Course) -> str:
    lines = [
        _line(course, name, style, course.counts, key)
        for key, name, style in (("errors", "errors", "bad-line"), ("unanswered", "without a reply", "s1"))
    ]
    return _plot(course, "a second", lines, linear_axis, rate_text)


def _times(course: Course, key: str) -> str:
    """A line for each request, in microseconds."""
    lines = []
    for index, name in enumerate(sorted({(row["protocol"], row["request"]) for row in course.times})):
        rows = {row["at_ns"]: row[key] / 1000 for row in course.times if (row["protocol"], row["request"]) == name}
        points = [(_middle(course, at), rows.get(at)) for at in _steps(course)]
        lines.append(Line(" ".join(name), points, f"s{index % _COLOURS}"))
    return _plot(course, "time", lines, log_axis, time_text)


def _line(course: Course, name: str, style: str, rows: Sequence[Row], key: str) -> Line:
    """So many a second in each step: none in one in which only others were seen, a gap where nobody was."""
    seconds = course.step_ns / 10**9
    sums: dict[int, float] = {}
    for row in rows:
        sums[row["at_ns"]] = sums.get(row["at_ns"], 0.0) + row[key] / seconds
    seen = {row["at_ns"] for row in course.counts}
    points = [(_middle(course, at), sums.get(at, 0.0) if at in seen else None) for at in _steps(course)]
    return Line(name, points, style)


def _plot(
    course: Course,
    unit: str,
    lines: Sequence[Line],
    axis: Callable[[str, Sequence[float], Callable[[float], str]], Axis],
    text: Callable[[float], str],
) -> str:
    steps = _steps(course)
    values = [value for line in lines for _, value in line.points if value is not None]
    x = moments_axis(steps[0], steps[-1] + course.step_ns)
    tips = [
        Tip(at, at + course.step_ns, _tip(at, place, lines, text))
        for place, at in enumerate(steps)
        if any(line.points[place][1] is not None for line in lines)
    ]
    return plot_svg(unit, x, axis(unit, values, text), lines, tips)


def _tip(at: int, place: int, lines: Sequence[Line], text: Callable[[float], str]) -> str:
    said = [f"{line.name}: {text(value)}" for line in lines if (value := line.points[place][1]) is not None]
    return "\n".join([moment_text(at), *said])


def _steps(course: Course) -> Sequence[int]:
    """The beginnings of all steps, also of those in which nothing was seen."""
    first, last = course.counts[0]["at_ns"], course.counts[-1]["at_ns"]
    return range(first, last + 1, course.step_ns)


def _middle(course: Course, at: int) -> float:
    return at + course.step_ns / 2
