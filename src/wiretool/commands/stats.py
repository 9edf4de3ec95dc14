"""`wiretool stats CAPTURE...`: numbers over captures."""

from collections.abc import Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from wiretool.commands.engines import check_workers, held_interrupts
from wiretool.commands.options import (
    CaptureFiles,
    Engine,
    OutputFile,
    PortNames,
    ProtocolName,
    Workers,
    ports_from,
    sources_from,
    tell,
)
from wiretool.commands.progress import counted, is_file, is_watched, shown

if TYPE_CHECKING:
    from wiretool.sessions.stats import Stats


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
    engine: Annotated[
        Engine, typer.Option(help="read messages one by one, or many as columns; the numbers are the same")
    ] = Engine.AUTO,
    workers: Workers = 1,
) -> None:
    """Count messages and bytes, and how long replies took: per message, connection, segment, stream and road."""
    from wiretool.sessions.stats import Stats
    from wiretool.sinks.output import open_output
    from wiretool.sinks.stats import write_stats

    sources, how = sources_from(captures), {"protocol": protocol, "ports": ports_from(port), "notes": tell}
    is_bulk = engine is Engine.COLUMNS or (engine is Engine.AUTO and all(map(is_file, captures or ())))
    check_workers(workers, is_bulk=is_bulk)
    numbers = Stats()
    with open_output(output, inputs=captures or ()) as out:
        try:
            if is_bulk:
                count_columns(numbers, sources, how, workers)
            else:
                count_rows(numbers, sources, how)
        finally:
            write_stats(numbers, out, format_.value)


def count_rows(numbers: "Stats", sources: Sequence[Path | BinaryIO], how: dict[str, Any]) -> None:
    """Count the records of captures one by one."""
    from wiretool.dissect import read

    numbers.add_all(read(sources, **how))


def count_columns(numbers: "Stats", sources: Sequence[Path | BinaryIO], how: dict[str, Any], workers: int) -> None:
    """Count the records of captures in batches; Ctrl-C stops between two of them."""
    from wiretool.bulk.workers import read_batches_by

    with counted(sources) as (opened, files):
        batches = read_batches_by(workers, opened, **how)
        steps = shown(batches, files) if files and is_watched() else batches
        with closing(batches), closing(steps):  # so that the bar is gone when the numbers are shown
            for batch in steps:
                with held_interrupts():
                    numbers.add_batch(batch)
