"""Captures of small requests and responses of the Streaming Batch Protocol, made without the code that reads them.

The conversation is that of a client of the range server: HEARTBEAT first, then APPEND and FETCH in turn, each answered.
Equal arguments give equal bytes.
"""

import itertools
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.segments import (
    ACK,
    PSH,
    START_TIME_S,
    End,
    check_connections,
    ends_of,
    handshake,
    segment,
    write_pcap,
)

SERVER_PORT = 10911
HEARTBEAT, APPEND, FETCH = 0x0003, 0x1001, 0x1002
REQUEST, WHOLE_RESPONSE = 0x00, 0x03
OK = 1200
TIMEOUT_MS = 5_000
START_TIME_MS = START_TIME_S * 1000

# Each header is laid out as in the comment above it: where a table is, its vtable stands in front of it.

#: root, vtable of 1 slot, 2 zeros; at 12 AppendRequest: vtable, timeout_ms.
APPEND_REQUEST = struct.Struct("<I 3H 2x iI")
#: root, vtable of 2; at 12 AppendResponse: vtable, status, entries; at 24 one entry; its vtable of 2; at 40 the entry:
#: vtable, status, timestamp_ms; vtable of 2; at 64 Status: vtable, message, code, 2 zeros; at 76 the message.
APPEND_RESPONSE = struct.Struct("<I 4H iII II 4H iIq 4H iIh2x I4s")
#: root, vtable of 6; at 20 FetchRequest: vtable, offset, limit, max_wait_ms, range, max_bytes; vtable of 4; at 64
#: Range: vtable, index, stream_id, epoch, start.
FETCH_REQUEST = struct.Struct("<I 8H iqqiIi 6H iiqqq")
#: root, vtable of 1, 2 zeros; at 12 FetchResponse: vtable, status; vtable of 2; at 28 Status as above; at 40 the
#: message.
FETCH_RESPONSE = struct.Struct("<I 3H 2x iI 4H iIh2x I4s")
#: root, vtable of 2, at 12 HeartbeatRequest: vtable, client_id, client_role, 3 zeros; at 24 the id.
HEARTBEAT_REQUEST = struct.Struct("<I 4H iIb3x I12s")
#: root, vtable of 4; at 16 HeartbeatResponse: vtable, status; vtable of 2; at 32 Status as above; at 44 the message.
HEARTBEAT_RESPONSE = struct.Struct("<I 6H iI 4H iIh2x I4s")
#: root, vtable of 6; at 20 RecordBatchMeta: vtable, stream_id, base_offset, base_timestamp, range_index,
#: last_offset_delta.
BATCH_META = struct.Struct("<I 8H iqqqii")


@dataclass
class Connection:
    """A client, a range server, and what they have said so far."""

    index: int
    client: End = field(init=False)
    server: End = field(init=False)
    stream_id: int = 0
    base_offset: int = 0
    unanswered: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client, self.server = ends_of(self.index, SERVER_PORT)


def make_capture(
    path: Path, packets: int = 50_000, frames_per_packet: int = 4, event_bytes: int = 100, connections: int = 1
) -> int:
    """Frames written to the pcap file at `path`: `packets` packets of requests and responses in turn, and the set-up.

    Each connection sends `frames_per_packet` requests in one packet, APPEND and FETCH in turn, and gets as many
    responses in the next. A batch holds one event of `event_bytes`.
    """
    check_connections(connections)
    peers = [Connection(index) for index in range(connections)]
    opened = itertools.chain.from_iterable(open_connection(peer) for peer in peers)
    data = request_packets(peers, packets, frames_per_packet, event_bytes)
    write_pcap(path, itertools.chain(opened, data))
    return 2 * connections + packets * frames_per_packet


def open_connection(peer: Connection) -> Iterator[bytes]:
    """The TCP handshake, and a heartbeat with its answer."""
    client, server = peer.client, peer.server
    yield from handshake(client, server)
    yield segment(client, server, PSH | ACK, frame(HEARTBEAT, REQUEST, 0, heartbeat_request(peer)))
    yield segment(server, client, PSH | ACK, frame(HEARTBEAT, WHOLE_RESPONSE, 0, heartbeat_response()))


def request_packets(peers: list[Connection], packets: int, frames_per_packet: int, event_bytes: int) -> Iterator[bytes]:
    """The requests of each connection in turn, and their responses; an odd last packet of requests stays unanswered."""
    for index in range(packets):
        peer = peers[index // 2 % len(peers)]
        if index % 2 == 0:
            requests = [request(peer, event_bytes) for _ in range(frames_per_packet)]
            yield segment(peer.client, peer.server, PSH | ACK, b"".join(requests))
        else:
            responses = [response(peer, *asked, event_bytes) for asked in peer.unanswered]
            peer.unanswered.clear()
            yield segment(peer.server, peer.client, PSH | ACK, b"".join(responses))


def request(peer: Connection, event_bytes: int) -> bytes:
    """The next request of a client: every other one an APPEND."""
    peer.stream_id += 1
    opcode = APPEND if peer.stream_id % 2 else FETCH
    peer.unanswered.append((peer.stream_id, opcode))
    if opcode == FETCH:
        return frame(FETCH, REQUEST, peer.stream_id, fetch_request(peer))
    peer.base_offset += 1
    return frame(APPEND, REQUEST, peer.stream_id, append_request(), batch(peer, event_bytes))


def response(peer: Connection, stream_id: int, opcode: int, event_bytes: int) -> bytes:
    """The answer to a request: a FETCH gets the batch that was appended last."""
    if opcode == APPEND:
        return frame(APPEND, WHOLE_RESPONSE, stream_id, append_response(stream_id))
    return frame(FETCH, WHOLE_RESPONSE, stream_id, fetch_response(), batch(peer, event_bytes))


# -- headers and payloads ----------------------------------------------------------------------------------------------


def heartbeat_request(peer: Connection) -> bytes:
    client_id = b"client-%05d" % (peer.index % 100_000)
    return HEARTBEAT_REQUEST.pack(12, 8, 12, 4, 8, 8, 8, 3, 12, client_id) + bytes(4)


def heartbeat_response() -> bytes:
    return HEARTBEAT_RESPONSE.pack(16, 12, 8, 0, 0, 0, 4, 12, 12, *status())


def append_request() -> bytes:
    return APPEND_REQUEST.pack(12, 6, 8, 4, 8, TIMEOUT_MS)


def append_response(stream_id: int) -> bytes:
    head = (12, 8, 12, 4, 8, 8, 48, 4)
    entry = (1, 12, 8, 16, 4, 8, 8, 20, START_TIME_MS + stream_id)
    return APPEND_RESPONSE.pack(*head, *entry, *status())


def fetch_request(peer: Connection) -> bytes:
    offsets = (16, 32, 20, 24, 4, 12, 0, 28)
    fields = (16, peer.base_offset, peer.base_offset + 1, 10, 20, 1024 * 1024)
    return FETCH_REQUEST.pack(20, *offsets, *fields, 12, 32, 8, 16, 4, 24, 12, 0, 1 + peer.index, 1, 0)


def fetch_response() -> bytes:
    return FETCH_RESPONSE.pack(12, 6, 8, 4, 8, 12, *status())


def status() -> tuple[int | bytes, ...]:
    """What stands behind a table that has a status: vtable, Status and its message."""
    return (8, 12, 8, 4, 8, 8, OK, 2, b"OK\0\0")


def batch(peer: Connection, event_bytes: int) -> bytes:
    """A record batch with one event of `event_bytes`, which begins with its number as far as it reaches."""
    offsets = (16, 36, 4, 28, 0, 12, 32, 20)
    base = (1 + peer.index, peer.base_offset, START_TIME_MS + peer.base_offset, 0, 1)
    meta = BATCH_META.pack(20, *offsets, 16, *base)
    body = (b"event-%06d" % peer.base_offset).ljust(event_bytes, b"x")[:event_bytes]
    return struct.pack(">BI", 0x22, len(meta)) + meta + struct.pack(">I", len(body)) + body


def frame(opcode: int, flags: int, stream_id: int, header: bytes, payload: bytes = b"") -> bytes:
    """A frame with a FlatBuffers header; its checksum is of the payload alone, 0 for none."""
    length = 16 + len(header) + len(payload)
    fixed = struct.pack(">IBHBII", length, 0x17, opcode, flags, stream_id, 1 << 24 | len(header))
    return fixed + header + payload + struct.pack(">I", zlib.crc32(payload))
