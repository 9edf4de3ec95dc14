"""Reports on a load, for people and for programs."""

from collections.abc import Callable, Mapping, Sequence

from wiretool.load.report.comparison import comparison_json, comparison_text
from wiretool.load.report.csv import csv_text
from wiretool.load.report.html import html_text
from wiretool.load.report.json import json_report, read_result
from wiretool.load.report.junit import junit_text
from wiretool.load.report.live import live_table
from wiretool.load.report.pcapng import line_on, write_slow
from wiretool.load.report.text import result_text
from wiretool.load.result import Result
from wiretool.load.thresholds import Outcome
from wiretool.sinks.choose import is_coloured, width_of
from wiretool.sinks.output import Output

__all__ = ["comparison_json", "comparison_text", "line_on", "live_table", "read_result", "write_report", "write_slow"]

#: What needs no terminal, by the name of the form.
_WRITERS: Mapping[str, Callable[[Result, Sequence[Outcome]], str]] = {
    "json": lambda result, _: json_report(result),
    "csv": lambda result, _: csv_text(result),
    "html": html_text,
    "junit": junit_text,
}


def write_report(result: Result, output: Output, form: str = "text", *, outcomes: Sequence[Outcome] = ()) -> None:
    """Write a result as `text`, `json`, `csv`, `html` or `junit`; `outcomes` are what became of thresholds."""
    if form == "text":
        output.write(result_text(result, outcomes, colour=is_coloured(output), width=width_of(output)))
    else:
        output.write(_WRITERS[form](result, outcomes))
