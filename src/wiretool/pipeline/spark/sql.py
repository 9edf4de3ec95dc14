"""Questions in Spark's SQL about the tables of a pipeline."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from wiretool.errors import UsageError
from wiretool.pipeline.layout import read_manifest
from wiretool.pipeline.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What questions begin with; none of it writes.
_ASKS = re.compile(r"\s*\(*\s*(select|with|from|values|describe|desc|show|explain|table)\b", re.IGNORECASE)
_WRITES = re.compile(r"\b(insert|create|drop|alter|delete|update|merge|truncate|load|overwrite)\b", re.IGNORECASE)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`")


@contextmanager
def asked(root: Path, question: str, *, master: str | None = None) -> Iterator[pa.RecordBatchReader]:
    """What a question gives, all of it at once; tables of messages are called `PROTOCOL.NAME`, in backticks.

    UsageError where it is none, or one that writes, and where Spark does not understand it.
    """
    if not _ASKS.match(question) or _WRITES.search(_QUOTED.sub("''", question)):
        raise UsageError("only a SELECT (or DESCRIBE, SHOW) can be asked: the tables stay as they are")
    with session(master) as spark:
        _make_views(spark, root)
        yield _answer(spark, question)


def _make_views(spark: "SparkSession", root: Path) -> None:
    for name, files in read_manifest(root).tables.items():
        paths = [str((root / file.path).absolute()) for file in files]
        rows = spark.read.option("basePath", str((root / name).absolute())).parquet(*paths)
        rows.createOrReplaceTempView(f"`{name}`")


def _answer(spark: "SparkSession", question: str) -> pa.RecordBatchReader:
    from pyspark.errors import PySparkException

    try:
        return spark.sql(question).toArrow().to_reader()
    except PySparkException as err:
        raise UsageError(str(err).split("JVM stacktrace")[0].partition("\n\n")[0].replace("\n", " ").strip()) from err
