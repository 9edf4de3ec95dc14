"""The sink of tables: frames, each message's own table, events, and the ledger, in a folder."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from wiretool.batches.batch import Batch
from wiretool.batches.rows import batch_of
from wiretool.errors import UsageError
from wiretool.ledger import Ledger
from wiretool.sinks.arrow import events, frames
from wiretool.sinks.arrow.events import EventTables
from wiretool.sinks.arrow.files import FILES, Press, TableFile, part_of, refused
from wiretool.sinks.arrow.folder import LEDGER, Folder
from wiretool.sinks.arrow.frames import frame_table
from wiretool.sinks.arrow.messages import message_tables
from wiretool.sinks.arrow.shapes import shape_of
from wiretool.sinks.batch_sink import BatchSink
from wiretool.sinks.ledger import pieces_of

#: Bytes that wait in all tables together; above, the fullest ones are written.
WAITING_BYTES_MAX = 12 * 1024 * 1024
#: Tables that are named where they could not be written.
NAMED_MAX = 3
#: Records that are made into tables at a time, where they were read one by one.
RECORDS_AT_ONCE = 4_096


class TablesSink(BatchSink):
    """Writes batches as tables into a folder."""

    def __init__(self, folder: Folder, form: str, ledger: Ledger, *, has_events: bool = False) -> None:
        """`form` is parquet or arrow; the ledger is written as it is at the end."""
        self._folder = folder
        self._kind = FILES[form]
        self._ledger = ledger
        self._events = EventTables() if has_events else None
        self._press = Press()
        self._files: dict[Path, TableFile] = {}
        self.records = 0

    def write(self, batch: Batch) -> None:
        if not batch.count:
            return
        self.start()
        for part in _parts(batch):
            self._add(part)
            self.records += part.count
            self._bound()

    def _add(self, batch: Batch) -> None:
        self._file(self._folder.path / "frames", frames.SCHEMA).add(frame_table(batch))
        for (protocol, name), table in message_tables(batch):
            self._file(self._folder.message(protocol, name), shape_of(protocol, name).schema).add(table)
        if self._events is not None and (found := self._events.table(batch)) is not None:
            self._file(self._folder.path / "events", events.SCHEMA).add(found)

    def end(self) -> None:
        """Close every file, even where one cannot be; the first failure is raised. Without `start` nothing is there."""
        if not self._files:
            self._folder.leave()
            return
        files = list(self._files.values())
        steps = [*(file.flush for file in files), self._press.finish, *(file.close for file in files)]
        try:
            _all_of(iter(steps))
        finally:
            self._refuse()
        if not any(file.is_broken for file in files):
            self._write_ledger()

    def _refuse(self) -> None:
        """UsageError for the tables that the system did not take, all of them in one."""
        lost = [file for file in self._files.values() if file.refusal]
        if not lost:
            return
        folder, names = self._folder.path, [str(file.path.relative_to(self._folder.path)) for file in lost]
        named = ", ".join(names[:NAMED_MAX]) + f" and {len(names) - NAMED_MAX} more" * (len(names) > NAMED_MAX)
        others = ", the others have what was read until then" * (len(lost) < len(self._files))
        raise UsageError(
            f"cannot write all tables in {folder}: {lost[0].refusal}; {named} left out{others}: "
            "make room, or give a folder elsewhere, and run it again"
        )

    def _write_ledger(self) -> None:
        path = self._folder.path / LEDGER
        with refused(path):
            with part_of(path).open("w") as file:
                file.writelines(pieces_of(self._ledger))
            part_of(path).replace(path)

    def start(self) -> None:
        """Open the tables that are there in any case, in place of earlier ones: before the first row, or without any.

        Until then those of the last run stay: input that cannot be read costs nobody the output.
        """
        if self._files:
            return
        self._folder.clear()
        self._file(self._folder.path / "frames", frames.SCHEMA)
        if self._events is not None:
            self._file(self._folder.path / "events", events.SCHEMA)

    def _file(self, path: Path, schema: pa.Schema) -> TableFile:
        if path not in self._files:
            self._files[path] = self._kind(path.with_name(path.name + self._kind.suffix), schema, self._press)
        return self._files[path]

    def _bound(self) -> None:
        """Write the fullest tables until few enough bytes wait."""
        waiting = sum(file.waiting_bytes for file in self._files.values())
        for file in sorted(self._files.values(), key=lambda file: file.waiting_bytes, reverse=True):
            if waiting <= WAITING_BYTES_MAX:
                break
            waiting -= file.waiting_bytes
            file.flush()


def _parts(batch: Batch) -> Iterator[Batch]:
    """A batch of records only in several, so that little is made of them at a time; any other as it is."""
    if batch.runs or len(batch.records) <= RECORDS_AT_ONCE:
        yield batch
        return
    for start in range(0, len(batch.records), RECORDS_AT_ONCE):
        yield batch_of(batch.records[start : start + RECORDS_AT_ONCE])


def _all_of(steps: Iterator[Callable[[], None]]) -> None:
    """Do all of them, whatever fails in some; the first failure is raised."""
    for step in steps:
        is_done = False
        try:
            step()
            is_done = True
        finally:
            for other in () if is_done else steps:
                with suppress(UsageError, pa.ArrowException):  # one failure is told, and most others come of it
                    other()
