"""`wiretool explain [MESSAGE]`: what a message means and how it lies on the wire."""

from enum import StrEnum
from typing import Annotated

import typer

from wiretool.commands.options import OutputFile, protocols_like


class ExplainFormat(StrEnum):
    """How pages are written."""

    TEXT = "text"
    JSON = "json"


def explain(
    message: Annotated[
        str, typer.Argument(metavar="MESSAGE", show_default="a list of all", help="name of a message")
    ] = "",
    protocol: Annotated[str, typer.Option(metavar="NAME", help="only messages of this protocol")] = "auto",
    format_: Annotated[ExplainFormat, typer.Option("--format", help="output format")] = ExplainFormat.TEXT,
    output: OutputFile = None,
) -> None:
    """Show the layout of a message.

    The layout has the fields with their types and meaning, the sender, and the defining clause.
    """
    from wiretool.sinks.explain import write_explanation
    from wiretool.sinks.output import open_output

    with open_output(output) as out:
        write_explanation(protocols_like(protocol), message, out, format_.value)
