"""Flows into tables: one part of each table in each of its folders."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wiretool.analysis.exchanges import Open
from wiretool.batches.batch import Batch
from wiretool.pipeline import layout
from wiretool.pipeline.flows import connections_table as over
from wiretool.pipeline.flows.reading import FlowBatch
from wiretool.sinks.arrow.arrays import coded_of
from wiretool.sinks.arrow.events import Block, EventTables
from wiretool.sinks.arrow.exchanges import ExchangeTables
from wiretool.sinks.arrow.files import refused
from wiretool.sinks.arrow.frames import frame_table
from wiretool.sinks.arrow.messages import message_tables
from wiretool.sinks.arrow.open_tables import OpenTables

#: Columns that number records of the same flow as the row.
_NUMBERS = ("n", "reply_to", "reply_n")


class Kept(NamedTuple):
    """What tables know of some connections: their protocols, their open blocks of events, and their open requests."""

    protocols: Mapping[int, str]
    blocks: Mapping[int, Block]
    requests: Open

    def shifted(self, by: int) -> "Kept":
        """The same where each record has a number that is larger by so much."""
        blocks = {connection: block._replace(n=block.n + by) for connection, block in self.blocks.items()}
        return Kept(self.protocols, blocks, self.requests.shifted(by))


NOTHING_KEPT = Kept({}, {}, Open({}))


class Placed(NamedTuple):
    """Rows of a table, and the folder that they belong to, under the root of all tables."""

    folder: Path
    rows: pa.Table


class FlowRows:
    """Sorts what is said of flows into rows of tables; where these go is not known here."""

    def __init__(self, files: Sequence[str], *, has_events: bool = False) -> None:
        """`files` are the names of the inputs."""
        self._inputs = files
        self._events = EventTables() if has_events else None
        self._exchanges = ExchangeTables()
        #: The protocol of each connection that is not over.
        self._protocols: dict[int, str] = {}

    def placed(self, told: FlowBatch) -> Iterator[Placed]:
        """The rows of a batch, some for each folder; all of them are to be asked for before the next batch."""
        if told.batch.count:
            yield from self._records(told)
        if told.over:
            yield from self._over(told)

    def give(self, connections: Collection[int], base: int = 0) -> Kept:
        """What is to be known of connections of which more may come, elsewhere; nothing of it is kept here.

        Numbers of records are here by `base` larger than there.
        """
        protocols = {each: self._protocols.pop(each) for each in connections if each in self._protocols}
        blocks = self._events.give(connections) if self._events is not None else {}
        return Kept(protocols, blocks, self._exchanges.give(connections)).shifted(-base)

    def take(self, kept: Kept, base: int = 0) -> None:
        """Go on with what was given elsewhere."""
        kept = kept.shifted(base)
        self._protocols.update(kept.protocols)
        if self._events is not None:
            self._events.take(kept.blocks)
        self._exchanges.take(kept.requests)

    def _records(self, told: FlowBatch) -> Iterator[Placed]:
        batch = told.batch
        frames = frame_table(batch)
        numbers, times = frames.column("n").to_numpy(), frames.column("time_ns").to_numpy()
        self._note_protocols(batch)
        if self._events is not None and (found := self._events.table(batch)) is not None:
            rows = np.searchsorted(numbers, found.column("n").to_numpy())
            yield from self._put(layout.EVENTS, found.add_column(1, "time_ns", pa.array(times[rows])), told)
        for (protocol, name), table in message_tables(batch):
            yield from self._put(f"{protocol}.{name}", table, told)
        yield from self._put_exchanges(self._exchanges.table(batch), told)
        frames = self._with_places(frames, told)
        yield from self._put(layout.FRAMES, frames, told)
        if batch.records:
            for name, kind in ((layout.GAPS, "gap"), (layout.PROBLEMS, "problem")):
                some = frames.filter(pc.equal(frames.column("kind").cast(pa.string()), kind))
                yield from self._put(name, some.select(layout.TROUBLE), told)

    def _over(self, told: FlowBatch) -> Iterator[Placed]:
        """The connections that are over, of which no row comes any more."""
        self._protocols.update((each.connection.id, each.account.protocol) for each in told.over)
        ids = [each.connection.id for each in told.over]
        yield from self._put_exchanges(self._exchanges.forget(*ids), told)
        if self._events is not None:
            self._events.give(ids)
        yield from self._put(layout.LEDGER, over.table_of(told.over), told)
        for each in told.over:
            del self._protocols[each.connection.id]

    def _note_protocols(self, batch: Batch) -> None:
        self._protocols.update((ends.connection, run.protocol) for run in batch.runs for ends in run.connections)
        self._protocols.update((record.connection, record.protocol) for record in batch.records)

    def _put_exchanges(self, found: pa.Table | None, told: FlowBatch) -> Iterator[Placed]:
        if found is not None:
            yield from self._put(layout.EXCHANGES, found.drop_columns("protocol"), told)

    def _with_places(self, frames: pa.Table, told: FlowBatch) -> pa.Table:
        """The frames with the files of their packets, and the numbers in these."""
        columns: dict[str, Any] = {name: frames.column(name) for name in frames.column_names}
        for end in ("first", "last"):
            packets = frames.column(f"{end}_packet").to_numpy()
            columns[f"{end}_file"] = coded_of(told.places.files(packets), self._inputs)
            columns[f"{end}_packet"] = pa.array(told.places.numbers(packets))
        schema = layout.frames_schema()
        return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)

    def _put(self, name: str, table: pa.Table, told: FlowBatch) -> Iterator[Placed]:
        """Rows of a table, each where its date and its connection's protocol belong."""
        if not table.num_rows:
            return
        table = _own(table, told)
        days = table.column("time_ns").to_numpy() // layout.DAY_NS
        connections, of_row = np.unique(table.column("connection").to_numpy(), return_inverse=True)
        protocols = [self._protocols.get(connection, "") for connection in connections.tolist()]
        names = sorted(set(protocols))
        codes = days * len(names) + np.array([names.index(protocol) for protocol in protocols])[of_row]
        for code in np.unique(codes).tolist():
            day, protocol = divmod(code, len(names))
            is_here = codes == code
            some = table if is_here.all() else table.filter(pa.array(is_here))
            yield Placed(layout.folder_of(name, day, names[protocol]), some)


class FlowTables(FlowRows):
    """Writes them into files under a root."""

    def __init__(self, root: Path, part: str, files: Sequence[str], *, has_events: bool = False) -> None:
        """`part` names the files of this writer among those of others; `files` are the names of the inputs."""
        super().__init__(files, has_events=has_events)
        self._root = root
        self._part = part
        self._tables = OpenTables(root, "parquet")
        #: Those that there are by now.
        self._folders: set[Path] = set()

    def write(self, told: FlowBatch) -> None:
        """Add a batch. UsageError where the system does not take a folder."""
        for folder, table in self.placed(told):
            self._append(folder, table)
        self._tables.bound()

    def close(self) -> Mapping[str, Sequence[layout.File]]:
        """The files of each table, all whole. UsageError where the system did not take one."""
        self._tables.close()
        files: dict[str, list[layout.File]] = {}
        for each in self._tables.files:
            relative = each.path.relative_to(self._root)
            file = layout.File(relative.as_posix(), each.rows, each.path.stat().st_size)
            files.setdefault(relative.parts[0], []).append(file)
        return files

    def _append(self, folder: Path, table: pa.Table) -> None:
        path = self._root / folder / self._part
        if folder not in self._folders:
            with refused(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)
        self._tables.file(path, table.schema).add(table)


def _own(table: pa.Table, told: FlowBatch) -> pa.Table:
    """The rows with the numbers that each flow gives its records."""
    if told.bases.is_plain or "n" not in table.column_names:
        return table
    numbers = table.column("n").to_numpy()
    for name in _NUMBERS:
        at = table.schema.get_field_index(name)
        if at >= 0:
            column = table.column(at)
            own = told.bases.own(pc.fill_null(column, 0).to_numpy(), numbers)
            table = table.set_column(at, name, pa.array(own, mask=pc.is_null(column).to_numpy()))
    return table
