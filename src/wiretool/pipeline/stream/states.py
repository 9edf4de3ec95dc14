"""What is open of flows between two batches, in files that are written once: what is later holds.

A batch writes what has changed; now and then one writes all, and the files before it are of no use any more. Nobody
changes a file: a batch that was cut off leaves one that nobody knows.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from wiretool.errors import CaptureError
from wiretool.pipeline.flows.open_flows import Carried
from wiretool.pipeline.private import is_special
from wiretool.sinks.arrow.files import reason, refused
from wiretool.sinks.partial import part_of

#: A row for each flow: what is open of it, or null where it is over; and whether only late packets may come of it.
SCHEMA = pa.schema(
    [("flow", pa.binary()), ("turn_ns", pa.int64()), ("is_ended", pa.bool_()), ("state", pa.large_binary())]
)
#: Bytes of states that are written at a time, and flows.
PIECE_BYTES, PIECE_ROWS = 8 * 1024 * 1024, 4_096
#: All is written where there are so many files, or where they have so many times the bytes that hold, and some more.
FILES_MAX = 16
TIMES, SOME_BYTES = 2, 32 * 1024 * 1024


class _At(NamedTuple):
    """Where the state of a flow is."""

    file: int
    batch: int
    row: int
    turn_ns: int
    is_ended: bool
    bytes: int


class States(Mapping[bytes, Carried]):
    """The flows that are open, from files in the order in which they were written; a context manager."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """CaptureError where a file is gone or damaged."""
        self.paths = paths
        self._files = [_opened(path) for path in paths]
        self._at: dict[bytes, _At] = {}
        for number, (_, batches) in enumerate(self._files):
            for at, batch in enumerate(batches):
                self._take(number, at, batch)

    def __enter__(self) -> "States":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._at.clear()
        files, self._files = self._files, []
        for source, batches in files:
            batches.clear()
            source.close()

    def __getitem__(self, flow: bytes) -> Carried:
        at = self._at[flow]
        state = self._files[at.file][1][at.batch].column("state")[at.row].as_py()
        return Carried(flow, at.turn_ns, at.is_ended, state, str(self.paths[at.file]))

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)

    @property
    def is_scattered(self) -> bool:
        """Whether it is time to write all of them into one file."""
        written = sum(source.size() for source, _ in self._files)
        held = sum(at.bytes for at in self._at.values())
        return len(self.paths) >= FILES_MAX or written > TIMES * held + SOME_BYTES

    def silent(self, before_ns: int, ended_before_ns: int) -> list[bytes]:
        """The flows whose last packet is so long ago; and those that have ended, with a bound of their own."""
        return [
            flow
            for flow, at in self._at.items()
            if at.turn_ns < before_ns or (at.is_ended and at.turn_ns < ended_before_ns)
        ]

    def _take(self, file: int, number: int, batch: pa.RecordBatch) -> None:
        columns = [batch.column(name).to_pylist() for name in ("flow", "turn_ns", "is_ended")]
        sizes = pc.binary_length(batch.column("state")).to_pylist()
        for row, (flow, turn_ns, is_ended, size) in enumerate(zip(*columns, sizes, strict=True)):
            self._at.pop(flow, None)
            if size is not None:
                self._at[flow] = _At(file, number, row, turn_ns, is_ended, size)


class _Unsound(Exception):
    """A file whose content is not that of states; its text says why."""


def _why(err: Exception) -> str:
    """Return why a file cannot be read, in our words where Arrow finds its content wrong."""
    if isinstance(err, OSError) and err.errno is not None:
        return reason(err)
    return str(err) if isinstance(err, _Unsound) else "a damaged file; expected a whole Arrow file"


def _opened(path: Path) -> tuple[pa.MemoryMappedFile, list[pa.RecordBatch]]:
    try:
        if is_special(path):
            raise _Unsound("not a regular file")
        source = pa.memory_map(os.fsencode(path))
        file = pa.ipc.open_file(source)
        if file.schema != SCHEMA:
            raise _Unsound("its columns are not those of states")
        return source, [_checked(file.get_batch(number)) for number in range(file.num_record_batches)]
    except (OSError, pa.ArrowException, _Unsound) as err:
        why = _why(err)
        raise CaptureError(
            str(path), f"the state of open flows cannot be read: {why}; start again with another checkpoint"
        ) from err


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of states that nobody has forged: pyarrow follows offsets without looking."""
    batch.validate(full=True)
    if any(batch.column(name).null_count for name in ("flow", "turn_ns", "is_ended")):
        raise _Unsound("a row without a flow")
    return batch


class StateWriter:
    """Writes a file of states; a context manager. It has its name once it is whole; without any flow there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Flows that were written.
        self.count = 0
        self._waiting: list[Carried | bytes] = []
        self._bytes = 0

    def __enter__(self) -> "StateWriter":
        with refused(self.path):
            self._file = pa.OSFile(os.fsencode(part_of(self.path)), "wb")
            self._stream = pa.ipc.new_file(self._file, SCHEMA)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with refused(self.path):
            try:
                if error is None:
                    self._flush()
                    self._stream.close()
            finally:
                self._file.close()
                if error is not None or not self.count:
                    part_of(self.path).unlink(missing_ok=True)
            if error is None and self.count:
                part_of(self.path).replace(self.path)

    def leave(self, carried: Carried) -> None:
        """Write what is open of a flow."""
        self._waiting.append(carried)
        self._bytes += len(carried.state)
        self._wrote()

    def drop(self, flows: Iterable[bytes]) -> None:
        """Write that nothing is open of them any more."""
        for flow in flows:
            self._waiting.append(flow)
            self._wrote()

    def _wrote(self) -> None:
        self.count += 1
        if self._bytes >= PIECE_BYTES or len(self._waiting) >= PIECE_ROWS:
            with refused(self.path):
                self._flush()

    def _flush(self) -> None:
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        rows = [Carried(each, 0, True, b"") if isinstance(each, bytes) else each for each in waiting]
        states = [None if isinstance(each, bytes) else each.state for each in waiting]
        columns = [
            [row.flow for row in rows],
            [row.turn_ns for row in rows],
            [row.is_ended for row in rows],
            states,
        ]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
        self._stream.write_batch(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
