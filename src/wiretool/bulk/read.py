"""Joins capture, framing and codec in bulk: captures in, batches of columns out. The column path of `dissect`.

It says the same as the row path, value for value: every record that dissect.read gives is in one of the batches, with
the same number.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any, TypeGuard

import numpy as np

from wiretool import limits
from wiretool.batches.batch import Batch
from wiretool.bulk.final_numbers import batch_of
from wiretool.bulk.middle_reading import read_together
from wiretool.bulk.numbering import PACKET_SHIFT, Numbers
from wiretool.bulk.pace import Pace, in_parts
from wiretool.bulk.pending_output import PendingOutput
from wiretool.bulk.plain_reading import read_plain_segments
from wiretool.bulk.starts import can_recognise
from wiretool.bulk.steady_watches import SteadyWatches
from wiretool.bulk.watch import BulkWatch, EndedBulkWatch
from wiretool.bulk.whole_reading import read_whole_connections
from wiretool.capture.bulk_streams import NEVER, BulkStreams, Fed, Pause, are_many
from wiretool.capture.items import Connection, Data, End, Item, Side
from wiretool.capture.layers import Segment
from wiretool.capture.merging import read_packet_tables
from wiretool.capture.plain_runs import PlainSegments
from wiretool.capture.recent import RecentRuns
from wiretool.capture.runs import Run
from wiretool.capture.segments import SegmentTable, read_segment_tables
from wiretool.capture.streams import Streams
from wiretool.capture.whole_connections import WholeConnections
from wiretool.codec.columns import Integers
from wiretool.dissect import Connections, Source, note_text, paths_of
from wiretool.errors import CaptureError
from wiretool.ledger import Ledger
from wiretool.protocols.bulks import columns_of


def read_batches(
    captures: Source | Sequence[Source],
    *,
    protocol: str = "auto",
    ports: Mapping[int, str] | None = None,
    ledger: Ledger | None = None,
    notes: Callable[[str], None] | None = None,
) -> Iterator[Batch]:
    """The records of captures in batches, otherwise as `dissect.read`.

    CaptureError where a file is no capture or is damaged, after all that is before the damage.
    """
    ledger = Ledger() if ledger is None else ledger
    tables = read_segment_tables(read_packet_tables(paths_of(captures)), ledger.packets)
    yield from BulkDissector(protocol=protocol, ports=ports, ledger=ledger, notes=notes).batches(tables)


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
        #: The output since the last batch; and what was noted, and where among its records.
        self._output = PendingOutput([], [])
        self._notes: list[tuple[int, str]] = []
        self._tell = notes or _tell_nobody
        kind = partial(BulkWatch, self._numbers, self._pace)
        self._connections = Connections(self._numbers.take, kind=kind, notes=self._note, **options)
        self._recent = recent or RecentRuns()
        self._flows = Streams(self._connections.ports, self._recent, name=name)
        self._steady = SteadyWatches()
        self._streams = BulkStreams(self._flows, self._recent, self._is_start, self._leave, self._is_single)
        self._last_packet = 0
        #: The most that the items may come to that were read by themselves since the last batch.
        self._expanded_bytes = 0
        #: Watches with something that they put off.
        self._behind: dict[BulkWatch, None] = {}
        #: What waits for the next pause: too much was put off before it to be told at once.
        self._later: Fed | None = None
        #: Whether unfinished frames may take too much memory in the table that is read.
        self._is_near_limit = False

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
        """The connections of which more may come; what no later table needs is let go. Between tables."""
        assert not self._behind, "a table is emitted before the next one"
        self._streams.release_all()
        connections = self._flows.rest()
        self._recent.keep(connections)
        return connections

    def end(self) -> Iterator[Batch]:
        """The batches of what remains when no more tables come."""
        self._numbers.at_packet(self._last_packet + 1)
        for at, items in enumerate(in_parts(self._streams.end(), self._pace.growth)):
            if at:
                yield self._batch()
            yield from self._take_each(items)
        self._connections.close()
        yield self._batch()

    # -- a table -----------------------------------------------------------------------------------------------------

    def read(self, table: SegmentTable, *, as_records: bool = False) -> Iterator[Batch]:
        """The batches of the next table; nothing of it is put off beyond them.

        `as_records` has no columns in them: for few segments that costs less.
        """
        if not len(table):
            return
        self._is_near_limit = self._may_exceed(table)
        self._streams.feeds_each = as_records or self._is_near_limit
        done = 0
        self._streams.pause = self._pace.pause(table, 0)
        for part in self._streams.read(table):
            if isinstance(part, WholeConnections):
                part = read_whole_connections(part, self._connections, self._numbers, self._pace, self._output)
            if isinstance(part, PlainSegments):
                self._read_plain(part)
            elif isinstance(part, Run):
                self._put_off_run(part)
            elif isinstance(part, Pause):
                yield from self._all_told(table, done, part.row)
                done = part.row
                self._streams.pause = self._pace.pause(table, done)
            elif are_many(part.items):
                yield from self._take_in_parts(table, part)
            else:
                self._take_at(table, part)
                if self._is_full:
                    self._streams.pause = part.row + 1
        yield from self._all_told(table, done, len(table))

    def read_whole(self, table: SegmentTable) -> Batch:
        """Return the records of connections that are whole and in good order in the only table; no others are read."""
        whole = self._streams.read_whole(table)
        if whole is not None:
            read_whole_connections(whole, self._connections, self._numbers, self._pace, self._output)
        return self._batch()

    def _read_plain(self, plain: PlainSegments) -> None:
        where = self._steady, self._watch, self._numbers, self._pace, self._output
        for run in read_plain_segments(plain, *where):
            self._put_off_run(run)
        ending = [self._steady.slot_of(end.connection) for end in plain.ends]
        self._steady.release(np.unique([slot for slot in ending if slot is not None]).astype(np.int64))
        for end in plain.ends:
            self._end(end)

    def _may_exceed(self, table: SegmentTable) -> bool:
        """Return whether unfinished frames may take too much memory within this table.

        Then items are read in the order of their packets, so that the same bytes are discarded as on the row path.
        """
        budget = self._connections.unfinished
        ahead = int(table.lengths.sum()) + limits.UNFINISHED_SEGMENT_BYTES * len(table)
        return budget.size + self._steady.cost + self._flows.held_bytes + ahead > budget.bytes_max

    def _all_told(self, table: SegmentTable, start: int, stop: int) -> Iterator[Batch]:
        """Yield the batches up to a row, with nothing deferred before it: one, unless it may be very large."""
        doubt = self._pace.in_doubt()
        while True:
            row, is_much = stop, self._pace.is_much(watch.look_ahead(table) for watch in self._behind)
            most = max((watch.growth for watch in self._behind), default=1)
            if is_much or most > 1:
                doubt.growth = self._pace.growth
                pace = doubt if is_much else self._pace
                row = min(stop, pace.pause(table, start, partial(self._growth, otherwise=most)))
            packet = int(table.numbers[row]) if row < stop else None
            self._catch_up(table, packet)
            if packet is None and not self._behind:
                break
            packet = min([watch.next_packet for watch in self._behind] + ([] if packet is None else [packet]))
            batch = self._batch(packet << PACKET_SHIFT)
            row = int(np.searchsorted(table.numbers, packet))
            doubt.note(table, start, row, len(batch.records))
            self._pace.note(table, start, row, len(batch.records))
            start = row
            yield batch
        if self._later is not None:
            later, self._later = self._later, None
            self._take_at(table, later)
            self._catch_up(table)
        if stop > start:
            self._last_packet = int(table.numbers[stop - 1])
            self._pace.note(table, start, stop, len(self._output.records))
        yield self._batch()

    def _catch_up(self, table: SegmentTable, before: int | None = None) -> None:
        watches = list(self._behind)
        if before is None:
            read_together(watches, table, self._numbers, self._pace, self._output)
        for watch in watches:
            watch.catch_up(table, self._output, before)
        self._behind = {watch: None for watch in watches if watch.has_deferred}

    def _may_tell(self, table: SegmentTable, watches: Collection[BulkWatch | EndedBulkWatch]) -> bool:
        """Whether all that these put off is told now; if not it waits for a pause, to be told in parts."""
        behind = self._behind.keys() & watches
        if self._pace.is_much(watch.look_ahead(table) for watch in behind):
            return False
        if sum(watch.growth * watch.deferred_bytes for watch in behind if watch.growth > 1) > limits.BATCH_BYTES_MAX:
            return False
        for watch in behind:
            watch.catch_up(table, self._output)
        return not any(watch.has_deferred for watch in behind)

    def _growth(self, key: bytes, otherwise: int = 1) -> int:
        """Return the growth of the deferred messages of a flow; `otherwise` of one that is not open."""
        flow = self._flows.open_flow(key)
        if flow is None or flow.connection.reader is None:
            return otherwise
        watch = flow.connection.reader
        return watch.growth if isinstance(watch, BulkWatch) and watch.has_deferred else 1

    def _put_off_run(self, run: Run) -> None:
        watch = self._watch(run.connection)
        assert isinstance(watch, BulkWatch), "a plain connection has not ended"
        watch.put_off_run(run)
        self._behind[watch] = None

    def _end(self, end: End) -> None:
        """End a flow, after the deferred items of its connection."""
        watch = self._watch(end.connection)
        if isinstance(watch, BulkWatch) and watch.has_deferred:
            watch.defer_end(end)
            return
        self._numbers.at_packet(end.packet)
        self._take([end])

    def _take_in_parts(self, table: SegmentTable, fed: Fed) -> Iterator[Batch]:
        """Very many items that a packet gave, before which nothing is left to be told."""
        for items in in_parts(fed.items, self._pace.growth):
            number, rest = int(table.numbers[fed.row]), _rest(items)
            self._numbers.at_packet(number)
            yield from self._take_each(items[: len(items) - len(rest)])
            watch = self._watch(items[-1].connection)
            if rest and self._may_put_off(watch, rest):
                watch.put_off(number, rest)
                self._behind[watch] = None
            else:
                yield from self._take_each(rest)
            while self._behind:
                self._catch_up(table)
                if self._behind:
                    yield self._batch()
            yield self._batch()

    def _take_at(self, table: SegmentTable, fed: Fed) -> None:
        """What a packet gave: at once, or where it is only more bytes of a stream later, with more of them."""
        items = fed.items
        if not items:
            return
        number, watch = int(table.numbers[fed.row]), self._watch(items[0].connection)
        may_put_off = not self._streams.is_alone and self._may_put_off(watch, items)
        if isinstance(watch, BulkWatch) and (may_put_off or self._may_begin_later(watch, items)):
            watch.put_off(number, items)
            self._behind[watch] = None
            return
        if self._behind and not self._may_tell(table, {self._watch(item.connection) for item in items}):
            self._later, self._streams.pause = fed, fed.row + 1
            return
        if len(items) == 1:  # as nearly always: nothing to put together
            self._numbers.at_packet(number)
            self._take(items)
            return
        self._numbers.at_packet(number)
        rest = _rest(items)
        self._take(items[: len(items) - len(rest)])
        watch = self._watch(items[-1].connection)
        if rest and self._may_put_off(watch, rest):
            self._numbers.leave(number)
            watch.put_off(number, rest)
            self._behind[watch] = None
        else:
            self._take(rest)

    def _take_each(self, items: Sequence[Item]) -> Iterator[Batch]:
        """Read items in front of which nothing is left to be told, with a batch wherever one is full."""
        for item in items:
            self._take([item])
            if self._is_full:
                yield self._batch()

    def _take(self, items: Sequence[Item]) -> None:
        for item in items:
            watch = self._watch(item.connection)
            if isinstance(item, Data):
                self._expanded_bytes += watch.growth * len(item.data)
            self._output.records.extend(watch.take(item))
            if self._connections.unfinished.is_exceeded:
                self._output.records.extend(self._connections.discard_unfinished())

    def _may_put_off(self, watch: BulkWatch | EndedBulkWatch, items: Sequence[Item]) -> TypeGuard[BulkWatch]:
        """Return whether items of a connection can be read later, together with what comes then."""
        return not self._is_near_limit and isinstance(watch, BulkWatch) and watch.may_wait_with(items)

    def _may_begin_later(self, watch: BulkWatch, items: Sequence[Item]) -> bool:
        """Return whether the first items of a connection without its beginning can be read with those of others."""
        if self._streams.feeds_each or not self._streams.is_alone:
            return False
        return _are_in_order(items) and all(map(watch.may_begin_later, items))

    def _watch(self, connection: Connection) -> BulkWatch | EndedBulkWatch:
        slot = self._steady.slot_of(connection)
        if slot is not None:
            self._steady.release(np.array([slot]))
        watch = connection.reader or self._connections.watch(connection)
        assert isinstance(watch, BulkWatch | EndedBulkWatch)
        return watch

    def _leave(self, slots: Integers) -> None:
        """Bring the watches of these connections up to date, whose segments may not be plain any more."""
        self._steady.release(slots)

    def _is_single(self, key: bytes, connection: Connection | None) -> bool:
        """Return whether the protocol of a connection has no columns, or of a new one each that is expected."""
        watch = None if connection is None else connection.reader
        if watch is not None:
            return isinstance(watch, BulkWatch) and watch.is_single
        ports = _ports_of(key)
        expected = self._connections.expected_on(*ports) or self._connections.expected_on(*ports[::-1])
        return bool(expected) and all(columns_of(protocol.name) is None for protocol in expected)

    def _is_start(self, key: bytes, side: Side, data: bytes) -> bool:
        """Return whether a first payload, or some first ones, prove a protocol whose connections are read together."""
        ports = _ports_of(key)
        if can_recognise(self._connections.expected_on(*ports)):
            return True
        protocol = self._connections.protocol_of_start(*ports, side, data)
        return protocol is not None and columns_of(protocol.name) is not None

    def _note(self, connection: Connection, text: str) -> None:
        note = note_text(connection, text, has_number=self._flows.counts_connections)
        self._notes.append((self._numbers.next, note))

    # -- a batch -----------------------------------------------------------------------------------------------------

    @property
    def _is_full(self) -> bool:
        return len(self._output.records) >= limits.BATCH_RECORDS_MAX or self._expanded_bytes > limits.BATCH_BYTES_MAX

    def _batch(self, before: int = NEVER) -> Batch:
        """The batch of what was told with smaller numbers, each with its final one; notes are told in their order."""
        self._steady.update_accounts()
        output, self._output = (self._output, PendingOutput([], [])) if before == NEVER else self._output.cut(before)
        notes = sorted(self._notes, key=itemgetter(0))
        self._notes = [note for note in notes if note[0] >= before]
        for _, text in notes[: len(notes) - len(self._notes)]:
            self._tell(text)
        self._expanded_bytes = 0
        return batch_of(output, self._numbers)


def _ports_of(key: bytes) -> tuple[int, int]:
    """Return the ports of sender and receiver in the key of a flow."""
    return int.from_bytes(key[-4:-2], "big"), int.from_bytes(key[-2:], "big")


def _tell_nobody(text: str) -> None:
    """For notes that nobody wants."""


def _are_in_order(items: Sequence[Item]) -> bool:
    """Return whether the bytes of a connection that a packet gave are in order, those of the client first."""
    if not all(isinstance(item, Data) and item.connection is items[0].connection for item in items):
        return False
    return all(
        one.packet < other.packet and (one.side == other.side or one.side == "client") for one, other in pairwise(items)
    )


def _rest(items: Sequence[Item]) -> Sequence[Item]:
    """The last stretch of one stream among items: what waited behind a hole comes all at once."""
    last = items[-1]
    for at in range(len(items) - 1, -1, -1):
        item = items[at]
        if not isinstance(item, Data) or item.connection is not last.connection or item.side != last.side:
            return items[at + 1 :]
    return items
