"""`wiretool pipeline report TABLES`: what tables come to, for people, browsers and programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wiretool.commands.options import path_from, tell
from wiretool.commands.pipeline.running import NOTHING
from wiretool.commands.pipeline.sql import TablesArgument
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.pipeline.report import Report


def report(
    tables: TablesArgument,
    html: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--html",
            metavar="FILE",
            show_default=False,
            parser=path_from,
            help="also write the report as one HTML page",
        ),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", show_default=False, parser=path_from, help="also write the report as JSON"
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="rows per figure")] = 10,
    since: Annotated[
        str, typer.Option(metavar="TIME", show_default="the beginning", help="start time, as 2024-05-01T12:00, UTC")
    ] = "",
    until: Annotated[str, typer.Option(metavar="TIME", show_default="the end", help="end time")] = "",
) -> None:
    """Report on the tables.

    Shows messages, latencies, errors, gaps, and slow, large or idle connections.
    Each figure has a wiretool slice command that extracts its packets.
    """
    from wiretool.pipeline.report import report_on
    from wiretool.pipeline.views import Times

    times = Times(moment_from("--since", since), moment_from("--until", until))
    if times.since_ns is not None and times.until_ns is not None and times.since_ns >= times.until_ns:
        raise UsageError(f"--since {since} is not before --until {until}; expected an earlier time")
    found = report_on(tables, times, top)
    is_asked = str(html) != "-" != str(json)
    for form, path in (("html", html), ("json", json), ("text", Path("-") if is_asked else None)):
        write(found, form, path)
    if found.first_ns is None:
        tell(f"{tables}: nothing to report; the tables have no rows{' in that time' if since or until else ''}")
        raise typer.Exit(NOTHING)


def write(found: "Report", form: str, path: Path | None) -> None:
    """Put a report where it was asked for; - is stdout."""
    from wiretool.pipeline.report import write_report
    from wiretool.sinks.output import open_output

    if path is not None:
        with open_output(path) as out:
            write_report(found, out, form)


def moment_from(option: str, text: str) -> int | None:
    """A moment as people write it, ns since the epoch; UsageError for what is none."""
    from wiretool.filter.judge import moment_ns

    if not text:
        return None
    try:
        return moment_ns(text)
    except ValueError as err:
        raise UsageError(
            f"{option}: {text!r} is not a time; expected 2024-05-01T12:00 or 2024-05-01T12:00:00.5Z"
        ) from err
