"""A report as JUnit XML, which build servers read."""

from collections import defaultdict
from collections.abc import Sequence
from xml.etree import ElementTree

from wiretool.analysis.dialogues import Dialogue
from wiretool.replay.adapter import Verdict
from wiretool.replay.judging.outcomes import Outcome
from wiretool.replay.report.data import Report, differing, record_of
from wiretool.replay.report.text import place_text
from wiretool.replay.report.values import beside
from wiretool.sinks.printable import printable

#: Exchanges that are a test case each; of more, each connection is one, as nobody pages through thousands.
CASES_MAX = 500
#: Findings of one connection that are told.
TOLD_MAX = 50
_SKIPPED = (Verdict.EXPLAINED, Verdict.UNKNOWN)


def junit_text(report: Report) -> str:
    """The document: findings are failures, what is explained or unknown is skipped, with its reason."""
    suite = ElementTree.Element("testsuite", name=report.wording.title)
    properties = ElementTree.SubElement(suite, "properties")
    for name, number in (("exchanges", report.coverage.exchanges), ("judged", report.coverage.exchanges_judged)):
        ElementTree.SubElement(properties, "property", name=name, value=str(number))
    if len(report.outcomes) <= CASES_MAX:
        for outcome in report.outcomes:
            _add_exchange(suite, report, outcome)
    else:
        by_dialogue: dict[Dialogue, list[Outcome]] = defaultdict(list)
        for outcome in report.outcomes:
            by_dialogue[outcome.dialogue].append(outcome)
        for dialogue, outcomes in by_dialogue.items():
            _add_connection(suite, report, dialogue, outcomes)
    if report.coverage.shortfall:
        _fail_coverage(suite, report)
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("errors", "0")
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _fail_coverage(suite: ElementTree.Element, report: Report) -> None:
    """Add a test case that fails because too few of the others were judged."""
    text = f"{report.headline}: {report.result}"
    failure = ElementTree.SubElement(_case(suite, "coverage", "judged exchanges"), "failure", message=text)
    failure.set("type", "coverage")
    failure.text = text


def _add_exchange(suite: ElementTree.Element, report: Report, outcome: Outcome) -> None:
    case = _case(suite, f"{outcome.dialogue.protocol}.connection {outcome.dialogue.number}", exchange_name(outcome))
    if outcome.verdict.is_finding:
        _fail(case, outcome.verdict, lines_of(report, outcome))
    elif outcome.verdict in _SKIPPED:
        ElementTree.SubElement(case, "skipped", message=_skipped_for(outcome))


def _add_connection(
    suite: ElementTree.Element, report: Report, dialogue: Dialogue, outcomes: Sequence[Outcome]
) -> None:
    case = _case(suite, dialogue.protocol, printable(dialogue.name))
    found = [outcome for outcome in outcomes if outcome.verdict.is_finding]
    skipped = [outcome for outcome in outcomes if outcome.verdict in _SKIPPED]
    if found:
        lines = [line for outcome in found[:TOLD_MAX] for line in lines_of(report, outcome)]
        if len(found) > TOLD_MAX:
            lines.append(f"and {len(found) - TOLD_MAX:,} more")
        _fail(case, max(outcome.verdict for outcome in found), lines, f"{len(found):,} of {len(outcomes):,} exchanges")
    elif skipped:
        why = " / ".join(dict.fromkeys(map(_skipped_for, skipped)))
        ElementTree.SubElement(case, "skipped", message=f"{len(skipped):,} of {len(outcomes):,} exchanges: {why}")


def _case(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=printable(group), name=name)


def _fail(case: ElementTree.Element, verdict: Verdict, lines: Sequence[str], message: str = "") -> None:
    failure = ElementTree.SubElement(case, "failure", type=verdict.name.lower(), message=message or lines[0])
    failure.text = "\n".join(lines)


def _skipped_for(outcome: Outcome) -> str:
    return printable(f"{outcome.verdict.name.lower()}: {'; '.join(outcome.reasons) or 'not recorded'}")


def exchange_name(outcome: Outcome) -> str:
    """What tells one exchange from others: the number of its record, and its message."""
    record = record_of(outcome)
    if record is None:
        return printable(outcome.live[0].message if outcome.live else "") or "the end of the connection"
    return f"record {record.n} {printable(record.message)}"


def lines_of(report: Report, outcome: Outcome) -> list[str]:
    """A finding as plain lines, the first of which says most."""
    words = report.wording
    lines = []
    for difference in outcome.differences:
        recorded, live = beside(difference.expected, difference.live)
        name = f"{printable(differing(outcome, difference).name)}: " if difference.steps else ""
        lines.append(f"{name}{words.recorded} {recorded}, {words.live} {live}")
    lines += map(printable, outcome.reasons)
    return [*(lines or [outcome.verdict.name.lower()]), f"  at {place_text(report, outcome)}"]
