"""Connections that begin in a table with SYN, SYN-ACK and acknowledgement, each the next segment of the connection."""

from collections.abc import Callable

import numpy as np

from wiretool.capture.columns.segments import SegmentTable
from wiretool.capture.tcp.closed_flows import way_back
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.segments_of_packets import ACK, FIN, RST, SYN
from wiretool.capture.tcp.stream_events import Connection, Side
from wiretool.codec.columns import Integers, begins_of

_FLAGS = SYN | ACK | FIN | RST
#: Return whether a payload is a known beginning of connections, by the key of the client's flow and the side.
IsStart = Callable[[bytes, Side, bytes], bool]


def is_never_start(key: bytes, side: Side, payload: bytes) -> bool:
    """Return False: no beginning is known."""
    return False


class Handshakes:
    """The handshakes of a table."""

    def __init__(
        self, table: SegmentTable, streams: LentStreams, steady_of: Integers, pair_of: Integers, is_start: IsStart
    ) -> None:
        """`steady_of` has for each key the index of its steady flow, below 0 for none.

        `pair_of` has a number for each row, the same for both directions of a connection.

        Only connections whose first payload in the table is known count: others must be recognised first.
        """
        self._is_start = is_start
        self._table = table
        self._streams = streams
        self._steady_of = steady_of
        self._pair_of = pair_of
        #: The rows with a SYN, without ACK and with it, and with the acknowledgement, of one connection each.
        self.syns, self.syn_acks, self.acks = self._find()

    def _find(self) -> tuple[Integers, Integers, Integers]:
        table, flags = self._table, self._table.flags & _FLAGS
        if not (flags == SYN).any():
            none = np.zeros(0, np.int64)
            return none, none, none
        order = np.argsort(self._pair_of, kind="stable")
        starts = begins_of(self._pair_of[order])
        counts = np.diff(starts, append=len(order))
        is_bare = (table.lengths == 0) & (table.cuts == 0)
        firsts = order[starts]
        seconds, thirds = (order[np.minimum(starts + step, len(order) - 1)] for step in (1, 2))
        flows = table.flows
        is_second = (flags[seconds] == SYN | ACK) & is_bare[seconds] & (flows[seconds] != flows[firsts])
        is_third = (flags[thirds] == ACK) & (flows[thirds] == flows[firsts])
        is_new = (flags[firsts] == SYN) & is_bare[firsts]
        is_new &= is_second & is_third & (counts > 2)
        new = np.flatnonzero(is_new)
        payloads = self._first_payloads(self._pair_of[firsts[new]])
        rows = zip(flows[firsts[new]].tolist(), payloads.tolist(), strict=True)
        new = new[np.array([self._is_known(flow, payload) for flow, payload in rows], np.bool_)]
        return firsts[new], seconds[new], thirds[new]

    def _first_payloads(self, pairs: Integers) -> Integers:
        """Return the first row with payload of each connection, -1 for none."""
        carriers = np.flatnonzero(self._table.lengths)[::-1]
        firsts = np.full(int(self._pair_of.max()) + 1, -1)
        firsts[self._pair_of[carriers]] = carriers
        found: Integers = firsts[pairs]
        return found

    def _is_known(self, flow: int, payload: int) -> bool:
        """Return whether a client's flow is new, and begins a connection with a known payload."""
        table, key = self._table, self._table.keys[flow]
        if payload < 0 or self._steady_of[flow] >= 0 or self._streams.knows(key) or way_back(key) == key:
            return False
        side: Side = "client" if table.flows[payload] == flow else "server"
        return self._is_start(key, side, table.payload(payload))

    def open_flows(self, pair: int, connection: Connection, row: int) -> None:
        """Open the flows of a connection that has begun, as far as its handshake is before a row."""
        table = self._table
        rows = np.flatnonzero(self._pair_of[:row] == pair)[:3].tolist()
        client = self._streams.open(table.segment(rows[0]), connection)
        if len(rows) > 1:
            self._streams.accept(client.peer, int(table.seqs[rows[1]]), int(table.acks[rows[1]]))
        if len(rows) > 2:
            self._streams.establish(client, int(table.acks[rows[2]]))
        connection.packets += len(rows)
        connection.last_ns = int(table.times[rows[-1]])
