"""Segment rows dealt out by flow and put in order, in little memory: Spark's shuffle for one machine."""

import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from wiretool.codec.columns import Integers
from wiretool.pipeline.rows import SCHEMA
from wiretool.sinks.arrow.files import refused

#: Bytes of rows that wait in memory before they are written out.
WAITING_BYTES_MAX = 64 * 1024 * 1024
#: Rows of a batch that comes out.
BATCH_ROWS = 16_384


def partition_of(flow: bytes, partitions: int) -> int:
    """In which part a flow is: always the same one."""
    return zlib.crc32(flow) % partitions


class Shuffle:
    """Rows in any order in; the rows of each partition out, by flow and in order. A context manager that cleans up."""

    def __init__(self, folder: Path, partitions: int) -> None:
        """`folder` is for what does not fit in memory."""
        self._folder = folder
        self._waiting: list[list[pa.RecordBatch]] = [[] for _ in range(partitions)]
        self._waiting_bytes = 0
        self._spilt: set[int] = set()

    def __enter__(self) -> "Shuffle":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for partition in self._spilt:
            with suppress(OSError):
                self._path(partition).unlink()

    @property
    def partitions(self) -> range:
        """All partitions."""
        return range(len(self._waiting))

    def add(self, rows: pa.RecordBatch) -> None:
        """Take in rows; those of one file in their order."""
        for partition, some in self._dealt(rows):
            self._waiting[partition].append(some)
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes > WAITING_BYTES_MAX:
            self._spill()

    def _dealt(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        if len(self._waiting) == 1:
            yield 0, rows
            return
        flows = rows.column("flow").dictionary_encode()
        of_flow = [partition_of(flow, len(self._waiting)) for flow in flows.dictionary.to_pylist()]
        partitions = np.array(of_flow, np.int64)[flows.indices.to_numpy()]
        for partition in np.unique(partitions).tolist():
            yield partition, rows.filter(pa.array(partitions == partition))

    def _path(self, partition: int) -> Path:
        return self._folder / f"rows-{partition:05d}"

    def _spill(self) -> None:
        """Write out what waits. UsageError where the system does not take it."""
        for partition, batches in enumerate(self._waiting):
            if not batches:
                continue
            path = self._path(partition)
            with refused(path), path.open("ab") as file:
                self._spilt.add(partition)
                with pa.ipc.new_stream(file, SCHEMA) as stream:
                    for batch in batches:
                        stream.write_batch(batch)
            batches.clear()
        self._waiting_bytes = 0

    def sorted(self, partition: int) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, sorted by `rows.ORDER`, some at a time; they are gone then."""
        with ExitStack() as stack:
            batches = [*self._read(partition, stack), *self._waiting[partition]]
            self._waiting[partition] = []
            if not batches:
                return
            rows = pa.Table.from_batches(batches, SCHEMA).combine_chunks()
        order = _order(rows)
        for start in range(0, len(order), BATCH_ROWS):
            part = rows.take(pa.array(order[start : start + BATCH_ROWS])).combine_chunks()
            yield from part.to_batches()

    def _read(self, partition: int, stack: ExitStack) -> Iterator[pa.RecordBatch]:
        if partition not in self._spilt:
            return
        source = stack.enter_context(pa.memory_map(str(self._path(partition))))
        while source.tell() < source.size():
            yield from pa.ipc.open_stream(source)


def _order(rows: pa.Table) -> Integers:
    """The order of the rows by flow, turn, file and number: files come in any order, what is in them in its own."""
    columns = {name: rows.column(name).to_numpy() for name in ("turn_ns", "file", "number")}
    order = np.lexsort((columns["number"], columns["file"], columns["turn_ns"]))
    flows = rows.column("flow").combine_chunks().dictionary_encode()
    codes = flows.chunk(0).indices.to_numpy() if isinstance(flows, pa.ChunkedArray) else flows.indices.to_numpy()
    by_flow = np.argsort(codes[order], kind="stable")
    in_order: Integers = order[by_flow]
    return in_order
