"""A result as JUnit XML, which build servers read: a test case for each threshold, and two for the run itself."""

from collections.abc import Sequence
from xml.etree import ElementTree

from wiretool.load.measure.figures import generator_text, verification_text
from wiretool.load.measure.thresholds import Outcome
from wiretool.load.result import Result
from wiretool.sinks.printable import printable

_SUITE = "wiretool bench"


def junit_text(result: Result, outcomes: Sequence[Outcome] = ()) -> str:
    """The document. `valid` fails where the generator could not measure, `verify` where events are not as sent."""
    suite = ElementTree.Element("testsuite", name=_SUITE, time=f"{result.duration_s:.3f}", timestamp=result.began_at)
    _add_valid(suite, result)
    _add_verify(suite, result)
    for outcome in outcomes:
        _add_threshold(suite, outcome)
    suite.set("tests", str(len(suite)))
    for name, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("errors", "0")
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _add_valid(suite: ElementTree.Element, result: Result) -> None:
    case = _case(suite, "run", "valid")
    if not result.valid:
        _fail(case, "invalid", [*result.reasons, f"generator: {generator_text(result) or 'no figures'}"])


def _add_verify(suite: ElementTree.Element, result: Result) -> None:
    case = _case(suite, "run", "verify")
    verification = result.verification
    if not verification.is_on:
        ElementTree.SubElement(case, "skipped", message=verification_text(result))
    elif verification.found:
        left = verification.found - len(verification.findings)
        more = [f"and {left:,} more"] if left > 0 else []
        _fail(case, "verify", [verification_text(result), *verification.findings, *more])


def _add_threshold(suite: ElementTree.Element, outcome: Outcome) -> None:
    case = _case(suite, "threshold", outcome.threshold.text)
    if not outcome.is_kept:
        _fail(case, "threshold", [outcome.told, f"expected: {outcome.threshold.text}"])


def _case(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"{_SUITE}.{group}", name=printable(name))


def _fail(case: ElementTree.Element, kind: str, lines: Sequence[str]) -> None:
    shown = [printable(line) for line in lines]
    ElementTree.SubElement(case, "failure", type=kind, message=shown[0]).text = "\n".join(shown)
