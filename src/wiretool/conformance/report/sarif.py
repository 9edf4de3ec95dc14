"""A conformance run as SARIF 2.1.0, which code scanning services read."""

from typing import Any

from wiretool import __version__
from wiretool.codec.json_text import json_text
from wiretool.conformance.judged import JudgedRun
from wiretool.conformance.levels import Level, Verdict
from wiretool.conformance.results import CaseResult

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: How grave a finding is, by the level of its requirement (SARIF 2.1.0 §3.27.10).
_SEVERITY = {Level.MUST: "error", Level.SHOULD: "warning", Level.OBSERVED: "note"}


def sarif_report(judged: JudgedRun) -> str:
    """Return the document: one rule for each requirement, one result for each case that did not pass."""
    run = judged.run
    rules = [
        {
            "id": result.case.id,
            "shortDescription": {"text": result.case.requirement},
            "help": {"text": f"Source: {result.case.source}"},
            "defaultConfiguration": {"level": _SEVERITY[result.case.level]},
        }
        for result in run.results
    ]
    indexes = {rule["id"]: index for index, rule in enumerate(rules)}
    shown = [each for each in run.results if each.verdict not in (Verdict.PASS, Verdict.NOT_EXERCISED)]
    document = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "wiretool conform", "version": __version__, "rules": rules}},
                "results": [_result(judged, result, indexes[result.case.id]) for result in shown],
                "invocations": [{"executionSuccessful": run.stopped_by is None}],
            }
        ],
    }
    return json_text(document) + "\n"


def _result(judged: JudgedRun, result: CaseResult, index: int) -> dict[str, Any]:
    reason = judged.reason(result)
    row: dict[str, Any] = {
        "ruleId": result.case.id,
        "ruleIndex": index,
        "level": _SEVERITY[result.case.level] if judged.is_finding(result) else "note",
        "message": {"text": f"{result.verdict.value}: {result.why}. Run alone: {judged.run.command_for(result)}"},
        "locations": [
            {"logicalLocations": [{"fullyQualifiedName": f"{judged.run.target}/{result.case.id}", "kind": "resource"}]}
        ],
        "partialFingerprints": {"case": result.case.id},
    }
    if reason is not None:
        row["suppressions"] = [{"kind": "external", "justification": reason}]
    return row
