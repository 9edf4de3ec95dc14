"""A result as one page for the browser, which needs no network."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from wiretool.load.figures import (
    QUANTILES,
    bytes_text,
    generator_text,
    hidden_text,
    rate_text,
    target_text,
    times_text,
    unfinished_texts,
    verification_text,
)
from wiretool.load.report.plots import (
    errors_plot,
    memory_plot,
    percentiles_plot,
    processors_plot,
    throughput_plot,
    times_plot,
)
from wiretool.load.report.svg import STYLE
from wiretool.load.result import Operation, Result
from wiretool.load.thresholds import Outcome
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
p { margin: .3rem 0; } code { font: 12.5px ui-monospace, monospace; overflow-wrap: anywhere; }
"""


def html_text(result: Result, outcomes: Sequence[Outcome] = ()) -> str:
    """The page: whether it counts, the figures, the plots, and what was asked for with what."""
    return "".join(f"{line}\n" for line in _lines(result, outcomes))


def _lines(result: Result, outcomes: Sequence[Outcome]) -> Iterator[str]:
    state = "" if result.valid else "INVALID: "
    yield "<!DOCTYPE html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{state}wiretool bench</title>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f'<meta name="viewport" content="width=device-width"><style>{_STYLE}{STYLE}</style></head><body>'
    yield f"<header><h1>wiretool bench</h1><p>{_safe(_subtitle(result))}</p></header>"
    yield _verdict(result)
    yield from _kept(outcomes)
    yield _card("Throughput", f"{_throughput(result)}<h2>Time of an exchange</h2>{_times(result)}")
    yield from _errors(result)
    yield _card("Around it", _around(result))
    yield from _side_by_side(*_plots(result))
    yield from _side_by_side(_card("Options", _pairs(result.options)), _card("Versions", _pairs(result.versions)))
    yield "</body></html>"


def _side_by_side(*cards: str) -> Iterator[str]:
    """Cards, two in a row where there is room."""
    yield '<div class="pairs">'
    yield from cards
    yield "</div>"


def _subtitle(result: Result) -> str:
    target = " ".join(str(result.options[key]) for key in ("protocol", "target") if result.options.get(key))
    return f"{f'{target}, ' if target else ''}{result.duration_s:.3g} s measured from {result.began_at}"


def _verdict(result: Result) -> str:
    if result.valid:
        return '<div class="verdict valid"><b>VALID</b>: the generator kept up, these figures are the target\'s</div>'
    reasons = "".join(f"<li>{_safe(reason)}</li>" for reason in result.reasons or ["no reason is given"])
    told = "<b>INVALID</b>: the generator could not measure, do not quote these figures"
    return f'<div class="verdict invalid">{told}<ul>{reasons}</ul></div>'


def _kept(outcomes: Sequence[Outcome]) -> Iterator[str]:
    if outcomes:
        words = {True: '<td class="good">kept', False: '<td class="bad">broken'}
        rows = [
            f"{words[outcome.is_kept]}<td><code>{_safe(outcome.threshold.text)}</code><td>{_safe(outcome.told)}"
            for outcome in outcomes
        ]
        yield _card("Thresholds", _table(["", "threshold", "figure"], rows))


def _throughput(result: Result) -> str:
    rows = [
        f"<td>{_safe(name)}{_number(f'{each.count:,}')}{_number(f'{each.errors:,}', 'bad' if each.errors else '')}"
        f"{_number(rate_text(each.per_s))}{_number(rate_text(each.events_per_s))}"
        f"{_number(f'{bytes_text(each.bytes_per_s)}/s')}"
        for name, each in result.operations.items()
    ]
    return _table(["operation", "#count", "#errors", "#per s", "#events/s", "#bytes/s"], rows)


def _times(result: Result) -> str:
    rows = [row for name, operation in result.operations.items() for row in _time_rows(name, operation)]
    hidden = [hidden_text(name, operation) for name, operation in result.operations.items()]
    told = "".join(f'<p class="odd">{_safe(line)}</p>' for line in hidden if line)
    return _table(["operation", "time", *(f"#{name}" for name in QUANTILES.values())], rows) + told


def _time_rows(name: str, operation: Operation) -> Iterator[str]:
    if not operation.count:
        return
    sources = [("service", operation.service_us), ("response", operation.response_us)]
    if operation.service_us == operation.response_us:
        sources = [("service = response", operation.response_us)]
    for source, quantiles in sources:
        yield f'<td>{_safe(name)}<td class="whole">{source}{"".join(map(_number, times_text(quantiles)))}'
        name = ""


def _plots(result: Result) -> Iterator[str]:
    yield _card("Throughput over time", throughput_plot(result))
    for name, operation in result.operations.items():
        yield _card(f"{name}: times over time", times_plot(result, name))
        yield _card(f"{name}: percentiles", percentiles_plot(name, operation))
    for title, plot in (
        ("Errors over time", errors_plot(result)),
        ("Processors over time", processors_plot(result)),
        ("Memory of the target over time", memory_plot(result)),
    ):
        if plot:
            yield _card(title, plot)


def _errors(result: Result) -> Iterator[str]:
    rows = [
        f"{_number(f'{count:,}', 'bad')}<td>{_safe(name)}<td>{_safe(kind)}"
        for name, operation in result.operations.items()
        for kind, count in sorted(operation.error_kinds.items(), key=lambda item: -item[1])
    ]
    if rows:
        yield _card("Errors", _table(["#count", "operation", "what"], rows))
    verification = result.verification
    if verification.found:
        items = "".join(f"<li><code>{_safe(finding)}</code></li>" for finding in verification.findings)
        left = verification.found - len(verification.findings)
        more = f"<p>and {left:,} more</p>" if left > 0 else ""
        yield _card("Findings", f'<p class="bad">{_safe(verification_text(result))}</p><ol>{items}</ol>{more}')


def _around(result: Result) -> str:
    told = (
        ("verified", verification_text(result)),
        ("generator", generator_text(result)),
        ("target", target_text(result)),
    )
    notes = "".join(f'<p class="odd">{_safe(note)}</p>' for note in (*unfinished_texts(result), *result.remarks))
    return _table([], [f"<th>{name}<td>{_safe(text)}" for name, text in told if text]) + notes


def _pairs(values: Mapping[str, object]) -> str:
    return _table([], [f"<th>{_safe(name)}<td><code>{_safe(_shown(value))}</code>" for name, value in values.items()])


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _card(title: str, content: str) -> str:
    return f"<section><h2>{_safe(title)}</h2>{content}</section>"


def _table(heads: Sequence[str], rows: Iterable[str]) -> str:
    """A table; heads of numbers begin with #."""
    cells = "".join(
        f'<th class="number">{_safe(head[1:])}' if head.startswith("#") else f"<th>{_safe(head)}" for head in heads
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    if not body:
        return '<p class="none">nothing</p>'
    return f"<table>{f'<thead><tr>{cells}</tr></thead>' if heads else ''}<tbody>{body}</tbody></table>"


def _number(text: str, kind: str = "") -> str:
    return f'<td class="{f"number {kind}".strip()}">{_safe(text)}'


def _safe(text: str) -> str:
    return escape(printable(text))
