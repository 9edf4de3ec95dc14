"""Plain segments noted in arrays leave flows as if `Streams` had been fed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wiretool.capture.columns.steady_flows import SteadyFlows
from wiretool.capture.tcp.direction import Flow
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.segments_of_packets import ACK, SYN, Segment

CLIENT, SERVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
#: Each plain segment: its connection, whether the server sends it, and its payload bytes.
SENT = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 9)), max_size=12)


def key_of(connection: int, is_server: bool) -> bytes:
    ports = (40_000 + connection).to_bytes(2, "big"), (12_345).to_bytes(2, "big")
    if is_server:
        return SERVER + CLIENT + ports[1] + ports[0]
    return CLIENT + SERVER + ports[0] + ports[1]


class Senders:
    """Makes the segments of three connections, whose sequence numbers wrap."""

    def __init__(self) -> None:
        self.next = {(each, is_server): 2**32 - 8 for each in range(3) for is_server in (False, True)}
        self.number = 0

    def segment(self, connection: int, is_server: bool, size: int, flags: int = ACK) -> Segment:
        self.number += 1
        seq, ack = self.next[connection, is_server], self.next[connection, not is_server]
        self.next[connection, is_server] = (seq + size + (flags & SYN > 0)) % 2**32
        key = key_of(connection, is_server)
        return Segment(self.number, 1_000 * self.number, key, seq, ack, flags, bytes(size), 0)

    def handshakes(self) -> list[Segment]:
        steps = ((False, SYN), (True, SYN | ACK), (False, ACK))
        return [self.segment(each, is_server, 0, flags) for each in range(3) for is_server, flags in steps]


def state_of(streams: LentStreams) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for each, is_server in Senders().next:
        flow = streams.open_flow(key_of(each, is_server))
        assert flow is not None
        connection = flow.connection
        found.append((flow.seq, flow.offset, flow.ack, flow.is_plain, connection.packets, connection.last_ns))
    return found


def pass_by(steady: SteadyFlows, segments: list[Segment]) -> None:
    flows = steady.find([segment.flow for segment in segments])
    assert (steady.seqs(flows[:1]) == [segment.seq for segment in segments[:1]]).all()
    steady.note_packets(flows >> 1, np.array([segment.time_ns for segment in segments], np.int64))
    sizes = np.array([len(segment.payload) for segment in segments], np.int64)
    steady.pass_by(flows, sizes, np.array([segment.ack for segment in segments], np.int64))


@given(st.lists(st.tuples(SENT, st.frozensets(st.integers(0, 2))), max_size=4))
def test_segments_in_arrays_are_as_fed(tables: list[tuple[list[tuple[int, bool, int]], frozenset[int]]]) -> None:
    fed, noted, senders = LentStreams((12_345,)), LentStreams((12_345,)), Senders()
    steady = SteadyFlows(noted.flow_for)
    for segment in senders.handshakes():
        fed.feed(segment)
        noted.feed(segment)
    for sent, released in tables:
        flows = [flow for each in range(3) if (flow := noted.open_flow(key_of(each, False))) is not None]
        steady.take_over([flow for flow in flows if steady.find([flow.key])[0] < 0])
        segments = [senders.segment(*each) for each in sent]
        for segment in segments:
            fed.feed(segment)
        pass_by(steady, segments)
        steady.release(steady.find([key_of(each, False) for each in sorted(released)]) >> 1)
    steady.release(steady.slots())
    assert state_of(noted) == state_of(fed)


def test_a_flow_that_was_not_understood_is_open_once_it_is() -> None:
    streams = LentStreams((12_345,))
    steady = SteadyFlows(streams.flow_for)
    for segment in Senders().handshakes()[:3]:
        streams.feed(segment)
    flow: Flow | None = streams.open_flow(key_of(0, False))
    assert flow is not None
    steady.take_over([flow])
    indices = steady.find([flow.key, flow.peer.key, key_of(1, False)])
    assert indices[2] == -1
    assert not steady.are_open(indices[:2]).any()
    flow.connection.is_understood = True
    assert steady.are_open(indices[:2]).all()
    steady.finish(int(indices[0]))
    assert steady.are_open(indices[:2]).tolist() == [False, True]
