"""A badge: how many of the exercised cases passed, as a small SVG image."""

from html import escape

from wiretool.conformance.judged import JudgedRun
from wiretool.conformance.levels import Verdict

#: Width of one character of the font in pixels, and of the space around a text.
_CHARACTER, _SPACE = 6.6, 12
_GOOD, _BAD = "#2e7d32", "#c62828"


def badge(judged: JudgedRun) -> str:
    """Return the image: the protocol on the left, the figures on the right, green where the run succeeded."""
    counts = judged.run.summary
    total = sum(count for verdict, count in counts.items() if verdict != Verdict.NOT_EXERCISED.value)
    name = f"{judged.run.protocol} conformance"
    figures = f"{counts[Verdict.PASS.value]} of {total}"
    left, right = (round(len(text) * _CHARACTER) + _SPACE for text in (name, figures))
    colour = _GOOD if judged.is_success else _BAD
    title = escape(f"{name}: {figures} cases pass")
    text = 'fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{title}"><title>{title}</title>\n'
        f'<rect width="{left + right}" height="20" rx="3" fill="#444"/>\n'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{left}z" fill="{colour}"/>\n'
        f'<g {text}><text x="{left / 2:g}" y="14">{escape(name)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(figures)}</text></g></svg>\n'
    )
