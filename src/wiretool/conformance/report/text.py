"""A conformance run as text."""

from collections.abc import Iterator

from wiretool.conformance.judged import JudgedRun
from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import NOT_RUN, CaseResult, Event
from wiretool.sinks.printable import printable
from wiretool.sinks.text.values import pairs_of
from wiretool.units import counted

#: Characters of the fields of one message; more is cut.
FIELDS_SHOWN_MAX = 300
#: Messages of a conversation before the one that is marked; earlier ones are counted.
EVENTS_SHOWN_MAX = 40


def report_lines(judged: JudgedRun, *, is_verbose: bool = False) -> Iterator[str]:
    """Yield the report: a line for each case that did not pass, details of findings, remarks and the headline."""
    unrun = [result for result in judged.run.results if result.why == NOT_RUN]
    for result in judged.run.results:
        if result.why == NOT_RUN and not is_verbose:
            continue
        is_finding = judged.is_finding(result)
        if is_finding or is_verbose or result.verdict not in (Verdict.PASS, Verdict.NOT_EXERCISED):
            yield from result_lines(judged, result, has_details=is_finding or is_verbose)
    yield from (printable(change) for change in judged.changes)
    if unrun and not is_verbose:
        yield f"{counted(len(unrun), 'case')} not run: the run was stopped before"
    # The headline names what ended the run.
    yield from (printable(remark) for remark in judged.run.remarks if remark != judged.run.why_cut)
    yield printable(judged.headline)


def result_lines(judged: JudgedRun, result: CaseResult, *, has_details: bool = True) -> Iterator[str]:
    """Yield a line for a result and, with details, its requirement, conversation and the command that runs it."""
    case, reason = result.case, judged.reason(result)
    why = f"  {result.why}" if result.why else ""
    expected = f"  (expected: {reason})" if reason is not None else ""
    yield printable(f"{result.verdict.value:13} {case.id} ({case.level}){why}{expected}")
    if not has_details:
        return
    yield printable(f"    requirement: {case.requirement}")
    yield printable(f"    source:      {case.source}")
    hidden = max(0, len(result.events) - EVENTS_SHOWN_MAX)
    if hidden:
        yield f"      ({hidden} earlier messages)"
    yield from (f"    {event_line(event)}" for event in result.events[hidden:])
    if result.expected:
        yield printable(f"    expected:    {result.expected}")
    yield printable(f"    run alone:   {judged.run.command_for(result)}")


def event_line(event: Event) -> str:
    """Return one entry of a conversation, marked where the verdict is about it."""
    mark = ">" if event.is_marked else " "
    arrow = "->" if event.side == "client" else "<-"
    fields = _cut("".join(f" {name}={value}" for name, value in pairs_of(event.fields)))
    change = f" ({event.change})" if event.change else ""
    problems = "".join(f" !! {problem}" for problem in event.problems)
    return printable(f"{mark} {event.on} {arrow} {event.name}{fields}{change}{problems}")


def _cut(text: str) -> str:
    return text if len(text) <= FIELDS_SHOWN_MAX else f"{text[:FIELDS_SHOWN_MAX]}... ({len(text):,} characters)"
