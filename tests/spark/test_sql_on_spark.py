"""Questions in Spark's SQL: the tables by their names, and what is wrong in a line."""

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.test_stream import Streamed
from wiretool.errors import UsageError
from wiretool.pipeline.job import Job
from wiretool.pipeline.local import run_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CAPTURES = Path(__file__).parents[2] / "captures"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables in a folder whose name is a pattern, and looks as if something in it had been replaced."""
    root = tmp_path_factory.mktemp("some tables") / "a b[1]{c,d}*? 'x%20\\y"
    run_local(Job([CAPTURES / "sbp" / "rs_append.pcap"], root), lambda text: None, lambda step: None)
    return root


def rows(tables: Path, question: str) -> list[dict[str, object]]:
    from wiretool.pipeline.spark.sql import asked

    with asked(tables, question) as found:
        return list(found.read_all().to_pylist())


def test_answers(spark: "SparkSession", tables: Path) -> None:
    (row,) = rows(tables, "SELECT protocol, count(*) AS n, 'insert into' AS said FROM frames GROUP BY protocol")
    assert (row["protocol"], row["said"]) == ("sbp", "insert into")
    assert rows(tables, "with a as (select * from `sbp.APPEND`) select count(*) > 3 as some from a") == [{"some": True}]
    assert {row["col_name"] for row in rows(tables, "DESCRIBE exchanges")} >= {"latency_ns", "date", "protocol"}


def test_of_a_stream_also_the_batch_can_be_asked(spark: "SparkSession", tables: Path, tmp_path: Path) -> None:
    streamed = Streamed(tmp_path)
    for name in ("rs_append.pcap", "pd_malformed.pcap"):
        shutil.copy(CAPTURES / "sbp" / name, streamed.captures)
        manifest = streamed.go_on()
    counts = {int(file.path.split("/")[1].removeprefix("batch=")): file.rows for file in manifest.tables["frames"]}
    found = rows(streamed.tables, "SELECT batch, count(*) AS n FROM frames GROUP BY batch")
    assert {row["batch"]: row["n"] for row in found} == counts
    assert counts.keys() == {0, 1}
    columns, own = ([row["col_name"] for row in rows(root, "DESCRIBE frames")] for root in (streamed.tables, tables))
    assert [name for name in columns if name not in own] == ["batch"]


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("DROP VIEW frames", "only a SELECT"),
        ("WITH a AS (SELECT 1) INSERT INTO frames SELECT * FROM a", "only a SELECT"),
        ("SELECT nothing FROM frames", "UNRESOLVED_COLUMN"),
        ("SELECT 1 +", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(spark: "SparkSession", tables: Path, question: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        rows(tables, question)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_gone_or_damaged(spark: "SparkSession", tables: Path, tmp_path: Path) -> None:
    root = tmp_path / "tables"
    shutil.copytree(tables, root)
    file = next((root / "frames").rglob("*.parquet"))
    whole = file.read_bytes()

    def refused(question: str, why: str) -> None:
        with pytest.raises(UsageError, match=why) as caught:
            rows(root, question)
        assert "\n" not in str(caught.value)

    file.write_bytes(whole[:20] + bytes(byte ^ 0xFF for byte in whole[20:2000]) + whole[2000:])
    refused("SELECT * FROM frames", r"^\[FAILED_READ_FILE.*part-00000\.parquet")
    file.write_bytes(b"PAR1 no parquet at all PAR1")
    refused("SELECT 1", r"^the table frames cannot be read \(make the tables again\): \[FAILED_READ_FILE")
    file.unlink()
    refused("SELECT 1", r"^the table frames cannot be read \(make the tables again\): \[PATH_NOT_FOUND")


class Log(logging.Handler):
    """What PySpark says of errors in questions, beside raising them."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@pytest.fixture
def log() -> Iterator[Log]:
    from pyspark.logger import PySparkLogger

    log, logger = Log(), PySparkLogger.getLogger("SQLQueryContextLogger")
    logger.addHandler(log)
    yield log
    logger.removeHandler(log)


@pytest.mark.parametrize("question", ["SELECT nothing FROM frames", "SELECT 1 / 0"])
def test_what_is_wrong_is_said_once(spark: "SparkSession", tables: Path, log: Log, question: str) -> None:
    """And only of our questions: those of others in the same session are logged as always."""
    from pyspark.errors import PySparkException

    with pytest.raises(UsageError):
        rows(tables, question)
    assert log.said == []
    with pytest.raises(PySparkException):
        spark.sql("SELECT nothing").collect()
    assert ["nothing" in each for each in log.said] == [True]
