"""Captures of Offramp conversations, made without the code that reads them.

A client upgrades to WebSocket, asks for messages and gets them, several a packet; now and then it asks for more (in
masked frames), and may commit what it has got. Connections take turns. Equal arguments give equal bytes.
"""

import json
import random
import struct
import zlib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.bench.segments import ACK, FIN, PSH, check_connections, ends_of, handshake, segment, write_pcap

SERVER_PORT = 8080
TARGET = "/offramp/v2/roads/bookings/streams/bench/messages?defaultOffset=EARLIEST"
#: Messages that one REQUEST asks for.
REQUESTED = 1_000
#: First bytes of a frame: a whole text message, plain and compressed.
TEXT, COMPRESSED_TEXT = 0x81, 0xC1
#: The end of a flushed stretch, which permessage-deflate does not send.
FLUSHED = b"\x00\x00\xff\xff"
WORDS = (
    "double",
    "suite",
    "breakfast",
    "late",
    "arrival",
    "sea",
    "view",
    "quiet",
    "garden",
    "family",
    "cot",
    "parking",
)


def make_capture(
    path: Path,
    messages: int = 50_000,
    messages_per_packet: int = 4,
    *,
    deflate: str = "",
    connections: int = 1,
    is_committed: bool = False,
) -> int:
    """Frames and heads written to the pcap file at `path`: `messages` events MESSAGE and what is said around them.

    `deflate`: "" for none, "takeover" with one context for all messages, "resets" with a new one for each. With
    `is_committed` a COMMIT follows every packet of messages, and its response.
    """
    check_connections(connections)
    streams = [Stream(deflate, index, is_committed=is_committed) for index in range(connections)]
    packets = [stream.packets(messages // connections, messages_per_packet) for stream in streams]
    write_pcap(path, (packet for turn in zip_longest(*packets) for packet in turn if packet is not None))
    return sum(stream.frames for stream in streams)


class Stream:
    """One connection: both its ends, and what the events in it are made with."""

    def __init__(self, deflate: str, index: int = 0, *, is_committed: bool = False) -> None:
        self.frames = 0
        self._client, self._server = ends_of(index, SERVER_PORT)
        self._random = random.Random(8080 + index)
        self._is_committed = is_committed
        self._deflate = deflate
        self._deflaters = {"client": _deflater(), "server": _deflater()} if deflate else {}

    def packets(self, messages: int, messages_per_packet: int) -> Iterator[bytes]:
        """All packets, from the first SYN to the last ACK."""
        yield from self._opened()
        for offset in range(0, messages, messages_per_packet):
            if offset % REQUESTED < messages_per_packet:
                yield self._sent("client", {"type": "REQUEST", "count": REQUESTED})
            last = min(offset + messages_per_packet, messages)
            yield self._sent("server", *(self.message(each) for each in range(offset, last)))
            if self._is_committed:
                name = f"commit-{offset}"
                yield self._sent("client", {"type": "COMMIT", "correlationId": name, "offsets": {"0": last // 3}})
                yield self._sent("server", {"type": "COMMIT_RESPONSE", "correlationId": name, "success": True})
        yield from self._closed()

    def _opened(self) -> Iterator[bytes]:
        client, server = self._client, self._server
        yield from handshake(client, server)
        yield segment(client, server, PSH | ACK, self.request())
        yield segment(server, client, PSH | ACK, self.response())
        yield self._sent("server", {"type": "CONNECTION", "agentName": "offramp-0"})
        yield self._sent("client", {"type": "REQUEST", "count": REQUESTED})
        yield self._sent("server", {"type": "REBALANCE", "assignment": [0, 1, 2]})

    def _closed(self) -> Iterator[bytes]:
        client, server = self._client, self._server
        self.frames += 2
        yield segment(client, server, PSH | ACK, self._framed("client", 0x88, b"\x03\xe8"))
        yield segment(server, client, PSH | ACK, self._framed("server", 0x88, b"\x03\xe8"))
        yield segment(server, client, FIN | ACK)
        yield segment(client, server, FIN | ACK)
        yield segment(server, client, ACK)

    def request(self) -> bytes:
        self.frames += 1
        head = f"GET {TARGET} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        offer = "Sec-WebSocket-Extensions: permessage-deflate\r\n" if self._deflate else ""
        return f"{head}{offer}\r\n".encode()

    def response(self) -> bytes:
        self.frames += 1
        head = "HTTP/1.1 101 \r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
        head += "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
        resets = "; server_no_context_takeover; client_no_context_takeover" if self._deflate == "resets" else ""
        agreed = f"Sec-WebSocket-Extensions: permessage-deflate{resets}\r\n" if self._deflate else ""
        return f"{head}{agreed}\r\n".encode()

    def _sent(self, side: str, *events: dict[str, Any]) -> bytes:
        """A packet of `side` with these events."""
        self.frames += len(events)
        payload = b"".join(self._event(side, event) for event in events)
        ends = (self._client, self._server) if side == "client" else (self._server, self._client)
        return segment(*ends, PSH | ACK, payload)

    def _event(self, side: str, event: dict[str, Any]) -> bytes:
        text = json.dumps(event, separators=(",", ":")).encode()
        if not self._deflate:
            return self._framed(side, TEXT, text)
        if self._deflate == "resets":
            self._deflaters[side] = _deflater()
        deflater = self._deflaters[side]
        deflated = deflater.compress(text) + deflater.flush(zlib.Z_SYNC_FLUSH)
        return self._framed(side, COMPRESSED_TEXT, deflated.removesuffix(FLUSHED))

    def _framed(self, side: str, first: int, payload: bytes) -> bytes:
        size = len(payload)
        masked = 0x80 if side == "client" else 0
        head = bytes((first, masked | size)) if size < 126 else struct.pack(">BBH", first, masked | 126, size)
        if not masked:
            return head + payload
        mask = self._random.randbytes(4)
        return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))

    def message(self, offset: int) -> dict[str, Any]:
        """A booking of 200 to 400 bytes, as a road carries it."""
        draw = self._random
        payload = {
            "bookingId": f"{draw.getrandbits(64):016x}",
            "hotelId": draw.randrange(1_000_000),
            "nights": draw.randrange(1, 15),
            "price": draw.randrange(100_000) / 100,
            "currency": draw.choice(("EUR", "USD", "GBP")),
            "cancelled": draw.random() < 0.1,
            "guests": [{"age": draw.randrange(90), "lead": guest == 0} for guest in range(draw.randrange(1, 3))],
            "note": " ".join(draw.choice(WORDS) for _ in range(draw.randrange(1, 16))),
        }
        stamp = 1_600_000_000_000 + 7 * offset
        head = {"type": "MESSAGE", "partition": offset % 3, "offset": offset // 3, "schema": 2, "timestampMs": stamp}
        return {**head, "payload": payload}


def _deflater() -> Any:
    return zlib.compressobj(6, zlib.DEFLATED, -15)
