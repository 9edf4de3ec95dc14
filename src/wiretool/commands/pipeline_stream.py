"""`wiretool pipeline stream DIR -o TABLES --checkpoint CHECKPOINT`: tables of captures while they are written."""

from pathlib import Path
from typing import Annotated

import typer

from wiretool.commands.options import PortNames, ProtocolName, path_from, ports_from
from wiretool.commands.pipeline_run import PARTS_MAX, Engine, Events, Master, engine_from


def stream(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", show_default=False, parser=path_from, help="the folder that captures come into"),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="TABLES",
            show_default=False,
            parser=path_from,
            help="the folder of the tables: new, empty or that of this stream",
        ),
    ],
    checkpoint: Annotated[
        Path,
        typer.Option(
            metavar="CHECKPOINT",
            show_default=False,
            parser=path_from,
            help="a folder for how far it is: with it the same command goes on, whatever ended it",
        ),
    ],
    once: Annotated[bool, typer.Option("--once", help="take what is there now, and end")] = False,
    finish: Annotated[
        bool, typer.Option("--finish", help="with --once: nothing more comes, so end what is still open")
    ] = False,
    interval: Annotated[str, typer.Option(metavar="TIME", help="how often there is a batch of what is new")] = "5s",
    idle: Annotated[
        str, typer.Option(metavar="TIME", help="a connection that says nothing for so long, as captured, is over")
    ] = "10m",
    delay: Annotated[
        str,
        typer.Option(metavar="TIME", help="where several programs capture: how long a silent one is waited for"),
    ] = "5s",
    engine: Engine = None,
    master: Master = "",
    splits: Annotated[
        int | None,
        typer.Option(min=1, max=PARTS_MAX, metavar="N", show_default="by engine", help="parts of the work, for good"),
    ] = None,
    protocol: ProtocolName = "auto",
    port: PortNames = None,
    events: Events = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="with --once: exit code 3 where a capture is damaged or there is a problem")
    ] = False,
) -> None:
    """Make Parquet tables of captures while they are written, batch by batch, each exactly once.

    It reads files that grow and are rotated, and carries connections on from batch to batch.
    """
    from wiretool.commands.streaming import Wishes, run_stream_command

    wishes = Wishes(
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
    raise typer.Exit(run_stream_command(wishes, engine_from(engine, master), master))
