"""`wiretool pipeline sql TABLES "SELECT ..."`: questions about tables."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from wiretool.commands.options import OutputFile, capture_from, tell
from wiretool.commands.pipeline.running import NOTHING
from wiretool.commands.progress import report_waiting
from wiretool.errors import UsageError

T = TypeVar("T")


class SqlFormat(StrEnum):
    """How rows are written."""

    TEXT = "text"
    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"
    PARQUET = "parquet"


class SqlEngine(StrEnum):
    """Who answers."""

    DUCKDB = "duckdb"
    SPARK = "spark"


TablesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="TABLES",
        show_default=False,
        parser=capture_from,
        help="folder of tables from pipeline run or stream, also by URL",
    ),
]


def sql(
    tables: TablesArgument,
    select: Annotated[str, typer.Argument(metavar="SELECT", show_default=False, help="SQL statement")],
    engine: Annotated[SqlEngine, typer.Option(help="engine that runs the statement")] = SqlEngine.DUCKDB,
    master: Annotated[str, typer.Option(metavar="URL", help="Spark's master")] = "",
    format_: Annotated[SqlFormat, typer.Option("--format", help="output format")] = SqlFormat.TEXT,
    output: OutputFile = None,
) -> None:
    """Query the tables with SQL.

    The tables are frames, exchanges, ledger, pravega.AppendBlockEnd, gold.minutes and others. SHOW ALL TABLES lists
    them, DESCRIBE frames the columns of one. Statements cannot change the tables. Spark has no gold, requires
    backticks for tables of messages (`pravega.AppendBlockEnd`), and lists them with SHOW TABLES. Names that differ
    only in case get a number: sbp.UNKNOWN_1, sbp.Unknown_2.
    """
    from wiretool.pipeline.sql import asked, write_answer, write_parquet
    from wiretool.pipeline.table_copies import has_tables
    from wiretool.sinks.output import open_whole_output

    path = parquet_from(output) if format_ is SqlFormat.PARQUET else None
    if master and engine is not SqlEngine.SPARK:
        raise UsageError("--master: requires --engine spark")
    if engine is SqlEngine.SPARK:
        from wiretool.pipeline.spark.sql import asked as asked_spark

        asking = _told_of_waiting(asked_spark(tables, select, master=master or None))
    else:
        asking = asked(tables, select)
    with asking as found:
        if path is not None:
            write_parquet(found, path)
        else:
            with open_whole_output(output) as out:
                write_answer(found, out, format_.value)
    if not has_tables(tables):
        tell(f"{tables}: the tables have no rows: nothing was read when they were made")
        raise typer.Exit(NOTHING)


@contextmanager
def _told_of_waiting(asking: "AbstractContextManager[T]") -> Iterator[T]:
    """Report that Spark is starting, and then answers, until there is an answer."""
    with ExitStack() as stack:
        with report_waiting("Spark is at work"):
            found = stack.enter_context(asking)
        yield found


def parquet_from(output: Path | None) -> Path:
    """Where a Parquet file goes; UsageError for a terminal or a pipe."""
    if output is None or str(output) == "-":
        raise UsageError("--format parquet: missing file; expected -o FILE")
    return output
