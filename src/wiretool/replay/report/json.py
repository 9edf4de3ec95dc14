"""A report for programs."""

from typing import Any

from wiretool.codec.json_text import json_text
from wiretool.replay.report.data import Report, judged


def ndjson_text(report: Report) -> str:
    """Return one object for each outcome, one a line, and at last one that sums up."""
    lines = [judged(report, outcome) for outcome in report.outcomes]
    return "".join(f"{json_text(line)}\n" for line in [*lines, {"verdict": "summary", **_summary(report)}])


def _summary(report: Report) -> dict[str, Any]:
    """Return what came of the whole: `result` is what the first line for people says."""
    coverage = report.coverage
    return {
        "exchanges": coverage.exchanges,
        "further": coverage.further,
        "judged": coverage.exchanges_judged,
        "further_judged": coverage.further_judged,
        "min_judged": coverage.required,
        "findings": len(report.findings),
        "is_success": report.is_success,
        "result": report.result,
        "remarks": report.remarks,
    }


def json_report(report: Report) -> str:
    """One object of all."""
    head = {
        "title": report.wording.title,
        **_summary(report),
        "counts": {verdict.name.lower(): count for verdict, count in sorted(report.counts.items())},
        "connections": [
            {
                "connection": dialogue.number,
                "client": dialogue.client,
                "server": dialogue.server,
                "protocol": dialogue.protocol,
                "counts": {verdict.name.lower(): count for verdict, count in sorted(counts.items())},
            }
            for dialogue, counts in report.by_dialogue.items()
        ],
        "left_out": [group._asdict() for group in report.left_out],
    }
    lines = ",\n".join(json_text(judged(report, outcome)) for outcome in report.outcomes)
    return f'{json_text(head)[:-1]},"outcomes":[\n{lines}\n]}}\n'
