"""Finds the plain segments of many connections in one table."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wiretool.capture.columns.handshakes import Handshakes, IsStart
from wiretool.capture.columns.middle_starts import IsExpected, MiddleStarts, is_never_expected
from wiretool.capture.columns.new_connections import NewConnections, NewConnectionScan
from wiretool.capture.columns.plain_runs import ClosedConnections, Fins, PlainSegments
from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.columns.steady_flows import SteadyFlows
from wiretool.capture.tcp.closed_flows import way_back
from wiretool.capture.tcp.direction import Flow, distance
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.stream_events import Connection, End
from wiretool.codec.columns import Flags, Integers, begins_of

#: Flags of a segment that does more than carry bytes: all but PSH and those of congestion.
_FLAGS, _ACK, _FIN_ACK = 0x17, 0x10, 0x11
#: A row that no table has.
_NEVER = 1 << 62


class PlainSegmentScan:
    """Finds the connections of a table with plain segments only, and returns these segments up to any row."""

    def __init__(
        self,
        table: SegmentTable,
        streams: LentStreams,
        steady: SteadyFlows,
        is_start: IsStart,
        is_expected: IsExpected = is_never_expected,
        *,
        is_last: bool = False,
    ) -> None:
        """`steady` takes over all connections that are in good order.

        `is_last`: no table follows, which matters to whole connections only.
        """
        self._table = table
        self._streams = streams
        self._steady = steady
        #: By key: the index of its steady flow, -1 for none.
        self._steady_of = _take_over_open(table, streams, steady)
        #: By key: a number that is the same for both directions of a connection.
        self.pair_of_key = pairs_of(table.keys, self._steady_of, steady.size)
        self._pair_of = self.pair_of_key[table.flows]
        self._handshakes = Handshakes(table, streams, self._steady_of, self._pair_of, is_start)
        self._middle = MiddleStarts(table, streams, self._steady_of, self.pair_of_key, is_expected)
        #: Rows with a FIN.
        self._fins = np.flatnonzero((table.flags & _FLAGS == _FIN_ACK) & (table.lengths == 0))
        #: By number: whether the connection has plain segments only.
        self.is_plain = self._find_plain()
        #: By number: whether it begins or ends in the table.
        self._is_changing = np.zeros(len(self.is_plain), np.bool_)
        self._is_changing[self._pair_of[np.concatenate((self._handshakes.syns, self._fins))]] = True
        self._middle.exclude(np.flatnonzero(~self.is_plain))
        self._is_changing[self._middle.client_of >= 0] = True
        is_server = (self._steady_of >= 0) & (self._steady_of & 1 == 1)
        is_server[table.flows[self._handshakes.syn_acks]] = True
        is_server[self._middle.servers] = True
        self._stream_of_key = 2 * self.pair_of_key + is_server
        carriers = np.flatnonzero((table.lengths > 0) & self.is_plain[self._pair_of])
        streams_of = self._stream_of_key[table.flows[carriers]]
        order = np.argsort(_small(streams_of), kind="stable")
        #: Rows with payload, ordered by flow, and the flow of each.
        self._rows, self._stream_of = carriers[order], streams_of[order]
        of_pairs = self._pair_of, self._handshakes, self._middle, self._fins, self.is_plain
        self._new = NewConnectionScan(table, streams, *of_pairs, steady, self._steady_of, is_last=is_last)
        #: The first row that was not returned yet.
        self.at = 0

    def leave_odd(self) -> Integers:
        """Let go of the steady connections that have other segments than plain ones; return their slots."""
        is_odd = ~self.is_plain[self.pair_of_key] & (self._steady_of >= 0)
        slots = np.unique(self._steady_of[is_odd] >> 1)
        self._steady_of[is_odd] = -1
        return slots

    def _find_plain(self) -> Flags:
        """Return the connections of which every segment is the next one of its flow.

        It carries payload or an ACK only, or it is a handshake at the beginning or a FIN at the end.
        """
        table, steady_of = self._table, self._steady_of
        openings = np.concatenate((self._handshakes.syns, self._handshakes.syn_acks))
        is_steady = steady_of >= 0
        is_odd = ~is_steady
        is_odd[is_steady] = ~self._steady.are_open(steady_of[is_steady])
        is_odd[table.flows[openings]] = False
        next_seqs = np.full(len(table.keys), -1)
        next_seqs[is_steady] = self._steady.seqs(steady_of[is_steady])
        next_seqs[table.flows[openings]] = (table.seqs[openings] + 1) & 0xFFFF_FFFF
        begun = np.concatenate((self._middle.clients, self._middle.servers))
        is_odd[begun], next_seqs[begun] = False, table.seqs[self._middle.firsts[begun]]
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
        firsts = begins_of(flows)
        expected[firsts] = next_seqs[flows[firsts]]
        is_odd[flows[seqs != expected]] = True
        is_plain = np.ones(int(self.pair_of_key.max(initial=-1)) + 1, np.bool_)
        is_plain[self.pair_of_key[is_odd]] = False
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
        firsts = rows[begins_of(flows)]
        older = [row for row in firsts.tolist() if self._has_older_ack(row)]
        found = np.concatenate((late, again, rows[1:][is_back], np.array(older, np.int64)))
        irregular: Integers = pair_of[found]
        return irregular

    def _has_older_ack(self, row: int) -> bool:
        """Return whether a row acknowledges less than earlier tables."""
        flow = int(self._steady_of[self._table.flows[row]])
        ack = None if flow < 0 else self._steady.ack(flow ^ 1)
        return ack is not None and distance(ack, int(self._table.acks[row])) < 0

    def is_changing(self, row: int) -> bool:
        """Return whether the connection of a row begins or ends in the table: it can be left only up to where it is."""
        return bool(self._is_changing[self._pair_of[row]])

    def open_before(self, row: int) -> None:
        """Open the connections that begin before a row, as connections are numbered in their order."""
        self._new.begin_before(row, self.is_plain)

    def leave(self, row: int) -> Integers:
        """Exclude the connection of a row from now on; return its rows that were not returned yet."""
        pair = int(self._pair_of[row])
        self.is_plain[pair] = False
        self._new.open_flows(pair, row)
        return np.flatnonzero(self._pair_of[self.at :] == pair) + self.at

    def take_new(self, row: int) -> NewConnections | None:
        """Return the connections that began before a row and were not returned yet; to be called before `take`."""
        self.open_before(row)
        is_waiting = self._new.is_waiting.copy()
        new = self._new.take(row, self.is_plain, self._rows, self._stream_of)
        self._is_new = is_waiting & ~self._new.is_waiting
        if self._is_new.any():
            rows = np.flatnonzero((self._is_new & self.is_plain)[self._pair_of[:row]])
            self._pass_by(rows[rows >= self._new.begins[self._pair_of[rows]]])
        return new

    def late(self) -> tuple[Integers, Integers]:
        """Return the rows whose payloads are emitted with later rows, and these."""
        return self._middle.late(self.is_plain)

    def leave_half_started(self, row: int) -> Iterator[tuple[Integers, Integers]]:
        """Exclude the connections that began in their middle before a row, of which not both flows have started.

        Yield the rows of each before it, which are to be fed next, and its later ones.
        """
        for pair in self._new.half_started(row, self.is_plain):
            self._new.open_flows(pair, row)
            self.is_plain[pair] = False
            rows = np.flatnonzero(self._pair_of == pair)
            rows = rows[rows >= self._new.begins[pair]]
            yield rows[rows < row], rows[rows >= row]

    def take(self, row: int) -> PlainSegments | None:
        """Return the segments before a row that were not returned yet; None if there are none."""
        start, self.at = self.at, row
        is_known = self.is_plain & ~self._is_new & ~self._new.is_waiting
        every = np.arange(start, row)
        every = every[is_known[self._pair_of[every]]]
        is_mine = is_known[self._stream_of >> 1]
        if start or row < len(self._table):
            is_mine &= (self._rows >= start) & (self._rows < row)
        rows, stream_of = self._rows, self._stream_of
        if not is_mine.all():
            rows, stream_of = rows[is_mine], stream_of[is_mine]
        plain = self._group(rows, stream_of)
        self._pass_by(every)
        closed, ends = self._finish(start, row)
        if not len(rows) and closed is None and not ends:
            return None
        return plain._replace(ends=ends, closed=closed)

    def _finish(self, start: int, row: int) -> tuple[ClosedConnections | None, list[End]]:
        """End the flows whose FIN is between two rows: of connections without flows both, and others."""
        first, last = np.searchsorted(self._fins, (start, row)).tolist()
        fins = self._fins[first:last]
        fins = fins[self.is_plain[self._pair_of[fins]]]
        if not len(fins):
            return None, []
        flows = self._steady_of[self._table.flows[fins]]
        slots, owner, counts = np.unique(flows >> 1, return_inverse=True, return_counts=True)
        is_closed = (counts == 2) & self._steady.are_without_flows(slots)
        mine = is_closed[owner]
        closed = None
        if mine.any():
            index_of = np.cumsum(is_closed) - 1
            found = Fins(fins[mine], index_of[owner[mine]], flows[mine] & 1 == 1)
            closed = ClosedConnections(slots[is_closed], self._steady.connections(slots[is_closed]), found)
            for ended in self._steady.end(slots[is_closed], "fin"):
                self._streams.note_ended(ended)
        return closed, self._finish_flows(fins[~mine], flows[~mine])

    def _finish_flows(self, fins: Integers, flows: Integers) -> list[End]:
        self._steady.write_back(np.unique(flows >> 1))
        columns = flows, self._table.times[fins], self._table.numbers[fins]
        return [self._end(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]

    def _end(self, flow: int, time_ns: int, number: int) -> End:
        self._steady.finish(flow)
        return self._streams.finish(self._steady.flow(flow), time_ns, number)

    def leave_closed(self) -> Integers:
        """Return the slots of the connections of which both sides ended in the table."""
        flows = self._steady_of[self._table.flows[self._fins]]
        slots = np.unique(flows[flows >= 0] >> 1)
        is_closed = [bool(each.closed) for each in self._steady.connections(slots)]
        return slots[np.array(is_closed, np.bool_)]

    def _group(self, rows: Integers, stream_of: Integers) -> PlainSegments:
        begins = begins_of(stream_of)
        streams = stream_of[begins]
        flows = self._steady_of[self._table.flows[rows[begins]]]
        slots = flows >> 1
        is_first = np.append(True, slots[1:] != slots[:-1])[: len(slots)]
        connection_of = np.cumsum(is_first) - 1
        slots = slots[is_first]
        connections, offsets = self._steady.connections(slots), self._steady.offsets(flows)
        bounds = np.append(begins, len(rows))
        return PlainSegments(self._table, connections, slots, rows, bounds, offsets, connection_of, streams & 1 == 1)

    def _pass_by(self, rows: Integers) -> None:
        """Have the flows note what `Streams.feed` would."""
        table = self._table
        flows = self._steady_of[table.flows[rows]]
        self._steady.note_packets(flows >> 1, table.times[rows])
        is_ack = table.flags[rows] & _ACK != 0
        rows, flows = rows[is_ack], flows[is_ack]
        self._steady.pass_by(flows, table.lengths[rows], table.acks[rows])


def has_room(table: SegmentTable, streams: LentStreams) -> bool:
    """Return whether no connection has to be closed for those that begin in a table: at most one for each new key."""
    keys, room = table.keys, streams.room
    return len(keys) <= room or sum(streams.open_flow(key) is None for key in keys) <= room


def pairs_of(keys: Sequence[bytes], steady_of: Integers, size: int) -> Integers:
    """Return a number for each key, the same for both directions of a connection.

    That is the slot of a steady flow, of which there are `size`; the others follow.
    """
    pairs = steady_of >> 1
    others = np.flatnonzero(steady_of < 0)
    known: dict[bytes, int] = {}
    for index in others.tolist():
        key = keys[index]
        pairs[index] = size + known.setdefault(key, known.get(way_back(key), len(known)))
    return pairs


def _take_over_open(table: SegmentTable, streams: LentStreams, steady: SteadyFlows) -> Integers:
    """Have the connections of a table taken over that may go on with plain segments; return the flows of its keys."""
    steady_of, found = steady.find(table.keys), dict[Connection, Flow]()
    for index in np.flatnonzero(steady_of < 0).tolist():
        flow = streams.open_flow(table.keys[index])
        if flow is not None and flow.is_plain and flow.connection.is_understood and flow.key != flow.peer.key:
            found[flow.connection] = flow
    if not found:
        return steady_of
    steady.take_over(found.values())
    return steady.find(table.keys)


def _small(codes: Integers) -> NDArray[Any]:
    """Return codes in a type in which they are sorted fast, where they are small enough."""
    if len(codes) and int(codes.max()) < 1 << 16:
        return codes.astype(np.uint16)
    return codes
