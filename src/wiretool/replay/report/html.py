"""A report as one page for the browser, which needs no network."""

from collections.abc import Iterator
from html import escape

from wiretool.replay.adapter import Verdict
from wiretool.replay.judging.judge import ABSENT
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.report.data import Report, differing, record_of
from wiretool.replay.report.values import beside
from wiretool.sinks.printable import printable
from wiretool.units import counted

#: Exchanges without a finding that are on the page; a browser can show more, but slowly.
ROWS_MAX = 5_000
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --bad: light-dark(#b00020, #ff7b86);
  --odd: light-dark(#8a5a00, #e5b567); --good: light-dark(#1b6e2d, #7fc98f); }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
code { font: 12.5px ui-monospace, monospace; overflow-wrap: anywhere; }
dl { margin: 0; } dt { font-weight: 600; } dd { margin: 0 0 0 1rem; }
label { margin-right: 1rem; white-space: nowrap; }
.different, .missing, .extra { color: var(--bad); } .explained, .unknown { color: var(--odd); }
.same, .mapped, .noise { color: var(--good); }
"""
_SCRIPT = """
const boxes = [...document.querySelectorAll("input[type=checkbox]")];
const rows = [...document.querySelectorAll("tbody.exchanges > tr")];
function show() {
  const shown = new Set(boxes.filter(box => box.checked).map(box => box.value));
  for (const row of rows) row.hidden = !shown.has(row.dataset.verdict);
}
for (const box of boxes) box.addEventListener("change", show);
show();
"""


def html_text(report: Report) -> str:
    """The page: numbers, a table of exchanges that can be filtered by verdict, and what was left out."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    title = escape(report.wording.title)
    yield "<!DOCTYPE html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
    found = len(report.findings)
    style = "same" if report.is_success else "different"
    yield f'<h1>{title}</h1><p>{report.headline}: <b class="{style}">{_safe(report.result)}</b></p>'
    yield from (f"<p>{_safe(remark)}</p>" for remark in report.remarks)
    yield f"<p>{''.join(_box(verdict, count, found) for verdict, count in sorted(report.counts.items()))}</p>"
    yield from _table(report)
    if report.left_out:
        yield "<h2>Skipped</h2><table><thead><tr><th>count<th>part<th>reason</tr></thead><tbody>"
        for what, why, count in report.left_out:
            yield f"<tr><td>{count:,}<td>{_safe(what)}<td>{_safe(why)}</tr>"
        yield "</tbody></table>"
    yield f"<script>{_SCRIPT}</script></body></html>"


def _box(verdict: Verdict, count: int, found: int) -> str:
    """The filter for one verdict; what was found is shown first, if anything was."""
    name = verdict.name.lower()
    checked = " checked" if verdict.is_finding or not found else ""
    return f'<label class="{name}"><input type="checkbox" value="{name}"{checked}> {name} {count:,}</label>'


def _table(report: Report) -> Iterator[str]:
    yield "<table><thead><tr><th>verdict<th>connection<th>record<th>packets<th>request<th>differences</tr></thead>"
    yield '<tbody class="exchanges">'
    left = ROWS_MAX
    for outcome in report.outcomes:
        left -= not outcome.verdict.is_finding
        if outcome.verdict.is_finding or left >= 0:
            yield _row(report, outcome)
    yield "</tbody></table>"
    if left < 0:
        yield f"<p>{counted(-left, 'exchange')} without a finding omitted here.</p>"


def _row(report: Report, outcome: Outcome) -> str:
    record = record_of(outcome)
    verdict = outcome.verdict.name.lower()
    where = f"<td>{record.n}<td>{record.packets[0]}–{record.packets[1]}" if record else "<td><td>"
    connection = _safe(outcome.dialogue.name) + (f" of {report.wording.live}" if report.is_live(outcome) else "")
    request = _safe(outcome.request.message) if outcome.request else ""
    return (
        f'<tr data-verdict="{verdict}"><td class="{verdict}">{verdict}'
        f"<td>{connection}{where}<td>{request}<td>{_differences(report, outcome)}</tr>"
    )


def _differences(report: Report, outcome: Outcome) -> str:
    parts = []
    for difference in outcome.differences:
        values = zip(report.wording[1:], beside(difference.expected, difference.live), strict=True)
        told = "".join(
            f"<dd>{_safe(name)} {_safe(value) if value == ABSENT else f'<code>{_safe(value)}</code>'}</dd>"
            for name, value in values
        )
        name = _safe(differing(outcome, difference).name) if difference.steps else "message"
        parts.append(f"<dt>{name}</dt>{told}")
    for difference, verdict, why in outcome.accounted:
        name = _safe(differing(outcome, difference).name)
        shown = " → ".join(f"<code>{_safe(value)}</code>" for value in beside(difference.expected, difference.live))
        parts.append(f'<dt class="{verdict.name.lower()}">{name}</dt><dd>{shown}</dd><dd>{_safe(why)}</dd>')
    accounted = {each.why for each in outcome.accounted}
    reasons = "".join(f"<div>{_safe(why)}</div>" for why in outcome.reasons if why not in accounted)
    return (f"<dl>{''.join(parts)}</dl>" if parts else "") + reasons


def _safe(text: str) -> str:
    return escape(printable(text))
