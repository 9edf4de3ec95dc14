"""A result as one page for the browser, which needs no network."""

from collections.abc import Iterator, Mapping, Sequence

from wiretool.load.backlog import backlog_text, over_text
from wiretool.load.measure.figures import (
    QUANTILES,
    generator_text,
    hidden_text,
    target_text,
    times_text,
    unfinished_texts,
    valid_text,
    verification_text,
)
from wiretool.load.measure.thresholds import Outcome
from wiretool.load.report.plots import (
    errors_plot,
    memory_plot,
    percentiles_plot,
    processors_plot,
    throughput_plot,
    times_plot,
)
from wiretool.load.result import Operation, Result
from wiretool.sinks.page.html import card, number, page_lines, safe, side_by_side, table
from wiretool.sinks.text.figures import bytes_text, rate_text


def html_text(result: Result, outcomes: Sequence[Outcome] = ()) -> str:
    """The page: whether it counts, the figures, the plots, and what was asked for with what."""
    state = "" if result.valid else "INVALID: "
    return "".join(f"{line}\n" for line in page_lines(f"{state}wiretool bench", _lines(result, outcomes)))


def _lines(result: Result, outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield f"<header><h1>wiretool bench</h1><p>{safe(_subtitle(result))}</p></header>"
    yield _verdict(result)
    yield from _kept(outcomes)
    yield card("Throughput", f"{_throughput(result)}<h2>Time of an exchange</h2>{_times(result)}")
    yield from _errors(result)
    yield card("Around it", _around(result))
    yield from side_by_side(*_plots(result))
    yield from side_by_side(card("Options", _pairs(result.options)), card("Versions", _pairs(result.versions)))


def _subtitle(result: Result) -> str:
    target = " ".join(str(result.options[key]) for key in ("protocol", "target") if result.options.get(key))
    return f"{f'{target}, ' if target else ''}{over_text(result)} measured from {result.began_at}"


def _verdict(result: Result) -> str:
    if result.valid:
        return f'<div class="verdict valid"><b>VALID</b>: {safe(valid_text(result))}</div>'
    reasons = "".join(f"<li>{safe(reason)}</li>" for reason in result.reasons or ["no reason is given"])
    told = "<b>INVALID</b>: the generator could not measure; do not quote these figures"
    return f'<div class="verdict invalid">{told}<ul>{reasons}</ul></div>'


def _kept(outcomes: Sequence[Outcome]) -> Iterator[str]:
    if outcomes:
        words = {True: '<td class="good">kept', False: '<td class="bad">broken'}
        rows = [
            f"{words[outcome.is_kept]}<td><code>{safe(outcome.threshold.text)}</code><td>{safe(outcome.told)}"
            for outcome in outcomes
        ]
        yield card("Thresholds", table(["", "threshold", "figure"], rows))


def _throughput(result: Result) -> str:
    rows = [
        f"<td>{safe(name)}{number(f'{each.count:,}')}{number(f'{each.errors:,}', 'bad' if each.errors else '')}"
        f"{number(rate_text(each.per_s))}{number(rate_text(each.events_per_s))}"
        f"{number(f'{bytes_text(each.bytes_per_s)}/s')}"
        for name, each in result.operations.items()
    ]
    return table(["operation", "#count", "#errors", "#per s", "#events/s", "#bytes/s"], rows)


def _times(result: Result) -> str:
    rows = [row for name, operation in result.operations.items() for row in _time_rows(name, operation)]
    hidden = [hidden_text(name, operation) for name, operation in result.operations.items()]
    told = "".join(f'<p class="odd">{safe(line)}</p>' for line in hidden if line)
    return table(["operation", "time", *(f"#{name}" for name in QUANTILES.values())], rows) + told


def _time_rows(name: str, operation: Operation) -> Iterator[str]:
    if not operation.count:
        return
    sources = [("service", operation.service_us), ("response", operation.response_us)]
    if operation.service_us == operation.response_us:
        sources = [("service = response", operation.response_us)]
    for source, quantiles in sources:
        yield f'<td>{safe(name)}<td class="whole">{source}{"".join(map(number, times_text(quantiles)))}'
        name = ""


def _plots(result: Result) -> Iterator[str]:
    yield card("Throughput over time", throughput_plot(result))
    for name, operation in result.operations.items():
        yield card(f"{name}: times over time", times_plot(result, name))
        yield card(f"{name}: percentiles", percentiles_plot(name, operation))
    for title, plot in (
        ("Errors over time", errors_plot(result)),
        ("Processors over time", processors_plot(result)),
        ("Memory of the target over time", memory_plot(result)),
    ):
        if plot:
            yield card(title, plot)


def _errors(result: Result) -> Iterator[str]:
    rows = [
        f"{number(f'{count:,}', 'bad')}<td>{safe(name)}<td>{safe(kind)}"
        for name, operation in result.operations.items()
        for kind, count in sorted(operation.error_kinds.items(), key=lambda item: -item[1])
    ]
    if rows:
        yield card("Errors", table(["#count", "operation", "what"], rows))
    verification = result.verification
    if verification.found:
        items = "".join(f"<li><code>{safe(finding)}</code></li>" for finding in verification.findings)
        left = verification.found - len(verification.findings)
        more = f"<p>and {left:,} more</p>" if left > 0 else ""
        yield card("Findings", f'<p class="bad">{safe(verification_text(result))}</p><ol>{items}</ol>{more}')


def _around(result: Result) -> str:
    told = (
        ("backlog", backlog_text(result)),
        ("verified", verification_text(result)),
        ("generator", generator_text(result)),
        ("target", target_text(result)),
    )
    notes = "".join(f'<p class="odd">{safe(note)}</p>' for note in (*unfinished_texts(result), *result.remarks))
    return table([], [f"<th>{name}<td>{safe(text)}" for name, text in told if text]) + notes


def _pairs(values: Mapping[str, object]) -> str:
    return table([], [f"<th>{safe(name)}<td><code>{safe(_shown(value))}</code>" for name, value in values.items()])


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
