"""From packets to TCP segments, and the counts of what is not TCP."""

from collections.abc import Iterable, Iterator
from functools import partial
from struct import Struct, error
from typing import NamedTuple, overload

from wiretool.capture.files.packet_counts import FRAGMENT as IP_FRAGMENT
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.packets import Packet, Tick
from wiretool.capture.tcp.fragments import Fragment, Fragments
from wiretool.capture.tcp.link_layer import LINKS, NotTcp

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
TCP = 6
#: Names of what else IP carries; the numbers are IANA's.
IP_PROTOCOLS = {1: "ICMP", 2: "IGMP", 17: "UDP", 47: "GRE", 50: "ESP", 58: "ICMPv6", 132: "SCTP"}
#: IPv6 headers that another header follows (RFC 8200 §4, RFC 4302).
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION = 0, 43, 44, 51, 60
EXTENSIONS = frozenset((HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION))
TCP_HEADER_BYTES_MIN = 20


class Segment(NamedTuple):
    """One TCP segment; `flow` is source address, destination address and both ports, as they are in the headers."""

    number: int
    time_ns: int
    flow: bytes
    seq: int
    ack: int
    flags: int
    payload: bytes
    #: Payload bytes that the snap length left out of the file.
    cut: int

    @property
    def src(self) -> bytes:
        return self.flow[: len(self.flow) // 2 - 2]

    @property
    def dst(self) -> bytes:
        return self.flow[len(self.flow) // 2 - 2 : -4]

    @property
    def sport(self) -> int:
        return int.from_bytes(self.flow[-4:-2], "big")

    @property
    def dport(self) -> int:
        return int.from_bytes(self.flow[-2:], "big")


_segment = partial(tuple.__new__, Segment)
#: IPv4 without options, and TCP: total length, fragment, protocol, flow, seq, ack, header length, flags.
_ipv4_tcp = Struct(">2xHxxHxBxx12sIIBB").unpack_from
#: IPv6 without extension headers, and TCP: payload length, next header, flow, seq, ack, header length, flags.
_ipv6_tcp = Struct(">4xHBx36sIIBB").unpack_from
IPV4_TCP_BYTES, IPV6_TCP_BYTES = 34, 54
#: Version and header length, total length, identification, fragment, protocol, both addresses.
_ipv4 = Struct(">BxHHHxBxx8s").unpack_from
#: Payload length, next header, both addresses.
_ipv6 = Struct(">4xHBx32s").unpack_from
_ipv6_fragment = Struct(">BxHI").unpack_from
_tcp = Struct(">4sIIBB").unpack_from


@overload
def read_segments(packets: Iterable[Packet], counts: PacketCounts | None = None) -> Iterator[Segment]: ...


@overload
def read_segments(packets: Iterable[Packet | Tick], counts: PacketCounts | None = None) -> Iterator[Segment | Tick]: ...


def read_segments(packets: Iterable[Packet | Tick], counts: PacketCounts | None = None) -> Iterator[Segment | Tick]:
    """Yield the TCP segments among the packets, and the ticks between them; `counts` counts the other packets."""
    counts = PacketCounts() if counts is None else counts
    fragments = Fragments()
    try:
        for packet in packets:
            if isinstance(packet, Tick):
                yield packet
                continue
            segment = segment_of(packet, fragments, counts)
            if segment is not None:
                yield segment
    finally:
        counts.count_lost_fragments(fragments.lost)


def segment_of(packet: Packet, fragments: Fragments, counts: PacketCounts) -> Segment | None:
    """The segment that this packet is or completes; None, and counted by its reason, where there is none."""
    counts.packets += 1
    try:
        segment = _segment_of(packet, fragments)
    except NotTcp as other:
        counts.others[str(other)] += 1
    except (error, IndexError):
        counts.others["headers cut short"] += 1
    else:
        counts.tcp += 1
        return segment
    return None


def _segment_of(packet: Packet, fragments: Fragments) -> Segment:
    """The segment that this packet is or completes; raises NotTcp, or struct's error or IndexError if it is cut."""
    number, time_ns, link_type, data, _ = packet
    link = LINKS.get(link_type)
    if link is None:
        raise NotTcp(f"of unsupported link type {link_type}")
    at = link(data)
    first = data[at]
    if first == 0x45 and len(data) >= at + IPV4_TCP_BYTES:
        total, fragment, protocol, flow, seq, ack, header, flags = _ipv4_tcp(data, at)
        start, end = at + 20 + (header >> 4) * 4, at + total
        is_plain = protocol == TCP and not fragment & 0x3FFF
    elif first >> 4 == 6 and len(data) >= at + IPV6_TCP_BYTES:
        total, protocol, flow, seq, ack, header, flags = _ipv6_tcp(data, at)
        start, end = at + 40 + (header >> 4) * 4, at + 40 + total
        is_plain = protocol == TCP
    else:
        return _any_segment(packet, at, fragments)
    if is_plain and header >= 0x50 and start <= end:
        payload = data[start:end]
        return _segment((number, time_ns, flow, seq, ack, flags, payload, end - start - len(payload)))
    return _any_segment(packet, at, fragments)


def _any_segment(packet: Packet, at: int, fragments: Fragments) -> Segment:
    """The segment of a packet that is not of the plainest form."""
    match packet.data[at] >> 4:
        case 4:
            return _segment_of_ipv4(packet, at, fragments)
        case 6:
            return _segment_of_ipv6(packet, at, fragments)
        case version:
            raise NotTcp(f"IP version {version}")


def _segment_of_ipv4(packet: Packet, at: int, fragments: Fragments) -> Segment:
    header, total, identification, fragment, protocol, addresses = _ipv4(packet.data, at)
    start = at + (header & 15) * 4
    if start < at + 20:
        raise NotTcp("damaged IP header")
    body, cut = _body(packet, start, at + total if total else packet.length)
    if fragment & 0x3FFF and protocol == TCP:
        offset, is_last = (fragment & 0x1FFF) * 8, not fragment & 0x2000
        key = (addresses, identification)
        protocol, body = _joined(Fragment(key, packet.time_ns, protocol, offset, is_last, body), cut, fragments)
        cut = 0
    return _segment_of_tcp(packet, addresses, protocol, body, cut)


def _segment_of_ipv6(packet: Packet, at: int, fragments: Fragments) -> Segment:
    """A payload length of 0 is that of a jumbogram (RFC 2675), whose length is the packet's."""
    total, protocol, addresses = _ipv6(packet.data, at)
    body, cut = _body(packet, at + 40, at + 40 + total if total else packet.length)
    while protocol in EXTENSIONS:
        if protocol == FRAGMENT:
            protocol, body, cut = _defragmented(packet, addresses, body, cut, fragments)
        else:
            size = (body[1] + 2) * 4 if protocol == AUTHENTICATION else (body[1] + 1) * 8
            protocol, body = body[0], body[size:]
    return _segment_of_tcp(packet, addresses, protocol, body, cut)


def _body(packet: Packet, start: int, end: int) -> tuple[bytes, int]:
    """What IP carries, and how many bytes of it the file does not have."""
    if end < start:
        raise NotTcp("damaged IP header")
    body = packet.data[start:end]
    return body, end - start - len(body)


def _defragmented(
    packet: Packet, addresses: bytes, body: bytes, cut: int, fragments: Fragments
) -> tuple[int, bytes, int]:
    protocol, position, identification = _ipv6_fragment(body)
    if not position & 0xFFF9:
        return protocol, body[8:], cut
    if protocol != TCP and protocol not in EXTENSIONS:
        raise NotTcp(_name(protocol))
    piece = Fragment(
        (addresses, identification), packet.time_ns, protocol, position & 0xFFF8, not position & 1, body[8:]
    )
    return *_joined(piece, cut, fragments), 0


def _joined(fragment: Fragment, cut: int, fragments: Fragments) -> tuple[int, bytes]:
    if cut:
        raise NotTcp("IP fragment cut short")
    whole = fragments.add(fragment)
    if whole is None:
        raise NotTcp(IP_FRAGMENT)
    return whole


def _segment_of_tcp(packet: Packet, addresses: bytes, protocol: int, body: bytes, cut: int) -> Segment:
    if protocol != TCP:
        raise NotTcp(_name(protocol))
    ports, seq, ack, header, flags = _tcp(body)
    start, end = (header >> 4) * 4, len(body) + cut
    if start < TCP_HEADER_BYTES_MIN or start > end:
        raise NotTcp("damaged TCP header")
    payload = body[start:]
    return _segment(
        (packet.number, packet.time_ns, addresses + ports, seq, ack, flags, payload, end - start - len(payload))
    )


def _name(protocol: int) -> str:
    return IP_PROTOCOLS.get(protocol, f"IP protocol {protocol}")
