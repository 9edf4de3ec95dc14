"""TCP segments in, the byte streams of their connections out, with every hole told."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from operator import attrgetter

from wiretool.capture.tcp.closed_flows import EndedFlows, may_be_packed, way_back
from wiretool.capture.tcp.direction import WINDOW_BYTES_MAX, Flow, Recent, Shared
from wiretool.capture.tcp.segments_of_packets import ACK, FIN, RST, SYN, Segment
from wiretool.capture.tcp.stream_events import Connection, Data, End, Finding, Gap, How, Item, Side
from wiretool.limits import CONNECTIONS_MAX, FLOW_BYTES_MAX, FLOWS_BYTES_MAX

__all__ = ["Connection", "Data", "End", "Finding", "Gap", "How", "Item", "Side", "Streams"]

NOTHING: Sequence[Item] = ()
NEVER_NS = 1 << 63
#: How often, by the packets' time, holes of silent connections are looked at.
LOOK_NS = 250_000_000
#: When there are too many connections, the idle ones go together: to look for the idlest each time would be slow.
EVICTED_SHARE = 16
#: How far behind its SYN a payload may be that was captured before it: a few of the largest segments.
LATE_SYN_BYTES_MAX = 256 * 1024

_data = partial(tuple.__new__, Data)


class Streams:
    """All connections of a capture. `feed` each segment in turn; items come in the order of the packets."""

    def __init__(
        self,
        server_ports: Collection[int] = (),
        recent: Recent | None = None,
        *,
        name: Callable[[Segment], int] | None = None,
    ) -> None:
        """`recent` keeps what was given out last, to compare what comes again with; by default the items themselves.

        `name` gives the id of a connection by the first segment of it; by default they count from 0.
        """
        self._server_ports = frozenset(server_ports)
        self._flows: dict[bytes, Flow] = {}
        #: The client's flow of each connection that is still tracked, in order of appearance; None while others own it.
        self._tracked: dict[Connection, Flow | None] = {}
        #: By the key of that flow, connections of which both sides have ended: much may still come late.
        self._ended: dict[bytes, EndedFlows] = {}
        self._name = name or CountedNames()
        self._shared = Shared(recent)
        self._recent = self._shared.recent
        #: Flows whose first byte is not certain yet: earlier ones may follow.
        self._unstarted: dict[Flow, None] = {}
        #: Flows with a hole, and when all of them are to be looked at next.
        self._waiting: dict[Flow, None] = {}
        self._look_ns = NEVER_NS
        self._last: Segment | None = None

    @property
    def room(self) -> int:
        """The number of connections that may be added before the idlest are closed."""
        return CONNECTIONS_MAX - len(self._tracked) - len(self._ended)

    def feed(self, segment: Segment) -> Sequence[Item]:
        """What this segment adds."""
        number, time_ns, key, seq, ack, flags, payload, cut = self._last = segment
        flow = self._flows.get(key)
        if flow is None or not flow.is_plain or flags & 0x17 != ACK or cut or time_ns >= self._look_ns:
            return self._feed(segment, flow)
        if payload and seq != flow.seq:
            return self._feed(segment, flow)
        connection = flow.connection
        connection.packets += 1
        connection.last_ns = time_ns
        flow.peer.ack = ack
        if not payload:
            return NOTHING
        offset = flow.offset
        flow.offset = end = offset + len(payload)
        flow.seq = (seq + end - offset) & 0xFFFF_FFFF
        item = _data((connection, flow.side, offset, payload, time_ns, number))
        self._recent.append(item)
        return [item]

    def flow_of(self, key: bytes) -> Flow | None:
        """Return the flow with this key, where there is one; a copy of it if its connection has ended."""
        return self._flows.get(key) or self._ended_flow(key)

    def settle(self, until_ns: int) -> list[Item]:
        """Start the flows whose first bytes were captured up to `until_ns`: a live source may pause for long."""
        out: list[Item] = []
        for flow in [flow for flow in self._unstarted if flow.pieces.oldest_ns <= until_ns]:
            assert self._last is not None
            flow.start_at_lowest()
            flow.drain(out, self._last)
            self._look_at(flow, self._last, out)
        return out

    def end(self) -> list[Item]:
        """What remains when the capture ends: held bytes, holes, and the end of each side that had none."""
        out: list[Item] = []
        for connection in self._tracked:
            if not connection.closed and self._last is not None:
                self._end_with_capture(connection, self._last, out)
        self._flows.clear()
        self._tracked.clear()
        self._ended.clear()
        return out

    # -- connections -----------------------------------------------------------------------------------------------

    def _feed(self, segment: Segment, flow: Flow | None) -> Sequence[Item]:
        """`feed` for whatever is not the next payload or acknowledgement of a stream in good order."""
        out: list[Item] = []
        if flow is None and self._ended:
            ended = self._ended_of(segment.flow)
            if ended is not None and _is_bare(segment):
                self._pass_late(ended.connection, segment, out)
                return out
            flow = self._reopened(segment.flow)
        if flow is not None and _is_another(segment, flow):
            self._close(flow, "reused", segment, out)
            self._forget(flow.connection)
            flow = None
        if flow is None:
            if not segment.payload and not segment.flags & SYN:
                return NOTHING
            flow = self._connect(segment, out)
        flow.connection.packets += 1
        flow.connection.last_ns = segment.time_ns
        self._take(segment, flow, out)
        self._keep_bounds(flow, segment, out)
        self._look_at(flow, segment, out)
        self._look_at(flow.peer, segment, out)
        if segment.time_ns >= self._look_ns:
            self._look_around(segment, out)
        if flow.connection.closed:
            self._put_away(flow.connection)
        return out

    def _take(self, segment: Segment, flow: Flow, out: list[Item]) -> None:
        flags = segment.flags
        if flags & SYN:
            note_syn(segment, flow, out)
            segment = segment._replace(seq=(segment.seq + 1) & 0xFFFF_FFFF)
        if flags & RST:
            self._reset(segment, flow, out)
            return
        if flags & ACK:
            flow.peer.take_ack(segment, out)
        if segment.payload or segment.cut:
            flow.take(segment, out)
        if flags & FIN:
            flow.take_fin(segment, out)

    def _connect(self, segment: Segment, out: list[Item]) -> Flow:
        """A new connection, and the flow of the segment in it."""
        if self.room <= 0:
            self._evict(segment, out)
        by_client = self.is_by_client(segment)
        return self._track(segment.flow, self._begun(segment, by_client=by_client), by_client=by_client)

    def _begun(self, segment: Segment, *, by_client: bool) -> Connection:
        sender, receiver = segment.src + segment.flow[-4:-2], segment.dst + segment.flow[-2:]
        ends = (sender, receiver) if by_client else (receiver, sender)
        return Connection(self._name(segment), *ends, segment.time_ns)

    def _track(self, key: bytes, connection: Connection, *, by_client: bool) -> Flow:
        """Return the flow with this key of a new connection."""
        mine: Side = "client" if by_client else "server"
        theirs: Side = "server" if by_client else "client"
        flow = self._flows[key] = Flow(key, connection, mine, self._shared)
        back = way_back(key)
        flow.peer = self._flows[back] = Flow(back, connection, theirs, self._shared)
        flow.peer.peer = flow
        self._tracked[connection] = flow if by_client else flow.peer
        return flow

    def is_by_client(self, segment: Segment) -> bool:
        """Who sends a SYN is the client; without one, the ports must tell."""
        if segment.flags & SYN:
            return not segment.flags & ACK
        sport, dport = segment.sport, segment.dport
        if (sport in self._server_ports) != (dport in self._server_ports):
            return dport in self._server_ports
        return sport >= dport

    def _reset(self, segment: Segment, flow: Flow, out: list[Item]) -> None:
        payload = segment.payload
        offset = flow.offset_of(segment.seq) if flow.is_started else flow.offset
        if payload:
            why = "text of a reset"
            place = flow.connection, flow.side, offset, len(payload)
            out.append(Finding(*place, "rst-payload", why, segment.time_ns, segment.number, payload))
        if abs(offset - flow.offset) < WINDOW_BYTES_MAX:
            flow.connection.reset_by = flow.connection.reset_by or flow.side
            self._close(flow, "rst", segment, out)

    def _close(self, flow: Flow, how: How, now: Segment, out: list[Item]) -> None:
        """Both sides end, if they had not."""
        connection = flow.connection
        if connection.closed:
            return
        for each in self._sides(connection):
            each.flush(out, now)
        if not connection.closed:
            out.append(End(connection, "", how, now.time_ns, now.number))
            connection.closed = how
        for each in self._sides(connection):
            self._waiting.pop(each, None)
            self._unstarted.pop(each, None)
            each.is_ended, each.is_plain = True, False

    def _end_with_capture(self, connection: Connection, now: Segment, out: list[Item]) -> None:
        for each in self._sides(connection):
            each.flush(out, now)
        for each in self._sides(connection):
            if not each.is_ended:
                out += [End(connection, each.side, "capture-end", now.time_ns, now.number)]
        connection.closed = connection.closed or "capture-end"

    def _sides(self, connection: Connection) -> tuple[Flow, Flow]:
        client = self._tracked[connection]
        assert client is not None, "its flows were released"
        return client, client.peer

    def _evict(self, now: Segment, out: list[Item]) -> None:
        """Make room: what is over goes first, then what has been idle longest."""
        self._ended.clear()
        for connection in [connection for connection in self._tracked if connection.closed]:
            self._forget(connection)
        many = len(self._tracked) - CONNECTIONS_MAX + CONNECTIONS_MAX // EVICTED_SHARE + 1
        for connection in sorted(self._tracked, key=attrgetter("last_ns"))[: max(many, 0)]:
            self._close(self._sides(connection)[0], "evicted", now, out)
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        client, server = self._sides(connection)
        for each in (client, server):
            self._flows.pop(each.key, None)
            self._unstarted.pop(each, None)
        del self._tracked[connection]
        del client.peer, server.peer  # or they would wait for the garbage collector

    # -- connections of which both sides have ended ------------------------------------------------------------------

    def _put_away(self, connection: Connection) -> None:
        """Keep in little memory what has ended, and say how much came again: late segments may have added to that."""
        if connection.reader is not None:
            connection.reader.note_duplicates(connection)
        client = self._tracked.get(connection)
        if client is not None and may_be_packed(client):
            ended = EndedFlows.of(client)
            self._forget(connection)
            self.note_ended(ended)

    def note_ended(self, ended: EndedFlows) -> None:
        """Keep the flows of a connection of which both sides have ended."""
        self._tracked.pop(ended.connection, None)
        self._ended[ended.key] = ended

    def _reopened(self, key: bytes) -> Flow | None:
        """The flow with this key, of a connection that has ended, tracked again for the segment that came late."""
        flow = self._ended_flow(key)
        if flow is not None:
            client = flow if flow.side == "client" else flow.peer
            del self._ended[client.key]
            self._tracked[client.connection] = client
            self._flows[client.key], self._flows[client.peer.key] = client, client.peer
        return flow

    def _pass_late(self, connection: Connection, segment: Segment, out: list[Item]) -> None:
        """Count what only acknowledges, as the last segment of nearly every connection does."""
        connection.packets += 1
        connection.last_ns = segment.time_ns
        if segment.time_ns >= self._look_ns:
            self._look_around(segment, out)

    def _ended_of(self, key: bytes) -> EndedFlows | None:
        """The flows of the connection that has ended, one of which has this key."""
        return self._ended.get(key) or self._ended.get(way_back(key))

    def _ended_flow(self, key: bytes) -> Flow | None:
        """A copy of the flow with this key, of a connection that has ended."""
        ended = self._ended_of(key)
        return None if ended is None else ended.flow(key, self._shared)

    # -- holes -----------------------------------------------------------------------------------------------------

    def _keep_bounds(self, flow: Flow, now: Segment, out: list[Item]) -> None:
        while flow.pieces and (flow.pieces.size > FLOW_BYTES_MAX or self._shared.held.size > FLOWS_BYTES_MAX):
            flow.start_at_lowest()
            flow.drain(out, now)
            if flow.pieces:
                flow.give_up_hole(out, now)

    def _look_at(self, flow: Flow, now: Segment, out: list[Item]) -> None:
        """Give up what waited long enough, see whether something has to wait, and whether all is in good order."""
        if flow in self._waiting:
            flow.settle(out, now)
        if flow.pieces and not flow.is_started:
            self._unstarted[flow] = None
        elif self._unstarted:
            self._unstarted.pop(flow, None)
        has_hole = flow.has_hole
        if not has_hole or flow.is_ended or not flow.is_started:
            self._waiting.pop(flow, None)
        else:
            if flow not in self._waiting:
                self._waiting[flow] = None
                flow.watch_hole(now)
            self._look_ns = min(self._look_ns, now.time_ns + LOOK_NS)
        flow.is_plain = not has_hole and flow.is_in_order and not flow.peer.has_hole
        flow.peer.is_plain = not has_hole and flow.peer.is_in_order

    def _look_around(self, now: Segment, out: list[Item]) -> None:
        """Time has passed, perhaps enough for a hole of some connection that is silent."""
        self._look_ns = NEVER_NS
        waiting = list(self._waiting)
        for flow in waiting:
            self._look_at(flow, now, out)
        for connection in {flow.connection for flow in waiting if flow.connection.closed}:
            self._put_away(connection)


class CountedNames:
    """Names connections by counting them from 0."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, segment: Segment) -> int:
        self._count += 1
        return self._count - 1


def _is_bare(segment: Segment) -> bool:
    """Whether a segment acknowledges and does nothing else."""
    return segment.flags & 0x17 == ACK and not segment.payload and not segment.cut


def note_syn(segment: Segment, flow: Flow, out: list[Item]) -> None:
    """Start the flow of a SYN; a SYN-ACK starts the other one, too."""
    flow.isn = segment.seq
    flow.connection.opened = True
    if not flow.is_started:
        flow.start((segment.seq + 1) & 0xFFFF_FFFF, is_known=True)
        flow.drain(out, segment)
    if segment.flags & ACK and not flow.peer.is_started:
        flow.peer.isn = (segment.ack - 1) & 0xFFFF_FFFF
        flow.peer.start(segment.ack, is_known=True)
        flow.peer.drain(out, segment)


def _is_another(segment: Segment, flow: Flow) -> bool:
    """Whether a segment is of a later connection between the same ports."""
    if segment.flags & SYN:
        return _is_another_syn(segment, flow)
    if not segment.payload or segment.flags & RST or not flow.is_started:
        return False
    return abs(flow.offset_of(segment.seq) - flow.offset) >= WINDOW_BYTES_MAX


def _is_another_syn(segment: Segment, flow: Flow) -> bool:
    closed = flow.connection.closed
    if flow.isn is not None:
        return segment.seq != flow.isn or (closed == "rst" and not segment.flags & ACK)
    if not flow.is_started and not flow.pieces:
        return bool(closed) or flow.peer.isn is None
    before = -flow.offset_of((segment.seq + 1) & 0xFFFF_FFFF)
    if flow.is_started:
        return before != 0
    return not 0 <= before + flow.pieces.first_offset < LATE_SYN_BYTES_MAX
