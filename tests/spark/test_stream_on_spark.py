"""A stream on Spark: the same tables, and either engine goes on where the other one was."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.dissect.columns.made import files_of, packets_made
from tests.helpers.examples import needs_protocol
from tests.pipeline.test_stream import Streamed, check
from tests.spark.test_engine import TALKS
from wiretool.errors import CaptureError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from wiretool.pipeline.stream.run import Engine

pytestmark = pytest.mark.spark


@pytest.fixture
def engine(spark: "SparkSession") -> "Iterator[Engine]":
    """Batches on the session of all tests."""
    from wiretool.pipeline.spark.stream import spark_engine

    with spark_engine() as engine:
        yield engine


def pieces(count: int) -> Sequence[bytes]:
    """A capture of several flows, cut anywhere."""
    (data,) = files_of(packets_made(TALKS, frozenset(["fragments"]), 7, 120), "nano", 7)
    size = len(data) // count + 1
    return [data[start : start + size] for start in range(0, len(data), size)]


@needs_protocol("offramp")
def test_the_engines_take_turns(engine: "Engine", tmp_path: Path) -> None:
    streamed = Streamed(tmp_path)
    here = streamed.engine
    for number, piece in enumerate(pieces(4)):
        streamed.put("made.pcap", piece)
        streamed.engine = here if number == 1 else engine
        streamed.go_on(splits=3)
    manifest = check(streamed)
    assert manifest.batches == 5
    assert all(made.seconds < 60 for made in streamed.batches)


@needs_protocol("offramp")
def test_what_a_worker_cannot_read_is_told_as_here(engine: "Engine", tmp_path: Path) -> None:
    streamed = Streamed(tmp_path)
    streamed.put("made.pcap", pieces(1)[0])
    streamed.go_on(splits=2)
    for state in (streamed.checkpoint / "states").iterdir():
        state.write_bytes(b"")
    streamed.put("more.pcap", pieces(1)[0])
    streamed.engine = engine
    with pytest.raises(CaptureError, match="the state of open flows cannot be read"):
        streamed.go_on()
