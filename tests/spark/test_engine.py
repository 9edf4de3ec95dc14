"""Tables made on Spark: row for row those of the local engine, however the work is shared out."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.dissect.columns.made import Spoken, files_of, packets_made
from tests.helpers.captures import pcap_bytes
from tests.helpers.examples import needs_protocol
from tests.pipeline.reference import every_row
from tests.pipeline.test_local import written
from wiretool.errors import CaptureError, UsageError
from wiretool.pipeline.job import Job
from wiretool.pipeline.layout import read_manifest
from wiretool.pipeline.local import run_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
TROUBLES = frozenset(["lost", "late", "doubled", "swapped"])
#: Flows that go on from file to file, in three protocols, with IP fragments and times that go back among them.
TALKS = [
    Spoken("pravega", each=9, troubles=TROUBLES),
    Spoken("sbp", ipv6=True, troubles=TROUBLES),
    Spoken("offramp-deflate", begin=False),
    Spoken("foreign", end="rst", again=True),
]


def captures(folder: Path) -> list[Path]:
    """A rolling capture in four files, one of them packed, and another tap's with its own connections."""
    packets = packets_made(TALKS, frozenset(["fragments", "times"]), 7, 120)
    quarter = len(packets) // 4
    parts = [packets[start : start + quarter] for start in range(0, len(packets), quarter)]
    files = [files_of(part, "zstd" if number == 2 else "nano", 0)[0] for number, part in enumerate(parts)]
    other = packets_made([Spoken("pravega-draft"), Spoken("sbp-0.1")], frozenset(), 8, 60)
    return written(folder, [*files, pcap_bytes(other)])


def run(job: Job, monkeypatch: pytest.MonkeyPatch, split_bytes: int = 1 << 26) -> None:
    from wiretool.pipeline.spark import run as engine

    monkeypatch.setattr(engine, "SPLIT_BYTES", split_bytes)
    engine.run_spark(job, lambda text: None, lambda step: None)


@needs_protocol("sbp-0.1")
@needs_protocol("offramp")
@pytest.mark.parametrize(("splits", "split_bytes"), [(1, 1 << 26), (5, 4096)])
def test_the_tables_are_those_of_the_local_engine(
    splits: int, split_bytes: int, spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = captures(tmp_path)
    jobs = {name: Job(paths, tmp_path / name, has_events=True, splits=splits) for name in ("local", "spark")}
    run_local(jobs["local"], lambda text: None, lambda step: None)
    run(jobs["spark"], monkeypatch, split_bytes)
    manifests = {name: read_manifest(job.root) for name, job in jobs.items()}
    rows = {name: every_row(job.root, manifests[name]) for name, job in jobs.items()}
    assert rows["spark"] == rows["local"]
    assert len(rows["local"]["frames"]) > 300
    one, other = manifests["local"], manifests["spark"]
    assert (one.total, one.connections, one.inputs) == (other.total, other.connections, other.inputs)
    assert {path.name for path in (tmp_path / "spark").iterdir()} == {"manifest.json", *other.tables}


@needs_protocol("sbp-0.1")
@needs_protocol("offramp")
def test_a_capture_that_vanishes_is_told_as_that(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wiretool.pipeline.spark import run as engine

    paths = captures(tmp_path)
    before = engine.segments

    def gone(*given: object) -> object:
        rows = before(*given)  # type: ignore[arg-type]
        paths[0].unlink()
        return rows

    monkeypatch.setattr(engine, "segments", gone)
    with pytest.raises((CaptureError, UsageError), match=r"000\.pcap"):
        run(Job(paths, tmp_path / "tables"), monkeypatch)
    assert not (tmp_path / "tables").exists()
    assert not list(tmp_path.glob(".tables*"))


@pytest.mark.parametrize(
    ("packets", "tasks_at_once", "parts"),
    [(0, 2, 2), (1, 2, 2), (1_000_000, 2, 2), (1_000_001, 2, 4), (1_500_000, 2, 4), (10_000_000, 16, 32), (7, 16, 16)],
)
def test_no_task_is_the_only_one_of_the_last_round(packets: int, tasks_at_once: int, parts: int) -> None:
    from wiretool.pipeline.spark.run import parts_for

    assert parts_for(packets, tasks_at_once) == parts


def test_a_worker_that_is_lost_is_told_in_one_line() -> None:
    """As Spark tells it, with a page of Java behind it."""
    from pyspark.errors import PySparkException

    from wiretool.pipeline.spark.run import handed_over

    said = (
        "Job aborted due to stage failure: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"
    )
    with pytest.raises(UsageError, match="a Python worker of Spark has ended in mid-work"), handed_over():
        raise PySparkException(message=said)
    with pytest.raises(PySparkException, match="something else"), handed_over():
        raise PySparkException(message="something else")
