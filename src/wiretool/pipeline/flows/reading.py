"""Flows in, batches of records out: each flow is read by itself, as if its packets were a capture of their own.

So what is said of a connection depends on its own packets only, not on those that were captured beside them: not on how
captures are split, in which order they are read, or by whom.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.structs import force_setattr

from wiretool.batches.batch import Batch, FrameRun
from wiretool.capture.tcp.retransmit_history import RecentRuns
from wiretool.capture.tcp.stream_events import Connection
from wiretool.dissect.closed_connection import EndedWatch
from wiretool.dissect.columns.read import BulkDissector
from wiretool.dissect.dissector import Dissector
from wiretool.ledger import ConnectionAccount, Ledger
from wiretool.pipeline.flows.deduplicate import Once
from wiretool.pipeline.flows.groups import FlowGroup
from wiretool.pipeline.flows.parts import Part, Rows, parts_of
from wiretool.pipeline.flows.payloads import Payloads
from wiretool.pipeline.flows.positions import Bases, Places
from wiretool.pipeline.flows.segments import Namer, tables_of, taken_once
from wiretool.protocols.base.columns import NO_REPLY
from wiretool.records import Record

#: Flows of fewer segments are read one record at a time: arrays would cost more. The records are the same.
FEW_SEGMENTS = 64
#: Whole flows of fewer segments wait for others, to be made into tables together; and what of them makes up a batch:
#: records, connections, bytes of payload.
POOLED_SEGMENTS = 4_096
POOL_RECORDS, POOL_CONNECTIONS, POOL_BYTES = 8_192, 2_048, 8 * 1024 * 1024
#: Bytes of a stream before its next one that what comes again is compared with: the largest window that is not scaled.
#: So much of it is carried from one batch of a stream of captures to the next.
COMPARED_BYTES_MAX = 64 * 1024


class Over(NamedTuple):
    """A connection of which nothing more comes, and what became of its bytes."""

    connection: Connection
    account: ConnectionAccount


class FlowBatch(NamedTuple):
    """Records of one flow or of several whole ones; how to number them; and the connections that are over.

    Record and packet numbers are to be asked of `bases` and `places`.
    """

    batch: Batch
    bases: Bases
    places: Places
    over: Sequence[Over]


class Pool:
    """Small flows, their records numbered in one row."""

    def __init__(self) -> None:
        self.places = Places()
        self.over: list[Over] = []
        self._bases = Bases()
        self._runs: list[FrameRun] = []
        self._records: list[Record] = []
        #: How many records there are; the last number that one may have; and the bytes that they were read of.
        self._count = self._last = self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether there is enough of it for a batch."""
        return self._count >= POOL_RECORDS or len(self.over) >= POOL_CONNECTIONS or self._bytes >= POOL_BYTES

    def add(self, batches: Iterable[Batch], size: int, most: int = 0, firsts: Iterable[int] = (1,)) -> int:
        """Records of another flow, read of so many bytes; by how much larger their numbers are here.

        They are numbered from 1 without a hole, or up to `most`. Of several flows, `firsts` are the first numbers.
        """
        base, count = self._last, 0
        for first in firsts:
            self._bases.add(base + first)
        for batch in batches:
            self._runs += (_shifted(run, base) for run in batch.runs)
            for record in batch.records:
                force_setattr(record, "n", record.n + base)
                if record.reply_to is not None:
                    force_setattr(record, "reply_to", record.reply_to + base)
            self._records += batch.records
            count += batch.count
        self._count += count
        self._last = base + (most or count)
        self._bytes += size
        return base

    def note_opened(self, connection: Connection, account: ConnectionAccount) -> None:
        """Note a connection of a flow that waits here."""
        self.over.append(Over(connection, account))

    def told(self) -> FlowBatch:
        """All of it."""
        batch = Batch(1, self._count, self._runs, self._records)
        return FlowBatch(batch, self._bases, self.places, self.over)


def _shifted(run: FrameRun, base: int) -> FrameRun:
    """The run with its numbers raised."""
    groups = [
        group
        if group.reply_to is None
        else replace(group, reply_to=np.where(group.reply_to == NO_REPLY, NO_REPLY, group.reply_to + base))
        for group in run.groups
    ]
    return replace(run, frames=replace(run.frames, numbers=run.frames.numbers + base), groups=groups)


class Flow:
    """A flow on its way to batches, some of its segments after the other."""

    def __init__(self, key: bytes, **options: Any) -> None:
        """`options` are those of dissect.Connections."""
        self.key = key
        self.places = Places()
        self.once = Once()
        self.ledger = Ledger()
        self.over: list[Over] = []
        self.dissector = BulkDissector(ledger=self.ledger, **_options_of(key, self.note_opened), **options)

    def note_opened(self, connection: Connection, account: ConnectionAccount) -> None:
        """Note a connection that is watched from now on."""
        self.over.append(Over(connection, account))

    @property
    def is_ended(self) -> bool:
        """Whether both sides have ended all connections: what may still come of them was sent again."""
        return all(isinstance(each.connection.reader, EndedWatch) for each in self.over)

    def read(self, rows: Rows, payloads: Payloads) -> Iterator[FlowBatch]:
        """What comes next of it."""
        is_few = rows.size < FEW_SEGMENTS
        for table in tables_of(self.key, taken_once(rows, self.once), self.places, payloads):
            batches = self.dissector.read(table, as_records=is_few)
            yield from (self._told(batch) for batch in batches if batch.count)

    def end(self) -> Iterator[FlowBatch]:
        """What remains when nothing more comes."""
        batches = list(self.dissector.end())
        yield from (self._told(batch) for batch in batches[:-1] if batch.count)
        yield self._told(batches[-1], self.over)

    def let_go(self) -> Iterator[FlowBatch]:
        """The connections that are over already, if there are any; what nobody can ask for is kept no longer."""
        live = self.dissector.rest()
        is_over = [each.connection not in live and isinstance(each.connection.reader, EndedWatch) for each in self.over]
        if any(is_over):
            over = list(compress(self.over, is_over))
            self.over[:] = [each for each, is_this in zip(self.over, is_over, strict=True) if not is_this]
            self.ledger.connections = [each.account for each in self.over]
            yield self._told(Batch(0, 0, (), ()), over)

    def _told(self, batch: Batch, over: Sequence[Over] = ()) -> FlowBatch:
        return FlowBatch(batch, Bases(), self.places, over)


class FlowReader:
    """Reads flows; `options` are those of dissect.Connections: `protocol`, `ports`, `notes`."""

    def __init__(self, files: Sequence[Path], **options: Any) -> None:
        """`files` are the inputs, which are read again for payloads."""
        self._files = files
        self._options = options
        self._pool = Pool()
        self._group = FlowGroup()
        self._flow: Flow | None = None

    def read(self, rows: Iterable[pa.RecordBatch]) -> Iterator[FlowBatch]:
        """The records of segment rows (`rows.SCHEMA`, Arrow record batches), all of which are sorted by `rows.ORDER`.

        CaptureError where a file cannot be read again.
        """
        with Payloads(self._files) as payloads:
            for part in parts_of(rows):
                if not (part.is_first and part.is_last) or part.rows.size >= POOLED_SEGMENTS:
                    yield from self._read_part(part, payloads)
                elif not self._group.takes(part):
                    yield from self._read_whole(part, payloads)
                else:
                    self._group.add(part)
                    if self._group.is_full:
                        yield from self._read_group(payloads)
            yield from self._read_group(payloads)
        if self._pool.over:
            yield self._pooled()

    def _pooled(self) -> FlowBatch:
        pool, self._pool = self._pool, Pool()
        return pool.told()

    def _read_group(self, payloads: Payloads) -> Iterator[FlowBatch]:
        """Read the flows that wait: together, or where that cannot be each by itself."""
        group, self._group = self._group, FlowGroup()
        if not group.parts:
            return
        pool = self._pool
        batch, counts, is_left = group.read(pool.places, payloads, pool.note_opened, **self._options)
        firsts = np.cumsum(counts) - counts + 1
        pool.add([batch], int(sum(part.rows.lengths.sum() for part in group.parts)), firsts=firsts.tolist())
        if pool.is_full:
            yield self._pooled()
        for part in compress(group.parts, is_left.tolist()):
            yield from self._read_whole(part, payloads)

    def _read_whole(self, part: Part, payloads: Payloads) -> Iterator[FlowBatch]:
        """A small flow, which waits in the pool for others."""
        pool, rows = self._pool, taken_once(part.rows, Once())
        options = {**_options_of(part.flow, pool.note_opened), **self._options}
        tables = tables_of(part.flow, rows, pool.places, payloads)
        size = int(rows.lengths.sum())
        if rows.size < FEW_SEGMENTS:
            segments = chain.from_iterable(table.segments(np.arange(len(table))) for table in tables)
            records = list(Dissector(**options).records_of(segments))
            pool.add([Batch(1, len(records), (), records)], size)
        else:
            pool.add(BulkDissector(**options).batches(tables), size)
        if pool.is_full:
            yield self._pooled()

    def _read_part(self, part: Part, payloads: Payloads) -> Iterator[FlowBatch]:
        """What comes next of a large flow."""
        if part.is_first:
            self._flow = Flow(part.flow, **self._options)
        assert self._flow is not None, "a flow begins with its first part"
        yield from self._flow.read(part.rows, payloads)
        if part.is_last:
            yield from self._flow.end()
            self._flow = None


def _options_of(flow: bytes, note_opened: Callable[[Connection, ConnectionAccount], None]) -> dict[str, Any]:
    """What the reader of a flow is told beside the options; it notes each connection that it watches."""
    return {"name": Namer(flow), "opened": note_opened, "recent": RecentRuns(COMPARED_BYTES_MAX)}
