"""Captures made of bytes that nobody captured: TCP conversations with all that belongs to them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from wiretool.codec.message import Side, other_side
from wiretool.errors import UsageError

#: pcap: nanoseconds, version 2.4, snap length 262,144, Ethernet; all big-endian.
FILE_HEADER = bytes.fromhex("a1b23c4d 0002 0004 00000000 00000000 00040000 00000001")
#: Payload of one packet: what fits a 1500-byte MTU.
SEGMENT_BYTES_MAX = 1460
#: Between packets whose time nobody gave.
STEP_NS = 1_000_000
#: 2024-01-01T00:00:00Z, where such conversations begin.
BEGIN_NS = 1_704_067_200 * 1_000_000_000
FIN, SYN, PSH, ACK = 0x01, 0x02, 0x08, 0x10
#: Clients have the ports from here on, one each, then the next address.
CLIENT_PORT_FIRST = 40_000
CLIENTS_PER_ADDRESS = 20_000
CLIENTS_MAX = 200 * CLIENTS_PER_ADDRESS


@dataclass(slots=True)
class End:
    """One end of a connection."""

    address: bytes
    port: int
    seq: int


@dataclass(slots=True)
class Flow:
    """A connection: both its ends."""

    ends: dict[Side, End]


@dataclass(slots=True)
class Conversations:
    """Makes the packets of connections, each with its handshake; `end` closes them all."""

    _flows: dict[int, Flow] = field(default_factory=dict)
    _now_ns: int = BEGIN_NS

    def send(self, connection: int, side: Side, port: int, data: bytes, time_ns: int | None = None) -> Iterator[bytes]:
        """The pcap records of `data` on a connection; `port` is that of the server where the connection is new."""
        self._now_ns = self._now_ns + STEP_NS if time_ns is None else max(time_ns, 0)
        if connection not in self._flows:
            self._flows[connection] = self._new(connection, port)
            yield from self._handshake(self._flows[connection])
        flow = self._flows[connection]
        for at in range(0, len(data), SEGMENT_BYTES_MAX):
            yield self._packet(flow, side, PSH | ACK, data[at : at + SEGMENT_BYTES_MAX])

    def end(self) -> Iterator[bytes]:
        """A FIN from both ends of every connection."""
        for flow in self._flows.values():
            self._now_ns += STEP_NS
            yield self._packet(flow, "client", FIN | ACK)
            yield self._packet(flow, "server", FIN | ACK)
            yield self._packet(flow, "client", ACK)

    def _new(self, connection: int, port: int) -> Flow:
        if not 0 <= connection < CLIENTS_MAX:
            raise UsageError(f"connection {connection}: numbers below {CLIENTS_MAX:,} only")
        host, index = divmod(connection, CLIENTS_PER_ADDRESS)
        client = End(IPv4Address(f"10.0.0.{10 + host}").packed, CLIENT_PORT_FIRST + index, 1000)
        return Flow({"client": client, "server": End(IPv4Address("10.0.0.1").packed, port, 5000)})

    def _handshake(self, flow: Flow) -> Iterator[bytes]:
        yield self._packet(flow, "client", SYN)
        yield self._packet(flow, "server", SYN | ACK)
        yield self._packet(flow, "client", ACK)

    def _packet(self, flow: Flow, side: Side, flags: int, payload: bytes = b"") -> bytes:
        source, target = flow.ends[side], flow.ends[other_side(side)]
        packet = ethernet(source, target, flags, payload)
        source.seq += len(payload) + bool(flags & (SYN | FIN))
        seconds, nanos = divmod(self._now_ns, 1_000_000_000)
        sizes = len(packet).to_bytes(4, "big") * 2
        return (seconds % 2**32).to_bytes(4, "big") + nanos.to_bytes(4, "big") + sizes + packet


def ethernet(source: End, target: End, flags: int, payload: bytes) -> bytes:
    """An Ethernet packet with one TCP segment, checksums and all."""
    acknowledged = target.seq % 2**32 if flags & ACK else 0
    head = (
        source.port.to_bytes(2, "big")
        + target.port.to_bytes(2, "big")
        + (source.seq % 2**32).to_bytes(4, "big")
        + acknowledged.to_bytes(4, "big")
        + bytes((5 << 4, flags))
        + b"\xff\xff"
    )
    pseudo = source.address + target.address + b"\0\x06" + (20 + len(payload)).to_bytes(2, "big")
    segment = head + checksum(pseudo + head + payload) + b"\0\0" + payload
    ip = b"\x45\0" + (20 + len(segment)).to_bytes(2, "big") + b"\0\0\x40\0\x40\x06"
    addresses = source.address + target.address
    macs = b"\x02\0" + target.address + b"\x02\0" + source.address
    return macs + b"\x08\0" + ip + checksum(ip + addresses) + addresses + segment


def checksum(data: bytes) -> bytes:
    """The Internet checksum (RFC 1071); a one's complement sum is a remainder modulo 65,535."""
    return (-int.from_bytes(data + b"\0" * (len(data) % 2), "big") % 0xFFFF).to_bytes(2, "big")
