"""TCP packets for bytes that went over a socket, or over none: Ethernet, IPv4 or IPv6, TCP, checksums and all."""

from collections.abc import Iterator
from dataclasses import dataclass

from wiretool.codec.message import Side, other_side

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
#: Where the sequence numbers of the two sides begin.
CLIENT_SEQ, SERVER_SEQ = 1000, 5000


@dataclass(slots=True)
class End:
    """One end of a connection: 4 or 16 bytes of address, port, next sequence number."""

    address: bytes
    port: int
    seq: int


@dataclass(slots=True)
class Flow:
    """A connection as packets; `segment_bytes_max` is the payload of one."""

    ends: dict[Side, End]
    segment_bytes_max: int
    is_closed: bool = False

    @classmethod
    def between(cls, client: tuple[bytes, int], server: tuple[bytes, int], segment_bytes_max: int) -> "Flow":
        """A new connection; both addresses are of one family."""
        assert len(client[0]) == len(server[0])
        return cls({"client": End(*client, CLIENT_SEQ), "server": End(*server, SERVER_SEQ)}, segment_bytes_max)

    def handshake(self) -> Iterator[bytes]:
        """SYN, SYN+ACK, ACK."""
        yield self._packet("client", SYN)
        yield self._packet("server", SYN | ACK)
        yield self._packet("client", ACK)

    def data(self, side: Side, data: bytes) -> Iterator[bytes]:
        """What `side` sends."""
        for at in range(0, len(data), self.segment_bytes_max):
            yield self._packet(side, PSH | ACK, data[at : at + self.segment_bytes_max])

    def skip(self, side: Side, size: int) -> None:
        """Leave out so many bytes of a side."""
        self.ends[side].seq += size

    def close(self) -> Iterator[bytes]:
        """FINs of both sides, and the last acknowledgement; nothing where it is closed."""
        if not self.is_closed:
            self.is_closed = True
            yield self.finish("client")
            yield self.finish("server")
            yield self.acknowledge("client")

    def finish(self, side: Side) -> bytes:
        """`side` has sent its last byte."""
        return self._packet(side, FIN | ACK)

    def acknowledge(self, side: Side) -> bytes:
        """`side` has everything."""
        return self._packet(side, ACK)

    def reset(self, side: Side) -> bytes:
        """`side` breaks the connection off."""
        return self._packet(side, RST | ACK)

    def _packet(self, side: Side, flags: int, payload: bytes = b"") -> bytes:
        source, target = self.ends[side], self.ends[other_side(side)]
        packet = ethernet(source, target, flags, payload)
        source.seq += len(payload) + bool(flags & (SYN | FIN))
        return packet


def ethernet(source: End, target: End, flags: int, payload: bytes) -> bytes:
    """An Ethernet packet with one TCP segment."""
    macs = b"\x02\0" + target.address[-4:] + b"\x02\0" + source.address[-4:]
    segment = tcp(source, target, flags, payload)
    addresses = source.address + target.address
    if len(source.address) == 4:
        ip = b"\x45\0" + (20 + len(segment)).to_bytes(2, "big") + b"\0\0\x40\0\x40\x06"
        return macs + b"\x08\0" + ip + checksum(ip + addresses) + addresses + segment
    return macs + b"\x86\xdd\x60\0\0\0" + len(segment).to_bytes(2, "big") + b"\x06\x40" + addresses + segment


def tcp(source: End, target: End, flags: int, payload: bytes) -> bytes:
    """A TCP segment; its pseudo-header's sum is the same for IPv4 and IPv6 (RFC 9293 §3.1)."""
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
    return head + checksum(pseudo + head + payload) + b"\0\0" + payload


def checksum(data: bytes) -> bytes:
    """The Internet checksum (RFC 1071); a one's complement sum is a remainder modulo 65,535."""
    return (-int.from_bytes(data + b"\0" * (len(data) % 2), "big") % 0xFFFF).to_bytes(2, "big")
