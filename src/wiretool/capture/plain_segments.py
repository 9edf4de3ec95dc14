"""Finds the plain segments of many connections in one table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wiretool.capture.flows import Flow, distance
from wiretool.capture.handshakes import Handshakes, IsStart
from wiretool.capture.items import End
from wiretool.capture.plain_runs import PlainSegments
from wiretool.capture.segments import SegmentTable
from wiretool.capture.streams import Streams
from wiretool.capture.whole_connections import WholeConnections, WholeConnectionScan
from wiretool.codec.columns import Flags, Integers

#: Flags of a segment that does more than carry bytes: all but PSH and those of congestion.
_FLAGS, _ACK, _FIN_ACK = 0x17, 0x10, 0x11
#: A row that no table has.
_NEVER = 1 << 62


class PlainSegmentScan:
    """Finds the connections of a table with plain segments only, and returns these segments up to any row."""

    def __init__(
        self,
        table: SegmentTable,
        streams: Streams,
        pair_of_key: Integers,
        is_start: IsStart,
        *,
        is_last: bool = False,
    ) -> None:
        """`pair_of_key` has a number for each flow, the same for both directions of a connection.

        `is_last`: no table follows, which matters to whole connections only.
        """
        self._table = table
        self._streams = streams
        self._flows = [streams.open_flow(key) for key in table.keys]
        self._pair_of = pair_of_key[table.flows]
        self._handshakes = Handshakes(table, streams, self._flows, self._pair_of, is_start)
        #: Rows with a FIN.
        self._fins = np.flatnonzero((table.flags & _FLAGS == _FIN_ACK) & (table.lengths == 0))
        #: By number: whether the connection has plain segments only.
        self.is_plain = self._find_plain(pair_of_key)
        #: By number: whether it begins or ends in the table.
        self._is_changing = np.zeros(len(self.is_plain), np.bool_)
        self._is_changing[self._pair_of[np.concatenate((self._handshakes.syns, self._fins))]] = True
        is_server = np.array([flow is not None and flow.side == "server" for flow in self._flows], np.bool_)
        is_server[table.flows[self._handshakes.syn_acks]] = True
        self._stream_of_key = 2 * pair_of_key + is_server
        carriers = np.flatnonzero((table.lengths > 0) & self.is_plain[self._pair_of])
        streams_of = self._stream_of_key[table.flows[carriers]]
        order = np.argsort(_small(streams_of), kind="stable")
        #: Rows with payload, ordered by flow, and the flow of each.
        self._rows, self._stream_of = carriers[order], streams_of[order]
        of_pairs = self._pair_of, self._handshakes, self._fins, self.is_plain
        self._whole = WholeConnectionScan(table, streams, *of_pairs, is_last=is_last)
        #: The first row that was not returned yet.
        self.at = 0

    def _find_plain(self, pair_of_key: Integers) -> Flags:
        """Return the connections of which every segment is the next one of its flow.

        It carries payload or an ACK only, or it is a handshake at the beginning or a FIN at the end.
        """
        table = self._table
        openings = np.concatenate((self._handshakes.syns, self._handshakes.syn_acks))
        is_odd = np.array([not _is_open(flow) for flow in self._flows], np.bool_)
        is_odd[table.flows[openings]] = False
        next_seqs = np.array([-1 if flow is None else flow.seq for flow in self._flows], np.int64)
        next_seqs[table.flows[openings]] = (table.seqs[openings] + 1) & 0xFFFF_FFFF
        is_odd_row = (table.flags & _FLAGS != _ACK) | (table.cuts > 0)
        is_odd_row[openings] = False
        is_odd_row[self._fins] = table.cuts[self._fins] > 0
        is_odd[table.flows[is_odd_row]] = True
        is_next = table.lengths > 0
        is_next[self._fins] = True
        carriers = np.flatnonzero(is_next)
        rows = carriers[np.argsort(_small(table.flows[carriers]), kind="stable")]
        flows, seqs = table.flows[rows], table.seqs[rows]
        expected = np.empty(len(rows), np.int64)
        expected[1:] = (seqs[:-1] + table.lengths[rows[:-1]]) & 0xFFFF_FFFF
        is_first = np.append(True, flows[1:] != flows[:-1])[: len(rows)]
        expected[is_first] = next_seqs[flows[is_first]]
        is_odd[flows[seqs != expected]] = True
        is_plain = np.ones(int(pair_of_key.max(initial=-1)) + 1, np.bool_)
        is_plain[pair_of_key[is_odd]] = False
        if len(self._fins):
            is_plain[self._irregular_ends(len(is_plain))] = False
        return is_plain

    def _irregular_ends(self, count: int) -> Integers:
        """Return the connections, out of `count`, with payload after a FIN, a second FIN, or decreasing ACK numbers."""
        table, fins, pair_of = self._table, self._fins, self._pair_of
        first_fin = np.full(count, _NEVER)
        first_fin[pair_of[fins[::-1]]] = fins[::-1]
        carriers = np.flatnonzero(table.lengths)
        late = carriers[carriers > first_fin[pair_of[carriers]]]
        order = np.argsort(_small(table.flows[fins]), kind="stable")
        again = fins[order][1:][np.diff(table.flows[fins[order]]) == 0]
        is_ack = first_fin[pair_of] < _NEVER
        is_ack[self._handshakes.syns] = False
        rows = np.flatnonzero(is_ack)
        rows = rows[np.argsort(_small(table.flows[rows]), kind="stable")]
        flows, acks = table.flows[rows], table.acks[rows]
        is_back = (flows[1:] == flows[:-1]) & ((acks[1:] - acks[:-1]) & 0xFFFF_FFFF >= 1 << 31)
        firsts = rows[np.append(True, flows[1:] != flows[:-1])[: len(rows)]]
        older = [row for row in firsts.tolist() if self._has_older_ack(row)]
        found = np.concatenate((late, again, rows[1:][is_back], np.array(older, np.int64)))
        irregular: Integers = pair_of[found]
        return irregular

    def _has_older_ack(self, row: int) -> bool:
        """Return whether a row acknowledges less than earlier tables."""
        flow = self._flows[self._table.flows[row]]
        if flow is None or flow.peer.ack is None:
            return False
        return distance(flow.peer.ack, int(self._table.acks[row])) < 0

    def is_changing(self, row: int) -> bool:
        """Return whether the connection of a row begins or ends in the table: it can be left only up to where it is."""
        return bool(self._is_changing[self._pair_of[row]])

    def open_before(self, row: int) -> None:
        """Open the connections that begin before a row, as connections are numbered in their order."""
        self._handshakes.open_before(row, self.is_plain)

    def leave(self, row: int) -> Integers:
        """Exclude the connection of a row from now on; return its rows that were not returned yet."""
        pair = self._pair_of[row]
        self.is_plain[pair] = False
        return np.flatnonzero(self._pair_of[self.at :] == pair) + self.at

    def take_whole(self, row: int) -> WholeConnections | None:
        """Return the connections that began and ended between the last row and this one, before `take`."""
        self.open_before(row)
        return self._whole.take(row, self.is_plain, self._rows, self._stream_of)

    def take(self, row: int) -> PlainSegments | None:
        """Return the segments before a row that were not returned yet; None if there are none."""
        start, self.at = self.at, row
        self.open_before(row)
        every = np.arange(start, row)
        every = every[self.is_plain[self._pair_of[every]]]
        if not len(every):
            return None
        is_mine = self.is_plain[self._stream_of >> 1]
        if start or row < len(self._table):
            is_mine &= (self._rows >= start) & (self._rows < row)
        rows, stream_of = self._rows, self._stream_of
        if not is_mine.all():
            rows, stream_of = rows[is_mine], stream_of[is_mine]
        plain = self._group(rows, stream_of)
        self._pass_by(every)
        plain = plain._replace(ends=self._finish(start, row))
        return plain if len(rows) or plain.ends else None

    def _finish(self, start: int, row: int) -> list[End]:
        """End the flows whose FIN is between two rows."""
        first, last = np.searchsorted(self._fins, (start, row)).tolist()
        fins = self._fins[first:last]
        fins = fins[self.is_plain[self._pair_of[fins]]]
        columns = self._table.flows[fins], self._table.times[fins], self._table.numbers[fins]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [self._streams.finish(self._flow(flow), time_ns, number) for flow, time_ns, number in rows]

    def _group(self, rows: Integers, stream_of: Integers) -> PlainSegments:
        begins = np.flatnonzero(np.append(True, stream_of[1:] != stream_of[:-1])[: len(rows)])
        streams = stream_of[begins]
        flows = list(map(self._flow, self._table.flows[rows[begins]].tolist()))
        pairs = streams >> 1
        connection_of = np.cumsum(np.diff(pairs, prepend=pairs[:1]) > 0, dtype=np.int64)
        firsts = np.flatnonzero(np.diff(connection_of, prepend=-1))
        connections = [flows[index].connection for index in firsts.tolist()]
        offsets = np.array([flow.offset for flow in flows], np.int64)
        bounds = np.append(begins, len(rows))
        return PlainSegments(self._table, connections, rows, bounds, offsets, connection_of, streams & 1 == 1)

    def _pass_by(self, rows: Integers) -> None:
        """Have the flows note what `Streams.feed` would."""
        table, count = self._table, len(self._flows)
        self._note_packets(rows)
        rows = rows[table.flags[rows] & _ACK != 0]
        flows = table.flows[rows]
        last = np.empty(count, np.int64)
        last[flows] = rows  # of several rows the last one stays
        sizes = np.bincount(flows, table.lengths[rows], count).astype(np.int64)
        there = np.flatnonzero(np.bincount(flows, minlength=count))
        columns = there, sizes[there], table.acks[last[there]]
        for index, size, ack in zip(*(column.tolist() for column in columns), strict=True):
            flow = self._flow(index)
            if not flow.connection.closed:  # after that an acknowledgement means nothing
                self._streams.pass_by(flow, size, ack)

    def _note_packets(self, rows: Integers) -> None:
        pairs = self._pair_of[rows]
        counts = np.bincount(pairs)
        there = np.flatnonzero(counts)
        last = np.empty(len(counts), np.int64)
        last[pairs] = rows
        columns = self._table.flows[last[there]], counts[there], self._table.times[last[there]]
        for index, count, time_ns in zip(*(column.tolist() for column in columns), strict=True):
            connection = self._flow(index).connection
            connection.packets += count
            connection.last_ns = time_ns

    def _flow(self, index: int) -> Flow:
        flow = self._flows[index]
        assert flow is not None, "a plain segment has a flow"
        return flow


def _is_open(flow: Flow | None) -> bool:
    return flow is not None and flow.is_plain and flow.connection.is_understood


def _small(codes: Integers) -> NDArray[Any]:
    """Return codes in a type in which they are sorted fast, where they are small enough."""
    if len(codes) and int(codes.max()) < 1 << 16:
        return codes.astype(np.uint16)
    return codes
