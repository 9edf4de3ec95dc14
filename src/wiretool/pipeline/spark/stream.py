"""Batches of a stream made on Spark: a job for each, on one session.

What is open of flows is in files that all workers have to reach by the same names, as the captures and the tables.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from wiretool.capture.index.ranges import read_span
from wiretool.errors import CaptureError
from wiretool.pipeline.flows.rows import ORDER, SCHEMA, rows_of
from wiretool.pipeline.shuffle import partition_of
from wiretool.pipeline.spark.run import SPLIT_BYTES, handed_over, handing_over, spark_schema, take_in
from wiretool.pipeline.spark.session import session
from wiretool.pipeline.stream.batch import Task, Told, read_batch
from wiretool.pipeline.stream.local import read_here
from wiretool.pipeline.stream.plan import Stretch
from wiretool.pipeline.stream.run import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Segment rows with the part that each is of: the same one in every batch, whoever makes it.
_DEALT = SCHEMA.append(pa.field("part", pa.int32()))
_TOLD = pa.schema([("part", pa.int32()), ("folder", pa.string()), ("told", pa.string())])


@contextmanager
def spark_engine(master: str | None = None) -> Iterator[Engine]:
    """Makes batches on Spark, in a session that lasts as long as the block; errors as `session` has them."""
    with session(master) as spark:
        yield partial(_read_on, spark)


def _read_on(spark: "SparkSession", task: Task, stretches: Sequence[Stretch], floor_ns: int, root: Path) -> list[Told]:
    """As `read_here`."""
    parts = len(task.states)
    shares = _shares(stretches)
    if not shares:  # Spark makes nothing of nothing, not even what is silent for long
        return read_here(task, (), floor_ns, root)
    numbers = spark.range(0, len(shares), 1, len(shares))
    rows = numbers.mapInArrow(partial(_rows_of, shares, floor_ns, parts), spark_schema(_DEALT))
    dealt = rows.repartitionById(parts, "part").sortWithinPartitions(*ORDER).drop("part")
    write = partial(_write_part, task, str(root.absolute()))
    with handed_over():
        found = dealt.mapInArrow(write, spark_schema(_TOLD)).collect()
    told: dict[int, Told] = {}
    for row in found:
        told[row.part] = msgspec.json.decode(row.told, type=Told)
        if told[row.part].done.tables:
            take_in(root, Path(row.folder))
    if len(told) != parts:
        raise CaptureError(str(root), f"Spark has made {len(told)} of {parts} parts of a batch")
    return [told[part] for part in range(parts)]


def _shares(stretches: Sequence[Stretch]) -> list[list[Stretch]]:
    """What one task reads: stretches that follow one another, of about `SPLIT_BYTES`."""
    shares: list[list[Stretch]] = []
    size = SPLIT_BYTES
    for stretch in stretches:
        if size >= SPLIT_BYTES:
            shares.append([])
            size = 0
        shares[-1].append(stretch)
        size += stretch.span.end - stretch.span.since.at
    return shares


# -- on the workers ----------------------------------------------------------------------------------------------------


def _rows_of(
    shares: Sequence[Sequence[Stretch]], floor_ns: int, parts: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The segment rows of the shares whose numbers come, none of an earlier turn than `floor_ns`."""
    with handing_over():
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            for place, path, span in shares[number]:
                for segments in read_span(Path(path), span):
                    turns = np.maximum(segments.turns, floor_ns)
                    yield _dealt(rows_of(replace(segments, turns=turns), place), parts)


def _dealt(rows: pa.RecordBatch, parts: int) -> pa.RecordBatch:
    flows = rows.column("flow").dictionary_encode()
    of_flow = pa.array([partition_of(flow, parts) for flow in flows.dictionary.to_pylist()], pa.int32())
    return pa.RecordBatch.from_arrays([*rows.columns, of_flow.take(flows.indices)], schema=_DEALT)


def _write_part(task: Task, root: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make the tables of this part, in a folder of its own; what they are."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "it runs in a task"
    part, attempt = context.partitionId(), f"-{context.taskAttemptId()}"
    folder = Path(root) / f".task-{part:05d}{attempt}"
    with handing_over():
        told = read_batch(task, part, batches, folder, attempt)
    row = [part, str(folder), msgspec.json.encode(told).decode()]
    columns = [pa.array([value], field.type) for value, field in zip(row, _TOLD, strict=True)]
    yield pa.RecordBatch.from_arrays(columns, schema=_TOLD)
