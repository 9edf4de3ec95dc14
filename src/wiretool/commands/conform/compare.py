"""`wiretool conform compare`: the cases whose verdicts differ between reports."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.target_options import file_parser


def compare(
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORT...", show_default=False, help="two JSON reports of one protocol; more with --html"
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(
            parser=file_parser("--html"),
            metavar="FILE",
            show_default=False,
            help="write a matrix of all reports, which may be more than two",
        ),
    ] = None,
) -> None:
    """List the cases whose verdicts changed from the first report to each other one.

    Exit code 1 when a case that passed does not pass any more or is missing, or when one fails and did not before.
    Exit code 2 for reports of different protocols or a missing file, 3 for a file that is not a report with cases.
    """
    from wiretool.commands.conform.reports import write_comparison

    write_comparison(list(map(str, reports)), html)
