"""A conformance run as one JSON object, and such an object parsed again."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wiretool.codec.json_text import json_text
from wiretool.conformance.judged import JudgedRun
from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import CaseResult, Event, setup_of
from wiretool.errors import InputError
from wiretool.expectations import json_problem
from wiretool.sinks.printable import printable

#: Characters of one text, and entries of one list, in a message.
TEXT_MAX, ITEMS_MAX = 300, 100
VERDICTS = frozenset(verdict.value for verdict in Verdict)


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
    if result.verdict is Verdict.FAIL:
        row |= _difference(result)
    if result.events:
        row["messages"] = [_message(event) for event in result.events]
    return row


def _difference(result: CaseResult) -> dict[str, Any]:
    """Return the evidence of a failure: messages sent, accepted and received, and the first difference."""
    return {
        "difference": result.difference or result.why,
        "accepted": result.expected,
        "sent": None if result.sent is None else _message(result.sent),
        "received": None if result.received is None else _message(result.received),
    }


def _message(event: Event) -> dict[str, Any]:
    return {
        "connection": event.on,
        "side": event.side,
        "message": event.name,
        "fields": _shortened(event.fields),
        **({"change": event.change} if event.change else {}),
        **({"problems": list(event.problems)} if event.problems else {}),
        **({"is_marked": True} if event.is_marked else {}),
    }


def _shortened(value: Any) -> Any:
    """Return a JSON value with long texts and lists cut: payloads of a conversation can have megabytes."""
    if isinstance(value, str) and len(value) > TEXT_MAX:
        return f"{value[:TEXT_MAX]}... ({len(value):,} characters)"
    if isinstance(value, Mapping):
        return {name: _shortened(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        cut = [f"... ({len(value):,} entries)"] if len(value) > ITEMS_MAX else []
        return [*map(_shortened, value[:ITEMS_MAX]), *cut]
    return value


def report_from(data: bytes, *, name: str) -> Mapping[str, Any]:
    """Return the report of a JSON text. InputError where it is something else; `name` is that of the file."""
    try:
        report = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise InputError(f"{name}: {json_problem(err)}; expected a report of `wiretool conform --json`") from err
    if not _is_report(report):
        raise InputError(f"{name}: not a conformance report; expected one of `wiretool conform --json`")
    if problem := _case_problem(report["cases"]):
        raise InputError(f"{name}: not a conformance report: {problem}; expected one of `wiretool conform --json`")
    return dict(report)


def _case_problem(cases: Sequence[Mapping[str, Any]]) -> str:
    """Return why cases cannot be compared; empty where they can."""
    seen: set[str] = set()
    for case in cases:
        if case["id"] in seen:
            return f"{printable(case['id'])} is in it twice"
        if case["verdict"] not in VERDICTS:
            return f"{printable(case['id'])}: unknown verdict {case['verdict']!r}"
        seen.add(case["id"])
    return "" if seen else "no cases"


def _is_report(report: Any) -> bool:
    if not isinstance(report, dict) or not isinstance(report.get("cases"), list):
        return False
    if not all(isinstance(report.get(name), str) for name in ("protocol", "target")):
        return False
    texts = ("id", "level", "requirement", "source", "verdict", "why")
    return all(
        isinstance(case, dict) and all(isinstance(case.get(name), str) for name in texts) for case in report["cases"]
    )
