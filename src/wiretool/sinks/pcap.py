"""Captures made of bytes that nobody captured: TCP conversations with all that belongs to them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address

from wiretool.codec.message import Side
from wiretool.errors import UsageError
from wiretool.sinks.tcp import Flow

#: pcap: nanoseconds, version 2.4, snap length 262,144, Ethernet; all big-endian.
FILE_HEADER = bytes.fromhex("a1b23c4d 0002 0004 00000000 00000000 00040000 00000001")
#: Payload of one packet: what fits a 1500-byte MTU.
SEGMENT_BYTES_MAX = 1460
#: Between packets whose time nobody gave.
STEP_NS = 1_000_000
#: 2024-01-01T00:00:00Z, where such conversations begin.
BEGIN_NS = 1_704_067_200 * 1_000_000_000
#: Clients have the ports from here on, one each, then the next address.
CLIENT_PORT_FIRST = 40_000
CLIENTS_PER_ADDRESS = 20_000
CLIENTS_MAX = 200 * CLIENTS_PER_ADDRESS


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
            yield from map(self._stamped, self._flows[connection].handshake())
        yield from map(self._stamped, self._flows[connection].data(side, data))

    def end(self) -> Iterator[bytes]:
        """A FIN from both ends of every connection."""
        for flow in self._flows.values():
            self._now_ns += STEP_NS
            yield from map(self._stamped, (flow.finish("client"), flow.finish("server"), flow.acknowledge("client")))

    def _new(self, connection: int, port: int) -> Flow:
        if not 0 <= connection < CLIENTS_MAX:
            raise UsageError(f"connection {connection}: numbers below {CLIENTS_MAX:,} only")
        host, index = divmod(connection, CLIENTS_PER_ADDRESS)
        client = IPv4Address(f"10.0.0.{10 + host}").packed, CLIENT_PORT_FIRST + index
        return Flow.between(client, (IPv4Address("10.0.0.1").packed, port), SEGMENT_BYTES_MAX)

    def _stamped(self, packet: bytes) -> bytes:
        seconds, nanos = divmod(self._now_ns, 1_000_000_000)
        sizes = len(packet).to_bytes(4, "big") * 2
        return (seconds % 2**32).to_bytes(4, "big") + nanos.to_bytes(4, "big") + sizes + packet
