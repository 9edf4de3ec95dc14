"""Packets of TCP segments as a Linux host sends them, in pcap files: what the captures of the benches are made of."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CLIENT_PORT_FIRST = 40000
#: Client ports of one address that are used, and addresses.
PORTS, ADDRESSES = 20_000, 10
CONNECTIONS_MAX = PORTS * ADDRESSES
CLIENT_IP, SERVER_IP = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))
CLIENT_MAC, SERVER_MAC = bytes.fromhex("02000a000001"), bytes.fromhex("02000a000002")

#: What fits in an IPv4 packet beside a 20-byte IP header and a 32-byte TCP header.
SEGMENT_BYTES_MAX = 65_535 - 20 - 32

START_TIME_S = 1_700_000_000
PACKET_INTERVAL_US = 25

SYN, ACK, PSH, FIN = 0x02, 0x10, 0x08, 0x01


@dataclass
class End:
    """One end of a TCP connection: its addresses and its counters."""

    mac: bytes
    ip: bytes
    port: int
    seq: int
    packet_id: int = 0


def ends_of(index: int, server_port: int) -> tuple[End, End]:
    """The client and the server of connection `index`."""
    address, port = divmod(index, PORTS)
    client_ip = CLIENT_IP[:2] + bytes((address, CLIENT_IP[3]))
    client = End(CLIENT_MAC, client_ip, CLIENT_PORT_FIRST + port, seq=1_000_000 + index)
    return client, End(SERVER_MAC, SERVER_IP, server_port, seq=2_000_000_000 + index)


def check_connections(count: int) -> None:
    """ValueError for none, or for more than there are ports."""
    if not 1 <= count <= CONNECTIONS_MAX:
        raise ValueError(f"connections is {count}, wants 1 to {CONNECTIONS_MAX}")


def write_pcap(path: Path, packets: Iterable[bytes]) -> None:
    """Write packets into a pcap file, PACKET_INTERVAL_US apart."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1))
        for index, packet in enumerate(packets):
            seconds, micros = divmod(index * PACKET_INTERVAL_US, 1_000_000)
            file.write(struct.pack("<IIII", START_TIME_S + seconds, micros, len(packet), len(packet)))
            file.write(packet)


def handshake(client: End, server: End) -> Iterator[bytes]:
    """The three packets that open a connection."""
    yield segment(client, server, SYN)
    yield segment(server, client, SYN | ACK)
    yield segment(client, server, ACK)


def segment(source: End, target: End, flags: int, payload: bytes = b"") -> bytes:
    """An Ethernet packet with one TCP segment, which acknowledges all that the target has sent."""
    if len(payload) > SEGMENT_BYTES_MAX:
        raise ValueError(f"{len(payload)} bytes of frames in one packet, wants {SEGMENT_BYTES_MAX} at most")
    source.packet_id += 1
    segment_bytes = tcp(source, target, flags, payload)
    source.seq = (source.seq + len(payload) + (1 if flags & (SYN | FIN) else 0)) % 2**32
    return target.mac + source.mac + b"\x08\x00" + ipv4(source, target, len(segment_bytes)) + segment_bytes


def tcp(source: End, target: End, flags: int, payload: bytes) -> bytes:
    """A TCP header with the options of a Linux host, and the payload after it; its clock counts packets."""
    stamps = struct.pack(">BBII", 8, 10, source.packet_id, target.packet_id if flags & ACK else 0)
    options = b"\x02\x04\xff\xd7\x04\x02" + stamps + b"\x01\x03\x03\x0a" if flags & SYN else b"\x01\x01" + stamps
    ack = target.seq if flags & ACK else 0
    data_offset = (20 + len(options)) // 4 << 4
    head = struct.pack(">HHIIBBH", source.port, target.port, source.seq, ack, data_offset, flags, 512)
    pseudo = source.ip + target.ip + struct.pack(">HH", 6, 20 + len(options) + len(payload))
    body = options + payload
    return head + struct.pack(">HH", checksum(pseudo + head + body), 0) + body


def ipv4(source: End, target: End, payload_bytes: int) -> bytes:
    head = struct.pack(">BBHHHBB", 0x45, 0, 20 + payload_bytes, source.packet_id % 2**16, 0x4000, 64, 6)
    addresses = source.ip + target.ip
    return head + struct.pack(">H", checksum(head + addresses)) + addresses


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071): a one's complement sum is a remainder modulo 2**16 - 1."""
    return -int.from_bytes(data + b"\0" * (len(data) % 2)) % 0xFFFF
