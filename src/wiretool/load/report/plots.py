"""The plots of a result: throughput, times and processors over the seconds, and percentile curves."""

from collections.abc import Callable, Iterator, Sequence

from wiretool.load.backlog import drained_names
from wiretool.load.measure.figures import share_text
from wiretool.load.measure.histograms import Histogram
from wiretool.load.result import Moment, Operation, Quantiles, Result, Second
from wiretool.sinks.page.axes import Axis, at_nines, linear_axis, log_axis, nines_axis, seconds_axis
from wiretool.sinks.page.svg import Aside, Line, Tip, plot_svg
from wiretool.sinks.text.figures import bytes_text, rate_text, time_text

#: Colours there are for things beside each other.
_COLOURS = 6
#: Places at which a percentile curve is drawn.
_PLACES = 240

Of = Callable[[Second], float | None]


def throughput_plot(result: Result) -> str:
    """Exchanges of each operation in each second; nothing where it has no turn, as a backlog is built up or read."""
    drained = drained_names(result)
    lines = [
        _line(name, result, _count_of(name, in_drain=name in drained), f"s{index % _COLOURS}")
        for index, name in enumerate(_names(result))
    ]
    return _over_time("Throughput", "exchanges/s", result, lines, linear_axis, rate_text)


def errors_plot(result: Result) -> str:
    """Errors of all operations in each second; empty where there were none."""
    if not any(operation.errors for operation in result.operations.values()):
        return ""
    line = _line("errors", result, lambda second: sum(each.errors for each in second.operations.values()), "bad-line")
    return _over_time("Errors", "errors/s", result, [line], linear_axis, rate_text)


def times_plot(result: Result, name: str) -> str:
    """p50, p99 and maximum of one operation in each second."""
    is_one = _is_one(result.operations[name])
    lines = []
    for index, figure in ((2, "max"), (1, "p99"), (0, "p50")):  # what is seldom told apart lies below
        told = f"{figure}" if is_one else f"response {figure}"
        lines.append(
            _line(told, result, _time_of(name, figure, "response_us"), f"s{index}{' thin' * (figure == 'max')}")
        )
        if not is_one:
            lines.append(
                _line(f"service {figure}", result, _time_of(name, figure, "service_us"), f"s{index} dashed thin")
            )
    return _over_time(f"Times of {name}", "time", result, lines, log_axis, time_text)


def processors_plot(result: Result) -> str:
    """What each load process and the target used in each second; empty where nobody looked."""
    workers = list(dict.fromkeys(worker for second in result.seconds for worker in second.generator_cpu))
    shown = [(f"generator {worker}", _used_by(worker)) for worker in workers]
    if len(workers) >= _COLOURS:  # the last is the target's
        shown = [("generators on average", _used_on_average), ("busiest generator", _used_at_most)]
    lines = [_line(name, result, used, f"s{index}") for index, (name, used) in enumerate(shown)]
    if any(second.target_cpu is not None for second in result.seconds):
        lines.append(_line("target", result, lambda second: second.target_cpu, "s5"))
    if not lines:
        return ""
    return _over_time("Processors", "of a processor", result, lines, linear_axis, share_text)


def memory_plot(result: Result) -> str:
    """The target's memory in each second; empty where it was not sampled."""
    if all(second.target_bytes is None for second in result.seconds):
        return ""
    line = _line("target", result, lambda second: second.target_bytes, "s5")
    return _over_time("Memory", "bytes", result, [line], linear_axis, bytes_text)


def percentiles_plot(name: str, operation: Operation) -> str:
    """The percentile curves of one operation, service beside response time where they differ."""
    if _is_one(operation):
        sources = [("service = response", operation.response_histogram, "s0")]
    else:
        sources = [
            ("response", operation.response_histogram, "s0"),
            ("service", operation.service_histogram, "s1 dashed"),
        ]
    histograms = [(told, Histogram.from_text(text), style) for told, text, style in sources if text]
    histograms = [each for each in histograms if each[1].count]
    if not histograms:
        return plot_svg(name, nines_axis(0), nines_axis(0), [])
    x = nines_axis(max(histogram.count for _, histogram, _ in histograms))
    lines = [
        Line(told, at_nines(list(histogram.curve()), x.high, _PLACES), style) for told, histogram, style in histograms
    ]
    y = log_axis("time", _values(lines), time_text)
    return plot_svg(f"Percentiles of {name}", x, y, lines, list(_percentile_tips(lines, x)))


def _percentile_tips(lines: Sequence[Line], x: Axis) -> Iterator[Tip]:
    step = x.high / (_PLACES - 1)
    for at, (nines, _) in enumerate(lines[0].points):
        share = f"{100 * (1 - 10.0**-nines):.{max(int(nines) - 1, 0) + 1}f} %" if at + 1 < _PLACES else "maximum"
        told = [f"{line.name}: {time_text(line.points[at][1] or 0)}" for line in lines]
        yield Tip(nines - step / 2, nines + step / 2, "\n".join([share, *told]))


def _over_time(
    title: str,
    unit: str,
    result: Result,
    lines: Sequence[Line],
    axis: Callable[[str, Sequence[float], Callable[[float], str]], Axis],
    told: Callable[[float], str],
) -> str:
    seconds = sorted(second.second for second in result.seconds)
    tips = []
    for at, number in enumerate(range(seconds[0], seconds[-1] + 1) if seconds else ()):
        values = [(line.name, line.points[at][1]) for line in lines]
        shown = [f"{name}: {told(value)}" for name, value in values if value is not None]
        tips.append(Tip(number, number + 1, "\n".join([f"second {number:,}", *shown])))
    return plot_svg(title, seconds_axis(seconds), axis(unit, _values(lines), told), lines, tips, asides=_asides(result))


def _asides(result: Result) -> list[Aside]:
    """The warm-up, and the drain of a backlog."""
    warm = [second.second for second in result.seconds if second.second < 0]
    drain = [second.second for second in result.seconds if second.is_drain]
    named = ((warm, "warm-up"), (drain, "drain"))
    return [Aside(min(seconds), max(seconds) + 1, name) for seconds, name in named if seconds]


def _line(name: str, result: Result, of: Of, style: str) -> Line:
    """A line over all seconds, each at its middle; a second that is missing is a gap."""
    by_number = {second.second: second for second in result.seconds}
    numbers = range(min(by_number), max(by_number) + 1) if by_number else range(0)
    return Line(name, [(at + 0.5, of(by_number[at]) if at in by_number else None) for at in numbers], style)


def _values(lines: Sequence[Line]) -> list[float]:
    return [value for line in lines for _, value in line.points if value is not None]


def _count_of(name: str, *, in_drain: bool) -> Of:
    def count(second: Second) -> float | None:
        if second.is_drain != in_drain:
            return None
        moment = second.operations.get(name)
        return moment.count if moment else 0

    return count


def _used_by(worker: str) -> Of:
    return lambda second: second.generator_cpu.get(worker)


def _used_on_average(second: Second) -> float | None:
    used = second.generator_cpu.values()
    return sum(used) / len(used) if used else None


def _used_at_most(second: Second) -> float | None:
    return max(second.generator_cpu.values(), default=None)


def _time_of(name: str, figure: str, source: str) -> Of:
    def time_us(second: Second) -> float | None:
        moment: Moment | None = second.operations.get(name)
        if moment is None or not moment.count:
            return None
        quantiles: Quantiles = getattr(moment, source)
        return float(getattr(quantiles, figure))

    return time_us


def _names(result: Result) -> list[str]:
    return list(dict.fromkeys([*result.operations, *(name for second in result.seconds for name in second.operations)]))


def _is_one(operation: Operation) -> bool:
    """Whether service and response time are the same, as in a closed loop."""
    return operation.service_us == operation.response_us
