"""`wiretool pipeline run CAPTURES... -o TABLES`: tables of all that was captured."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import KeyLogFile, PortNames, ProtocolName, capture_from, keys_from, ports_from
from wiretool.errors import UsageError

#: More parts than that are more files than anybody reads.
PARTS_MAX = 10_000


class PipelineEngine(StrEnum):
    """Who does the work. The tables are the same."""

    LOCAL = "local"
    SPARK = "spark"


PipelineCaptures = Annotated[
    list[Path],
    typer.Argument(
        metavar="CAPTURE...", show_default=False, parser=capture_from, help="captures or folders of them, also by URL"
    ),
]
TablesFolder = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="TABLES",
        show_default=False,
        parser=capture_from,
        help="folder for the tables, also by URL: new, empty, or with tables of an earlier run, which are replaced",
    ),
]
Engine = Annotated[
    PipelineEngine | None, typer.Option(show_default="local, or spark with --master", help="engine that runs the work")
]
Master = Annotated[
    str, typer.Option(metavar="URL", show_default="the one that Spark knows, or local[*]", help="Spark's master")
]
Events = Annotated[bool, typer.Option("--events", help="also write a table of the events in appends")]


def engine_from(engine: PipelineEngine | None, master: str) -> str:
    """The name of the engine that was asked for; UsageError where it has no master, and one was given."""
    chosen = engine or (PipelineEngine.SPARK if master else PipelineEngine.LOCAL)
    if master and chosen is not PipelineEngine.SPARK:
        raise UsageError("--master: requires --engine spark")
    return chosen.value


def run(
    captures: PipelineCaptures,
    output: TablesFolder,
    engine: Engine = None,
    master: Master = "",
    splits: Annotated[
        int | None, typer.Option(min=1, max=PARTS_MAX, metavar="N", show_default="by size", help="number of tasks")
    ] = None,
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    keylog: KeyLogFile = None,
    events: Events = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="exit with 3 also for problem records, not only for damaged captures")
    ] = False,
) -> None:
    """Write Parquet tables of captures.

    They hold frames, messages, exchanges, gaps, problems, and a ledger of all bytes.
    """
    from wiretool.commands.pipeline.running import PipelineOptions, run_pipeline

    options = PipelineOptions(protocol, ports_from(port), events, strict, splits or 0, keys_from(keylog))
    raise typer.Exit(run_pipeline(captures, output, options, engine_from(engine, master), master))
