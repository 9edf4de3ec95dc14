"""A conformance run as text."""

import json
from collections.abc import Iterator

from wiretool.conformance.case import Verdict
from wiretool.conformance.results import CaseResult, Event, RunResult
from wiretool.conformance.values import SHOWN_MAX
from wiretool.sinks.printable import printable


def result_lines(result: CaseResult, *, is_verbose: bool = False) -> Iterator[str]:
    """Yield a line for a result; for a failed case also its requirement, conversation and the command that runs it."""
    case = result.case
    is_fine = result.verdict in (Verdict.PASS, Verdict.NOT_EXERCISED)
    why = f"  {printable(result.why)}" if result.why else ""
    yield f"{result.verdict.value:13} {case.id} ({case.level}){why}"
    if is_fine and not is_verbose:
        return
    yield f"    requirement: {case.requirement}"
    yield f"    source:      {case.source}"
    for event in result.events:
        yield f"    {event_line(event)}"
    if not is_fine:
        yield f"    run alone:   wiretool conform {case.id.partition('/')[0]} --case '{case.id}'"


def event_line(event: Event) -> str:
    """Return one entry of a conversation, marked where the verdict is about it."""
    mark = ">" if event.is_marked else " "
    arrow = "->" if event.side == "client" else "<-"
    fields = "" if event.fields is None else f" {_cut(json.dumps(event.fields, ensure_ascii=False, default=str))}"
    problems = "".join(f" !! {problem}" for problem in event.problems)
    return printable(f"{mark} {event.on} {arrow} {event.name}{fields}{problems}")


def summary_line(run: RunResult) -> str:
    """Return the figures of a run in one line."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in run.summary.items() if count)
    return f"{run.protocol} on {run.target}: {len(run.results)} cases in {run.seconds:.1f} s: {counts or 'none ran'}"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}... ({len(text):,} characters)"
