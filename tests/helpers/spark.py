"""Spark in tests: one small session for all; where it is missing they are left out by name, but never in CI."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A Java that starts soon and compiles little, and no more tasks than there are cores: measured, a third less time.
QUICK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.driver.memory": "1g",
}
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def needs_pyspark() -> None:
    """To be called where a test module begins that imports PySpark."""
    if find_spec("pyspark") is None:
        if os.environ.get("CI"):
            pytest.fail("pyspark is missing: pip install '.[spark]'", pytrace=False)
        pytest.skip("pyspark is not installed: pip install '.[spark]'", allow_module_level=True)


@contextmanager
def quick_session(master: str = "local[2]") -> Iterator["SparkSession"]:
    """A session for tests."""
    from wiretool.pipeline.spark.session import session

    with session(master, name="tests", settings=QUICK, java_options=JAVA_OPTIONS) as spark:
        yield spark
