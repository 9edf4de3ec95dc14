"""Tables as files: Parquet or Arrow IPC, written in row groups of bounded size.

Until a file is whole it has another name, which ends in `.part`.
"""

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from wiretool import __version__
from wiretool.errors import system_reason, write_error
from wiretool.sinks.arrow.frames import readers
from wiretool.sinks.arrow.leaves import CODED
from wiretool.sinks.partial import part_of

#: Rows of a row group, and bytes of its columns before they are packed; whichever comes first.
GROUP_ROWS = 262_144
GROUP_BYTES = 8 * 1024 * 1024
#: Rows that are made into what readers of Arrow IPC see at a time: each text that is coded here is written out there.
IPC_ROWS = 16_384
#: Rows that Arrow hands to the encoder at a time; by default far fewer, at a cost for each.
BATCH_ROWS = 65_536
#: How hard zstd tries: more costs time and saves little.
ZSTD_LEVEL = 1
#: What each of our tables says of itself.
OURS = {"wiretool": __version__}
#: Row groups that may wait for the one that is being written.
GROUPS_WAITING_MAX = 2


class Press:
    """Writes row groups one after the other, beside whatever else is done."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "tables")
        self._waiting: deque[Future[None]] = deque()

    def take(self, write: Callable[[], None]) -> None:
        """Do it when all before it is done. An error comes out of a later call, at the latest of `finish`."""
        self._waiting.append(self._thread.submit(write))
        while len(self._waiting) > GROUPS_WAITING_MAX:
            self._waiting.popleft().result()

    def finish(self) -> None:
        """Wait until all is done; the first error is raised."""
        waiting, self._waiting = self._waiting, deque()
        self._thread.shutdown()
        for each in waiting:
            each.result()


class TableFile(ABC):
    """A file of one table. What is added waits until there is enough of it for a row group."""

    #: What names of such files end in.
    suffix: str

    def __init__(self, path: Path, schema: pa.Schema, press: Press) -> None:
        self.path = path
        self._press = press
        #: How many rows were added.
        self.rows = 0
        self.waiting_bytes = 0
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        #: Whether a part of it could not be written: it will not be whole.
        self.is_broken = False
        #: What the system said, if it refused to write it.
        self.refusal: OSError | None = None
        self._part = part_of(path)
        with refused(path):
            path.parent.mkdir(exist_ok=True)
            self._file = pa.OSFile(os.fsencode(self._part), "wb")  # a name need not be UTF-8
            try:
                self._open(self._file, schema)
            except OSError:
                self._part.unlink(missing_ok=True)
                raise

    def add(self, table: pa.Table) -> None:
        """Add rows, in the schema that the file was opened with."""
        self._waiting.append(table)
        self.rows += table.num_rows
        self._waiting_rows += table.num_rows
        self.waiting_bytes += table.nbytes
        if self._waiting_rows >= GROUP_ROWS or self.waiting_bytes >= GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if not self._waiting:
            return
        tables, self._waiting, self._waiting_rows, self.waiting_bytes = self._waiting, [], 0, 0
        self._press.take(partial(self._put, tables))

    def _put(self, tables: list[pa.Table]) -> None:
        if self.is_broken:
            return
        with self._whole():
            table = pa.concat_tables(tables).unify_dictionaries()
            tables.clear()  # their coded columns are in the whole anew
            self._write(table)
        del table
        pa.default_memory_pool().release_unused()  # or it keeps what the largest groups took, in each thread

    def close(self) -> None:
        """Write what a reader needs to find its way, and give the file its name; the rows have been written by then.

        A file that is not whole is taken away.
        """
        try:
            with suppress(OSError, pa.ArrowException) if self.is_broken else self._whole():
                self._finish()
        finally:
            if self.is_broken:
                with suppress(OSError):
                    self._part.unlink(missing_ok=True)

    def _finish(self) -> None:
        try:
            self._end()
        finally:
            self._file.close()
        if not self.is_broken:
            self._part.replace(self.path)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """The file is broken unless the block ends well."""
        is_done = False
        try:
            with refused(self.path):
                try:
                    yield
                except OSError as err:
                    self.refusal = err
                    raise
            is_done = True
        finally:
            self.is_broken = not is_done

    @abstractmethod
    def _open(self, file: pa.NativeFile, schema: pa.Schema) -> None: ...
    @abstractmethod
    def _write(self, table: pa.Table) -> None: ...
    @abstractmethod
    def _end(self) -> None: ...


class ParquetFile(TableFile):
    """Parquet, in the types of its own only: what is coded here is text there, packed by its words."""

    suffix = ".parquet"

    def _open(self, file: pa.NativeFile, schema: pa.Schema) -> None:
        coded = [field.name for field in schema if field.type == CODED]
        whole = [field.name for field in schema if field.type == pa.int64()]
        self._writer = pq.ParquetWriter(
            file,
            schema,
            compression="zstd",
            compression_level=ZSTD_LEVEL,
            use_dictionary=coded,
            # Most numbers are near the one before them: this is both faster and several times smaller than plain.
            column_encoding=dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
            write_statistics=[*coded, *whole],
            store_schema=False,
            write_batch_size=BATCH_ROWS,
        )
        self._writer.add_key_value_metadata(OURS)

    def _write(self, table: pa.Table) -> None:
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))

    def _end(self) -> None:
        try:
            self._writer.close()
        finally:
            self._writer.is_open = False  # or it is closed again, and fails aloud, when nobody has it any more


class ArrowFile(TableFile):
    """Arrow IPC with packed buffers."""

    suffix = ".arrow"

    def _open(self, file: pa.NativeFile, schema: pa.Schema) -> None:
        self._schema = readers(schema).with_metadata(OURS)
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        self._writer = pa.ipc.new_file(file, self._schema, options=options)

    def _write(self, table: pa.Table) -> None:
        for start in range(0, table.num_rows, IPC_ROWS):
            self._writer.write_table(table.slice(start, IPC_ROWS).cast(self._schema).combine_chunks())

    def _end(self) -> None:
        self._writer.close()


FILES: dict[str, type[TableFile]] = {"parquet": ParquetFile, "arrow": ArrowFile}


def is_table_of_ours(path: Path) -> bool:
    """Whether a run of ours has written this file, as it says itself."""
    try:
        with pa.OSFile(os.fsencode(path)) as file:
            is_parquet = path.suffix == ParquetFile.suffix
            said = pq.read_metadata(file).metadata if is_parquet else pa.ipc.open_file(file).schema.metadata
    except (OSError, pa.ArrowException):
        return False
    return all(key.encode() in (said or {}) for key in OURS)


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Raise UsageError where the system refuses what is written, OutputError where a disk is full."""
    try:
        yield
    except OSError as err:
        raise write_error(f"cannot write {path}: {reason(err)}", err) from err


def reason(err: OSError) -> str:
    """Return the system's reason without the path, which Arrow repeats in its own."""
    return system_reason(OSError(err.errno, os.strerror(err.errno))) if err.errno else str(err)
