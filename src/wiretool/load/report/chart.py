"""A latency chart for a terminal: time over percentile, both logarithmic, drawn with the dots of Braille."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wiretool.sinks.text.colour import Colour
from wiretool.sinks.text.figures import time_text

#: Characters of the plot itself, each with two columns and four rows of dots. A narrow terminal has fewer, as the times
#: beside the plot and the last percentile need room as well.
COLUMNS, COLUMNS_MIN = 60, 20
ROWS = 12
BESIDE = 18
#: The percentiles that are marked, as the share that takes longer.
MARKS = {0.5: "50%", 0.1: "90%", 0.01: "99%", 1e-3: "99.9%", 1e-4: "99.99%", 1e-5: "99.999%", 1e-6: "99.9999%"}
#: The share at which the window begins below: the fastest of all would take half its height.
LEAST_SHARE = 0.05
_DOWN = 4 * ROWS
#: The bits of a Braille character, by column and row of its dots (Unicode 15, 2800 to 28FF).
_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BLANK = 0x2800
#: Dots of a curve that are drawn and left out, in turn: what tells two curves without colours.
_DASH = (2, 3)

Points = Sequence[tuple[float, float]]


class Curve(NamedTuple):
    """A percentile curve: (share of all that took no longer, microseconds), rising; how it is drawn and painted."""

    name: str
    points: Points
    exchanges: int
    is_dashed: bool = False
    colour: str = "36"


def chart_text(title: str, curves: Sequence[Curve], *, colour: bool = False, width: int = 0) -> str:
    """Return the chart with its axes, in `width` columns if that is not 0; empty where nothing was counted."""
    paint = Colour(colour)
    curves = [curve for curve in curves if curve.points and curve.exchanges]
    if not curves:
        return ""
    plot = Plot.of(curves, min(COLUMNS, max(COLUMNS_MIN, width - BESIDE)) if width else COLUMNS)
    legend = "   ".join(
        paint.paint(each.colour, f"{'⠒ ⠒ ' if each.is_dashed else '⠒⠒⠒⠒'} {each.name}") for each in curves
    )
    lines = [f"{paint.bold(title)}   {legend}", *_body(plot, curves, paint), *_foot(plot, paint)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


class Plot(NamedTuple):
    """The window: how many characters and nines it is wide, and its lowest and highest time as powers of ten."""

    columns: int
    nines: float
    low: float
    high: float

    @classmethod
    def of(cls, curves: Sequence[Curve], columns: int) -> "Plot":
        """A window that holds all curves, but for the few fastest exchanges, which nobody waits for."""
        nines = max(math.log10(max(curve.exchanges, 10)) for curve in curves)
        times = [max(time_us, 1.0) for curve in curves for share, time_us in curve.points if share >= LEAST_SHARE]
        low, high = math.log10(min(times)), math.log10(max(times))
        room = max(0.15 - (high - low), 0.0) / 2  # else what is flat would fill the height with its noise
        return cls(columns, min(max(nines, 1.0), 6.5), low - room, high + room)

    @property
    def across(self) -> int:
        """Return how many columns of dots there are."""
        return 2 * self.columns

    def column(self, share: float) -> int:
        """The column of dots of a percentile."""
        beyond = max(1.0 - share, 10.0**-self.nines)
        return min(round(-math.log10(beyond) / self.nines * (self.across - 1)), self.across - 1)

    def row(self, time_us: float) -> int:
        """The row of dots of a time, counted from above."""
        height = (math.log10(max(time_us, 1.0)) - self.low) / (self.high - self.low)
        return min(max(round((1.0 - height) * (_DOWN - 1)), 0), _DOWN - 1)


def _body(plot: Plot, curves: Sequence[Curve], paint: Colour) -> Iterator[str]:
    cells: dict[tuple[int, int], int] = {}
    owners: dict[tuple[int, int], str] = {}
    for curve in curves:
        for x, y in _dots(plot, curve):
            cell = (y // 4, x // 2)
            cells[cell] = cells.get(cell, 0) | _BITS[x % 2][y % 4]
            owners[cell] = curve.colour
    labels = _labels(plot)
    widest = max(map(len, labels.values()))
    for row in range(ROWS):
        drawn = "".join(
            paint.paint(owners[row, column], chr(_BLANK + cells[row, column])) if (row, column) in cells else " "
            for column in range(plot.columns)
        )
        label = f"{labels.get(row, ''):>{widest}} {'┤' if row in labels else '│'}"
        yield paint.dim(label) + drawn


def _dots(plot: Plot, curve: Curve) -> Iterator[tuple[int, int]]:
    """The dots of a curve, without a gap where it rises steeply."""
    rows = _rows(plot, curve.points)
    last = rows[0]
    step = 0
    for x, y in enumerate(rows):
        for each in range(y, last) if y < last else (y,):
            step += 1
            if not curve.is_dashed or step % sum(_DASH) < _DASH[0]:
                yield x, each
        last = y


def _rows(plot: Plot, points: Points) -> list[int]:
    """The row of each column: the time within which that share of all was done."""
    shares = [share for share, _ in points]
    wanted = (1.0 - 10.0 ** (-plot.nines * x / (plot.across - 1)) for x in range(plot.across - 1))
    found = [min(bisect_left(shares, share), len(points) - 1) for share in wanted]
    return [plot.row(points[at][1]) for at in (*found, len(points) - 1)]


def _labels(plot: Plot) -> dict[int, str]:
    """The times beside the axis, by row of characters."""
    rows = [row for row in range(ROWS) if row % 3 == 0 or row == ROWS - 1]
    rows = [row for row in rows if row != ROWS - 3]
    span = plot.high - plot.low
    return {row: time_text(10 ** (plot.high - span * row / (ROWS - 1))) for row in rows}


def _foot(plot: Plot, paint: Colour) -> Iterator[str]:
    marks = {plot.column(1.0 - beyond) // 2: text for beyond, text in MARKS.items() if beyond >= 10.0**-plot.nines}
    pad = " " * (max(map(len, _labels(plot).values())) + 1)
    line = "".join("┴" if column in marks else "─" for column in range(plot.columns))
    words = [" "] * (plot.columns + 8)
    for column, text in marks.items():
        at = max(column - len(text) // 2, 0)
        if not "".join(words[max(at - 1, 0) : at + len(text) + 1]).strip():
            words[at : at + len(text)] = text
    yield f"{pad}{paint.dim(f'└{line}')}"
    yield f"{pad} {''.join(words)}"
