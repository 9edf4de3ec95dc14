"""A report for programs."""

from wiretool.codec.json_text import json_text
from wiretool.replay.report.data import Report, judged


def ndjson_text(report: Report) -> str:
    """One object for each outcome, one a line."""
    return "".join(f"{json_text(judged(report, outcome))}\n" for outcome in report.outcomes)


def json_report(report: Report) -> str:
    """One object of all."""
    head = {
        "title": report.wording.title,
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
        "remarks": report.remarks,
    }
    lines = ",\n".join(json_text(judged(report, outcome)) for outcome in report.outcomes)
    return f'{json_text(head)[:-1]},"outcomes":[\n{lines}\n]}}\n'
