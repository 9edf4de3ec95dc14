"""Captures made of bytes that nobody captured: TCP conversations with all that belongs to them."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_address

from wiretool.analysis.script import Sent
from wiretool.codec.message import SIDES, Side
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


#: Between the sequence numbers of two connections with the same ends: more than any TCP window.
REUSE_STEP = 3 << 29

#: Address and port.
Endpoint = tuple[bytes, int]


@dataclass(slots=True)
class Conversations:
    """Makes the packets of connections, each with its handshake; `end` closes them all."""

    _flows: dict[int, Flow] = field(default_factory=dict)
    #: By client and server, the connection that used them last, and how many did.
    _users: dict[tuple[Endpoint, Endpoint], tuple[int, int]] = field(default_factory=dict)
    _now_ns: int = BEGIN_NS

    def send(self, connection: int, side: Side, port: int, data: bytes, time_ns: int | None = None) -> Iterator[bytes]:
        """The pcap records of `data` on a connection; `port` is that of the server where the connection is new."""
        return self.write(Sent(connection, side, time_ns, port, data))

    def write(self, sent: Sent) -> Iterator[bytes]:
        """The pcap records of a frame, or none where bytes are missing: its connection goes on behind them."""
        self._now_ns = self._now_ns + STEP_NS if sent.time_ns is None else max(sent.time_ns, 0)
        if sent.connection not in self._flows:
            yield from map(self._stamped, self._open(sent))
        flow = self._flows[sent.connection]
        flow.skip(sent.side, sent.missing)
        yield from map(self._stamped, flow.data(sent.side, sent.data))

    def end(self) -> Iterator[bytes]:
        """A FIN from both ends of every connection."""
        for flow in self._flows.values():
            self._now_ns += STEP_NS
            yield from map(self._stamped, flow.close())

    def _open(self, sent: Sent) -> Iterator[bytes]:
        """A new connection; one that had the same ends is closed before."""
        ends = _ends_from(sent) or self._made_up_ends(sent)
        before, count = self._users.get(ends, (None, -1))
        if before is not None:
            yield from self._flows[before].close()
        self._users[ends] = sent.connection, count + 1
        flow = self._flows[sent.connection] = Flow.between(*ends, SEGMENT_BYTES_MAX)
        for side in SIDES:
            flow.skip(side, (count + 1) * REUSE_STEP)
        if not sent.is_midstream:
            yield from flow.handshake()

    def _made_up_ends(self, sent: Sent) -> tuple[Endpoint, Endpoint]:
        if not 0 <= sent.connection < CLIENTS_MAX:
            raise UsageError(f"connection {sent.connection}: numbers below {CLIENTS_MAX:,} only")
        host, index = divmod(sent.connection, CLIENTS_PER_ADDRESS)
        client = IPv4Address(f"10.0.0.{10 + host}").packed, CLIENT_PORT_FIRST + index
        return client, (IPv4Address("10.0.0.1").packed, sent.port)

    def _stamped(self, packet: bytes) -> bytes:
        seconds, nanos = divmod(self._now_ns, 1_000_000_000)
        sizes = len(packet).to_bytes(4, "big") * 2
        return (seconds % 2**32).to_bytes(4, "big") + nanos.to_bytes(4, "big") + sizes + packet


def _ends_from(sent: Sent) -> tuple[Endpoint, Endpoint] | None:
    """Return client and server as the line has them; None where it has not, or not two addresses of one family."""
    client, server = _endpoint_from(sent.client), _endpoint_from(sent.server)
    if client is None or server is None or len(client[0]) != len(server[0]):
        return None
    return client, server


def _endpoint_from(text: str) -> Endpoint | None:
    """Parse `ip:port` or `[ip]:port`."""
    host, _, port = text.rpartition(":")
    if port.isascii() and port.isdigit() and int(port) < 1 << 16:
        with suppress(ValueError):
            return ip_address(host.removeprefix("[").removesuffix("]")).packed, int(port)
    return None
