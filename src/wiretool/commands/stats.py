"""`wiretool stats CAPTURE...`: numbers over captures."""

from enum import StrEnum
from typing import Annotated

import typer

from wiretool.commands.options import CaptureFiles, OutputFile, PortNames, ProtocolName, ports_from, sources_from, tell


class StatsFormat(StrEnum):
    """How numbers are written."""

    TEXT = "text"
    JSON = "json"


def stats(
    captures: CaptureFiles = None,
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    format_: Annotated[StatsFormat, typer.Option("--format", help="form of the output")] = StatsFormat.TEXT,
    output: OutputFile = None,
) -> None:
    """Count messages and bytes, and how long replies took: per message, connection, segment, stream and road."""
    from wiretool.dissect import read
    from wiretool.sessions.stats import Stats
    from wiretool.sinks.output import open_output
    from wiretool.sinks.stats import write_stats

    records = read(sources_from(captures), protocol=protocol, ports=ports_from(port), notes=tell)
    numbers = Stats()
    with open_output(output, inputs=captures or ()) as out:
        try:
            numbers.add_all(records)
        finally:
            write_stats(numbers, out, format_.value)
