"""The state of flows in good order as arrays, so that their plain segments cost nothing for each connection."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat

import numpy as np

from wiretool.capture.tcp.closed_flows import NO_SYN, PACKED, EndedFlows, way_back
from wiretool.capture.tcp.direction import Flow, missing_before_start
from wiretool.capture.tcp.stream_events import Connection, How
from wiretool.codec.columns import Flags, Integers

#: Connections for which there is room at first.
_SLOTS = 64
_NO_ACK = -1
#: Of a flow: the sequence number and offset of its next byte, what the other side acknowledged, the number of its SYN
#: as long as it has no object, and whether its next segment may be plain.
_PACKED = np.dtype([(name, "<" + form) for name, form in PACKED])
_FLOW = np.dtype([*((name, np.int64) for name in ("seq", "offset", "ack", "isn")), ("is_plain", np.bool_)])
#: Of a connection: packets that its object does not count yet, the time of the last one, and whether it is understood.
_CONNECTION = np.dtype([("packets", np.int64), ("last_ns", np.int64), ("is_understood", np.bool_)])


class SteadyFlows:
    """The flows of connections, each in its slot: flow `2 * slot` is the client's, the next one the server's.

    From `take_over` or `open` until `release` the arrays own what plain segments change. The objects are out of date,
    or are not made yet.
    """

    def __init__(self, flow_for: Callable[[bytes, Connection], Flow]) -> None:
        """`flow_for` returns the new flow of the client of a connection, by its key."""
        self._flow_for = flow_for
        #: By slot, the key of the client's flow of connections without flows.
        self._keys: dict[int, bytes] = {}
        #: Slots of connections that have ended.
        self._over: set[int] = set()
        self._index_of: dict[bytes, int] = {}
        self._free: list[int] = []
        self._flows: dict[int, Flow] = {}
        self._connections: dict[int, Connection] = {}
        self._of_flow = np.zeros(0, _FLOW)
        self._of_slot = np.zeros(0, _CONNECTION)

    @property
    def size(self) -> int:
        """Return the number of slots; some are free."""
        return len(self._of_slot)

    def find(self, keys: Sequence[bytes]) -> Integers:
        """Return the index of the flow with each key, -1 for one that is not here."""
        return np.fromiter(map(self._index_of.get, keys, repeat(-1)), np.int64, len(keys))

    def flow(self, index: int) -> Flow:
        """Return the object of a flow."""
        return self._flows[index]

    def connections(self, slots: Integers) -> list[Connection]:
        """Return the connections in these slots."""
        return [self._connections[slot] for slot in slots.tolist()]

    def seqs(self, flows: Integers) -> Integers:
        """Return the sequence number of the next byte of each flow."""
        seqs: Integers = self._of_flow["seq"][flows]
        return seqs

    def offsets(self, flows: Integers) -> Integers:
        """Return the offset of the next byte of each flow."""
        offsets: Integers = self._of_flow["offset"][flows]
        return offsets

    def ack(self, flow: int) -> int | None:
        """Return what the other side acknowledged of a flow."""
        ack = int(self._of_flow["ack"][flow])
        return None if ack == _NO_ACK else ack

    def are_open(self, flows: Integers) -> Flags:
        """Return whether the next segment of each flow may be plain."""
        slots, is_understood = flows >> 1, self._of_slot["is_understood"]
        doubtful = slots[~is_understood[slots]]
        if len(doubtful):
            is_understood[doubtful] = [each.is_understood for each in self.connections(doubtful)]
        are_open: Flags = self._of_flow["is_plain"][flows] & is_understood[slots]
        return are_open

    def take_over(self, flows: Iterable[Flow]) -> None:
        """Own the connections of these flows from now on; each flow is of another connection."""
        clients = [flow if flow.side == "client" else flow.peer for flow in flows]
        both = list(chain.from_iterable((client, client.peer) for client in clients))
        slots = self.reserve(len(clients))
        indices = flows_of(slots)
        self._of_flow[indices] = [
            (flow.seq, flow.offset, _NO_ACK if flow.ack is None else flow.ack, 0, flow.is_plain) for flow in both
        ]
        connections = [client.connection for client in clients]
        self._of_slot[slots] = [(0, each.last_ns, each.is_understood) for each in connections]
        self._connections.update(zip(slots.tolist(), connections, strict=True))
        self._flows.update(zip(indices.tolist(), both, strict=True))
        self._index_of.update(zip([flow.key for flow in both], indices.tolist(), strict=True))

    def open(
        self, keys: Sequence[bytes], connections: Sequence[Connection], seqs: Integers, are_known: Flags
    ) -> Integers:
        """Own connections from their first bytes on; return the flows of each, the client's first.

        `keys` are those of the clients' flows, `seqs` the numbers of the first bytes of both sides, a row for each
        connection. `are_known`: its SYNs were captured.
        """
        slots = self.reserve(len(keys))
        indices = flows_of(slots).reshape(-1, 2)
        self._of_flow["isn"][indices] = np.where(are_known[:, None], (seqs - 1) & 0xFFFF_FFFF, NO_SYN)
        self._of_flow["seq"][indices] = seqs
        self._of_flow["offset"][indices], self._of_flow["is_plain"][indices] = 0, True
        self._of_slot[slots] = np.zeros((), _CONNECTION)
        for slot, key, connection in zip(slots.tolist(), keys, connections, strict=True):
            self._connections[slot], self._keys[slot] = connection, key
            self._index_of[key], self._index_of[way_back(key)] = 2 * slot, 2 * slot + 1
        return indices

    def pass_by(self, flows: Integers, sizes: Integers, acks: Integers) -> None:
        """Note plain segments in their order: the flow, payload bytes and acknowledgement of each."""
        total = np.bincount(flows, sizes, 2 * self.size).astype(np.int64)
        there = np.flatnonzero(total)
        state = self._of_flow
        state["offset"][there] += total[there]
        state["seq"][there] = (state["seq"][there] + total[there]) & 0xFFFF_FFFF
        state["ack"][flows ^ 1] = acks  # of several the last one stays

    def note_packets(self, slots: Integers, times: Integers) -> None:
        """Count packets in their order: the slot and time of each."""
        self._of_slot["packets"] += np.bincount(slots, minlength=self.size)
        self._of_slot["last_ns"][slots] = times

    def are_without_flows(self, slots: Integers) -> Flags:
        """Return whether there are no objects of the flows of each connection."""
        return np.fromiter(map(self._keys.__contains__, slots.tolist()), np.bool_, len(slots))

    def calm(self) -> Integers:
        """Return the slots of connections without flows that would end now with no byte missing."""
        slots = np.fromiter(self._keys, np.int64, len(self._keys))
        state = self._of_flow[flows_of(slots)]
        beyond = (state["ack"] - state["seq"] + (1 << 31) & 0xFFFF_FFFF) - (1 << 31)
        is_calm: Flags = (state["is_plain"] & (beyond <= 1)).reshape(-1, 2).all(1)
        return slots[is_calm]

    def end(self, slots: Integers, how: How) -> list[EndedFlows]:
        """End connections without flows, which stay here only until they are released; return their flows."""
        indices = flows_of(slots).reshape(-1, 2)
        state = self._of_flow[indices]
        self._of_flow["is_plain"][indices] = False
        connections = self.connections(slots)
        rows = zip(connections, self._of_slot[slots].tolist(), strict=True)
        for connection, (packets, last_ns, _) in rows:
            connection.packets += packets
            connection.last_ns, connection.closed = last_ns, how
        keys = [self._keys[slot] for slot in slots.tolist()]
        self._over.update(slots.tolist())
        return list(ended_in_order(keys, connections, state["isn"], state["seq"], state["offset"]))

    def finish(self, flow: int) -> None:
        """Note that no plain segment of a flow may come any more."""
        self._of_flow["is_plain"][flow] = False

    def write_back(self, slots: Integers) -> None:
        """Bring the objects of these connections up to date."""
        if self._over:
            slots = slots[[slot not in self._over for slot in slots.tolist()]]
        self._make_flows(slots)
        indices = flows_of(slots)
        for index, (seq, offset, ack, *_) in zip(indices.tolist(), self._of_flow[indices].tolist(), strict=True):
            flow = self._flows[index]
            flow.seq, flow.offset, flow.ack = seq, offset, None if ack == _NO_ACK else ack
        for slot, (packets, last_ns, _) in zip(slots.tolist(), self._of_slot[slots].tolist(), strict=True):
            connection = self._connections[slot]
            connection.packets += packets
            connection.last_ns = last_ns
        self._of_slot["packets"][slots] = 0

    def _make_flows(self, slots: Integers) -> None:
        """Make the flows of connections that have none."""
        for slot in slots.tolist() if self._keys else ():
            key = self._keys.pop(slot, None)
            if key is None:
                continue
            client = self._flow_for(key, self._connections[slot])
            for index, flow in ((2 * slot, client), (2 * slot + 1, client.peer)):
                seq, _, flow.first_ack, isn, flow.is_plain = self._of_flow[index].tolist()
                flow.start(seq, is_known=isn != NO_SYN)
                flow.isn = None if isn == NO_SYN else isn
                self._flows[index] = flow

    def release(self, slots: Integers) -> None:
        """Bring the objects of these connections up to date, which own their state from now on."""
        self.write_back(slots)
        for slot in slots.tolist():
            del self._connections[slot]
            key = self._keys.pop(slot, None)
            if key is not None:
                del self._index_of[key], self._index_of[way_back(key)]
                continue
            for index in (2 * slot, 2 * slot + 1):
                del self._index_of[self._flows.pop(index).key]
        self._over.difference_update(slots.tolist())
        self.free(slots)

    def free(self, slots: Integers) -> None:
        """Take back reserved slots."""
        self._free += slots.tolist()

    def slots(self) -> Integers:
        """Return the slots of all connections here."""
        return np.fromiter(self._connections, np.int64, len(self._connections))

    def reserve(self, count: int) -> Integers:
        """Return slots that no connection has, until they are freed."""
        size = self.size
        if len(self._free) < count:
            more = max(size, count, _SLOTS)
            self._free += range(size, size + more)
            self._of_slot = np.append(self._of_slot, np.zeros(more, _CONNECTION))
            self._of_flow = np.append(self._of_flow, np.zeros(2 * more, _FLOW))
        slots = self._free[:count]
        del self._free[:count]
        return np.array(slots, np.int64)


def ended_in_order(
    keys: Sequence[bytes], connections: Sequence[Connection], isns: Integers, seqs: Integers, sizes: Integers
) -> Iterator[EndedFlows]:
    """Yield the flows of connections that were captured in order.

    The numbers of the SYNs and of the next bytes, and the bytes of both sides: a row for each connection.
    """
    packed = np.zeros(isns.shape, _PACKED)
    packed["is_started"], packed["isn"], packed["offset"] = True, isns, sizes
    packed["seq"] = seqs & 0xFFFF_FFFF
    for key, connection, flows, isn in zip(keys, connections, packed, isns[:, 0].tolist(), strict=True):
        missing = (missing_before_start(), missing_before_start()) if isn == NO_SYN else ()
        yield EndedFlows(key, connection, flows.tobytes(), missing)


def flows_of(slots: Integers) -> Integers:
    """Return both flows of each slot, the client's first."""
    flows: Integers = (2 * slots[:, None] + (0, 1)).ravel()
    return flows
