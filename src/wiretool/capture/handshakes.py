"""Connections that begin in a table with SYN, SYN-ACK and acknowledgement, each the next segment of the connection."""

from bisect import bisect_left
from collections.abc import Callable

import numpy as np

from wiretool.capture.ended import way_back
from wiretool.capture.flows import Flow
from wiretool.capture.items import Connection, Side
from wiretool.capture.layers import ACK, FIN, RST, SYN
from wiretool.capture.segments import SegmentTable
from wiretool.capture.streams import Streams
from wiretool.codec.columns import Flags, Integers, begins_of

_FLAGS = SYN | ACK | FIN | RST
#: Return whether a payload is a known beginning of connections, by the key of the client's flow and the side.
IsStart = Callable[[bytes, Side, bytes], bool]


def is_never_start(key: bytes, side: Side, payload: bytes) -> bool:
    """Return False: no beginning is known."""
    return False


class Handshakes:
    """The handshakes of a table. `flows` are those of its keys; they are filled in as connections are opened."""

    def __init__(
        self, table: SegmentTable, streams: Streams, flows: list[Flow | None], pair_of: Integers, is_start: IsStart
    ) -> None:
        """`pair_of` has a number for each row, the same for both directions of a connection.

        Only connections whose first payload in the table is known count: others must be recognised first.
        """
        self._is_start = is_start
        self._table = table
        self._streams = streams
        self._flows = flows
        self._pair_of = pair_of
        syns, syn_acks, acks = self._find()
        #: The rows with a SYN, without ACK and with it.
        self.syns, self.syn_acks = syns, syn_acks
        rows = np.concatenate((syns, syn_acks, acks))
        order = np.argsort(rows, kind="stable")
        steps = np.repeat((0, 1, 2), (len(syns), len(syn_acks), len(acks)))
        self._rows, self._steps = rows[order].tolist(), steps[order].tolist()
        self._pairs = pair_of[rows[order]].tolist()
        self._syn_segments = table.segments(np.sort(syns))
        #: By pair: whether its flows are opened only where they are asked for, and its connection once that has begun.
        self.is_deferred = np.zeros(int(pair_of.max(initial=-1)) + 1, np.bool_)
        self.connection_of: dict[int, Connection] = {}
        #: By pair the key of the other direction, where it has a segment.
        self._servers = dict(zip(pair_of[syn_acks].tolist(), table.flows[syn_acks].tolist(), strict=True))
        self._at = 0

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
        is_new &= (is_second | (counts < 2)) & (is_third | (counts < 3))
        new = np.flatnonzero(is_new)
        payloads = self._first_payloads(self._pair_of[firsts[new]])
        rows = zip(flows[firsts[new]].tolist(), payloads.tolist(), strict=True)
        new = new[np.array([self._is_known(flow, payload) for flow, payload in rows], np.bool_)]
        return firsts[new], seconds[new[counts[new] > 1]], thirds[new[counts[new] > 2]]

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
        if payload < 0 or self._streams.knows(key) or way_back(key) == key:
            return False
        side: Side = "client" if table.flows[payload] == flow else "server"
        return self._is_start(key, side, table.payload(payload))

    def defer(self, is_deferred: Flags) -> None:
        """Have the flows of some pairs opened only by `open_deferred`."""
        self.is_deferred = is_deferred

    def open_before(self, row: int, is_plain: Flags) -> None:
        """Open the connections whose handshakes are before a row, as far as they are; `is_plain` is by pair."""
        stop = bisect_left(self._rows, row, self._at)
        start, self._at = self._at, stop
        columns = (column[start:stop] for column in (self._rows, self._steps, self._pairs))
        for mine, step, pair in zip(*columns, strict=True):
            syn = next(self._syn_segments) if step == 0 else None
            if is_plain[pair]:
                if syn is not None:
                    self.connection_of[pair] = self._streams.begin(syn)
                if not self.is_deferred[pair]:
                    self._take(mine, step)

    def open_deferred(self, pair: int, row: int) -> None:
        """Open the flows of a pair, as far as its handshake is before a row."""
        self.is_deferred[pair] = False
        for step, mine in enumerate(np.flatnonzero(self._pair_of[:row] == pair)[:3].tolist()):
            self._take(mine, step)

    def _take(self, row: int, step: int) -> None:
        table, index, pair = self._table, int(self._table.flows[row]), int(self._pair_of[row])
        if step == 0:
            client = self._flows[index] = self._streams.open(table.segment(row), self.connection_of[pair])
            server = self._servers.get(pair)
            if server is not None:
                self._flows[server] = client.peer
            return
        flow = self._flows[index]
        assert flow is not None, "a handshake begins with a SYN"
        if step == 1:
            self._streams.accept(flow, int(table.seqs[row]), int(table.acks[row]))
        else:
            self._streams.establish(flow, int(table.acks[row]))
