"""A report for programs."""

from dataclasses import asdict
from typing import Any

import msgspec

from wiretool.pipeline.report.report import Report


def report_json(report: Report) -> str:
    """All rows of all figures with their numbers as they are, each with `slice`; times are ns since the epoch."""
    said: dict[str, Any] = {
        "tables": str(report.root),
        "since_ns": report.times.since_ns,
        "until_ns": report.times.until_ns,
        "first_ns": report.first_ns,
        "last_ns": report.last_ns,
        "captures": report.manifest.inputs,
        "figures": {
            figure.question.name: {"title": figure.question.title, "count": figure.count, "rows": figure.rows}
            for figure in report.figures
        },
        "course": asdict(report.course),
    }
    return msgspec.json.format(msgspec.json.encode(said), indent=1).decode() + "\n"
