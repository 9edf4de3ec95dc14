"""Connections that begin and end within one table, each segment in its place: no flow of them is made.

Where no table follows, a connection without FINs ends with the capture.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wiretool.capture.ended import PACKED, EndedFlows
from wiretool.capture.handshakes import Handshakes
from wiretool.capture.items import Connection, End, Side
from wiretool.capture.layers import ACK
from wiretool.capture.plain_runs import PlainSegments
from wiretool.capture.segments import SegmentTable
from wiretool.capture.steady_flows import SteadyFlows
from wiretool.capture.streams import Streams
from wiretool.codec.columns import Flags, Integers, begins_of

_SIDES: tuple[Side, Side] = ("client", "server")
_PACKED = np.dtype([(name, "<" + form) for name, form in PACKED])


class WholeConnections(NamedTuple):
    """The segments of such connections, and the rows with their FINs.

    `fin_of` and `is_server` have the connection and the sender of each FIN.
    """

    plain: PlainSegments
    fins: Integers
    fin_of: Integers
    is_server: Flags

    def segments(self, wanted: Flags) -> PlainSegments:
        """Return the segments of some of the connections, with the ends of their flows."""
        table, connections = self.plain.table, self.plain.connections
        mine = wanted[self.fin_of]
        fins = self.fins[mine]
        columns = self.fin_of[mine], self.is_server[mine], table.times[fins], table.numbers[fins]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        ends = [End(connections[index], _SIDES[side], "fin", *when) for index, side, *when in rows]
        return self.plain.only(wanted)._replace(ends=ends)


class WholeConnectionScan:
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
        *,
        is_last: bool,
    ) -> None:
        """`pair_of` has a number for each row, the same for both directions; `is_plain` is by that number.

        `is_last`: no table follows.
        """
        self._table = table
        self._streams = streams
        self._pair_of = pair_of
        self._handshakes = handshakes
        self._fins = fins
        self._steady = steady
        count = len(is_plain)
        self._syns, self._syn_acks, self._lasts = (np.full(count, -1) for _ in range(3))
        self._syns[pair_of[handshakes.syns]] = handshakes.syns
        self._syn_acks[pair_of[handshakes.syn_acks]] = handshakes.syn_acks
        #: By that number: whether it has both FINs.
        self._is_closed = np.bincount(pair_of[fins], minlength=count) == 2
        is_whole = is_plain & (self._syns >= 0) & (self._syn_acks >= 0)
        is_whole &= self._are_acknowledged(count) if is_last else self._is_closed
        if is_whole.any():
            self._lasts[pair_of] = np.arange(len(pair_of))  # of several rows the last one stays
            handshakes.defer(is_whole)

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

    def take(self, row: int, is_plain: Flags, rows: Integers, stream_of: Integers) -> WholeConnections | None:
        """Return the connections before a row, which are plain no more; open the flows of those that go on after it.

        `rows` are those with payload, ordered by flow, and `stream_of` their flows.
        """
        is_mine = self._handshakes.is_deferred & is_plain & (self._syns < row)
        pairs = np.flatnonzero(is_mine & (self._lasts < row))
        for pair in np.flatnonzero(is_mine & (self._lasts >= row)).tolist():
            self._handshakes.open_deferred(pair, row)
        if not len(pairs):
            return None
        is_plain[pairs] = False
        index_of = np.full(len(is_plain), -1)
        index_of[pairs] = np.arange(len(pairs))
        kept = np.flatnonzero(index_of[stream_of >> 1] >= 0)
        rows, stream_of = rows[kept], stream_of[kept]
        connections = self._closed(pairs, rows, stream_of)
        begins = begins_of(stream_of)
        streams = stream_of[begins]
        plain = PlainSegments(
            self._table,
            connections,
            self._steady.reserve(len(connections)),
            rows,
            np.append(begins, len(rows)),
            np.zeros(len(begins), np.int64),
            index_of[streams >> 1],
            streams & 1 == 1,
        )
        fins = self._fins[index_of[self._pair_of[self._fins]] >= 0]
        clients = self._table.flows[self._syns[self._pair_of[fins]]]
        return WholeConnections(plain, fins, index_of[self._pair_of[fins]], self._table.flows[fins] != clients)

    def _closed(self, pairs: Integers, rows: Integers, stream_of: Integers) -> Sequence[Connection]:
        """Return the connections of some pairs as they are in the end, after having their flows put away."""
        table = self._table
        connections = [self._handshakes.connection_of[pair] for pair in pairs.tolist()]
        counts = np.bincount(self._pair_of, minlength=len(self._lasts))[pairs]
        columns = counts, table.times[self._lasts[pairs]], self._is_closed[pairs]
        rows_of = zip(connections, *(column.tolist() for column in columns), strict=True)
        for connection, packets, last_ns, is_closed in rows_of:
            connection.packets, connection.last_ns = packets, last_ns
            connection.closed = "fin" if is_closed else "capture-end"
        sizes = np.bincount(stream_of, table.lengths[rows], 2 * len(self._lasts)).astype(np.int64).reshape(-1, 2)
        packed = np.zeros((len(pairs), 2), _PACKED)
        for side, firsts in enumerate((self._syns[pairs], self._syn_acks[pairs])):
            isn, size = table.seqs[firsts], sizes[pairs, side]
            packed["is_started"][:, side] = True
            packed["seq"][:, side] = (isn + 1 + size) & 0xFFFF_FFFF
            packed["offset"][:, side], packed["isn"][:, side] = size, isn
        keys = (table.keys[flow] for flow in table.flows[self._syns[pairs]].tolist())
        raws = (each.tobytes() for each in packed)
        for key, connection, raw in zip(keys, connections, raws, strict=True):
            self._streams.note_ended(EndedFlows(key, connection, raw))
        return connections
