"""Deferred items of a table: bytes of streams and lone findings as its rows, gaps and ends by connection."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.columns.runs import Run
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp.stream_events import Connection, Data, End, Finding, Gap, Item
from wiretool.codec.columns import Flags, Integers, begins_of
from wiretool.codec.message import SIDES

_NO_OWNER = -1
#: The places of rows that are deferred together are this far from those that are deferred next.
_PLACE_SHIFT = 32
#: Rounds of fewer rows, and fewer bytes between gaps, cost more than to read each row by itself. A connection with this
#: many gaps shows which it has; half as many are enough where another one has shown it.
ROUND_ROWS, STRETCH_BYTES, OTHERS_MIN = 100, 2_048, 8


@dataclass(frozen=True, slots=True)
class ExtendedTable(SegmentTable):
    """A table, and after its rows others of bytes that are no whole payload there: many were held since an earlier one.

    Only payloads, packets and times are asked of these. The row of a finding has no bytes.
    """

    items: Sequence[bytes] = ()

    @classmethod
    def of(cls, table: SegmentTable, items: Sequence[Data | Finding]) -> "ExtendedTable":
        """Return a table extended by the bytes of items."""
        payloads = [item.data if isinstance(item, Data) else b"" for item in items]
        places = zip(items, map(len, payloads), strict=True)
        more = np.array([(item.packet, item.time_ns, size) for item, size in places], np.int64).T
        columns = {each.name: getattr(table, each.name) for each in fields(SegmentTable)}
        for name, values in zip(("numbers", "times", "lengths"), more, strict=True):
            columns[name] = np.append(columns[name], values)
        earlier = table.items if isinstance(table, ExtendedTable) else ()
        return cls(**columns, items=[*earlier, *payloads])

    def payload(self, row: int) -> bytes:
        count = len(self.starts)
        return self.items[row - count] if row >= count else SegmentTable.payload(self, row)

    def payloads(self, rows: Integers) -> list[bytes | memoryview]:
        out: list[bytes | memoryview] = []
        for mine in np.split(rows, begins_of(rows >= len(self.starts))[1:]):
            if len(mine) and mine[0] >= len(self.starts):
                out += [self.payload(row) for row in mine.tolist()]
            else:
                out += SegmentTable.payloads(self, mine)
        return out


class Other(NamedTuple):
    """A gap or end, or a finding beside other items, emitted at a packet."""

    #: How many others of its connection are before it: rows of that stretch, and of earlier ones, are read first.
    stretch: int
    packet: int
    item: Item


class Due(NamedTuple):
    """Rows by stretch, connection and flow, each in order; and by stretch the connections with others that end it."""

    rows: Integers
    others: Mapping[int, list[int]]


class _Owner:
    """A connection, and its deferred items that are no rows."""

    __slots__ = ("connection", "others", "rows", "size", "stretch")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.others: deque[Other] = deque()
        #: How many others there were, and rows and their bytes.
        self.stretch = self.rows = self.size = 0


class Deferred:
    """Bytes and other items of one table that are deferred, until they are read.

    By row of the table: the index of its connection, as long as it is to be read; its stretch, which is the number of
    others before it; the packet that gives its frames; its place among all that was deferred; the offset of its first
    byte; and whether it is the server's.
    """

    def __init__(self, table: SegmentTable) -> None:
        count = len(table)
        self.table = table
        self.owner = np.full(count, _NO_OWNER)
        self.stretch = np.zeros(count, np.int64)
        self.emitted_at = table.numbers.copy()
        self.place = np.zeros(count, np.int64)
        self.offset = np.zeros(count, np.int64)
        self.is_server = np.zeros(count, np.bool_)
        self._owners: list[_Owner] = []
        self._indices: dict[Connection, int] = {}
        self._places = 0
        #: Rows of connections with others: so many are read in all of their rounds.
        self._round_rows = 0
        #: Items that become rows after those of the table.
        self._items: list[Data | Finding] = []
        self._findings: dict[int, Finding] = {}
        #: Rows that are not in the arrays yet: their owner, stretch, packet, place, offset, and whether the server's.
        self._rows: list[int] = []
        self._columns: list[tuple[int, int, int, int, int, bool]] = []

    def has(self, connection: Connection) -> bool:
        """Return whether something of a connection was deferred in this table."""
        return connection in self._indices

    def connections(self) -> Iterator[Connection]:
        """Yield the connections of which something was deferred."""
        return iter(self._indices)

    def connection(self, owner: int) -> Connection:
        """Return the connection with an index."""
        return self._owners[owner].connection

    # -- what comes ------------------------------------------------------------------------------------------------

    def add_run(self, run: Run) -> None:
        """Defer plain segments of a connection."""
        index = self._index(run.connection)
        owner, base = self._owners[index], self._next_place()
        for side in SIDES:
            rows = run.side(side).rows
            if len(rows):
                ends = run.side(side).offset + np.cumsum(self.table.lengths[rows])
                self.owner[rows], self.stretch[rows], self.emitted_at[rows] = index, owner.stretch, run.emitted(rows)
                self.offset[rows], self.is_server[rows] = ends - self.table.lengths[rows], side == "server"
        rows = np.concatenate((run.client.rows, run.server.rows))
        self.place[rows[np.argsort(run.emitted(rows), kind="stable")]] = base + np.arange(len(rows))
        self._count_rows(owner, len(rows), run.client.size + run.server.size)

    def add_each(self, row: int, items: Sequence[Item]) -> None:
        """Defer all items that the segment in a row gave, which are of one connection.

        A finding changes nothing in how bytes are read, so findings with none beside them need not end a stretch.
        """
        are_rows = all(isinstance(item, Finding) for item in items)
        for item in items:
            self._add(row, item, is_row=are_rows or isinstance(item, Data))

    def add_end(self, row: int, end: End) -> None:
        """Defer the end of a flow that the segment in a row gave."""
        self._add(row, end, is_row=False)

    def _add(self, row: int, item: Item, *, is_row: bool) -> None:
        index, packet = self._index(item.connection), int(self.table.numbers[row])
        owner = self._owners[index]
        if not is_row or isinstance(item, Gap | End):
            self._add_other(owner, packet, item)
            return
        self._count_rows(owner, 1, len(item.data))
        self._rows.append(self._row_of(row, packet, item))
        self._columns.append((index, owner.stretch, packet, self._next_place(), item.offset, item.side == "server"))

    def _add_other(self, owner: _Owner, packet: int, item: Item) -> None:
        owner.others.append(Other(owner.stretch, packet, item))
        self._round_rows += 0 if owner.stretch else owner.rows
        owner.stretch += 1

    def _count_rows(self, owner: _Owner, count: int, size: int) -> None:
        owner.rows += count
        owner.size += size
        self._round_rows += count if owner.stretch else 0

    def ragged(self, connection: Connection) -> Sequence[Connection]:
        """Return this connection and those like it, where each of them is better read by itself; else none."""
        if not self._is_ragged(self._owners[self._indices[connection]], OTHERS_MIN):
            return ()
        owners = (self._owners[index] for index in self._indices.values())
        return [each.connection for each in owners if self._is_ragged(each, OTHERS_MIN // 2)]

    def _is_ragged(self, owner: _Owner, others_min: int) -> bool:
        if owner.stretch < others_min:
            return False
        return self._round_rows < owner.stretch * ROUND_ROWS or owner.size < owner.stretch * STRETCH_BYTES

    def forget(self, connection: Connection) -> None:
        """Forget a connection of which all was read."""
        owner = self._owners[self._indices.pop(connection)]
        self._round_rows -= owner.rows if owner.stretch else 0

    def _row_of(self, row: int, packet: int, item: Data | Finding) -> int:
        """Return the row whose whole payload an item is, or a new one after those of the table."""
        table = self.table
        if isinstance(item, Data):
            if item.packet != packet:
                row = int(np.searchsorted(table.numbers[: len(table.starts)], item.packet))
            if table.numbers[row] == item.packet and table.lengths[row] == len(item.data):
                return row
        self._items.append(item)
        row = len(table) + len(self._items) - 1
        if isinstance(item, Finding):
            self._findings[row] = item
        return row

    def _index(self, connection: Connection) -> int:
        index = self._indices.setdefault(connection, len(self._owners))
        if index == len(self._owners):
            self._owners.append(_Owner(connection))
        return index

    def _next_place(self) -> int:
        self._places += 1
        return self._places << _PLACE_SHIFT

    # -- what is read ----------------------------------------------------------------------------------------------

    def due(self, before: int | None, among: Iterable[Connection] | None) -> Due:
        """Return what was given before a packet, of some connections; None for all."""
        owners = (
            range(len(self._owners)) if among is None else [self._indices[each] for each in among if self.has(each)]
        )
        return Due(self._rows_due(before, None if among is None else owners), self._others_due(before, owners))

    def _rows_due(self, before: int | None, owners: Sequence[int] | None) -> Integers:
        self._settle()
        is_due = self.owner >= 0
        if owners is not None:
            is_due &= np.isin(self.owner, owners)
        if before is not None:
            is_due &= self.emitted_at < before
        rows = np.flatnonzero(is_due)
        flow = (self.stretch[rows] * len(self._owners) + self.owner[rows]) * 2 + self.is_server[rows]
        return rows[np.lexsort((self.place[rows], flow))]

    def _settle(self) -> None:
        if not self._rows:
            return
        if self._items:
            self._extend()
        rows = np.array(self._rows, np.int64)
        columns = np.array(self._columns, np.int64).T
        self.owner[rows], self.stretch[rows], self.emitted_at[rows], self.place[rows], self.offset[rows], is_server = (
            columns
        )
        self.is_server[rows] = is_server != 0
        self._rows, self._columns = [], []

    def _extend(self) -> None:
        self.table, count = ExtendedTable.of(self.table, self._items), len(self._items)
        none = np.zeros(count, np.int64)
        self.owner, self.stretch, self.emitted_at, self.place, self.offset, self.is_server = (
            np.append(column, none.astype(column.dtype))
            for column in (self.owner, self.stretch, self.emitted_at, self.place, self.offset, self.is_server)
        )
        self._items = []

    def _others_due(self, before: int | None, owners: Iterable[int]) -> Mapping[int, list[int]]:
        found: dict[int, list[int]] = {}
        for index in owners:
            for other in self._owners[index].others:
                if before is not None and other.packet >= before:
                    break
                found.setdefault(other.stretch, []).append(index)
        return found

    def packets_of_others(self) -> Integers:
        """Return the packets that give something else than rows, in order."""
        return np.unique(np.array([other.packet for owner in self._owners for other in owner.others], np.int64))

    def take_other(self, owner: int) -> Other:
        """Remove the next other of a connection."""
        return self._owners[owner].others.popleft()

    def note_read(self, rows: Integers) -> None:
        """Remove rows, which were read."""
        self.owner[rows] = _NO_OWNER

    def are_findings(self, rows: Integers) -> Flags:
        """Return which rows are of findings."""
        are_findings: Flags = self.table.lengths[rows] == 0
        return are_findings

    def item(self, row: int) -> Data | Finding:
        """Return the item of a row."""
        return self._findings[row] if row in self._findings else self.data(row)

    def data(self, row: int) -> Data:
        """Return the item of a row of bytes."""
        table, side = self.table, SIDES[int(self.is_server[row])]
        place = int(table.times[row]), int(table.numbers[row])
        return Data(self.connection(int(self.owner[row])), side, int(self.offset[row]), table.payload(row), *place)

    def segments(self, rows: Integers, owners: Integers) -> PlainSegments:
        """Return rows, which are by connection and flow, as segments of these connections, by their indices."""
        turns = np.zeros(len(self.table), np.int64)
        turns[rows[np.argsort(self.place[rows])]] = np.arange(len(rows))
        flow = self.owner[rows] * 2 + self.is_server[rows]
        begins = begins_of(flow)
        of, connections = flow[begins] >> 1, [self.connection(owner) for owner in owners.tolist()]
        return PlainSegments(
            self.table,
            connections,
            owners,
            rows,
            np.append(begins, len(rows)),
            self.offset[rows[begins]],
            np.searchsorted(owners, of),
            flow[begins] & 1 == 1,
            emitted_at=self.emitted_at,
            turns=turns,
        )
