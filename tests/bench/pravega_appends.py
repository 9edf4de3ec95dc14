"""Captures of small appends on the Pravega wire protocol, made without the code that reads them.

The conversation is the Rust client's: HELLO both ways, SetupAppend, then lone AppendBlockEnd frames, each answered by
a DataAppended. Equal arguments give equal bytes.
"""

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.segments import ACK, FIN, PSH, End, check_connections, ends_of, handshake, segment, write_pcap

SERVER_PORT = 12345
SEGMENT_NAME = b"sc/st/0.#epoch.0"
NO_EVENT_YET = -(2**63)


@dataclass
class Connection:
    """A client, a server and the writer between them."""

    index: int
    client: End = field(init=False)
    server: End = field(init=False)
    writer_id: bytes = field(init=False)
    event_number: int = 0
    acknowledged: int = NO_EVENT_YET
    segment_offset: int = 0
    request_id: int = 1
    unanswered: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client, self.server = ends_of(self.index, SERVER_PORT)
        self.writer_id = struct.pack(">QQ", 0x1874A6D0D80A4AE4, 0xA7EF7BF603FD0000 + self.index)


def make_capture(
    path: Path,
    packets: int = 50_000,
    frames_per_packet: int = 1,
    event_bytes: int = 100,
    events_per_append: int = 1,
    connections: int = 1,
) -> int:
    """Frames written to the pcap file at `path`: `packets` packets of appends and replies in turn, and the set-up.

    Each connection sends `frames_per_packet` AppendBlockEnd in one packet, and gets as many DataAppended in the next.
    """
    check_connections(connections)
    peers = [Connection(index) for index in range(connections)]
    opened = itertools.chain.from_iterable(open_connection(peer) for peer in peers)
    data = append_packets(peers, packets, frames_per_packet, event_bytes, events_per_append)
    closed = itertools.chain.from_iterable(close_connection(peer) for peer in peers)
    write_pcap(path, itertools.chain(opened, data, closed))
    return 4 * connections + packets * frames_per_packet


def open_connection(peer: Connection) -> Iterator[bytes]:
    """The TCP handshake, HELLO both ways, SetupAppend and AppendSetup."""
    client, server = peer.client, peer.server
    yield from handshake(client, server)
    yield segment(client, server, PSH | ACK, hello(15))
    yield segment(server, client, PSH | ACK, hello(17))
    yield segment(client, server, PSH | ACK, setup_append(peer))
    yield segment(server, client, PSH | ACK, append_setup(peer))


def append_packets(
    peers: list[Connection], packets: int, frames_per_packet: int, event_bytes: int, events_per_append: int
) -> Iterator[bytes]:
    """The appends of each connection in turn, and their replies; an odd last append stays unanswered."""
    for index in range(packets):
        peer = peers[index // 2 % len(peers)]
        if index % 2 == 0:
            appends = [append_block_end(peer, event_bytes, events_per_append) for _ in range(frames_per_packet)]
            yield segment(peer.client, peer.server, PSH | ACK, b"".join(appends))
        else:
            yield segment(peer.server, peer.client, PSH | ACK, data_appended(peer))


def close_connection(peer: Connection) -> Iterator[bytes]:
    """A FIN from both ends."""
    yield segment(peer.client, peer.server, FIN | ACK)
    yield segment(peer.server, peer.client, FIN | ACK)
    yield segment(peer.client, peer.server, ACK)


def hello(high_version: int) -> bytes:
    return frame(-127, struct.pack(">ii", high_version, 5))


def setup_append(peer: Connection) -> bytes:
    return frame(1, struct.pack(">q", 1) + peer.writer_id + string(SEGMENT_NAME) + string(b""))


def append_setup(peer: Connection) -> bytes:
    return frame(2, struct.pack(">q", 1) + string(SEGMENT_NAME) + peer.writer_id + struct.pack(">q", NO_EVENT_YET))


def append_block_end(peer: Connection, event_bytes: int, events_per_append: int) -> bytes:
    """The next append of the writer: whole events, with no AppendBlock before them."""
    events = b"".join(event(peer.event_number + i, event_bytes) for i in range(events_per_append))
    peer.event_number += events_per_append
    peer.request_id += 1
    peer.segment_offset += len(events)
    peer.unanswered.append((peer.event_number, peer.request_id, peer.segment_offset))
    head = peer.writer_id + struct.pack(">ii", len(events), len(events))
    return frame(4, head + events + struct.pack(">iqq", events_per_append, peer.event_number, peer.request_id))


def data_appended(peer: Connection) -> bytes:
    """A reply to every append that has none yet."""
    frames = []
    for event_number, request_id, offset in peer.unanswered:
        numbers = struct.pack(">qqqq", event_number, peer.acknowledged, request_id, offset)
        frames.append(frame(7, peer.writer_id + numbers))
        peer.acknowledged = event_number
    peer.unanswered.clear()
    return b"".join(frames)


def event(number: int, size: int) -> bytes:
    """An EVENT frame of `size` bytes, which begin with its number as far as they reach."""
    return frame(0, (b"event-%06d" % number).ljust(size, b"x")[:size])


def string(text: bytes) -> bytes:
    return struct.pack(">H", len(text)) + text


def frame(type_id: int, payload: bytes) -> bytes:
    return struct.pack(">ii", type_id, len(payload)) + payload
