"""What the example conversations of protocols are made with, and the TCP segments that carry them."""

import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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


def sbp_frame(protocol: str, side: Side, name: str, stream_id: int, table: str, fields: Any, payload: bytes) -> Sent:
    """One SBP frame with a FlatBuffers header."""
    flags = 0 if side == "client" else 3
    checksum = f"{zlib.crc32(payload):08x}" if payload else "00000000"
    header = {"table": table, "fields": fields}
    form = {"opcode_name": name, "flags": flags, "stream_id": stream_id, "header_format": 1, "header": header}
    body = {"checksum": checksum, "payload": {"hex": payload.hex()} if payload else None}
    return frame(protocol, side, name, {**form, **body})


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
