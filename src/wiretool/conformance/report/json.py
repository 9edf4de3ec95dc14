"""A conformance run as one JSON object, and such an object read again."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wiretool.codec.json_text import json_text
from wiretool.conformance.judged import JudgedRun
from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import CaseResult, setup_of
from wiretool.errors import UsageError


def json_report(judged: JudgedRun) -> str:
    """Return the report: protocol, target, the number of cases by verdict, and each case."""
    run = judged.run
    return (
        json_text(
            {
                "protocol": run.protocol,
                "target": run.target,
                "setup": run.setup,
                "summary": dict(run.summary),
                "is_success": judged.is_success,
                "seconds": round(run.seconds, 3),
                "remarks": [*judged.changes, *run.remarks],
                "cases": [_case(judged, result) for result in run.results],
            }
        )
        + "\n"
    )


def _case(judged: JudgedRun, result: CaseResult) -> dict[str, Any]:
    case = result.case
    reason = judged.reason(result)
    row: dict[str, Any] = {
        "id": case.id,
        "level": case.level.value,
        "requirement": case.requirement,
        "source": case.source,
        "verdict": result.verdict.value,
        "why": result.why,
        "seconds": round(result.seconds, 4),
        "is_finding": judged.is_finding(result),
    }
    if setup_of(case):
        row["setup"] = setup_of(case)
    if reason is not None:
        row["expected"] = reason
    if result.verdict is not Verdict.PASS and result.events:
        row["messages"] = [
            {
                "connection": event.on,
                "side": event.side,
                "message": event.name,
                "fields": event.fields,
                **({"problems": list(event.problems)} if event.problems else {}),
                **({"is_marked": True} if event.is_marked else {}),
            }
            for event in result.events
        ]
    return row


def read_report(path: Path) -> Mapping[str, Any]:
    """Read a JSON report. UsageError where it cannot be read or is something else."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as err:
        raise UsageError(f"{path}: {err.strerror}") from err
    except (ValueError, RecursionError) as err:
        raise UsageError(f"{path}: not JSON; expected a report of `wiretool conform --json`") from err
    if not _is_report(report):
        raise UsageError(f"{path}: not a conformance report; expected one of `wiretool conform --json`")
    return dict(report)


def _is_report(report: Any) -> bool:
    if not isinstance(report, dict) or not isinstance(report.get("cases"), list):
        return False
    if not all(isinstance(report.get(name), str) for name in ("protocol", "target")):
        return False
    texts = ("id", "level", "requirement", "source", "verdict", "why")
    return all(
        isinstance(case, dict) and all(isinstance(case.get(name), str) for name in texts) for case in report["cases"]
    )
