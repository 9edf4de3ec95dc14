"""`wiretool diff A B`: two captures compared by meaning."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import (
    KeyLogFile,
    MinJudged,
    OutputFile,
    PortNames,
    ProtocolName,
    ReportFormat,
    capture_from,
    format_from,
    keys_from,
    path_from,
    share_from,
)


def diff(
    one: Annotated[Path, typer.Argument(metavar="A", show_default=False, parser=capture_from, help="first capture")],
    other: Annotated[
        Path,
        typer.Argument(
            metavar="B", show_default=False, parser=capture_from, help="second capture, compared with the first"
        ),
    ],
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="MESSAGE.FIELD", show_default=False, help="ignore differences in this field; repeatable"),
    ] = None,
    noise: Annotated[
        Path | None,
        typer.Option(
            metavar="C",
            show_default=False,
            parser=capture_from,
            help="another recording of the session of A; fields that differ between the two are not compared with B",
        ),
    ] = None,
    expect: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, parser=path_from, help="TOML file of accepted differences"),
    ] = None,
    min_judged: MinJudged = "50%",
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    keylog: KeyLogFile = None,
    format_: Annotated[
        ReportFormat | None,
        typer.Option("--format", show_default="by the ending of -o, else text", help="output format"),
    ] = None,
    output: OutputFile = None,
) -> None:
    """Compare two captures message by message.

    Server-generated ids may differ. Exits with 1 if something else differs or too little could be judged, with 3 if a
    capture is damaged.
    """
    from wiretool.commands.diff.run import DiffOptions, compared

    share = share_from(min_judged, "--min-judged")
    form = format_ or format_from(output, ReportFormat)
    keys = keys_from(keylog)
    compared(one, other, DiffOptions(ignore or (), noise, expect, protocol, port, form, output, share, keys))
