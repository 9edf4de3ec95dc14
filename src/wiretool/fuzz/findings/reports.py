"""The result of a run, as text, JSON and JUnit."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from wiretool.errors import CaptureError
from wiretool.fuzz.campaign import Counts
from wiretool.fuzz.findings.reported_finding import ReportedFinding
from wiretool.fuzz.oracles import Bucket
from wiretool.sinks.printable import printable
from wiretool.units import counted


@dataclass(slots=True)
class FuzzResult:
    """A run with its findings."""

    protocol: str
    target: str
    seed: int
    counts: Counts = field(default_factory=Counts)
    phases: Sequence[str] = ()
    #: Findings with the folder of each.
    findings: list[tuple[ReportedFinding[Any], str]] = field(default_factory=list)
    #: Buckets of the baseline that the run did not show, and those that it did.
    gone: Sequence[Bucket] = ()
    known: Sequence[Bucket] = ()
    is_client: bool = False
    #: Whether wiretool's own decoder is the target; findings have packets then, not messages.
    is_self: bool = False
    #: Why the run ended early; empty for its own end.
    why_cut: str = ""
    #: Damage of captures of which only a part gave seeds.
    damages: Sequence[CaptureError] = ()
    #: Known findings that a run which was cut did not show, and keeps in the new baseline.
    kept: int = 0
    #: Pages of findings whose folders could not be written, by id.
    pages: dict[str, str] = field(default_factory=dict)
    #: Why files could not be written, an option each.
    unwritten: list[str] = field(default_factory=list)

    @property
    def unit(self) -> str:
        """The parts of which findings have a number."""
        return "packets" if self.is_self else "messages"


def json_report(result: FuzzResult) -> str:
    """Return the JSON report."""
    form: dict[str, Any] = {
        "protocol": result.protocol,
        "target": result.target,
        "seed": result.seed,
        "runs": result.counts.runs,
        "messages": result.counts.messages,
        "seconds": round(result.counts.seconds, 3),
        "phases": sorted(result.phases),
        "findings": [
            {
                "id": finding.id,
                "oracle": finding.bucket.oracle,
                "bucket": list(finding.bucket),
                "why": finding.why,
                result.unit: finding.messages,
                "flaky": finding.is_flaky,
                "cases": list(finding.cases),
                "folder": folder,
            }
            for finding, folder in result.findings
        ],
        "known": [list(bucket) for bucket in result.known],
        "gone": [list(bucket) for bucket in result.gone],
        "cut": result.why_cut,
    }
    return json.dumps(form, indent=2) + "\n"


def junit_report(result: FuzzResult) -> str:
    """Return the JUnit report: one test for the run, an error where it was cut short, and one for each finding."""
    name, seconds = f"wiretool fuzz {result.protocol}", f"{result.counts.seconds:.3f}"
    count, errors = len(result.findings), int(bool(result.why_cut))
    suite = ElementTree.Element(
        "testsuite", name=name, tests=str(count + 1), failures=str(count), errors=str(errors), time=seconds
    )
    run = ElementTree.SubElement(suite, "testcase", classname=name, name="run", time=seconds)
    if result.why_cut:
        ElementTree.SubElement(run, "error", message=printable(result.why_cut))
    ElementTree.SubElement(run, "system-out").text = printable(summary_line(result))
    for finding, folder in result.findings:
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=finding.id, time="0")
        failure = ElementTree.SubElement(case, "failure", message=printable(finding.title))
        lines = [folder, str(finding.bucket), *finding.cases[1:]]
        failure.text = "\n".join(map(printable, lines))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def report_lines(result: FuzzResult) -> Iterator[str]:
    """Yield the lines of the report on stdout: one for each finding, and the figures."""
    for finding, folder in result.findings:
        flaky = ", flaky" if finding.is_flaky else ""
        others = len(finding.cases) - 1
        also = f"; {counted(others, 'other conformance case')} the same way" if others > 0 else ""
        yield printable(f"{finding.id}: {finding.title} ({finding.size}{flaky}{also}; {folder or 'not saved'})")
        yield from map(printable, result.pages.get(finding.id, "").splitlines())
    for bucket in result.gone:
        yield printable(f"known finding not shown in this run: {bucket}")
    if result.known:
        yield f"{counted(len(result.known), 'known finding')} of the baseline shown again"
    counts = result.counts
    if counts.start_cases < counts.planned_cases and not result.why_cut:
        yield (
            f"{counts.start_cases:,} of {counts.planned_cases:,} conformance cases were run in their share of the time,"
            f" {counts.cases_s:.1f} s; --time gives them a third of a run"
        )
    if counts.has_enough:
        yield (
            f"the run ended early, after {counted(counts.findings, 'finding')}; --write-baseline makes them known, so "
            "that the next run goes on"
        )
    if result.kept:
        yield f"the baseline keeps {counted(result.kept, 'known finding')} that this run, cut early, did not show"
    yield printable(summary_line(result))


def found_line(finding: ReportedFinding[Any], folder: str) -> str:
    """Return the line about a new finding while the run goes on; the report has its text."""
    return printable(f"found {finding.id} ({finding.size}; {folder})")


def summary_line(result: FuzzResult) -> str:
    """Return the figures of a run in one line."""
    counts = result.counts
    name = f"{result.protocol}, {result.target}"
    findings = counted(len(result.findings), "finding")
    done = counts.runs if result.is_self else counts.messages
    rate = done / counts.seconds if counts.seconds else 0.0
    if result.is_self:
        return (
            f"{name}: {counted(counts.runs, 'capture')}, {counted(counts.messages, 'frame')} in {counts.seconds:.1f} s "
            f"({rate:,.0f} captures/s), {counted(counts.features, 'kind')} of records: {findings}"
        )
    if result.is_client:
        return (
            f"{name}: {counted(counts.runs, 'run')} in {counts.seconds:.1f} s, "
            f"{counted(len(result.phases), 'message')} of the server mutated in {counted(counts.features, 'way')}: "
            f"{findings}"
        )
    return (
        f"{name}: {counted(counts.runs, 'sequence')}, {counted(counts.messages, 'message')} in {counts.seconds:.1f} s "
        f"({rate:,.0f} messages/s), {counted(len(result.phases), 'phase')}, {counted(counts.features, 'kind')} of "
        f"exchanges, {counted(counts.cases, 'run')} of conformance cases: {findings}"
    )
