"""Connections that begin in a table, each segment in its place: no flow of them is made.

Many end there, too. Where no table follows, a connection without FINs ends with the capture.
"""

from typing import NamedTuple

import numpy as np

from wiretool.capture.handshakes import Handshakes
from wiretool.capture.layers import ACK
from wiretool.capture.plain_runs import Fins, PlainSegments
from wiretool.capture.segments import SegmentTable
from wiretool.capture.steady_flows import SteadyFlows, ended_in_order
from wiretool.capture.streams import Streams
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
        streams: Streams,
        pair_of: Integers,
        handshakes: Handshakes,
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
        self._fins = fins
        self._steady = steady
        self._steady_of = steady_of
        count = len(is_plain)
        self._syns, self._syn_acks, self._acks, self._lasts = (np.full(count, -1) for _ in range(4))
        self._syns[pair_of[handshakes.syns]] = handshakes.syns
        self._syn_acks[pair_of[handshakes.syn_acks]] = handshakes.syn_acks
        self._acks[pair_of[handshakes.acks]] = handshakes.acks
        self._lasts[pair_of] = np.arange(len(pair_of))  # of several rows the last one stays
        self._is_closed = np.bincount(pair_of[fins], minlength=count) == 2
        self._is_last = is_last
        #: By that number: whether it begins in the table, and was not returned yet.
        self.is_waiting = is_plain & (self._syns >= 0)
        if is_last:
            self.is_waiting &= self._are_acknowledged(count)

    def _are_acknowledged(self, count: int) -> Flags:
        """Return the connections of which no more was acknowledged than was sent, except for a FIN."""
        table, flows = self._table, self._table.flows
        sent = np.bincount(flows, table.lengths, len(table.keys)).astype(np.int64) + 2  # with SYN and FIN
        firsts, acks, peer_of = np.zeros((3, len(table.keys)), np.int64)
        for mine, others in ((self._syns, self._syn_acks), (self._syn_acks, self._syns)):
            pairs = np.flatnonzero((mine >= 0) & (others >= 0))
            firsts[flows[mine[pairs]]] = table.seqs[mine[pairs]]
            peer_of[flows[mine[pairs]]] = flows[others[pairs]]
        rows = np.flatnonzero(table.flags & ACK)
        acks[flows[rows]] = table.acks[rows]  # of several rows the last one stays
        is_more = np.zeros(count, np.bool_)
        acked = (acks[flows[rows]] - firsts[peer_of[flows[rows]]]) & 0xFFFF_FFFF
        is_more[self._pair_of[rows[acked > sent[peer_of[flows[rows]]]]]] = True
        return ~is_more

    def take(self, row: int, is_plain: Flags, rows: Integers, stream_of: Integers) -> NewConnections | None:
        """Return the connections whose handshakes are before a row; those that end before it are plain no more.

        `rows` are those with payload, ordered by flow, and `stream_of` their flows.
        """
        is_over = (self._is_closed | self._is_last) & (self._lasts < row)
        is_mine = self.is_waiting & is_plain & (is_over if self._is_last else self._acks < row)
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
            [self._handshakes.connection_of[pair] for pair in pairs.tolist()],
            slots[pairs],
            rows,
            np.append(begins, len(rows)),
            np.zeros(len(begins), np.int64),
            index_of[streams >> 1],
            streams & 1 == 1,
        )
        fins = self._fins[is_over[self._pair_of[self._fins]] & (index_of[self._pair_of[self._fins]] >= 0)]
        clients = self._table.flows[self._syns[self._pair_of[fins]]]
        is_server = self._table.flows[fins] != clients
        return NewConnections(plain, goes_on, Fins(fins, index_of[self._pair_of[fins]], is_server))

    def _open(self, pairs: Integers) -> Integers:
        """Have the flows of connections that go on be steady; return their slots."""
        table = self._table
        syns, syn_acks = self._syns[pairs], self._syn_acks[pairs]
        keys = [table.keys[flow] for flow in table.flows[syns].tolist()]
        connections = [self._handshakes.connection_of[pair] for pair in pairs.tolist()]
        flows = self._steady.open(keys, connections, np.stack((table.seqs[syns], table.seqs[syn_acks]), 1))
        self._steady_of[table.flows[syns]], self._steady_of[table.flows[syn_acks]] = flows[:, 0], flows[:, 1]
        slots: Integers = flows[:, 0] >> 1
        return slots

    def _put_away(self, pairs: Integers, rows: Integers, stream_of: Integers) -> None:
        """Note how connections have ended, and keep their flows in little memory."""
        table = self._table
        connections = [self._handshakes.connection_of[pair] for pair in pairs.tolist()]
        counts = np.bincount(self._pair_of, minlength=len(self._lasts))[pairs]
        columns = counts, table.times[self._lasts[pairs]], self._is_closed[pairs]
        rows_of = zip(connections, *(column.tolist() for column in columns), strict=True)
        for connection, packets, last_ns, is_closed in rows_of:
            connection.packets, connection.last_ns = packets, last_ns
            connection.closed = "fin" if is_closed else "capture-end"
        sizes = np.bincount(stream_of, table.lengths[rows], 2 * len(self._lasts)).astype(np.int64).reshape(-1, 2)
        firsts = np.stack((self._syns[pairs], self._syn_acks[pairs]), 1)
        keys = [table.keys[flow] for flow in table.flows[firsts[:, 0]].tolist()]
        for ended in ended_in_order(keys, connections, table.seqs[firsts], sizes[pairs]):
            self._streams.note_ended(ended)
