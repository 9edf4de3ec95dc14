"""The frame of a page, its cards and tables; what is put in is escaped, but for content that is HTML already."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from wiretool.sinks.page.svg import STYLE
from wiretool.sinks.printable import printable

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --page: light-dark(#f6f7f9, #14161a); --card: light-dark(#fff, #1d2026);
  --text: light-dark(#1b1f24, #e4e7eb); --dim: light-dark(#5d6672, #9aa4b1); --line: light-dark(#e3e6ea, #32373f);
  --bad: light-dark(#b00020, #ff7b86); --odd: light-dark(#8a5a00, #e5b567); --good: light-dark(#1b6e2d, #7fc98f);
  --alarm: light-dark(#b00020, #a3142b); --hover: light-dark(#1b1f2418, #ffffff1c);
  --aside: light-dark(#eef0f3, #262a31);
  --s0: light-dark(#1f66d0, #6ea8ff); --s1: light-dark(#d0680a, #ffb066); --s2: light-dark(#7a3fc4, #c79bff);
  --s3: light-dark(#0f8577, #5fd3c3); --s4: light-dark(#b0307f, #ff8fd0); --s5: light-dark(#4d7a12, #a8d45f); }
* { box-sizing: border-box; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1.5rem; max-width: 1280px;
  background: var(--page); color: var(--text); }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.02rem; margin: 0 0 .5rem; }
header p { margin: .1rem 0 1rem; color: var(--dim); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1.1rem;
  margin: 0 0 1rem; overflow-x: auto; }
.pairs { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr));
  margin: 0 0 1rem; }
.pairs section { margin: 0; }
.verdict { border-radius: 8px; padding: .8rem 1.1rem; margin: 0 0 1rem; }
.verdict ul { margin: .3rem 0 0; padding-left: 1.2rem; }
.invalid { background: var(--alarm); color: #fff; font-size: 1.05rem; }
.valid { border: 1px solid var(--good); color: var(--good); }
table { border-collapse: collapse; } section > table { min-width: 60%; }
th, td { text-align: left; vertical-align: top; padding: .25rem 1.2rem .25rem 0; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
section > table + h2 { margin-top: .9rem; }
th { color: var(--dim); font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.whole { white-space: nowrap; }
.bad { color: var(--bad); } .odd { color: var(--odd); } .good { color: var(--good); } .none { color: var(--dim); }
summary { cursor: pointer; white-space: nowrap; color: var(--dim); }
details[open] { max-width: 34rem; white-space: normal; }
p { margin: .3rem 0; } code { font: 12.5px ui-monospace, monospace; overflow-wrap: anywhere; }
"""


def page_lines(title: str, content: Iterable[str]) -> Iterator[str]:
    """A page with that title around its content, which is HTML."""
    yield "<!DOCTYPE html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{safe(title)}</title>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f'<meta name="viewport" content="width=device-width"><style>{_STYLE}{STYLE}</style></head><body>'
    yield from content
    yield "</body></html>"


def side_by_side(*cards: str) -> Iterator[str]:
    """Cards, two in a row where there is room."""
    yield '<div class="pairs">'
    yield from cards
    yield "</div>"


def card(title: str, content: str) -> str:
    """A part of the page with a heading."""
    return f"<section><h2>{safe(title)}</h2>{content}</section>"


def table(heads: Sequence[str], rows: Iterable[str]) -> str:
    """A table; heads of numbers begin with #."""
    cells = "".join(
        f'<th class="number">{safe(head[1:])}' if head.startswith("#") else f"<th>{safe(head)}" for head in heads
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    if not body:
        return '<p class="none">nothing</p>'
    return f"<table>{f'<thead><tr>{cells}</tr></thead>' if heads else ''}<tbody>{body}</tbody></table>"


def number(text: str, kind: str = "") -> str:
    """A cell with a number; `kind` is a class."""
    return f'<td class="{f"number {kind}".strip()}">{safe(text)}'


def safe(text: str) -> str:
    """Text as HTML."""
    return escape(printable(text))
