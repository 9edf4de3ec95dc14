"""What the IP, TCP and UDP headers of each packet say by themselves, as arrays: no packet needs another one."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from struct import error

import numpy as np

from wiretool.capture.columns.segments import IPV4_BYTES, IPV6_BYTES, ip_starts
from wiretool.capture.files.tables import PacketTable
from wiretool.capture.tcp.link_layer import LINKS, NotTcp
from wiretool.capture.tcp.segments_of_packets import AUTHENTICATION, EXTENSIONS, FRAGMENT, TCP, TCP_HEADER_BYTES_MIN
from wiretool.codec.columns import Flags, Integers, gathered

UDP, UDP_BYTES = 17, 8
#: What has the ports of its source and target in front: TCP, UDP, DCCP, SCTP and UDP-Lite (IANA's numbers).
WITH_PORTS = (TCP, UDP, 33, 132, 136)
PORTS_BYTES = 4
#: As much of a TCP header as is read here; all of it need not have been captured.
TCP_BYTES_READ = 14
#: What a packet has not got.
NONE = -1


@dataclass(frozen=True, slots=True)
class Heads:
    """Columns of the packets of a table, each `NONE` where a packet has none of it.

    A packet has no IP at all where not the whole IP header was captured. A fragment that is not the first one of its
    datagram has no ports. `payload_lengths` are of TCP or UDP, as it was on the wire.
    """

    table: PacketTable
    #: Where the IP header begins.
    at: Integers
    versions: Integers
    protocols: Integers
    source_ports: Integers
    target_ports: Integers
    seqs: Integers
    acks: Integers
    flags: Integers
    payload_lengths: Integers

    def sources(self) -> tuple[Integers, Sequence[str]]:
        """Each different address as text, and which of them each packet came from."""
        return self._addresses(12, 8)

    def targets(self) -> tuple[Integers, Sequence[str]]:
        """Each different address as text, and which of them each packet went to."""
        return self._addresses(16, 24)

    def _addresses(self, at_ipv4: int, at_ipv6: int) -> tuple[Integers, Sequence[str]]:
        codes, texts = np.full(len(self.at), NONE, np.int64), list[str]()
        for version, at, kind in ((4, at_ipv4, "V4"), (6, at_ipv6, "V16")):
            rows = np.flatnonzero(self.versions == version)
            different, of_row = np.unique(gathered(self.table.data, self.at[rows] + at, kind), return_inverse=True)
            codes[rows] = of_row + len(texts)
            texts += [str(ip_address(raw.tobytes())) for raw in different]
        return codes, texts


def heads_of(table: PacketTable) -> Heads:
    """What the headers of each packet say."""
    at = _all_ip_starts(table)
    versions = _versions(table, at)
    bodies = _Bodies(table, at, versions)
    ports = _ports(table, bodies)
    return Heads(table, at, versions, bodies.protocols, *ports, *_transport(table, bodies))


def _all_ip_starts(table: PacketTable) -> Integers:
    """Where IP begins in each packet, whatever its link layer."""
    at = ip_starts(table)
    for row in np.flatnonzero(at < 0).tolist():
        packet = table.packet(row)
        link = LINKS.get(packet.link_type)
        try:
            at[row] = NONE if link is None else int(table.starts[row]) + link(packet.data)
        except (NotTcp, error, IndexError):
            continue
    return at


def _versions(table: PacketTable, at: Integers) -> Integers:
    """4 or 6 where the whole of such a header was captured."""
    left = np.where(at >= 0, table.starts + table.lengths - at, 0)
    first = gathered(table.data, np.maximum(at, 0), "u1").astype(np.int64) >> 4
    is_there = ((first == 4) & (left >= IPV4_BYTES)) | ((first == 6) & (left >= IPV6_BYTES))
    return np.where(is_there, first, NONE)


class _Bodies:
    """What IP carries in each packet: of which protocol, from where and to where on the wire."""

    def __init__(self, table: PacketTable, at: Integers, versions: Integers) -> None:
        self.protocols, self.starts, self.ends = (np.full(len(at), NONE, np.int64) for _ in range(3))
        #: Where the captured bytes end.
        self.captured = table.starts + table.lengths
        self._take_ipv4(table, at, np.flatnonzero(versions == 4))
        self._take_ipv6(table, at, np.flatnonzero(versions == 6))
        self.starts[self.ends < self.starts] = NONE

    def _take_ipv4(self, table: PacketTable, at: Integers, rows: Integers) -> None:
        at = at[rows]
        total = gathered(table.data, at + 2, ">u2").astype(np.int64)
        is_later = (gathered(table.data, at + 6, ">u2") & 0x1FFF) != 0
        header = (gathered(table.data, at, "u1").astype(np.int64) & 15) * 4
        self.protocols[rows] = gathered(table.data, at + 9, "u1")
        self.starts[rows] = np.where(is_later | (header < IPV4_BYTES), NONE, at + header)
        self._end(table, rows, total, at)

    def _take_ipv6(self, table: PacketTable, at: Integers, rows: Integers) -> None:
        at = at[rows]
        total = gathered(table.data, at + 4, ">u2").astype(np.int64)
        self.protocols[rows] = gathered(table.data, at + 6, "u1")
        self.starts[rows] = at + IPV6_BYTES
        self._end(table, rows, total, at + IPV6_BYTES)
        for row in rows[np.isin(self.protocols[rows], list(EXTENSIONS))].tolist():
            end = min(int(self.ends[row]), int(self.captured[row]))
            found = _behind_extensions(table.data, int(self.starts[row]), end, int(self.protocols[row]))
            self.protocols[row], self.starts[row] = found

    def _end(self, table: PacketTable, rows: Integers, total: Integers, counted_from: Integers) -> None:
        """A length of 0 is that of the packet: the network card cut it up later, or it is a jumbogram (RFC 2675)."""
        whole = (table.starts + table.wire_lengths)[rows]
        self.ends[rows] = np.where(total > 0, counted_from + total, whole)

    def has(self, rows: Integers, size: int) -> Flags:
        """Whether so many bytes of it were captured."""
        starts, ends = self.starts[rows], np.minimum(self.ends, self.captured)[rows]
        is_there: Flags = (starts >= 0) & (starts + size <= ends)
        return is_there


def _behind_extensions(data: bytes, at: int, end: int, protocol: int) -> tuple[int, int]:
    """The protocol behind the extension headers of IPv6, and where it begins; NONE where they are cut short."""
    while protocol in EXTENSIONS:
        if at + 8 > end:
            return protocol, NONE
        if protocol == FRAGMENT:
            if int.from_bytes(data[at + 2 : at + 4], "big") & 0xFFF8:
                return data[at], NONE
            size = 8
        else:
            size = (data[at + 1] + 2) * 4 if protocol == AUTHENTICATION else (data[at + 1] + 1) * 8
        protocol, at = data[at], at + size
    return protocol, at


def _ports(table: PacketTable, bodies: _Bodies) -> tuple[Integers, Integers]:
    ports = np.full((2, len(bodies.starts)), NONE, np.int64)
    rows = np.flatnonzero(np.isin(bodies.protocols, WITH_PORTS))
    rows = rows[bodies.has(rows, PORTS_BYTES)]
    ports[0, rows] = gathered(table.data, bodies.starts[rows], ">u2")
    ports[1, rows] = gathered(table.data, bodies.starts[rows] + 2, ">u2")
    return ports[0], ports[1]


def _transport(table: PacketTable, bodies: _Bodies) -> Sequence[Integers]:
    """Of TCP seq, ack and flags, and of TCP and UDP the length of the payload."""
    seqs, acks, flags, lengths = (np.full(len(bodies.starts), NONE, np.int64) for _ in range(4))
    rows = np.flatnonzero(bodies.protocols == TCP)
    rows = rows[bodies.has(rows, TCP_BYTES_READ)]
    start = bodies.starts[rows]
    header = (gathered(table.data, start + 12, "u1").astype(np.int64) >> 4) * 4
    is_sound = (header >= TCP_HEADER_BYTES_MIN) & (start + header <= bodies.ends[rows])
    rows, start, header = rows[is_sound], start[is_sound], header[is_sound]
    seqs[rows] = gathered(table.data, start + 4, ">u4")
    acks[rows] = gathered(table.data, start + 8, ">u4")
    flags[rows] = gathered(table.data, start + 13, "u1")
    lengths[rows] = bodies.ends[rows] - start - header
    rows = np.flatnonzero(bodies.protocols == UDP)
    rows = rows[bodies.has(rows, PORTS_BYTES)]
    lengths[rows] = np.maximum(bodies.ends[rows] - bodies.starts[rows] - UDP_BYTES, 0)
    return seqs, acks, flags, lengths
