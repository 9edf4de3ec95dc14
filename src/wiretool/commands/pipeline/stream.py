"""`wiretool pipeline stream DIR -o TABLES --checkpoint CHECKPOINT`: tables of captures while they are written."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import PortNames, ProtocolName, path_from, ports_from
from wiretool.commands.pipeline.run import PARTS_MAX, Engine, Events, Master, engine_from


def stream(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", show_default=False, parser=path_from, help="folder in which captures arrive"),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="TABLES",
            show_default=False,
            parser=path_from,
            help="folder for the tables: new, empty, or of this stream",
        ),
    ],
    checkpoint: Annotated[
        Path,
        typer.Option(
            metavar="CHECKPOINT",
            show_default=False,
            parser=path_from,
            help="folder for the state; the same command continues from it after any interruption",
        ),
    ],
    once: Annotated[bool, typer.Option("--once", help="process the packets that are available now, and stop")] = False,
    finish: Annotated[
        bool, typer.Option("--finish", help="with --once: also close open connections, as no more captures will arrive")
    ] = False,
    interval: Annotated[str, typer.Option(metavar="TIME", help="time between batches")] = "5s",
    idle: Annotated[
        str, typer.Option(metavar="TIME", help="close a connection after this long without packets (capture time)")
    ] = "10m",
    delay: Annotated[
        str,
        typer.Option(metavar="TIME", help="with several inputs: time to wait for one that delivers nothing"),
    ] = "5s",
    engine: Engine = None,
    master: Master = "",
    splits: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=PARTS_MAX,
            metavar="N",
            show_default="by engine",
            help="number of tasks; fixed for the checkpoint",
        ),
    ] = None,
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    events: Events = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="with --once: exit with 3 also for problem records, not only for damaged captures"
        ),
    ] = False,
) -> None:
    """Write Parquet tables of captures while they grow.

    Writes each batch exactly once, reads growing and rotating files, and continues connections in the next batch.
    """
    from wiretool.commands.pipeline.streaming import PipelineStreamOptions, run_stream_command

    options = PipelineStreamOptions(
        folder,
        output,
        checkpoint,
        once,
        finish,
        strict,
        interval,
        idle,
        delay,
        protocol,
        ports_from(port),
        events,
        splits or 0,
    )
    raise typer.Exit(run_stream_command(options, engine_from(engine, master), master))
