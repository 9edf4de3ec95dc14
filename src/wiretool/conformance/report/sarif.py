"""A conformance run as SARIF 2.1.0, which code scanning services read.

It keeps GitHub's rules for uploads, too: each result has a file, a line, and an identity that outlasts changes of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from wiretool import __version__
from wiretool.codec.json_text import json_text
from wiretool.conformance.expectations import ChangedFailure
from wiretool.conformance.judged import JudgedRun
from wiretool.conformance.levels import Level, Verdict
from wiretool.conformance.results import CaseResult

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: How grave a finding is, by the level of its requirement (SARIF 2.1.0 §3.27.10).
_SEVERITY = {Level.MUST: "error", Level.SHOULD: "warning", Level.OBSERVED: "note"}
#: The rule that entries of the --expect file are held to.
CHANGED_RULE = "wiretool/expected-failures"
#: What relative URIs are relative to: the root of the sources (SARIF 2.1.0 §3.14.14).
_ROOT = "%SRCROOT%"
#: Hexadecimal digits of an identity.
_HASH_DIGITS = 16


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The files that results are about, as URIs: relative to the root of the sources, or absolute."""

    #: What was judged; the first file is the location of results, further ones are related to them.
    judged: Sequence[str]
    #: The file of known failures.
    expected: str = ""


def sarif_report(judged: JudgedRun, files: ReportFiles) -> str:
    """Return the document: a rule for each requirement, a result for each case that was exercised and did not pass."""
    run = judged.run
    rules = [
        _rule(result.case.id, result.case.requirement, f"Source: {result.case.source}", _SEVERITY[result.case.level])
        for result in run.results
    ]
    if judged.changes:
        requirement = "Known failures still fail, for the listed reasons."
        rules.append(_rule(CHANGED_RULE, requirement, "Source: --expect of wiretool conform", "error"))
    indexes = {rule["id"]: index for index, rule in enumerate(rules)}
    shown = [each for each in run.results if each.verdict not in (Verdict.PASS, Verdict.NOT_EXERCISED)]
    results = [_result(judged, result, files) for result in shown]
    results += [_changed(change, files) for change in judged.changed_failures]
    document = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "wiretool conform", "version": __version__, "rules": rules}},
                "results": [{**result, "ruleIndex": indexes[result["ruleId"]]} for result in results],
                "invocations": [
                    {
                        "executionSuccessful": run.stopped_by is None,
                        "toolExecutionNotifications": [
                            {"level": "warning", "message": {"text": remark}} for remark in run.remarks
                        ],
                    }
                ],
            }
        ],
    }
    return json_text(document) + "\n"


def _rule(name: str, requirement: str, source: str, severity: str) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": requirement},
        "fullDescription": {"text": requirement},
        "help": {"text": source},
        "defaultConfiguration": {"level": severity},
    }


def _result(judged: JudgedRun, result: CaseResult, files: ReportFiles) -> dict[str, Any]:
    reason = judged.reason(result)
    first, *others = files.judged
    name = f"{judged.run.target}/{result.case.id}"
    row: dict[str, Any] = {
        "ruleId": result.case.id,
        "level": _SEVERITY[result.case.level] if judged.is_finding(result) else "note",
        "message": {"text": f"{result.verdict.value}: {result.why}. Run alone: {judged.run.command_for(result)}"},
        "locations": [
            {**_location(first), "logicalLocations": [{"fullyQualifiedName": name, "kind": "resource"}]},
        ],
        "partialFingerprints": _identity(result.case.id),
    }
    if others:
        row["relatedLocations"] = [_location(other) for other in others]
    if reason is not None:
        row["suppressions"] = [{"kind": "external", "justification": reason}]
    return row


def _changed(change: ChangedFailure, files: ReportFiles) -> dict[str, Any]:
    return {
        "ruleId": CHANGED_RULE,
        "level": "error",
        "message": {"text": change.text},
        "locations": [_location(files.expected or files.judged[0], change.entry.line)],
        "partialFingerprints": _identity(f"{CHANGED_RULE}/{change.entry.case}"),
    }


def _location(uri: str, line: int = 1) -> dict[str, Any]:
    """Return a place in a file; GitHub requires a line, also of a binary file."""
    base = {} if ":" in uri.partition("/")[0] else {"uriBaseId": _ROOT}
    return {"physicalLocation": {"artifactLocation": {"uri": uri, **base}, "region": {"startLine": line}}}


def _identity(name: str) -> dict[str, str]:
    """Return what tells a result from others in all runs; GitHub reads the key with the hash only."""
    digest = sha256(name.encode()).hexdigest()[:_HASH_DIGITS]
    return {"primaryLocationLineHash": f"{digest}:1", "wiretoolCase/v1": name}
