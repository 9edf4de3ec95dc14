"""Connections whose beginning was not captured, from their first payload in a table on, each segment in its place."""

from collections.abc import Callable

import numpy as np

from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp.closed_flows import way_back
from wiretool.capture.tcp.direction import START_SEGMENTS, WINDOW_BYTES_MAX
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.segments_of_packets import ACK
from wiretool.codec.columns import Flags, Integers, begins_of
from wiretool.limits import FLOWS_BYTES_MAX

_FLAGS = 0x17
#: A row that no table has.
NEVER_ROW = 1 << 62
#: Return whether a connection may be read from its middle, by the key of the client's flow.
IsExpected = Callable[[bytes], bool]


def is_never_expected(key: bytes) -> bool:
    """Return False: no protocol is expected."""
    return False


class MiddleStarts:
    """Finds such connections among those of a table; both sides send bytes, and each acknowledges the other.

    As `Flow` has it, a flow starts with its first byte where that is what the other side acknowledged last; else once
    it acknowledges more, or after a few segments. Until then its bytes are held.
    """

    def __init__(
        self,
        table: SegmentTable,
        streams: LentStreams,
        steady_of: Integers,
        pair_of_key: Integers,
        is_expected: IsExpected,
    ) -> None:
        """`steady_of` and `pair_of_key` are by key: its steady flow, and the number of its connection."""
        self._table = table
        self._pair_of_key = pair_of_key
        count, flows = int(pair_of_key.max(initial=-1)) + 1, table.flows
        #: By key, the first row with payload, and that with which the flow starts; and the key of the other direction.
        self.firsts, self._starts, self._peer_of = (np.full(len(table.keys), NEVER_ROW) for _ in range(3))
        #: By number of the connection: the key of the client's flow, below 0 for other connections than these; its
        #: first row, and that after which both flows have started.
        self.client_of = np.full(count, -1)
        self.begins, self.ready = (np.full(count, NEVER_ROW) for _ in range(2))
        #: By row, the row with which its payload is emitted.
        self.emitted = np.arange(len(table))
        carriers = np.flatnonzero(table.lengths)
        self.firsts[flows[carriers[::-1]]] = carriers[::-1]
        pairs = self._candidates(steady_of, count)
        if streams.held_bytes + len(table.data) > FLOWS_BYTES_MAX or not len(pairs):
            return
        for pair, (one, other) in zip(pairs.tolist(), self._keys_of(pairs).tolist(), strict=True):
            key = table.keys[one]
            if streams.knows(key) or table.keys[other] != way_back(key) or key == table.keys[other]:
                continue
            if not streams.is_by_client(table.segment(int(min(self.firsts[one], self.firsts[other])))) ^ (
                self.firsts[other] < self.firsts[one]
            ):
                one, other = other, one
            if is_expected(table.keys[one]):
                self.client_of[pair] = one
                self._peer_of[one], self._peer_of[other] = other, one
        self._start(np.flatnonzero(self.client_of >= 0))

    @property
    def clients(self) -> Integers:
        """Return the keys of the clients' flows."""
        return self.client_of[self.client_of >= 0]

    @property
    def servers(self) -> Integers:
        """Return the keys of the servers' flows."""
        servers: Integers = self._peer_of[self.clients]
        return servers

    @property
    def server_of(self) -> Integers:
        """Return by number of the connection the key of the server's flow; any key for other connections."""
        servers: Integers = self._peer_of[self.client_of]
        return servers

    def _candidates(self, steady_of: Integers, count: int) -> Integers:
        """Return the connections with two new flows that send bytes, and nothing but bytes and acknowledgements."""
        table = self._table
        is_new = (steady_of < 0) & (self.firsts < NEVER_ROW)
        is_odd = np.zeros(count, np.bool_)
        is_odd[self._pair_of_key[table.flows[(table.flags & _FLAGS != ACK) | (table.cuts > 0)]]] = True
        found: Integers = np.flatnonzero((np.bincount(self._pair_of_key[is_new], minlength=count) == 2) & ~is_odd)
        return found

    def _keys_of(self, pairs: Integers) -> Integers:
        """Return the two keys of each connection."""
        order = np.argsort(self._pair_of_key, kind="stable")
        first = np.searchsorted(self._pair_of_key[order], pairs)
        keys: Integers = np.stack((order[first], order[first + 1]), 1)
        return keys

    def exclude(self, pairs: Integers) -> None:
        """Let go of connections that have other segments than plain ones."""
        self.client_of[pairs] = -1

    def _start(self, pairs: Integers) -> None:
        table, flows = self._table, self._table.flows
        if not len(pairs):
            return
        keys = np.concatenate((self.client_of[pairs], self.server_of[pairs]))
        self.begins[pairs] = np.minimum(self.firsts[self.client_of[pairs]], self.firsts[self.server_of[pairs]])
        pair_of = self._pair_of_key[flows]
        is_mine = np.zeros(len(table.keys), np.bool_)
        is_mine[keys] = True
        rows = np.flatnonzero(is_mine[flows])
        rows = rows[rows >= self.begins[pair_of[rows]]]
        self._find_starts(rows)
        is_bad = np.zeros(len(self.client_of), np.bool_)
        is_bad[self._pair_of_key[keys[self._starts[keys] >= NEVER_ROW]]] = True
        order = rows[np.argsort(flows[rows], kind="stable")]
        is_back = (table.acks[order[1:]] - table.acks[order[:-1]]) & 0xFFFF_FFFF >= WINDOW_BYTES_MAX
        is_bad[pair_of[order[1:][is_back & (flows[order[1:]] == flows[order[:-1]])]]] = True
        carriers = rows[(table.lengths[rows] > 0) & ~is_bad[pair_of[rows]]]
        self.emitted[carriers] = np.maximum(carriers, self._starts[flows[carriers]])
        is_bad[pair_of[self._out_of_order(carriers, pair_of)]] = True
        self.emitted[carriers[is_bad[pair_of[carriers]]]] = carriers[is_bad[pair_of[carriers]]]
        self.exclude(np.flatnonzero(is_bad))
        pairs = pairs[~is_bad[pairs]]
        self.ready[pairs] = np.maximum(self._starts[self.client_of[pairs]], self._starts[self.server_of[pairs]])

    def _find_starts(self, rows: Integers) -> None:
        """Set the row with which each flow starts; `rows` are those of these connections, in order."""
        table, flows, starts = self._table, self._table.flows, self._starts
        peers = self._peer_of[flows[rows]]
        firsts = self.firsts[peers]
        first_seqs = table.seqs[firsts]
        beyond = (table.acks[rows] - first_seqs) & 0xFFFF_FFFF
        covers = (rows > firsts) & (beyond > 0) & (beyond < 1 << 31)
        starts[peers[covers][::-1]] = rows[covers][::-1]
        carriers = rows[table.lengths[rows] > 0]
        carriers = carriers[np.argsort(flows[carriers], kind="stable")]
        begins = begins_of(flows[carriers])
        counts = np.diff(begins, append=len(carriers))
        long = begins[counts > START_SEGMENTS] + START_SEGMENTS
        starts[flows[carriers[long]]] = np.minimum(starts[flows[carriers[long]]], carriers[long])
        is_before = rows < firsts
        last_acks = np.full(len(table.keys), -1)
        last_acks[peers[is_before]] = table.acks[rows[is_before]]  # of several rows the last one stays
        at_once = flows[carriers[begins]]
        at_once = at_once[last_acks[at_once] == table.seqs[self.firsts[at_once]]]
        starts[at_once] = self.firsts[at_once]
        # Acknowledged before it was captured: a later payload may be the next one, with which the flow starts then.
        early = np.flatnonzero(last_acks >= 0)
        ahead = (last_acks[early] - table.seqs[self.firsts[early]]) & 0xFFFF_FFFF
        starts[early[(ahead > 0) & (ahead < 1 << 31)]] = NEVER_ROW

    def _out_of_order(self, carriers: Integers, pair_of: Integers) -> Integers:
        """Return rows of connections whose bytes are not emitted in the order of their packets, the client's first."""
        table, emitted = self._table, self.emitted
        rows = carriers[np.argsort(pair_of[carriers], kind="stable")]
        of, at, flows = pair_of[rows], emitted[rows], table.flows[rows]
        is_next = of[1:] == of[:-1]
        falls = is_next & (at[1:] < at[:-1])
        # What one packet emits of both sides: first the bytes of the client that were held, then its own.
        is_server = flows != self.client_of[of]
        turns = is_next & (at[1:] == at[:-1]) & (flows[1:] != flows[:-1])
        is_wrong = turns & (is_server[:-1] | (at[1:] != rows[1:]))
        out: Integers = rows[1:][falls | is_wrong]
        return out

    def late(self, is_plain: Flags) -> tuple[Integers, Integers]:
        """Return the rows whose payloads are emitted with later rows, and these; `is_plain` is by connection."""
        mine = self.client_of[self._pair_of_key[self._table.flows]] >= 0
        rows = np.flatnonzero((self.emitted > np.arange(len(self.emitted))) & mine)
        rows = rows[is_plain[self._pair_of_key[self._table.flows[rows]]]]
        return rows, self.emitted[rows]
