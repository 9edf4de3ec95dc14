"""Segment rows dealt out by flow and put in order, in little memory: Spark's shuffle for one machine."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from wiretool.codec.columns import Integers
from wiretool.pipeline.flows.rows import ORDER, SCHEMA
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
        order = _order(self._rows(partition, ORDER))
        if (np.diff(order) == 1).all():  # one large flow, as a rule: it need not be in memory as a whole
            yield from _larger(self._rows(partition, SCHEMA.names))
        else:
            rows = pa.Table.from_batches(self._rows(partition, SCHEMA.names), SCHEMA).combine_chunks()
            self._waiting[partition] = []  # a copy of them is in order by now
            for start in range(0, len(order), BATCH_ROWS):
                part = rows.take(pa.array(order[start : start + BATCH_ROWS])).combine_chunks()
                yield from part.to_batches()
        self._waiting[partition] = []

    def _rows(self, partition: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of the rows of a partition, as they came."""
        if partition in self._spilt:
            wanted = pa.ipc.IpcReadOptions(included_fields=[SCHEMA.get_field_index(name) for name in columns])
            with pa.OSFile(str(self._path(partition))) as file:
                while file.tell() < file.size():
                    yield from pa.ipc.open_stream(file, options=wanted)
        for batch in self._waiting[partition]:
            yield batch.select(columns)


def _order(batches: Iterable[pa.RecordBatch]) -> Integers:
    """The order of the rows by flow, turn, file and number: files come in any order, what is in them in its own."""
    codes: dict[bytes, int] = {}
    columns: list[list[Integers]] = [[] for _ in ORDER]
    for batch in batches:
        flows = batch.column("flow").dictionary_encode()
        of_flow = [codes.setdefault(flow, len(codes)) for flow in flows.dictionary.to_pylist()]
        columns[0].append(np.array(of_flow, np.int64)[flows.indices.to_numpy()])
        for column, name in zip(columns[1:], ORDER[1:], strict=True):
            column.append(batch.column(name).to_numpy().copy())  # or the whole batch would stay
    if not columns[0]:
        return np.zeros(0, np.int64)
    return np.lexsort([np.concatenate(column) for column in reversed(columns)])


def _larger(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of `BATCH_ROWS` at least, but for the last one."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= BATCH_ROWS:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)
