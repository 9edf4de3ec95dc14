"""One Spark session for all tests that want one."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import pytest

from tests.helpers.spark import needs_pyspark, quick_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Started:
    """The session of all tests, and what was printed while it started."""

    def __init__(self, spark: "SparkSession", printed: str) -> None:
        self.spark = spark
        self.printed = printed


@pytest.fixture(scope="session")
def started() -> Iterator[Started]:
    """A session on two cores of this machine."""
    needs_pyspark()
    session = quick_session()
    with tempfile.TemporaryFile("w+") as file:
        with _printed_to(file):
            spark = session.__enter__()
        file.seek(0)
        printed = file.read()
    try:
        yield Started(spark, printed)
    finally:
        session.__exit__(None, None, None)


@pytest.fixture(scope="session")
def spark(started: Started) -> "SparkSession":
    """The session by itself."""
    return started.spark


@contextmanager
def _printed_to(file: IO[str]) -> Iterator[None]:
    """What this process and its children print, in a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = {number: os.dup(number) for number in (1, 2)}
    try:
        for number in before:
            os.dup2(file.fileno(), number)
        yield
    finally:
        for number, own in before.items():
            os.dup2(own, number)
            os.close(own)
