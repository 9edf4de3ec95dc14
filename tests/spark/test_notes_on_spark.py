"""What is uncertain of captures that Spark has read: told as here, also that it is too much to be told."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.captures import pcap_bytes, tcp_packets
from tests.pipeline.test_local import written
from wiretool.pipeline.flows.task import LEFT_OUT, NOTES_MAX
from wiretool.pipeline.job import Job
from wiretool.pipeline.local import run_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_many_notes(spark: "SparkSession", tmp_path: Path) -> None:
    from wiretool.pipeline.spark.run import run_spark

    talks = [
        tcp_packets(
            [("client", b"no words of it" * 9)], client=("10.0.0.1", 40_000 + number), server=("10.0.0.2", 12378)
        )
        for number in range(NOTES_MAX + 3)
    ]
    paths = written(tmp_path, [pcap_bytes([packet for talk in talks for packet in talk])])
    told: dict[str, list[str]] = {"here": [], "there": []}
    run_local(Job(paths, tmp_path / "here", splits=1), told["here"].append, lambda step: None)
    run_spark(Job(paths, tmp_path / "there", splits=1), told["there"].append, lambda step: None)
    assert told["there"] == told["here"]
    assert told["here"].index(LEFT_OUT) == NOTES_MAX
    assert told["here"][NOTES_MAX:] == [LEFT_OUT] * 3
