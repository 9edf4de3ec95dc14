"""Connections that begin in a table, each segment in its place: no flow of them is made.

Many end there, too. Where no table follows, a connection without FINs ends with the capture.
"""

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from wiretool.capture.columns.handshakes import Handshakes
from wiretool.capture.columns.middle_starts import NEVER_ROW, MiddleStarts
from wiretool.capture.columns.plain_runs import Fins, PlainSegments
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.columns.steady_flows import SteadyFlows, ended_in_order
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.segments_of_packets import ACK, SYN
from wiretool.capture.tcp.stream_events import Connection
from wiretool.codec.columns import Flags, Integers, begins_of


class NewConnections(NamedTuple):
    """The segments of such connections up to some row, and the FINs of those that have ended.

    `goes_on` is by connection: then its flows are steady.
    """

    plain: PlainSegments
    goes_on: Flags
    fins: Fins

    def segments(self, wanted: Flags) -> PlainSegments:
        """Return the segments of some of the connections, with the ends of their flows."""
        ends = self.fins.ends(self.plain.table, self.plain.connections, wanted)
        return self.plain.only(wanted)._replace(ends=ends)


class NewConnectionScan:
    """Finds such connections among the plain ones of a table."""

    def __init__(
        self,
        table: SegmentTable,
        streams: LentStreams,
        pair_of: Integers,
        handshakes: Handshakes,
        middle: MiddleStarts,
        fins: Integers,
        is_plain: Flags,
        steady: SteadyFlows,
        steady_of: Integers,
        *,
        is_last: bool,
    ) -> None:
        """`pair_of` has a number for each row, the same for both directions; `is_plain` is by that number.

        `steady_of` has for each key the index of its steady flow, and gets those of connections that go on. `is_last`:
        no table follows.
        """
        self._table = table
        self._streams = streams
        self._pair_of = pair_of
        self._handshakes = handshakes
        self._middle = middle
        self._fins = fins
        self._steady = steady
        self._steady_of = steady_of
        count = len(is_plain)
        pairs = np.append(pair_of[handshakes.syns], np.flatnonzero(middle.client_of >= 0))
        firsts = self._first_rows(pairs)
        #: By that number: its first row, that from which on its flows are steady, and its last.
        self.begins, self._ready, self._lasts = (np.full(count, NEVER_ROW) for _ in range(3))
        self.begins[pairs] = np.append(handshakes.syns, middle.begins[pairs[len(handshakes.syns) :]])
        self._ready[pairs] = np.append(handshakes.acks, middle.ready[pairs[len(handshakes.syns) :]])
        self._lasts[pair_of] = np.arange(len(pair_of))  # of several rows the last one stays
        #: The keys of the flows of both sides, and the numbers of their first bytes.
        self._keys, self._seqs = np.full((count, 2), -1), np.zeros((count, 2), np.int64)
        self._keys[pairs] = table.flows[firsts]
        is_syn = (table.flags[firsts] & SYN) > 0
        self._seqs[pairs] = (table.seqs[firsts] + is_syn) & 0xFFFF_FFFF
        self._is_closed = np.bincount(pair_of[fins], minlength=count) == 2
        self._is_last = is_last
        #: By that number: whether it begins in the table, and was not returned yet.
        self.is_waiting = is_plain & (self.begins < NEVER_ROW)
        if is_last:
            self.is_waiting &= self._are_acknowledged(count)
        rows = np.sort(self.begins[self.is_waiting])
        self._begin_rows, self._begin_pairs = rows.tolist(), pair_of[rows].tolist()
        self._segments = table.segments(rows)
        self._at = 0
        #: By number: its connection once that has begun.
        self._connection_of: dict[int, Connection] = {}

    def _first_rows(self, pairs: Integers) -> Integers:
        """Return the row with the SYN or the first payload of both sides of each connection, the client's first."""
        handshakes, middle = self._handshakes, self._middle
        others = pairs[len(handshakes.syns) :]
        keys = np.stack((middle.client_of[others], middle.server_of[others]), 1)
        rows: Integers = np.concatenate((np.stack((handshakes.syns, handshakes.syn_acks), 1), middle.firsts[keys]))
        return rows

    def begin_before(self, row: int, is_plain: Flags) -> None:
        """Begin the connections whose first row is before a row, as they are numbered in that order."""
        stop = bisect_left(self._begin_rows, row, self._at)
        pairs, self._at = self._begin_pairs[self._at : stop], stop
        for pair in pairs:
            segment = next(self._segments)
            if is_plain[pair]:
                self._connection_of[pair] = self._streams.begin(segment)

    def half_started(self, row: int, is_plain: Flags) -> list[int]:
        """Return the connections in their middle that have begun before a row, and of which not both flows have."""
        is_mine = self.is_waiting & is_plain & (self.begins < row) & (self._ready >= row)
        return [pair for pair in np.flatnonzero(is_mine).tolist() if self._middle.client_of[pair] >= 0]

    def open_flows(self, pair: int, row: int) -> None:
        """Open the flows of a connection that has begun before a row; that of a handshake as far as it is."""
        connection = self._connection_of.get(pair)
        if connection is None or not self.is_waiting[pair]:
            return
        if self._middle.client_of[pair] < 0:
            self._handshakes.open_flows(pair, connection, row)
        else:
            self._streams.flow_for(self._table.keys[self._keys[pair, 0]], connection)

    def _are_acknowledged(self, count: int) -> Flags:
        """Return the connections of which no more was acknowledged than was sent, except for a FIN."""
        table, flows = self._table, self._table.flows
        sent = np.bincount(flows, table.lengths, len(table.keys)).astype(np.int64) + 1  # with FIN
        firsts, acks, peer_of = np.zeros((3, len(table.keys)), np.int64)
        pairs = np.flatnonzero(self.begins < NEVER_ROW)
        keys = self._keys[pairs]
        firsts[keys], peer_of[keys] = self._seqs[pairs], keys[:, ::-1]
        rows = np.flatnonzero(table.flags & ACK)
        acks[flows[rows]] = table.acks[rows]  # of several rows the last one stays
        is_more = np.zeros(count, np.bool_)
        acked = (acks[flows[rows]] - firsts[peer_of[flows[rows]]]) & 0xFFFF_FFFF
        is_more[self._pair_of[rows[acked > sent[peer_of[flows[rows]]]]]] = True
        return ~is_more

    def take(self, row: int, is_plain: Flags, rows: Integers, stream_of: Integers) -> NewConnections | None:
        """Return the connections that are steady before a row; those that end before it are plain no more.

        `rows` are those with payload, ordered by flow, and `stream_of` their flows.
        """
        is_over = (self._is_closed | self._is_last) & (self._lasts < row)
        is_mine = self.is_waiting & is_plain & (is_over if self._is_last else self._ready < row)
        pairs = np.flatnonzero(is_mine)
        if not len(pairs):
            return None
        self.is_waiting[pairs] = False
        is_plain[pairs[is_over[pairs]]] = False
        self._put_away(pairs[is_over[pairs]], rows, stream_of)
        slots = np.full(len(is_plain), -1)
        slots[pairs[~is_over[pairs]]] = self._open(pairs[~is_over[pairs]])
        kept = np.flatnonzero(is_mine[stream_of >> 1] & (rows < row))
        if not len(kept):
            return None
        rows, stream_of = rows[kept], stream_of[kept]
        begins = begins_of(stream_of)
        streams = stream_of[begins]
        pairs = np.unique(streams >> 1)
        goes_on = slots[pairs] >= 0
        slots[pairs[~goes_on]] = self._steady.reserve(int(np.count_nonzero(~goes_on)))
        index_of = np.full(len(is_plain), -1)
        index_of[pairs] = np.arange(len(pairs))
        plain = PlainSegments(
            self._table,
            [self._connection_of[pair] for pair in pairs.tolist()],
            slots[pairs],
            rows,
            np.append(begins, len(rows)),
            np.zeros(len(begins), np.int64),
            index_of[streams >> 1],
            streams & 1 == 1,
            emitted_at=self._emitted_at(pairs),
        )
        fins = self._fins[is_over[self._pair_of[self._fins]] & (index_of[self._pair_of[self._fins]] >= 0)]
        clients = self._keys[self._pair_of[fins], 0]
        is_server = self._table.flows[fins] != clients
        return NewConnections(plain, goes_on, Fins(fins, index_of[self._pair_of[fins]], is_server))

    def _emitted_at(self, pairs: Integers) -> Integers | None:
        """Return by row the packet at which its payload is emitted, if it may be another one."""
        if not (self._middle.client_of[pairs] >= 0).any():
            return None
        return self._table.numbers[self._middle.emitted]

    def _open(self, pairs: Integers) -> Integers:
        """Have the flows of connections that go on be steady; return their slots."""
        keys = [self._table.keys[key] for key in self._keys[pairs, 0].tolist()]
        connections = [self._connection_of[pair] for pair in pairs.tolist()]
        flows = self._steady.open(keys, connections, self._seqs[pairs], self._middle.client_of[pairs] < 0)
        self._steady_of[self._keys[pairs]] = flows
        slots: Integers = flows[:, 0] >> 1
        return slots

    def _put_away(self, pairs: Integers, rows: Integers, stream_of: Integers) -> None:
        """Note how connections have ended, and keep their flows in little memory."""
        table = self._table
        connections = [self._connection_of[pair] for pair in pairs.tolist()]
        counts = np.bincount(self._pair_of, minlength=len(self._lasts))[pairs]
        columns = counts, table.times[self._lasts[pairs]], self._is_closed[pairs]
        rows_of = zip(connections, *(column.tolist() for column in columns), strict=True)
        for connection, packets, last_ns, is_closed in rows_of:
            connection.packets, connection.last_ns = packets, last_ns
            connection.closed = "fin" if is_closed else "capture-end"
        sizes = np.bincount(stream_of, table.lengths[rows], 2 * len(self._lasts)).astype(np.int64).reshape(-1, 2)
        keys = [table.keys[key] for key in self._keys[pairs, 0].tolist()]
        seqs = self._seqs[pairs]
        for ended in ended_in_order(keys, connections, seqs - 1 & 0xFFFF_FFFF, seqs + sizes[pairs], sizes[pairs]):
            self._streams.note_ended(ended)
