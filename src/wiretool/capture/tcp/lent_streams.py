"""Streams whose plain segments are read elsewhere: as runs, or with the state of their flows in arrays."""

from collections.abc import Collection

from wiretool.capture.tcp.direction import Flow
from wiretool.capture.tcp.reassembler import CountedNames, Streams, note_syn
from wiretool.capture.tcp.segments_of_packets import SYN, Segment
from wiretool.capture.tcp.stream_events import Connection, End


class LentStreams(Streams):
    """Streams that go on from segments that were not fed, as if they had been."""

    @property
    def counts_connections(self) -> bool:
        """Return whether the ids of connections count them, so that users know them."""
        return isinstance(self._name, CountedNames)

    @property
    def held_bytes(self) -> int:
        """Return what the bytes that came out of order cost together."""
        return self._shared.held.size

    @property
    def look_ns(self) -> int:
        """The first segment of this time or later must be fed, whatever its flow: holes may have to be given up."""
        return self._look_ns

    def knows(self, key: bytes) -> bool:
        """Return whether there is a flow with this key, or its connection has ended and is remembered."""
        return key in self._flows or self._ended_of(key) is not None

    def open_flow(self, key: bytes) -> Flow | None:
        """The flow with this key, if it may have more to give."""
        return self._flows.get(key)

    def pass_by(self, flow: Flow, size: int, ack: int) -> None:
        """Note what `feed` would have of plain segments of a flow: their bytes, and the last acknowledgement."""
        flow.peer.ack = ack
        flow.offset += size
        if size:
            flow.seq = (flow.seq + size) & 0xFFFF_FFFF

    def begin(self, segment: Segment) -> Connection:
        """Return the connection that begins with a SYN or payload, which is numbered next. There must be room."""
        connection = self._begun(segment, by_client=self.is_by_client(segment))
        connection.opened = segment.flags & SYN > 0
        self._tracked[connection] = None
        return connection

    def flow_for(self, key: bytes, connection: Connection) -> Flow:
        """Return a new flow of the client of a connection that was begun, and of which there is none yet."""
        return self._track(key, connection, by_client=True)

    def open(self, syn: Segment, connection: Connection) -> Flow:
        """Open a connection that was begun, as `feed` does with its SYN; return the flow of the client."""
        flow = self.flow_for(syn.flow, connection)
        note_syn(syn, flow, [])
        return flow

    def accept(self, flow: Flow, seq: int, ack: int) -> None:
        """Note the SYN-ACK of a server's flow that is next in its connection."""
        flow.isn = seq
        flow.start((seq + 1) & 0xFFFF_FFFF, is_known=True)
        flow.peer.ack = flow.peer.first_ack = ack
        flow.is_plain = True

    def establish(self, flow: Flow, ack: int) -> None:
        """Note the first acknowledgement of a client's flow that is next in its connection."""
        flow.peer.ack = flow.peer.first_ack = ack
        flow.is_plain = True

    def finish(self, flow: Flow, time_ns: int, packet: int) -> End:
        """Note the FIN of a plain flow, in its place, as `feed` does; return the end of the flow."""
        connection = flow.connection
        flow.fin = flow.reach = max(flow.reach, flow.offset)
        flow.is_ended, flow.is_plain = True, False
        if flow.peer.is_ended:
            connection.closed = "fin"
            self._put_away(connection)
        return End(connection, flow.side, "fin", time_ns, packet)

    def pass_to(self, segment: Segment) -> None:
        """Note that this is the newest segment of all."""
        self._last = segment

    def rest(self) -> Collection[Connection]:
        """The connections of which more may come; what no later segment needs is let go."""
        if self._last is not None:
            self._last = self._last._replace(payload=b"")
        return {*self._tracked, *(ended.connection for ended in self._ended.values())}
