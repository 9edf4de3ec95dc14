"""`wiretool diff A B`: two captures compared by meaning."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import (
    MinJudged,
    OutputFile,
    PortNames,
    ProtocolName,
    ReportFormat,
    path_from,
    share_from,
)


def diff(
    one: Annotated[Path, typer.Argument(metavar="A", show_default=False, parser=path_from, help="the first capture")],
    other: Annotated[
        Path, typer.Argument(metavar="B", show_default=False, parser=path_from, help="what is held against it")
    ],
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="MESSAGE.FIELD", show_default=False, help="let this differ; repeatable"),
    ] = None,
    noise: Annotated[
        Path | None,
        typer.Option(
            metavar="C", show_default=False, parser=path_from, help="a capture like A: what differs in it may in B"
        ),
    ] = None,
    expect: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, parser=path_from, help="differences to accept, TOML"),
    ] = None,
    min_judged: MinJudged = "50%",
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    format_: Annotated[ReportFormat, typer.Option("--format", help="form of the output")] = ReportFormat.TEXT,
    output: OutputFile = None,
) -> None:
    """Compare two captures message by message, whatever ids their servers made up.

    Exit code 1 when they differ or too little could be judged, 3 when a capture is damaged.
    """
    from wiretool.commands.diffing import Wishes, compared

    share = share_from(min_judged, "--min-judged")
    compared(one, other, Wishes(ignore or (), noise, expect, protocol, port, format_, output, share))
