"""Output of `wiretool conform`: lists, reports, comparisons, the table of mutants."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wiretool.commands.conform.options import ConformOptions
from wiretool.errors import UsageError, why_unreadable

if TYPE_CHECKING:
    from wiretool.conformance.judged import JudgedRun
    from wiretool.conformance.mutation.table import MutantTable
    from wiretool.conformance.results import AnyCase


def write_text(text: str, path: Path | None = None) -> None:
    """Write text to a file, or to stdout."""
    from wiretool.sinks.output import open_whole_output

    with open_whole_output(path) as out:
        out.write(text)


def write_list(cases: "Sequence[AnyCase]", form: str) -> None:
    """Write the cases, a line each, or as a JSON list."""
    from wiretool.conformance.results import setup_of
    from wiretool.sinks.choose import width_of
    from wiretool.sinks.output import open_output
    from wiretool.sinks.printable import printable
    from wiretool.sinks.text.wrapping import wrap_lines

    names = ("id", "level", "requirement", "source")
    rows = [{name: str(getattr(case, name)) for name in names} | {"setup": setup_of(case)} for case in cases]
    if form == "json":
        write_text(json.dumps(rows, indent=1) + "\n")
        return
    with open_output(None) as out:
        out.write(wrap_lines((printable(_list_line(row)) for row in rows), width_of(out)))


def _list_line(row: Mapping[str, str]) -> str:
    setup = f" (setup {row['setup']})" if row["setup"] else ""
    return f"{row['id']}  {row['level']}  {row['requirement']} [{row['source']}]{setup}"


def write_reports(judged: "JudgedRun", options: ConformOptions) -> None:
    """Write the report on stdout and the files that were asked for."""
    from wiretool.commands.conform.locations import report_files
    from wiretool.conformance.expectations import expected_text
    from wiretool.conformance.report.badge import badge
    from wiretool.conformance.report.html import html_report
    from wiretool.conformance.report.json import json_report
    from wiretool.conformance.report.junit import junit_report
    from wiretool.conformance.report.sarif import sarif_report
    from wiretool.conformance.report.text import report_lines
    from wiretool.sinks.choose import width_of
    from wiretool.sinks.output import open_output
    from wiretool.sinks.text.wrapping import wrap_lines

    reports = options.reports
    if reports.form == "json":
        write_text(json_report(judged))
    else:
        with open_output(None) as out:
            out.write(wrap_lines(report_lines(judged, is_verbose=reports.is_verbose), width_of(out)))
    makers = {
        "--junit": lambda: junit_report(judged),
        "--json": lambda: json_report(judged),
        "--sarif": lambda: sarif_report(judged, report_files(options)),
        "--html": lambda: html_report([json.loads(json_report(judged))]),
        "--badge": lambda: badge(judged),
        "--write-expect": lambda: expected_text(judged.findings),
    }
    for option, path in reports.files():
        write_text(makers[option](), path)


def write_comparison(names: Sequence[str], html: Path | None) -> None:
    """Compare reports: what changed from the first to each other one, and all of them as a matrix in `html`.

    `typer.Exit` of 1 where a case that passed does not pass any more.
    """
    from wiretool.conformance.compare import changes_between
    from wiretool.conformance.report.html import html_report
    from wiretool.sinks.printable import printable

    if len(names) < 2 or (len(names) > 2 and html is None):
        raise UsageError("compare: expected two JSON reports; with --html any number of them")
    reports = [read_report(Path(name)) for name in names]
    if len({report["protocol"] for report in reports}) > 1:
        raise UsageError("compare: the reports are of different protocols")
    if html is not None:
        write_text(html_report(reports, names), html)
    is_worse = False
    for name, report in zip(names[1:], reports[1:], strict=True):
        changes = list(changes_between(reports[0], report))
        head = f"{names[0]} -> {name}:\n" if len(reports) > 2 else ""
        lines = "".join(f"{change}\n" for change in changes)
        counts = f"{len(changes)} of {len(report['cases'])} cases changed"
        write_text("".join(f"{printable(line)}\n" for line in f"{head}{lines}{counts}".splitlines()))
        is_worse = is_worse or any(change.is_worse for change in changes)
    if is_worse:
        raise typer.Exit(1)


def read_report(path: Path) -> Mapping[str, Any]:
    """Read a JSON report. UsageError where it cannot be read or is something else."""
    from wiretool.conformance.report.json import report_from

    try:
        data = path.read_bytes()
    except OSError as err:
        raise UsageError(f"{path}: {why_unreadable(err)}") from err
    return report_from(data, name=str(path))


def write_mutants(table: "MutantTable", form: str) -> None:
    """Write the table of mutants and the cases that find them."""
    from wiretool.conformance.mutation.table import table_lines, table_rows

    if form == "json":
        write_text(json.dumps(table_rows(table), indent=1) + "\n")
    else:
        write_text("".join(f"{line}\n" for line in table_lines(table)))
