"""Plots as inline SVG: lines over an axis, a legend, and what stands at each place as a tooltip."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from wiretool.sinks.page.axes import Axis
from wiretool.sinks.printable import printable

WIDTH, HEIGHT = 640, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 12, 12, 42
#: Below so many points they are drawn as such too.
_DOTS_MAX = 40
#: Places with a tooltip; of more, neighbours share one.
_TIPS_MAX = 400

STYLE = """
svg.plot { width: 100%; height: auto; display: block; }
.plot text { font: 11px system-ui, sans-serif; fill: var(--dim); }
.plot .grid { stroke: var(--line); stroke-width: 1; } .plot .axis { fill: none; stroke: var(--dim); stroke-width: 1; }
.plot .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; } .plot .dashed { stroke-dasharray: 5 4; }
.plot .thin { stroke-width: 1.1; } .plot .tip { fill: transparent; } .plot .tip:hover { fill: var(--hover); }
.plot .aside { fill: var(--aside); }
.s0 { stroke: var(--s0); } .s1 { stroke: var(--s1); } .s2 { stroke: var(--s2); } .s3 { stroke: var(--s3); }
.s4 { stroke: var(--s4); } .s5 { stroke: var(--s5); } .bad-line { stroke: var(--bad); }
.dot { stroke-width: 4; stroke-linecap: round; fill: none; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: 0 0 .3rem; font-size: 12.5px; color: var(--dim); }
.legend svg.key { width: 22px; height: 8px; display: inline-block; vertical-align: middle; margin-right: .35rem; }
"""


class Line(NamedTuple):
    """One line: its points by rising x, None where there is nothing; `style` is its classes (`s1 dashed`)."""

    name: str
    points: Sequence[tuple[float, float | None]]
    style: str


class Tip(NamedTuple):
    """What is told of the stretch of the x axis from `low` to `high`."""

    low: float
    high: float
    text: str


class Aside(NamedTuple):
    """A stretch of the x axis that is shaded, and what it is called."""

    low: float
    high: float
    name: str


def plot_svg(
    title: str, x: Axis, y: Axis, lines: Sequence[Line], tips: Sequence[Tip] = (), *, asides: Sequence[Aside] = ()
) -> str:
    """A plot with its legend above."""
    lines = [line for line in lines if any(value is not None for _, value in line.points)]
    if not lines:
        return '<p class="none">nothing was counted</p>'
    return "".join(_parts(title, x, y, lines, tips, asides))


def _parts(
    title: str, x: Axis, y: Axis, lines: Sequence[Line], tips: Sequence[Tip], asides: Sequence[Aside]
) -> Iterator[str]:
    yield f'<p class="legend">{"".join(map(_key, lines))}</p>'
    yield f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_safe(title)}">'
    for aside in asides:
        low, high = _across(x, aside.low), _across(x, aside.high)
        yield f'<rect class="aside" x="{low:.1f}" y="{_TOP}" width="{high - low:.1f}" height="{_tall()}"/>'
        yield f'<text x="{low + 4:.1f}" y="{_TOP + 12}">{_safe(aside.name)}</text>'
    yield from _grid(x, y)
    for line in lines:
        yield from _drawn(line, x, y)
    yield from (_tip(tip, x) for tip in _fewer(tips))
    yield "</svg>"


def _key(line: Line) -> str:
    """A line of the legend."""
    stroke = f'<svg class="key plot" viewBox="0 0 22 8"><path class="line {line.style}" d="M0 4H22"/></svg>'
    return f"<span>{stroke}{_safe(line.name)}</span>"


def _grid(x: Axis, y: Axis) -> Iterator[str]:
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    for value, text in y.marks:
        at = _down(y, value)
        yield f'<path class="grid" d="M{_LEFT} {at:.1f}H{right}"/>'
        yield f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_safe(text)}</text>'
    for value, text in x.marks:
        at = _across(x, value)
        yield f'<path class="axis" d="M{at:.1f} {bottom}v4"/>'
        anchor = "end" if at > right - 18 else "middle"  # a wide mark at the edge would be cut
        yield f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="{anchor}">{_safe(text)}</text>'
    yield f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>'
    yield f'<text x="{(_LEFT + right) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{_safe(x.name)}</text>'
    middle = _TOP + _tall() / 2
    turned = f'transform="rotate(-90 12 {middle})"'
    yield f'<text x="12" y="{middle}" text-anchor="middle" {turned}>{_safe(y.name)}</text>'


def _drawn(line: Line, x: Axis, y: Axis) -> Iterator[str]:
    places = [(_across(x, at), None if value is None else _down(y, value)) for at, value in line.points]
    path, dots, is_down = [], [], False
    for number, (across, down) in enumerate(places):
        if down is not None:
            path.append(f"{'L' if is_down else 'M'}{across:.1f} {down:.1f}")
            if not is_down and (number + 1 == len(places) or places[number + 1][1] is None):
                dots.append(f"M{across:.1f} {down:.1f}h0")  # alone between gaps: a line would not show it
            elif len(places) <= _DOTS_MAX:
                dots.append(f"M{across:.1f} {down:.1f}h0")
        is_down = down is not None
    yield f'<path class="line {line.style}" d="{"".join(path)}"/>'
    if dots:
        yield f'<path class="dot {line.style.split()[0]}" d="{"".join(dots)}"/>'


def _fewer(tips: Sequence[Tip]) -> Sequence[Tip]:
    step = -(-len(tips) // _TIPS_MAX) or 1
    return [tips[at]._replace(high=tips[min(at + step, len(tips)) - 1].high) for at in range(0, len(tips), step)]


def _tip(tip: Tip, x: Axis) -> str:
    low, high = _across(x, tip.low), _across(x, tip.high)
    area = f'x="{low:.1f}" y="{_TOP}" width="{max(high - low, 0.5):.1f}" height="{_tall()}"'
    return f'<rect class="tip" {area}><title>{_safe(tip.text)}</title></rect>'


def _across(x: Axis, value: float) -> float:
    return _LEFT + x.place(value) * (WIDTH - _RIGHT - _LEFT)


def _down(y: Axis, value: float) -> float:
    return HEIGHT - _BOTTOM - y.place(value) * _tall()


def _tall() -> int:
    return HEIGHT - _BOTTOM - _TOP


def _safe(text: str) -> str:
    return escape("\n".join(map(printable, text.split("\n"))))
