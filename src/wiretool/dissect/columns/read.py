"""The column path: joins capture, framing and codec for many frames at once, captures in, batches of columns out.

It gives the same values as the row path: every record of `dissector.read` is in one of the batches, with the same
number.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from wiretool import limits
from wiretool.batches.batch import Batch
from wiretool.capture.columns.new_connections import NewConnections
from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.columns.runs import Run
from wiretool.capture.columns.segments import SegmentTable, read_segment_tables
from wiretool.capture.columns.streams import BulkStreams, Fed, Pause, are_many
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.retransmit_history import RecentRuns
from wiretool.capture.tcp.segments_of_packets import Segment
from wiretool.capture.tcp.stream_events import Connection, Data, Item
from wiretool.capture.tls.keylog import KeyLog
from wiretool.codec.columns import Flags
from wiretool.dissect.columns.column_protocols import ColumnProtocols
from wiretool.dissect.columns.deferred import Deferred
from wiretool.dissect.columns.new_connection_reading import read_new_connections
from wiretool.dissect.columns.numbering import PACKET_SHIFT, Numbers
from wiretool.dissect.columns.pace import Pace, in_parts
from wiretool.dissect.columns.pending_batch import PendingBatch
from wiretool.dissect.columns.plain_reading import read_plain_segments
from wiretool.dissect.columns.rounds import Rounds
from wiretool.dissect.columns.steady_watches import SteadyWatches
from wiretool.dissect.columns.watch import BulkWatch, EndedBulkWatch
from wiretool.dissect.dissector import Connections, Source, note_text, paths_of
from wiretool.errors import CaptureError
from wiretool.ledger import ConnectionAccount, Ledger
from wiretool.protocols.base.conversation import Conversation
from wiretool.protocols.base.registry import protocol_named


def read_batches(
    captures: Source | Sequence[Source],
    *,
    protocol: str = "auto",
    ports: Mapping[int, str] | None = None,
    ledger: Ledger | None = None,
    notes: Callable[[str], None] | None = None,
    keys: KeyLog | None = None,
) -> Iterator[Batch]:
    """The records of captures in batches, otherwise as `dissector.read`.

    CaptureError where a file is no capture or is damaged, after all that is before the damage.
    """
    ledger = Ledger() if ledger is None else ledger
    keys = KeyLog() if keys is None else keys
    tables = read_segment_tables(read_packet_tables(paths_of(captures), keys), ledger.packets)
    yield from BulkDissector(protocol=protocol, ports=ports, ledger=ledger, notes=notes, keys=keys).batches(tables)


class BulkDissector:
    """Everything that one reading in bulk has to remember."""

    def __init__(
        self,
        *,
        notes: Callable[[str], None] | None = None,
        name: Callable[[Segment], int] | None = None,
        recent: RecentRuns | None = None,
        **options: Any,
    ) -> None:
        """`name` says by what number a connection is known that begins with a segment; by default they are counted.

        `recent` is of this reading alone; by default it looks back as far as it has items.
        """
        self._numbers = Numbers()
        self._pace = Pace()
        self._pending = PendingBatch(self._numbers, notes or _ignore)
        kind = partial(BulkWatch, self._numbers, self._pace)
        self._connections = Connections(self._numbers.take, kind=kind, notes=self._note, **options)
        self._recent = recent or RecentRuns()
        self._flows = LentStreams(self._connections.ports, self._recent, name=name)
        self.begin_steady()
        protocols = ColumnProtocols(self._connections)
        asked = protocols.is_start, protocols.is_expected, self._leave, self._close, protocols.is_single
        self._streams = BulkStreams(self._flows, self._recent, *asked)
        self._last_packet = 0
        self._rounds = Rounds(self._numbers, self._pace, self._watch, self._take)
        #: The deferred items of the table that is read.
        self._deferred: Deferred | None = None
        #: Connections of which the rest of the table is read item by item; they are understood again in the next one.
        self._ragged: set[Connection] = set()
        #: What waits for the next pause: it is of several connections of which too much is deferred.
        self._later: Fed | None = None

    def begin_steady(self) -> None:
        """Begin without connections in arrays."""
        self._steady = SteadyWatches(self._resume)

    def batches(self, tables: Iterable[SegmentTable]) -> Iterator[Batch]:
        """The batches of segments: one for each table, or more where much comes of it, and those of the end."""
        failure: CaptureError | None = None
        try:
            for table in tables:
                yield from self.read(table)
        except CaptureError as err:
            failure = err
        yield from self.end()
        if failure is not None:
            raise failure

    @property
    def numbers(self) -> Numbers:
        """What numbers its records."""
        return self._numbers

    def rest(self) -> Collection[Connection]:
        """The connections of which more may come; what no later table needs is dropped. Between tables."""
        assert self._deferred is None, "a table is emitted before the next one"
        self._streams.release_all()
        self._steady.release()
        connections = self._flows.rest()
        self._recent.keep(connections)
        return connections

    def end(self) -> Iterator[Batch]:
        """The batches of what remains when no more tables come."""
        self._numbers.at_packet(self._last_packet + 1)
        items_left = self._streams.end()
        self._steady.release()
        for at, items in enumerate(in_parts(items_left, self._pace.growth)):
            if at:
                yield from self._pending.take()
            yield from self._take_each(items)
        self._connections.close()
        yield from self._pending.take()

    # -- a table -----------------------------------------------------------------------------------------------------

    def read(self, table: SegmentTable, *, as_records: bool = False) -> Iterator[Batch]:
        """The batches of the next table; nothing of it is deferred beyond them.

        `as_records` has no columns in them: for few segments that costs less.
        """
        if not len(table):
            return
        self._connections.complete_ledger_with(self._steady.update_accounts)
        self._streams.feeds_each = as_records or self._may_exceed(table)
        done = 0
        self._streams.pause = self._pace.pause(table, 0)
        for part in self._streams.read(table):
            if isinstance(part, NewConnections):
                part = self._read_new(part)
            if isinstance(part, PlainSegments):
                self._read_plain(part)
            elif isinstance(part, Run):
                self._deferred_of(table).add_run(part)
            elif isinstance(part, Pause):
                yield from self._emit_to(table, done, part.row)
                done = part.row
                self._streams.pause = self._pace.pause(table, done)
            elif are_many(part.items):
                yield from self._take_in_parts(table, part)
            else:
                self._take_at(table, part)
                if self._pending.is_full:
                    self._streams.pause = part.row + 1
        yield from self._emit_to(table, done, len(table))
        for connection in self._ragged:
            connection.is_understood = True
        self._ragged.clear()

    def read_whole(self, table: SegmentTable) -> Batch:
        """Return the records of connections that are whole and in good order in the only table; no others are read."""
        whole = self._streams.read_whole(table)
        if whole is not None:
            self._read_new(whole)
        (batch,) = self._pending.take()  # nothing of it was read by itself
        return batch

    def _read_new(self, new: NewConnections) -> PlainSegments:
        where = self._connections, self._steady, self._numbers, self._pace, self._pending.output
        return read_new_connections(new, *where)

    def _read_plain(self, plain: PlainSegments) -> None:
        """Read plain segments of many connections; what must be read in its turn, or in parts, is deferred."""
        is_deferred = np.zeros(len(plain.connections), np.bool_)
        if self._deferred is not None:
            is_deferred[:] = [self._deferred.has(each) for each in plain.connections]
        first = plain.only(~is_deferred) if is_deferred.any() else plain
        read = read_plain_segments(first, self._steady, self._watch, self._numbers, self._pace, self._pending.output)
        is_left = np.ones(len(plain.connections), np.bool_)
        is_left[~is_deferred] = ~read.are_read
        for index in np.flatnonzero(is_left).tolist():
            self._deferred_of(plain.table).add_run(plain.run(index))
        ends = list(plain.ends)
        if plain.closed is not None:
            _, connections, fins = plain.closed
            ends += fins.ends(plain.table, connections, ~self._close(connections))
        self._steady.release(end.connection for end in ends)
        for end in ends:
            if self._has_deferred(end.connection):
                self._deferred_of(plain.table).add_end(int(np.searchsorted(plain.table.numbers, end.packet)), end)
            else:
                self._numbers.at_packet(end.packet)
                self._take(end)

    def _may_exceed(self, table: SegmentTable) -> bool:
        """Return whether unfinished frames may take too much memory within this table.

        Then items are read in the order of their packets, so that the same bytes are discarded as on the row path.
        """
        budget = self._connections.unfinished
        ahead = int(table.lengths.sum()) + limits.UNFINISHED_SEGMENT_BYTES * len(table)
        return budget.size + self._steady.cost + self._flows.held_bytes + ahead > budget.bytes_max

    def _emit_to(self, table: SegmentTable, start: int, stop: int) -> Iterator[Batch]:
        """Yield the batches up to a row, with nothing deferred before it: one, unless it may be very large."""
        row = stop if self._most_growth == 1 else self._pause(table, start, stop)
        while self._deferred is not None:
            before = int(table.numbers[row]) if row < stop else None
            where = self._deferred, self._steady, self._pending.output
            if not self._rounds.read(*where, before, is_least=row == start + 1):
                row = max(min(self._pause(table, start, stop), (start + row) // 2), start + 1)
            elif before is None:
                self._deferred = None
            else:
                batches = list(self._pending.take(before << PACKET_SHIFT))
                self._pace.note(table, start, row, sum(len(batch.records) for batch in batches))
                start, row = row, self._pause(table, row, stop)
                yield from batches
        if self._later is not None:
            later, self._later = self._later, None
            self._take_now(table, later)
        if stop > start:
            self._last_packet = int(table.numbers[stop - 1])
            self._pace.note(table, start, stop, len(self._pending.output.records))
        yield from self._pending.take()

    def _pause(self, table: SegmentTable, start: int, stop: int) -> int:
        """Return the row up to which what was deferred makes one batch, as far as is known."""
        return min(stop, self._pace.pause(table, start, partial(self._growth, otherwise=self._most_growth)))

    @property
    def _most_growth(self) -> int:
        """The greatest growth of deferred messages."""
        deferred = () if self._deferred is None else self._deferred.connections()
        return max((self._growth_of(each) for each in deferred), default=1)

    def _growth(self, key: bytes, otherwise: int) -> int:
        """Return the growth of the deferred messages of a flow; `otherwise` of one that is not open."""
        flow = self._flows.open_flow(key)
        if flow is None or flow.connection.reader is None:
            return otherwise
        return self._growth_of(flow.connection) if self._has_deferred(flow.connection) else 1

    def _growth_of(self, connection: Connection) -> int:
        growth: int = 1 if connection.reader is None else connection.reader.growth
        return growth

    def _take_in_parts(self, table: SegmentTable, fed: Fed) -> Iterator[Batch]:
        """Read very many items that a packet gave, before which nothing is deferred."""
        for items in in_parts(fed.items, self._pace.growth):
            self._take_at(table, Fed(fed.row, items))
            yield from self._emit_to(table, fed.row, fed.row + 1)

    def _take_at(self, table: SegmentTable, fed: Fed) -> None:
        """Read what a packet gave: at once, or where it is of a connection whose frames may be read together later."""
        items = fed.items
        if not items:
            return
        connections = {item.connection: None for item in items}
        if len(connections) > 1:
            if self._catch_up(connections):
                self._take_now(table, fed)
            else:
                assert self._later is None, "a pause comes before anything else"
                self._later, self._streams.pause = fed, fed.row + 1
        elif self._may_defer(items[0].connection):
            self._deferred_of(table).add_each(fed.row, items)
            self._leave_ragged(items[0].connection)
        else:
            self._take_first(table, fed)
            if items[0].connection in self._ragged:
                items[0].connection.is_understood = False

    def _leave_ragged(self, connection: Connection) -> None:
        """Have the rest of a connection in this table read by itself, and of those like it, where that is better."""
        deferred = self._deferred
        ragged = () if deferred is None else [each for each in deferred.ragged(connection) if each.is_understood]
        if deferred is None or not ragged or not self._catch_up(ragged):
            return
        self._steady.release(ragged)
        for each in ragged:
            deferred.forget(each)
            each.is_understood = False  # no new run of it begins; one that waits is still deferred
        self._ragged.update(ragged)

    def _catch_up(self, connections: Iterable[Connection]) -> bool:
        """Read what was deferred of some connections; return False where that is too much for one batch."""
        if self._deferred is None:
            return True
        return self._rounds.read(self._deferred, self._steady, self._pending.output, among=connections)

    def _take_first(self, table: SegmentTable, fed: Fed) -> None:
        """Read the items of one connection until the others may be deferred."""
        number = int(table.numbers[fed.row])
        self._numbers.at_packet(number)
        for at, item in enumerate(fed.items):
            if at and self._may_defer(item.connection):
                self._numbers.leave(number)
                self._take_at(table, Fed(fed.row, fed.items[at:]))
                return
            self._take(item)

    def _take_now(self, table: SegmentTable, fed: Fed) -> None:
        """Read the items of a packet, before which nothing is deferred."""
        self._numbers.at_packet(int(table.numbers[fed.row]))
        for item in fed.items:
            self._take(item)

    def _take_each(self, items: Sequence[Item]) -> Iterator[Batch]:
        """Read items before which nothing is deferred, with a batch wherever one is full."""
        for item in items:
            self._take(item)
            if self._pending.is_full:
                yield from self._pending.take()

    def _take(self, item: Item) -> int:
        """Read an item by itself; return how many bytes it may come to."""
        watch, size = self._watch(item.connection), 0
        if isinstance(item, Data):
            size = watch.growth * len(item.data)
            self._pending.expanded_bytes += size
        self._pending.output.records.extend(watch.take(item))
        if self._connections.unfinished.is_exceeded:
            self._pending.output.records.extend(self._connections.discard_unfinished())
        return size

    # -- what is deferred --------------------------------------------------------------------------------------------

    def _deferred_of(self, table: SegmentTable) -> Deferred:
        """Return what is deferred of the table that is read."""
        if self._deferred is None:
            self._deferred = Deferred(table)
        return self._deferred

    def _has_deferred(self, connection: Connection) -> bool:
        return self._deferred is not None and self._deferred.has(connection)

    def _may_defer(self, connection: Connection) -> bool:
        """Return whether items of a connection can be read later, with those of others."""
        if self._streams.feeds_each:
            return False
        if self._has_deferred(connection) or self._steady.has(connection):
            return True
        if connection in self._ragged:
            return False
        return isinstance(self._watch(connection), BulkWatch) and connection.is_understood

    def _watch(self, connection: Connection) -> BulkWatch | EndedBulkWatch:
        if self._steady.has(connection):
            self._steady.release([connection])
        watch = connection.reader or self._connections.watch(connection)
        assert isinstance(watch, BulkWatch | EndedBulkWatch)
        return watch

    def _resume(self, connection: Connection, account: ConnectionAccount, conversation: Conversation) -> BulkWatch:
        """Return the watch of a connection that was read up to now without one."""
        watch = self._connections.watch(connection, account=account)
        assert isinstance(watch, BulkWatch)
        watch.resume(protocol_named(account.protocol), conversation)
        return watch

    def _leave(self, connections: Iterable[Connection]) -> None:
        """Have a watch over each of these connections, whose segments may not be plain any more."""
        self._steady.release(each for each in connections if each.reader is None)

    def _close(self, connections: Sequence[Connection]) -> Flags:
        """End those of these connections of which nothing is unfinished; return which these are."""
        is_closed = np.array([not self._has_deferred(each) for each in connections], np.bool_)
        is_closed[is_closed] = self._steady.close(list(compress(connections, is_closed.tolist())), self._numbers.take)
        return is_closed

    def _note(self, connection: Connection, text: str) -> None:
        note = note_text(connection, text, has_number=self._flows.counts_connections)
        self._pending.note(note)


def _ignore(text: str) -> None:
    """For notes that nobody wants."""
