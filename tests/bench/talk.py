"""Conversations of a thousand frames, one for each protocol, and the TCP segments that carry them."""

import json
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tests.protocols.pravega_controller import talk as controller
from wiretool.capture.tcp.segments_of_packets import ACK, FIN, SYN, Segment
from wiretool.codec.message import Side
from wiretool.protocols.base.registry import PROTOCOLS

FRAMES = 1_000
CLIENT, SERVER = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))


class Sent(NamedTuple):
    """Bytes that one side sent, and whether they are a frame."""

    side: Side
    data: bytes


def frame(protocol: str, side: Side, name: str, fields: Mapping[str, Any]) -> Sent:
    """The frame of a message, from its JSON form."""
    spoken = PROTOCOLS[protocol]
    return Sent(side, spoken.encode(spoken.from_json(name, side, fields), side))


def text(rng: random.Random, size: int) -> bytes:
    """Bytes as payloads have them: words, numbers and now and then something binary."""
    words = b" ".join(rng.choice((b"order", b"booking", b"%d" % rng.randrange(10**6), b'"id":')) for _ in range(size))
    return bytes(rng.randbytes(size)) if rng.random() < 0.3 else words[:size]


def pravega(rng: random.Random) -> Iterator[Sent]:
    """A writer with its acknowledgements, and reads between them."""
    writer = "6f1d2a9c-0b35-4c1e-9a77-1f2e3d4c5b6a"
    yield frame("pravega", "client", "Hello", {"high_version": 17, "low_version": 5})
    yield frame("pravega", "server", "Hello", {"high_version": 17, "low_version": 5})
    segment = "scope/stream/0.#epoch.0"
    setup = {"request_id": 1, "writer_id": writer, "segment": segment, "delegation_token": ""}
    yield frame("pravega", "client", "SetupAppend", setup)
    ready = {"request_id": 1, "segment": segment, "writer_id": writer, "last_event_number": -(2**63)}
    yield frame("pravega", "server", "AppendSetup", ready)
    offset = 0
    for number in range(1, FRAMES):
        event = text(rng, rng.randrange(20, 400))
        data = bytes(4) + len(event).to_bytes(4, "big") + event
        offset += len(data)
        block = {"writer_id": writer, "size_of_whole_events": len(data), "data": data.hex(), "num_events": 1}
        yield frame("pravega", "client", "AppendBlockEnd", {**block, "last_event_number": number, "request_id": number})
        ack = {"writer_id": writer, "event_number": number, "previous_event_number": number - 1, "request_id": number}
        yield frame("pravega", "server", "DataAppended", {**ack, "current_segment_write_offset": offset})


def pravega_draft(rng: random.Random) -> Iterator[Sent]:
    """Blocks of framed events, acknowledged by offset."""
    connection = "6f1d2a9c-0b35-4c1e-9a77-1f2e3d4c5b6a"
    yield frame("pravega-draft", "client", "SetupAppend", {"connection_id": connection, "segment": "scope/stream/0"})
    ready = {"segment": "scope/stream/0", "connection_id": connection, "connection_offset_ack_level": 0}
    yield frame("pravega-draft", "server", "AppendSetup", ready)
    offset = 0
    for _ in range(FRAMES // 3):
        event = text(rng, rng.randrange(20, 400))
        length = len(event) + 8
        begin = {"connection_id": connection, "connection_offset": offset, "length": length}
        yield frame("pravega-draft", "client", "BeginAppendBlock", begin)
        yield frame("pravega-draft", "client", "Event", {"data": event.hex()})
        offset += length
        end = {"connection_id": connection, "connection_offset": offset, "block_length": length}
        yield frame("pravega-draft", "client", "EndAppendBlock", end)
        ack = {"connection_id": connection, "connection_offset_ack_level": offset}
        yield frame("pravega-draft", "server", "DataAppended", ack)


def sbp_frame(protocol: str, side: Side, name: str, stream_id: int, table: str, fields: Any, payload: bytes) -> Sent:
    """One SBP frame with a FlatBuffers header."""
    flags = 0 if side == "client" else 3
    checksum = f"{zlib.crc32(payload):08x}" if payload else "00000000"
    header = {"table": table, "fields": fields}
    form = {"opcode_name": name, "flags": flags, "stream_id": stream_id, "header_format": 1, "header": header}
    body = {"checksum": checksum, "payload": {"hex": payload.hex()} if payload else None}
    return frame(protocol, side, name, {**form, **body})


def sbp(rng: random.Random) -> Iterator[Sent]:
    """Pings with payloads, and streams described."""
    for number in range(1, FRAMES + 1):
        if rng.random() < 0.5:
            request = {"timeout_ms": 100, "stream_id": number}
            yield sbp_frame("sbp", "client", "DESCRIBE_STREAM", number, "DescribeStreamRequest", request, b"")
            stream = {"stream_id": number, "replica": 3, "ack_count": 2, "retention_period_ms": 86_400_000}
            answer = {"status": {"code": 1200}, "throttle_time_ms": 0, "stream": stream}
            yield sbp_frame("sbp", "server", "DESCRIBE_STREAM", number, "DescribeStreamResponse", answer, b"")
        else:
            beat = {"client_id": f"client-{number}", "client_role": 3}
            yield sbp_frame("sbp", "client", "HEARTBEAT", number, "HeartbeatRequest", beat, b"")
            answer = {**beat, "status": {"code": 1200, "message": "OK"}}
            yield sbp_frame("sbp", "server", "HEARTBEAT", number, "HeartbeatResponse", answer, b"")


def sbp_0_1(rng: random.Random) -> Iterator[Sent]:
    """Streams created in batches, and heartbeats."""
    for number in range(1, FRAMES + 1):
        if rng.random() < 0.5:
            ids = [rng.randrange(10**6) for _ in range(rng.randrange(1, 5))]
            request = {"timeout_ms": 100, "stream_ids": ids}
            yield sbp_frame("sbp-0.1", "client", "GET_STREAMS", number, "DescribeStreamsRequest", request, b"")
            found = [{"stream": {"stream_id": each, "replica_nums": 3}, "error_code": 0} for each in ids]
            answer = {"throttle_time_ms": 0, "describe_responses": found}
            yield sbp_frame("sbp-0.1", "server", "GET_STREAMS", number, "DescribeStreamsResponse", answer, b"")
        else:
            node = {"node_id": number, "advertise_addr": "127.0.0.1:10911"}
            beat = {"client_id": f"client-{number}", "client_role": 2, "data_node": node}
            yield sbp_frame("sbp-0.1", "client", "HEARTBEAT", number, "HeartbeatRequest", beat, b"")
            yield sbp_frame("sbp-0.1", "server", "HEARTBEAT", number, "HeartbeatResponse", beat, b"")


def offramp(rng: random.Random) -> Iterator[Sent]:
    """A consumer with demand, messages, and commits between them."""
    target = "/offramp/v2/roads/bookings/streams/s/messages?defaultOffset=EARLIEST"
    head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    keys = "Sec-WebSocket-Key: XVEIJOj8c3GohncHWGgmxw==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    yield Sent("client", (head + keys).encode())
    answer = "HTTP/1.1 101 \r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
    yield Sent("server", (answer + "Sec-WebSocket-Accept: b8WjGOh7bor93n1k0cr16ZxMX3I=\r\n\r\n").encode())
    yield frame("offramp", "server", "CONNECTION", {"agentName": "offramp-0"})
    yield frame("offramp", "client", "REQUEST", {"count": FRAMES})
    yield frame("offramp", "server", "REBALANCE", {"assignment": [0]})
    for number in range(FRAMES):
        payload = {"hotel": rng.choice(("Alpenhof", "Casa Sol")), "id": number, "note": "x" * rng.randrange(300)}
        event = {"partition": 0, "offset": number, "schema": 1, "timestampMs": 1_605_900_000_000 + number}
        yield frame("offramp", "server", "MESSAGE", {**event, "payload": json.loads(json.dumps(payload))})
        correlation, offsets = f"commit-{number}", {"0": number + 1}
        yield frame("offramp", "client", "COMMIT", {"correlationId": correlation, "offsets": offsets})
        yield frame("offramp", "server", "COMMIT_RESPONSE", {"correlationId": correlation, "success": True})


def pravega_controller(rng: random.Random) -> Iterator[Sent]:
    """Calls, one after another."""
    return (Sent(side, data) for side, data in controller.talk(rng, FRAMES))


TALKS = {
    "pravega": pravega,
    "pravega-controller": pravega_controller,
    "pravega-draft": pravega_draft,
    "sbp-0.1": sbp_0_1,
    "sbp": sbp,
    "offramp": offramp,
}


def segments(sent: Sequence[Sent], *, port: int, segment_bytes: int = 0) -> list[Segment]:
    """The segments of one connection: one for each frame, or with `segment_bytes` the streams cut at that size."""
    seq: dict[Side, int] = {"client": 1_000, "server": 9_000}
    ends = {"client": 40_000, "server": port}
    out: list[Segment] = []

    def put(side: Side, flags: int, payload: bytes = b"") -> None:
        mine, theirs = (CLIENT, SERVER) if side == "client" else (SERVER, CLIENT)
        peer: Side = "server" if side == "client" else "client"
        ports = ends[side].to_bytes(2, "big") + ends[peer].to_bytes(2, "big")
        number = len(out) + 1
        out.append(Segment(number, number * 1_000_000, mine + theirs + ports, seq[side], seq[peer], flags, payload, 0))
        seq[side] += len(payload) + bool(flags & (SYN | FIN))

    put("client", SYN)
    put("server", SYN | ACK)
    for side, data in _cut(sent, segment_bytes):
        put(side, ACK, data)
    put("client", FIN | ACK)
    put("server", FIN | ACK)
    return out


def _cut(sent: Sequence[Sent], size: int) -> Iterator[Sent]:
    """As sent, or collected by side until a segment is full."""
    if not size:
        yield from sent
        return
    held: dict[Side, bytes] = {"client": b"", "server": b""}
    for side, data in sent:
        held[side] += data
        while len(held[side]) >= size:
            yield Sent(side, held[side][:size])
            held[side] = held[side][size:]
    for side, rest in held.items():
        if rest:
            yield Sent(side, rest)
