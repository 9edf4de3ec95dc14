"""Two runs beside each other, for people and for programs."""

from collections.abc import Iterator

import msgspec

from wiretool.codec.json_text import json_text
from wiretool.load.compare import Compared, Comparison
from wiretool.load.measure.figures import QUANTILES, share_text
from wiretool.sinks.printable import printable
from wiretool.sinks.text.colour import Colour
from wiretool.sinks.text.figures import rate_text, time_text
from wiretool.sinks.text.tables import Head, table_text
from wiretool.units import counted

_COLOURS = {"worse": "1;31", "better": "32", "open": "33"}
_RED, _GREEN = "1;31", "32"
_MEANING = {
    "open": "open: the interval lies on both sides of the tolerance, so it may be either",
    "same": "same: the whole interval lies within the tolerance",
}


def comparison_json(comparison: Comparison) -> str:
    """The whole comparison as one object, with what follows from it as `worse`."""
    told = msgspec.to_builtins(comparison) | {"worse": len(comparison.worse), "better": len(comparison.better)}
    return json_text(told) + "\n"


def comparison_text(comparison: Comparison, *, colour: bool = False, width: int = 0) -> str:
    """A table of all figures, then what follows from them."""
    return "\n".join(part for part in _parts(comparison, Colour(colour), width) if part)


def _parts(comparison: Comparison, paint: Colour, width: int) -> Iterator[str]:
    yield "".join(f"{paint.paint(_RED, printable(line))}\n" for line in comparison.invalid)
    yield _table(comparison, paint, width)
    told = {figure.verdict for figure in comparison.figures}
    meanings = [text for verdict, text in _MEANING.items() if verdict in told]
    yield "".join(f"{line}\n" for line in (*map(paint.dim, meanings), *map(printable, comparison.remarks)))
    yield _end(comparison, paint)


def _table(comparison: Comparison, paint: Colour, width: int) -> str:
    if not comparison.figures:
        return "A and B have no common operation\n"
    interval = f"{comparison.confidence:.0%} interval"
    heads = (
        Head("operation", is_key=True),
        Head("figure", is_key=True),
        Head("A", True),
        Head("B", True),
        Head("B/A", True),
        Head(interval, True, is_spare=True),
        Head("verdict"),
        Head("remark", folds=True, is_spare=True, style="dim"),
    )
    lines = table_text("", heads, map(_row, comparison.figures), colour=paint.is_on, width=width).splitlines()
    verdicts = ["", *(figure.verdict for figure in comparison.figures)]
    if len(lines) == len(verdicts):  # no line is folded
        pairs = zip(lines, verdicts, strict=True)
        lines = [paint.paint(_COLOURS[verdict], line) if verdict in _COLOURS else line for line, verdict in pairs]
    return "".join(f"{line}\n" for line in lines)


def _row(figure: Compared) -> tuple[str, ...]:
    name = f"{figure.source} {QUANTILES.get(figure.figure, figure.figure.replace('_', ' '))}".strip()
    values = [_value(figure, value) for value in (figure.a, figure.b)]
    ratio = "" if figure.ratio is None else _ratio(figure.ratio)
    interval = "" if figure.low is None or figure.high is None else f"{_ratio(figure.low)} to {_ratio(figure.high)}"
    verdict = "" if figure.verdict == "shown" else figure.verdict
    return figure.operation, name, *values, ratio, interval, verdict, figure.why


def _value(figure: Compared, value: float) -> str:
    return time_text(value) if figure.source else rate_text(value)


def _ratio(ratio: float) -> str:
    """Two digits behind the point, or what one can still read of something far off."""
    if ratio < 0.005:
        return "<0.01" if ratio else "0"
    return f"{ratio:.2f}" if ratio < 99.5 else f"{ratio:,.0f}" if ratio < 1e5 else ">100,000"


def _end(comparison: Comparison, paint: Colour) -> str:
    beyond = f"beyond the tolerance of {share_text(comparison.tolerance)}"
    found = [
        paint.paint(_RED, f"{counted(len(comparison.worse), 'figure')} worse") if comparison.worse else "",
        paint.paint(_GREEN, f"{counted(len(comparison.better), 'figure')} better") if comparison.better else "",
    ]
    told = ", ".join(filter(None, found))
    if told:
        said = f"{told} {beyond}"
    elif all(figure.low is None for figure in comparison.figures):
        said = "nothing can be compared; expected two runs of 2 whole seconds or more with histograms"
    else:
        said = f"equal, as no figure is shown to differ {beyond}"
    but = paint.paint(_RED, " (but of INVALID runs)") if comparison.invalid else ""
    return f"B against A: {said}{but}\n"
