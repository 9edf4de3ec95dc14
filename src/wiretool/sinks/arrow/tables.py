"""The sink of tables: frames, each message's own table, events, and the ledger, in a folder."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wiretool.batches.batch import Batch
from wiretool.batches.rows import batch_of
from wiretool.ledger import Ledger
from wiretool.sinks.arrow import frames
from wiretool.sinks.arrow.files import refused
from wiretool.sinks.arrow.folder import LEDGER, Folder
from wiretool.sinks.arrow.frames import frame_table
from wiretool.sinks.arrow.messages import message_tables
from wiretool.sinks.arrow.open_tables import OpenTables
from wiretool.sinks.arrow.shapes import shape_of
from wiretool.sinks.batch_sink import BatchSink
from wiretool.sinks.ledger import pieces_of
from wiretool.sinks.partial import part_of

if TYPE_CHECKING:
    from wiretool.sinks.arrow.events import EventTables

#: Records that are made into tables at a time, where they were read one by one.
RECORDS_AT_ONCE = 4_096


class TablesSink(BatchSink):
    """Writes batches as tables into a folder."""

    def __init__(self, folder: Folder, form: str, ledger: Ledger, *, has_events: bool = False) -> None:
        """`form` is parquet or arrow; the ledger is written as it is at the end."""
        self._folder = folder
        self._tables = OpenTables(folder.path, form)
        self._ledger = ledger
        self._events = _event_tables() if has_events else None
        self.records = 0

    def write(self, batch: Batch) -> None:
        if not batch.count:
            return
        self.start()
        for part in _parts(batch):
            self._add(part)
            self.records += part.count
            self._tables.bound()

    def _add(self, batch: Batch) -> None:
        self._tables.file(self._folder.path / "frames", frames.SCHEMA).add(frame_table(batch))
        for (protocol, name), table in message_tables(batch):
            self._tables.file(self._folder.message(protocol, name), shape_of(protocol, name).schema).add(table)
        if self._events is not None and (found := self._events.table(batch)) is not None:
            self._tables.file(self._folder.path / "events", self._events.schema).add(found)

    def end(self) -> None:
        """Close every file, even where one cannot be; the first failure is raised. Without `start` nothing is there."""
        if not self._tables:
            self._folder.leave()
        elif self._tables.close():
            self._write_ledger()

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
        if self._tables:
            return
        self._folder.clear()
        self._tables.file(self._folder.path / "frames", frames.SCHEMA)
        if self._events is not None:
            self._tables.file(self._folder.path / "events", self._events.schema)


def _event_tables() -> "EventTables":
    """Return what makes tables of events, which loads the protocols that have some."""
    from wiretool.sinks.arrow.events import EventTables

    return EventTables()


def _parts(batch: Batch) -> Iterator[Batch]:
    """A batch of records only in several, so that little is made of them at a time; any other as it is."""
    if batch.runs or len(batch.records) <= RECORDS_AT_ONCE:
        yield batch
        return
    for start in range(0, len(batch.records), RECORDS_AT_ONCE):
        yield batch_of(batch.records[start : start + RECORDS_AT_ONCE])
