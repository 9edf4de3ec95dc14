"""Questions in Spark's SQL: the tables by their names, and what is wrong in a line."""

import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.pipeline.test_stream import Streamed
from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline import layout
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import FRAMES, GAPS, TABLES, File, read_manifest, write_manifest
from wiretool.pipeline.local import run_local
from wiretool.pipeline.sql import asked as asked_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
CAPTURES = Path(__file__).parents[2] / "captures"


@pytest.fixture(autouse=True)
def _without_views(spark: "SparkSession") -> None:
    """The session is that of all tests, and others leave theirs."""
    for left in spark.catalog.listTables():
        spark.catalog.dropTempView(left.name)


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


def test_names_that_differ_in_capitals_alone(
    spark: "SparkSession", tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark takes Append for APPEND: each has a number, the same as in DuckDB, and neither is there without."""
    root = tmp_path / "tables"
    shutil.copytree(tables, root)
    manifest = read_manifest(root)
    shutil.copytree(root / "sbp.CREATE_RANGE", root / "sbp.Append")
    files = [
        msgspec.structs.replace(file, path=file.path.replace("CREATE_RANGE", "Append"))
        for file in manifest.tables["sbp.CREATE_RANGE"]
    ]
    monkeypatch.setattr(layout, "message_tables", lambda: frozenset({*manifest.tables, "sbp.Append"}))
    more = {"sbp.Append": files}
    write_manifest(root, msgspec.structs.replace(manifest, tables={**manifest.tables, **more}))
    assert manifest.rows("sbp.APPEND") != manifest.rows("sbp.CREATE_RANGE")
    for name, view in (("sbp.APPEND", "sbp.append_1"), ("sbp.CREATE_RANGE", "sbp.append_2")):
        question = f"SELECT count(*) AS n FROM {{}}{view}{{}}"
        assert rows(root, question.format("`", "`")) == [{"n": manifest.rows(name)}]
        with asked_here(root, question.format('"', '"')) as found:
            assert found.read_all().to_pylist() == [{"n": manifest.rows(name)}]
    with pytest.raises(UsageError, match=r"NOT_FOUND.*: sbp.APPEND is sbp.APPEND_1, sbp.Append is sbp.Append_2 here"):
        rows(root, "SELECT count(*) AS n FROM `sbp.append`")
    with pytest.raises(UsageError, match=r"no table `sbp`.`APPEND_1` \(those of messages are named in backticks"):
        rows(root, "SELECT count(*) AS n FROM sbp.APPEND_1")


def kinds(root: Path, name: str) -> list[tuple[object, object]]:
    return [(row["col_name"], row["data_type"]) for row in rows(root, f"DESCRIBE {name}")]


def test_a_table_without_files_has_no_rows(spark: "SparkSession", tables: Path, tmp_path: Path) -> None:
    """And the columns that it has with files; those of a stream have the batch."""
    assert GAPS not in read_manifest(tables).tables
    for name in TABLES:
        assert rows(tables, f"SELECT * FROM {name} WHERE false") == []
    assert rows(tables, f"SELECT * FROM {GAPS}") == []
    assert rows(tables, f"SELECT date_add(max(date), 1) AS d, max(protocol) AS p FROM {GAPS}") == [
        {"d": None, "p": None}
    ]
    manifest = read_manifest(tables)
    without = tmp_path / "without"
    shutil.copytree(tables, without)
    write_manifest(without, msgspec.structs.replace(manifest, tables={}, total={}))
    assert kinds(without, FRAMES) == kinds(tables, FRAMES)
    streamed = Streamed(tmp_path)
    shutil.copy(CAPTURES / "sbp" / "rs_append.pcap", streamed.captures)
    manifest = streamed.go_on()
    assert GAPS not in manifest.tables
    full = kinds(streamed.tables, FRAMES)
    assert ("batch", "int") in full
    assert rows(streamed.tables, f"SELECT * FROM {GAPS}") == []
    assert kinds(streamed.tables, GAPS)[-3:] == full[-3:]
    write_manifest(streamed.tables, msgspec.structs.replace(manifest, tables={}, total={}))
    assert kinds(streamed.tables, FRAMES) == full


def test_only_tables_that_are_named_are_looked_at(
    spark: "SparkSession", tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes a while; but the names of all are listed, and nothing is left of any in a session that goes on."""
    from wiretool.pipeline.spark import sql

    made: list[str] = []

    def make(spark: "SparkSession", root: Path, name: str, files: Sequence[File]) -> "DataFrame":
        made.append(name)
        return as_ever(spark, root, name, files)

    as_ever = sql._rows
    monkeypatch.setattr(sql, "_rows", make)
    (row,) = rows(tables, "SELECT count(*) AS n FROM `sbp.append`")
    manifest = read_manifest(tables)
    assert row["n"] == manifest.rows("sbp.APPEND")
    assert "sbp.APPEND" in made
    assert {name for name in made if "append" not in name.lower()} <= set(TABLES)
    assert spark.catalog.listTables() == []
    listed = {row["tableName"] for row in rows(tables, "SHOW TABLES")}
    assert {str(name).lower() for name in listed} == {name.lower() for name in (*TABLES, *manifest.tables)}
    assert rows(tables, "SELECT count(*) AS n FROM IDENTIFIER('`sbp.' || 'AP' || 'PEND`')") == [row]
    assert spark.catalog.listTables() == []


def test_nothing_is_answered_from_other_tables(spark: "SparkSession", tables: Path, tmp_path: Path) -> None:
    """In a session that goes on, of what was asked before."""
    run_local(Job([CAPTURES / "sbp" / "pd_malformed.pcap"], tmp_path), lambda text: None, lambda step: None)
    question = "SELECT count(*) AS n FROM `sbp.APPEND`"
    assert "sbp.APPEND" not in read_manifest(tmp_path).tables
    assert rows(tables, question) != []
    with pytest.raises(UsageError, match="TABLE_OR_VIEW_NOT_FOUND"):
        rows(tmp_path, question)


def test_views_that_cannot_be_dropped_hide_no_error(
    spark: "SparkSession", tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from py4j.protocol import Py4JNetworkError
    from pyspark.sql.catalog import Catalog

    def fail(catalog: Catalog, name: str) -> bool:
        raise Py4JNetworkError("nobody is there")

    with monkeypatch.context() as patched:
        patched.setattr(Catalog, "dropTempView", fail)
        with pytest.raises(UsageError, match="UNRESOLVED_COLUMN"):
            rows(tables, "SELECT nothing FROM frames")
    assert rows(tables, "SELECT 1 AS n") == [{"n": 1}]
    assert spark.catalog.listTables() == []


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("DROP VIEW frames", "only a single read-only statement"),
        ("WITH a AS (SELECT 1) INSERT INTO frames SELECT * FROM a", "only a single read-only statement"),
        ("SELECT nothing FROM frames", "UNRESOLVED_COLUMN.* line 1 pos 7$"),
        ("SELECT 1 +", "PARSE_SYNTAX_ERROR"),
        ("SELECT * FROM sbp.APPEND", r"no table `sbp`.`APPEND` \(those of messages are named in backticks"),
        (
            "SELECT * FROM gold.minutes",
            r"no table `gold`.`minutes` \(.* gold is there for DuckDB only\); SHOW",
        ),
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
        with pytest.raises(CaptureError, match=why) as caught:
            rows(root, question)
        assert str(caught.value).startswith(f"{file}: ")
        assert "\n" not in str(caught.value)

    file.write_bytes(whole[:20] + bytes(byte ^ 0xFF for byte in whole[20:2000]) + whole[2000:])
    refused("SELECT * FROM frames", "a damaged file; expected a whole Parquet file; make the tables again")
    file.write_bytes(b"PAR1 no parquet at all PAR1")
    refused("SELECT 1", "a damaged file; expected a whole Parquet file; make the tables again")
    file.unlink()
    refused("SELECT 1", r"no such file, though manifest\.json names it; make the tables again")


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
