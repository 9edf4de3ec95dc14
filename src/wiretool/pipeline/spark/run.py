"""Captures to tables on Spark: its shuffle puts the packets of each flow in order, its workers write the tables.

Of files the places of payloads travel, not the payloads: so the captures, and the folder of the tables, have to be in
reach of all workers by the same names. Payloads of objects do travel, and workers write tables to object storage
themselves: each byte of an object is read once.
"""

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from wiretool.capture.index.ranges import read_span
from wiretool.errors import CaptureError, OutputError, PeerError, RemoteError, UnopenedError, UsageError, WiretoolError
from wiretool.pipeline.flows.rows import ORDER, SCHEMA, rows_of
from wiretool.pipeline.flows.task import Done, Files, manifest_of, read_part
from wiretool.pipeline.inputs import Capture, captures_in, indexed
from wiretool.pipeline.job import Job, Step
from wiretool.pipeline.layout import Manifest, write_manifest
from wiretool.pipeline.publishing import upload_part, uploaded
from wiretool.pipeline.spark.master import check_master
from wiretool.pipeline.spark.planning import Part, dealt
from wiretool.pipeline.spark.session import session
from wiretool.pipeline.staging import staged
from wiretool.storage.url_path import UrlPath

if TYPE_CHECKING:
    from pyspark import TaskContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: Bytes of captures that one task reads, and packets of the flows that one task puts in order.
SPLIT_BYTES = 64 * 1024 * 1024
PART_PACKETS = 500_000
#: What a task has come to, as a row: the folder that it wrote into, and `Done` as JSON.
_TOLD = pa.schema([("folder", pa.string()), ("done", pa.string())])


#: Makes the tables of the rows of a task, and returns a row with its result.
WritePart = Callable[[Job, Files, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def run_spark(
    job: Job, tell: Callable[[str], None], watch: Callable[[Step], None], *, master: str | None = None
) -> Manifest:
    """Make the tables, as `run_local`; `master` is Spark's."""
    check_master(master)  # an index of large captures takes minutes
    files = captures_in(job.captures, tell)
    if isinstance(job.root, UrlPath):
        with uploaded(job.root, files, tell) as upload:
            manifest = _made(job, files, partial(_upload_part, upload.run), tell, watch, master)
            upload.finish(manifest)
        return manifest
    with staged(job.root, files, tell) as staging:
        manifest = _made(job, files, partial(_write_part, str(staging.absolute())), tell, watch, master, staging)
        write_manifest(staging, manifest)
    return manifest


def _made(
    job: Job,
    files: Sequence[Path],
    write: WritePart,
    tell: Callable[[str], None],
    watch: Callable[[Step], None],
    master: str | None,
    staging: Path | None = None,
) -> Manifest:
    """Make the files of the tables, each part by `write`; return what is to be their manifest."""
    captures = list(indexed(files, job.captures, tell))
    watch(Step("starting Spark", 0, 1))
    with session(master) as spark:
        watch(Step("reading", 0, 1))
        parts = _read_all(spark, job, captures, write, staging)
    for done in parts:
        done.tell_notes(tell)
    return manifest_of(job, "spark", [capture.input for capture in captures], parts)


def segments(spark: "SparkSession", captures: Sequence[Capture]) -> "DataFrame":
    """The segment rows of captures, in partitions of about `SPLIT_BYTES` of them."""
    shares = dealt([(capture.path.absolute(), capture.index) for capture in captures], SPLIT_BYTES)
    numbers = spark.range(0, len(shares), 1, max(len(shares), 1))
    return numbers.mapInArrow(partial(_rows_of_shares, shares), spark_schema(SCHEMA))


def parts_for(packets: int, tasks_at_once: int) -> int:
    """Into how many parts so many packets are dealt: rounds of as many tasks as run at once, so that none waits."""
    rounds = max(1, -(-packets // (PART_PACKETS * tasks_at_once)))
    return rounds * tasks_at_once


def in_flows(rows: "DataFrame", parts: int) -> "DataFrame":
    """The rows dealt into parts by their flows, and in each in order."""
    return rows.repartition(parts, "flow").sortWithinPartitions(*ORDER)


def _read_all(
    spark: "SparkSession", job: Job, captures: Sequence[Capture], write: WritePart, staging: Path | None
) -> list[Done]:
    packets = sum(capture.index.packets for capture in captures)
    parts = job.splits or parts_for(packets, spark.sparkContext.defaultParallelism)
    files = Files([str(capture.path.absolute()) for capture in captures], [capture.name for capture in captures])
    write = partial(write, job, files)
    with handed_over():
        told = in_flows(segments(spark, captures), parts).mapInArrow(write, spark_schema(_TOLD)).collect()
    done: list[Done] = []
    for row in told:
        done.append(msgspec.json.decode(row.done, type=Done))
        if staging is not None and done[-1].tables:
            take_in(staging, Path(row.folder))
    for left in staging.glob(".task-*") if staging is not None else ():  # of tasks that were tried again
        shutil.rmtree(left)
    return done


def take_in(staging: Path, folder: Path) -> None:
    """The files of a task that has ended well take their places among those of the others."""
    if not folder.exists():
        raise UsageError(
            f"the output of a Spark worker in {folder} is missing; expected a folder that all machines share"
        )
    for file in folder.rglob("*.parquet"):
        target = staging / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        file.rename(target)
    shutil.rmtree(folder)


def spark_schema(schema: pa.Schema) -> "StructType":
    """The schema as Spark has it; times are without a zone."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


# -- errors ----------------------------------------------------------------------------------------------------------

#: Errors that a worker may have, beside kinds of UsageError.
_HANDED_OVER: Mapping[str, type[WiretoolError]] = {
    kind.__name__: kind for kind in (CaptureError, RemoteError, UnopenedError, PeerError, OutputError)
}
#: How a worker begins an error of ours, which Spark tells as text.
_SAYS = "wiretool: "
#: What Spark says of a worker that is not there any more, or of what starts them; or Java does, where Spark reads it.
_LOST = re.compile(
    r"Python worker (exited unexpectedly|failed to connect back)|Python (daemon )?failed to launch worker|"
    r"reading the port number from \S*daemon's stdout|"
    r"java\.(io|net)\.\w*Exception.*\n(\s+at (java|sun|jdk|scala)\..*\n)*\s+at org\.apache\.spark\.api\.python\."
)
#: And of one that has told why it cannot start.
_SAID = "Error from python worker:"


@contextmanager
def handed_over() -> Iterator[None]:
    """Raises what a worker has raised: an error of ours as itself, any other as Spark has it."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as err:
        found = re.search(re.escape(_SAYS) + r"(\[.*\])", str(err))
        if found is None and _LOST.search(str(err)) and _SAID not in str(err):
            raise UsageError(
                "a Python worker of Spark has ended in mid-work (killed, or out of memory): run it again, "
                "in more parts (--splits) if memory ran out"
            ) from err
        if found is None:
            raise
        name, args = msgspec.json.decode(found[1])
        kind = _HANDED_OVER.get(name, UsageError)
        raise (kind(*args[:2], offset=args[2]) if issubclass(kind, CaptureError) else kind(*args)) from err


@contextmanager
def handing_over() -> Iterator[None]:
    """On a worker: errors of ours as text."""
    try:
        yield
    except (CaptureError, UsageError, PeerError) as err:
        kind = next((each.__name__ for each in type(err).__mro__ if each.__name__ in _HANDED_OVER), "UsageError")
        raise RuntimeError(_SAYS + msgspec.json.encode([kind, err.args]).decode()) from err


# -- on the workers ----------------------------------------------------------------------------------------------------


def _rows_of_shares(shares: Sequence[Sequence[Part]], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The segment rows of the shares whose numbers come."""
    with handing_over():
        for part in (part for batch in batches for number in batch.column(0).to_pylist() for part in shares[number]):
            for some in read_span(part.file, part.span):
                yield rows_of(some, part.place)


def _write_part(staging: str, job: Job, files: Files, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make the tables of the flows of this task, in a folder of its own; what they are."""
    task = _task()
    folder = Path(staging) / f".task-{task.partitionId():05d}-{task.taskAttemptId()}"
    with handing_over():
        done = read_part(job, files, batches, folder, f"part-{task.partitionId():05d}")
    yield _row(str(folder), done)


def _upload_part(run: str, job: Job, files: Files, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make the tables of the flows of this task, and write them to object storage under names of this attempt."""
    task = _task()
    name = f"part-{run}-{task.partitionId():05d}-{task.taskAttemptId()}"
    assert isinstance(job.root, UrlPath), "local tables are staged"
    with handing_over(), TemporaryDirectory(prefix="wiretool-tables-") as folder:
        done = read_part(job, files, batches, Path(folder), name)
        upload_part(Path(folder), [file.path for parts in done.tables.values() for file in parts], job.root)
    yield _row("", done)


def _task() -> "TaskContext":
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None, "it runs in a task"
    return task


def _row(folder: str, done: Done) -> pa.RecordBatch:
    row = [folder, msgspec.json.encode(done).decode()]
    return pa.RecordBatch.from_arrays([pa.array([value], pa.string()) for value in row], schema=_TOLD)
