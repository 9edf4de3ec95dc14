"""Questions in Spark's SQL about the tables of a pipeline."""

import logging
import re
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from wiretool.errors import UsageError
from wiretool.pipeline.damaged_tables import check_tables
from wiretool.pipeline.layout import File, Manifest, check_counted, read_manifest
from wiretool.pipeline.spark.session import session
from wiretool.pipeline.table_copies import copied
from wiretool.pipeline.views import (
    EMPTY,
    check_files,
    check_text,
    endings,
    folder_columns,
    named_in,
    names_of,
    told_apart,
)
from wiretool.sinks.arrow.frames import readers
from wiretool.storage.url_path import UrlPath

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What questions begin with; none of it writes.
_ASKS = re.compile(r"\s*\(*\s*(select|with|from|values|describe|desc|show|explain|table)\b", re.IGNORECASE)
_WRITES = re.compile(r"\b(insert|create|drop|alter|delete|update|merge|truncate|load|overwrite)\b", re.IGNORECASE)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`")
#: What is no character of its own in the name of a file.
_PATTERN = re.compile(r"[\[\]{}*?\\]")
#: What Spark calls it that a table is not there.
_NO_TABLE = "TABLE_OR_VIEW_NOT_FOUND"
_HOW_NAMED = " (those of messages are named in backticks, as `sbp.APPEND`; gold is there for DuckDB only)"
#: Where PySpark prints an error as JSON when it makes one that has a place in a question, before it is raised.
_ECHOES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def asked(root: Path, question: str, *, master: str | None = None) -> Iterator[pa.RecordBatchReader]:
    """What a question gives, all of it at once; tables of messages are called `PROTOCOL.NAME`, in backticks.

    Names that differ only in capitals, which Spark does not tell apart, get a number each. Tables of a stream have one
    more column, the batch that a row came in. The views are gone afterwards.
    UsageError where it is none, or one that writes, where Spark does not understand it, and where there are no tables;
    CaptureError where a file of theirs is missing or damaged.
    """
    if not _ASKS.match(question) or _WRITES.search(_QUOTED.sub("''", question)):
        raise UsageError("only a single read-only statement is allowed (SELECT, DESCRIBE, SHOW)")
    check_text("the question", question)
    check_text("the name of the folder", str(root.absolute()))
    with copied(root, lambda name: "." not in name or named_in(question)(name)) as folder:
        manifest = read_manifest(folder)
        check_counted(folder, manifest)
        check_tables(folder, manifest.tables)
        with session(master) as spark:
            _check_reach(spark, root)
            with _damage_named(folder, manifest), _views(spark, folder, manifest, question) as names:
                found = _answer(spark, question, names)
            yield found


def _check_reach(spark: "SparkSession", root: Path) -> None:
    """UsageError for tables in object storage on a cluster: their copy is on this machine alone."""
    master = spark.sparkContext.master
    if isinstance(root, UrlPath) and not master.startswith("local"):
        why = f"{root}: tables in object storage are copied to this machine, which workers of {master} do not see"
        raise UsageError(f"{why}; expected --master 'local[*]', or --engine duckdb")


@contextmanager
def _damage_named(root: Path, manifest: Manifest) -> Iterator[None]:
    """Raise CaptureError with the damaged file for an error of Spark that is not about the words of the question."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except UsageError as err:
        if not isinstance(err.__cause__, AnalysisException):
            check_files(root, manifest)
        raise


@contextmanager
def _views(spark: "SparkSession", root: Path, manifest: Manifest, question: str) -> Iterator[Collection[str]]:
    """A view for each table that a question may be about, as long as the block runs; and the names of all tables.

    A session may outlive the question: what it left there would answer for a table that other tables have none of.
    """
    from py4j.protocol import Py4JError

    names = names_of(manifest)
    is_named, made = named_in(question), list[str]()
    try:
        for name, ending in endings(names).items():
            if "." in name and not is_named(name):
                continue
            files = manifest.tables.get(name)
            with _in_a_line(f"the table {name} cannot be read (make the tables again): "):
                rows = _rows(spark, root, name, files) if files else _empty(spark, name, bool(manifest.stream))
                rows.createOrReplaceTempView(f"`{name}{ending}`")
            made.append(name + ending)
        yield names
    finally:
        with suppress(Py4JError, OSError):  # where Java is gone they are too, and the session says so
            for view in made:
                spark.catalog.dropTempView(view)


def _rows(spark: "SparkSession", root: Path, name: str, files: Sequence[File]) -> "DataFrame":
    paths = ["file://" + _PATTERN.sub(r"\\\g<0>", str((root / file.path).absolute())) for file in files]
    return spark.read.option("basePath", f"file://{(root / name).absolute()}").parquet(*paths)


def _empty(spark: "SparkSession", name: str, has_batches: bool) -> "DataFrame":
    """A table without rows, for one of which there are no files."""
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = [*readers(EMPTY[name]), *folder_columns(has_batches=has_batches)]
    return spark.createDataFrame([], from_arrow_schema(pa.schema(columns), prefer_timestamp_ntz=True))


def _answer(spark: "SparkSession", question: str, names: Collection[str]) -> pa.RecordBatchReader:
    from pyspark.errors import AnalysisException

    with _in_a_line():
        try:
            return spark.sql(question).toArrow().to_reader()
        except AnalysisException as err:
            if err.getCondition() != _NO_TABLE:
                raise
            missing = (err.getMessageParameters() or {}).get("relationName", "")
            why = f"there is no table {missing}{told_apart(names, missing) or _HOW_NAMED}"
            raise UsageError(f"[{_NO_TABLE}] {why}; SHOW TABLES names all") from err


@contextmanager
def _in_a_line(before: str = "") -> Iterator[None]:
    """What Spark says is wrong, as a UsageError."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        with _no_echo():
            yield
    except PySparkException as err:
        said = str(err).split("JVM stacktrace")[0].partition("\n\n")[0].partition(";\n")[0]  # what follows is a plan
        raise UsageError(before + said.replace("\n", " ").strip()) from err
    except Py4JJavaError as err:
        raise UsageError(before + _why(err.java_exception)) from err


def _why(thrown: Any) -> str:
    """What a task of Spark was ended by: the error that has one of Spark's names in front, or else the first cause."""
    said: list[str] = []
    while thrown is not None:
        said.append(str(thrown.getMessage()).partition("\n")[0].strip())
        thrown = thrown.getCause()
    return next((line for line in said if line.startswith("[")), said[-1])


@contextmanager
def _no_echo() -> Iterator[None]:
    """Errors of a question are raised, and not printed before; those of other threads are printed as always."""
    from pyspark.logger import PySparkLogger

    asking = threading.get_ident()
    loggers = [PySparkLogger.getLogger(name) for name in _ECHOES]

    def is_of_others(record: logging.LogRecord) -> bool:
        return threading.get_ident() != asking

    for logger in loggers:
        logger.addFilter(is_of_others)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_others)
