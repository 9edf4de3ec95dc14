"""Questions in Spark's SQL: the tables by their names, and what is wrong in a line."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from wiretool.errors import UsageError
from wiretool.pipeline.job import Job
from wiretool.pipeline.local import run_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CAPTURES = Path(__file__).parents[2] / "captures"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("some tables") / "a b"
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
