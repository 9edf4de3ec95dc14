"""Flows in arrays get back what plain segments changed, and their slots serve other connections."""

import numpy as np

from wiretool.capture.columns.steady_flows import SteadyFlows
from wiretool.capture.tcp.direction import Flow, Shared
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.stream_events import Connection


def made(number: int, seqs: tuple[int, int] = (10, 20)) -> Flow:
    """Return the flow of a client whose connection is in good order; the sequence numbers are of both sides."""
    ends = number.to_bytes(4, "big") + b"\x10\x00", b"\x0a\0\0\x02" + b"\x30\x39"
    connection, shared = Connection(number, *ends, 5), Shared()
    connection.is_understood = True
    client = Flow(b"client%d" % number, connection, "client", shared)
    server = Flow(b"server%d" % number, connection, "server", shared)
    client.peer, server.peer = server, client
    for flow, seq in zip((client, server), seqs, strict=True):
        flow.start(seq, is_known=True)
        flow.is_plain = True
    return client


def test_objects_get_what_segments_changed_in_the_arrays() -> None:
    client, steady = made(1, (0xFFFF_FFFE, 20)), SteadyFlows(LentStreams().flow_for)
    steady.take_over([client.peer])
    mine, theirs = steady.find([client.key, client.peer.key]).tolist()
    assert steady.are_open(np.array([mine, theirs])).all()
    steady.note_packets(np.array([mine >> 1] * 3), np.array([6, 7, 8]))
    steady.pass_by(np.array([mine, theirs, mine]), np.array([5, 0, 2]), np.array([21, 3, 22]))
    steady.finish(theirs)
    assert (client.offset, client.connection.packets) == (0, 0)
    assert steady.are_open(np.array([mine, theirs])).tolist() == [True, False]
    for _ in range(2):  # packets are added once
        steady.write_back(np.array([mine >> 1]))
        assert (client.seq, client.offset, client.ack) == (5, 7, 3)
        assert (client.peer.seq, client.peer.offset, client.peer.ack) == (20, 0, 22)
        assert (client.connection.packets, client.connection.last_ns) == (3, 8)


def test_slots_are_free_again_after_very_many_connections() -> None:
    steady, size = SteadyFlows(LentStreams().flow_for), 0
    for number in range(1_000):
        client = made(number)
        steady.take_over([client])
        reserved = steady.reserve(3)
        assert not set(steady.slots().tolist()) & set(reserved.tolist())
        size = size or steady.size
        steady.release(steady.slots())
        steady.free(reserved)
        assert steady.find([client.key, client.peer.key]).tolist() == [-1, -1]
    assert steady.size == size
    assert not len(steady.slots())
    assert sorted(steady.reserve(size).tolist()) == list(range(size))
