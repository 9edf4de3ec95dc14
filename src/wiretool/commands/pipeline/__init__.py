"""`wiretool pipeline`: captures to tables and reports, here or on Spark."""

import typer

from wiretool.commands.pipeline.report import report
from wiretool.commands.pipeline.run import run
from wiretool.commands.pipeline.sql import sql
from wiretool.commands.pipeline.stream import stream

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Turn captures into tables and reports, here or on Spark.",
)
app.command()(run)
app.command()(stream)
app.command()(report)
app.command()(sql)
