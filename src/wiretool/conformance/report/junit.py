"""A conformance run as JUnit XML, which build servers read."""

from xml.etree import ElementTree

from wiretool.conformance.judged import JudgedRun
from wiretool.conformance.levels import Verdict
from wiretool.conformance.report.text import result_lines
from wiretool.conformance.results import CaseResult
from wiretool.sinks.printable import printable


def junit_report(judged: JudgedRun) -> str:
    """Return the document: findings are failures or errors; what proves nothing is skipped with its reason.

    The remarks on the run are its output.
    """
    run = judged.run
    suite = ElementTree.Element("testsuite", name=printable(f"conform {run.protocol}"))
    suite.set("time", f"{run.seconds:.3f}")
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", name="target", value=printable(run.target))
    for result in run.results:
        _add_case(suite, judged, result)
    for change in judged.changes:
        case = ElementTree.SubElement(suite, "testcase", classname="expected failures", name=printable(change))
        ElementTree.SubElement(case, "failure", message=printable(change), type="expected")
    if run.remarks:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(map(printable, run.remarks))
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _add_case(suite: ElementTree.Element, judged: JudgedRun, result: CaseResult) -> None:
    group, _, _ = result.case.id.rpartition("/")
    case = ElementTree.SubElement(suite, "testcase", classname=group.replace("/", "."), name=result.case.id)
    case.set("time", f"{result.seconds:.3f}")
    if judged.is_finding(result):
        tag = "error" if result.verdict is Verdict.ERROR else "failure"
        found = ElementTree.SubElement(case, tag, message=printable(result.why), type=result.verdict.value)
        found.text = "\n".join(result_lines(judged, result))
    elif result.verdict is not Verdict.PASS:
        reason = judged.reason(result)
        why = f"expected: {reason}" if reason is not None else result.why
        ElementTree.SubElement(case, "skipped", message=printable(f"{result.verdict.value}: {why}"))
