"""Conformance as one page for the browser, which needs no network: requirement by requirement, one column a target."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from wiretool.sinks.printable import printable

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --bad: light-dark(#b00020, #ff7b86);
  --odd: light-dark(#8a5a00, #e5b567); --good: light-dark(#1b6e2d, #7fc98f); }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
thead th { position: sticky; top: 0; background: Canvas; }
code, pre { font: 12.5px ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; margin: .3rem 0; }
.source { opacity: .75; } label { margin-right: 1rem; white-space: nowrap; }
.fail, .error { color: var(--bad); } .lenient, .unsupported, .not-exercised { color: var(--odd); }
.pass { color: var(--good); } .marked { font-weight: 700; }
td { overflow-wrap: anywhere; } td > code { white-space: nowrap; }
@media (max-width: 45rem) {
  body { margin: .75rem; } thead { display: none; } td > code { white-space: normal; }
  table, tbody, tr:not([hidden]), td { display: block; } td { border: 0; padding: .15rem 0; }
  tr { border-bottom: 1px solid var(--line); padding: .4rem 0; }
  td[data-target]::before { content: attr(data-target) ": "; font-weight: 700; }
}
"""
_SCRIPT = """
const boxes = [...document.querySelectorAll("input[type=checkbox]")];
const rows = [...document.querySelectorAll("tbody > tr")];
function show() {
  const selected = new Set(boxes.filter(box => box.checked).map(box => box.value));
  for (const row of rows) row.hidden = !row.dataset.verdicts.split(" ").some(verdict => selected.has(verdict));
}
for (const box of boxes) box.addEventListener("change", show);
show();
"""
_VERDICTS = ("fail", "error", "lenient", "unsupported", "not-exercised", "pass")


def html_report(reports: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> str:
    """Return the page for one report or, as a matrix, for several; each is an object of the JSON form.

    `names` are those of the files; they tell reports of the same target apart.
    """
    targets = [str(report["target"]) for report in reports]
    if names:
        pairs = zip(targets, names, strict=True)
        targets = [f"{each} ({name})" if targets.count(each) > 1 else each for each, name in pairs]
    return "".join(f"{line}\n" for line in _lines(reports, targets))


def _lines(reports: Sequence[Mapping[str, Any]], targets: Sequence[str]) -> Iterator[str]:
    title = _safe(f"Conformance: {', '.join(dict.fromkeys(str(report['protocol']) for report in reports))}")
    yield "<!DOCTYPE html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
    yield f"<h1>{title}</h1>"
    shown = {str(case["verdict"]) for report in reports for case in report["cases"]} - {"pass"} or {"pass"}
    for report, target in zip(reports, targets, strict=True):
        yield f"<p><b>{_safe(target)}</b>: {_figures(report)}</p>"
        yield from (f"<p>{_safe(remark)}</p>" for remark in report.get("remarks", ()))
    yield f"<p>{''.join(_box(verdict, is_checked=verdict in shown) for verdict in _VERDICTS)}</p>"
    heads = "".join(f"<th>{_safe(target)}" for target in targets)
    yield f"<table><thead><tr><th>case<th>requirement{heads}</tr></thead><tbody>"
    by_target = [{case["id"]: case for case in report["cases"]} for report in reports]
    for name in dict.fromkeys(case["id"] for report in reports for case in report["cases"]):
        yield _row(targets, [cases.get(name) for cases in by_target])
    yield f"</tbody></table><script>{_SCRIPT}</script></body></html>"


def _figures(report: Mapping[str, Any]) -> str:
    counts = [case["verdict"] for case in report["cases"]]
    return ", ".join(
        f'<span class="{verdict}">{counts.count(verdict)} {verdict}</span>'
        for verdict in _VERDICTS
        if verdict in counts
    )


def _box(verdict: str, *, is_checked: bool) -> str:
    checked = " checked" if is_checked else ""
    return f'<label class="{verdict}"><input type="checkbox" value="{verdict}"{checked}> {verdict}</label>'


def _row(targets: Sequence[str], cases: Sequence[Mapping[str, Any] | None]) -> str:
    case = next(each for each in cases if each is not None)
    verdicts = " ".join(str(each["verdict"]) for each in cases if each is not None)
    cells = "".join(
        f'<td data-target="{_safe(target)}">{_cell(each)}' for target, each in zip(targets, cases, strict=True)
    )
    return (
        f'<tr data-verdicts="{_safe(verdicts)}"><td><code>{_safe(case["id"])}</code><br>{_safe(case["level"])}'
        f'<td>{_safe(case["requirement"])}<br><span class="source">{_safe(case["source"])}</span>{cells}</tr>'
    )


def _cell(case: Mapping[str, Any] | None) -> str:
    if case is None:
        return "not run"
    verdict = str(case["verdict"])
    shown = f'<span class="{_safe(verdict)}">{_safe(verdict)}</span>'
    if case.get("expected"):
        shown += f" (expected: {_safe(case['expected'])})"
    if case["why"]:
        shown += f"<br>{_safe(case['why'])}"
    messages = case.get("messages")
    if messages:
        lines = "\n".join(map(_message, messages))
        shown += f"<details><summary>messages: {len(messages)}</summary><pre>{lines}</pre></details>"
    return shown


def _message(message: Mapping[str, Any]) -> str:
    from wiretool.codec.json_text import json_text

    arrow = "-&gt;" if message.get("side") == "client" else "&lt;-"
    fields = "" if message.get("fields") is None else f" {_safe(json_text(message['fields']))}"
    line = f"{_safe(message.get('connection', ''))} {arrow} {_safe(message.get('message', ''))}{fields}"
    line += f" ({_safe(message['change'])})" if "change" in message else ""
    line += "".join(f' <span class="fail">{_safe(problem)}</span>' for problem in message.get("problems", ()))
    return f'<span class="marked">{line}</span>' if message.get("is_marked") else line


def _safe(value: Any) -> str:
    return escape(printable(str(value)))
