"""The sink of tables: frames, each message's own table, events, and the ledger, in a folder."""

import json
from pathlib import Path

import pyarrow as pa

from wiretool.batches.batch import Batch
from wiretool.errors import UsageError
from wiretool.ledger import Ledger
from wiretool.sinks.arrow import events, frames
from wiretool.sinks.arrow.events import EventTables
from wiretool.sinks.arrow.files import FILES, Press, TableFile, refused
from wiretool.sinks.arrow.folder import LEDGER, Folder
from wiretool.sinks.arrow.frames import frame_table
from wiretool.sinks.arrow.messages import message_tables
from wiretool.sinks.arrow.shapes import shape_of
from wiretool.sinks.batch_sink import BatchSink

#: Bytes that wait in all tables together; above, the fullest ones are written.
WAITING_BYTES_MAX = 64 * 1024 * 1024


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
        self._file(self._folder.path / "frames", frames.SCHEMA).add(frame_table(batch))
        for (protocol, name), table in message_tables(batch):
            self._file(self._folder.message(protocol, name), shape_of(protocol, name).schema).add(table)
        if self._events is not None and (found := self._events.table(batch)) is not None:
            self._file(self._folder.path / "events", events.SCHEMA).add(found)
        self.records += batch.count
        self._bound()

    def end(self) -> None:
        """Close every file, even where one cannot be; the first failure is raised. Without `start` nothing happens."""
        if not self._files:
            return
        failures: list[UsageError] = []
        steps = [file.flush for file in self._files.values()]
        for step in (*steps, self._press.finish, *(file.close for file in self._files.values())):
            try:
                step()
            except UsageError as err:
                failures.append(err)
        if failures:
            raise failures[0]
        path = self._folder.path / LEDGER
        with refused(path):
            path.write_text(json.dumps(self._ledger.as_json(), indent=2) + "\n")

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
