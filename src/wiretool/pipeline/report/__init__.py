"""Reports on the tables of a pipeline, for people and for programs."""

from wiretool.pipeline.report.html import report_html
from wiretool.pipeline.report.json import report_json
from wiretool.pipeline.report.report import Report, report_on
from wiretool.pipeline.report.text import report_text
from wiretool.sinks.choose import is_coloured, width_of
from wiretool.sinks.output import Output

__all__ = ["Report", "report_on", "write_report"]


def write_report(report: Report, output: Output, form: str = "text") -> None:
    """Write a report as `text`, `html` or `json`."""
    if form == "text":
        output.write(report_text(report, colour=is_coloured(output), width=width_of(output)))
    else:
        output.write(report_html(report) if form == "html" else report_json(report))
