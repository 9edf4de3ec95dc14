"""What two copies of one packet have in common, wherever they were seen, and one that was sent again has not.

On its way a packet gets other MACs, tags, hop counts and checksums. When its bytes are sent again the sender gives them
another IPv4 identification, and another TCP timestamp (RFC 7323 §3).
"""

import numpy as np
from numpy.typing import NDArray

from wiretool.capture.columns.segments import IPV4_BYTES, IPV6_BYTES, SegmentTable, ip_starts
from wiretool.capture.files.tables import PacketTable
from wiretool.capture.tcp.link_layer import LINKS
from wiretool.capture.tcp.segments_of_packets import AUTHENTICATION, EXTENSIONS, FRAGMENT, TCP, TCP_HEADER_BYTES_MIN
from wiretool.codec.columns import Integers, gathered

Marks = NDArray[np.uint64]
#: What of the headers is read here, as arrays: of IP from its begin, and of TCP from HEADER_AT on. That of IPv6 has its
#: next header where the upper half of `fragment` stands.
IP_HEAD = np.dtype(
    {"names": ["first", "identification", "fragment"], "formats": ["u1", ">u2", ">u2"], "offsets": [0, 4, 6]}
)
TCP_HEAD = np.dtype(
    {
        "names": ["header", "window", "option", "stamps"],
        "formats": ["u1", ">u2", ">u4", ">i8"],
        "offsets": [0, 2, 8, 12],
    }
)
HEADER_AT, WINDOW_AT, WINDOW_END, STAMPS_END = 12, 14, 16, 32
#: How nearly every host writes the timestamp option: behind two bytes of padding, before all others (RFC 7323 A).
USUAL_OPTION = 0x0101080A
TIMESTAMP, TIMESTAMP_BYTES = 8, 10
_NO_OPERATION = 1
#: Odd multipliers (the first digits of square roots of primes).
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xCBBB9D5DC1059ED9)


def marks_of(packets: PacketTable, segments: SegmentTable) -> Marks:
    """A mark for each of the segments that the packets gave.

    It is mixed of IP identification, sequence and acknowledgement number, flags, window, length and TCP timestamps. Of
    a segment put together of IP fragments it is without window and timestamps.
    """
    identifications, windows, stamps = _told(packets, segments.numbers - packets.first_number)
    numbers = segments.seqs << 32 | segments.acks
    sizes = segments.lengths + segments.cuts & 0xFFFF_FFFF
    return _mixed(numbers, stamps, identifications << 48 | windows << 32 | sizes, segments.flags)


def _mixed(*words: Integers) -> Marks:
    mixed = np.zeros(len(words[0]), np.uint64)
    for word in words:
        mixed = (mixed ^ word.view(np.uint64)) * _FIRST
        mixed = (mixed ^ mixed >> np.uint64(32)) * _SECOND
    return mixed ^ mixed >> np.uint64(29)


def _told(packets: PacketTable, rows: Integers) -> tuple[Integers, Integers, Integers]:
    """IP identification, window and timestamps of packets; the last are two numbers in one."""
    data, ends = packets.data, packets.starts[rows] + packets.lengths[rows]
    ip = ip_starts(packets)[rows]
    heads = gathered(data, ip, IP_HEAD)
    is_ipv4 = (heads["first"] == 0x45) & (heads["fragment"] & 0x3FFF == 0)
    is_ipv6 = (heads["first"] >> 4 == 6) & (heads["fragment"] >> 8 == TCP)
    tcp = ip + np.where(is_ipv4, IPV4_BYTES, IPV6_BYTES)
    is_plain = (ip >= 0) & (is_ipv4 | is_ipv6) & (tcp + WINDOW_END <= ends) & (tcp + STAMPS_END <= len(data))
    told = gathered(data, np.where(is_plain, tcp + HEADER_AT, 0), TCP_HEAD)
    identifications = np.where(is_ipv4, heads["identification"], 0).astype(np.int64)
    windows, stamps = told["window"].astype(np.int64), _stamps(data, told, np.where(is_plain, tcp, -1), ends)
    for at in np.flatnonzero(~is_plain).tolist():
        packet = packets.packet(int(rows[at]))
        identifications[at], windows[at], stamps[at] = _of_packet(packet.data, packet.link_type)
    return identifications, windows, stamps


def _stamps(data: bytes, told: NDArray[np.void], tcp: Integers, ends: Integers) -> Integers:
    """The timestamps of segments whose TCP header begins at a known place; 0 without any."""
    stamps = np.zeros(len(tcp), np.int64)
    stops = np.minimum(tcp + (told["header"] >> 4).astype(np.int64) * 4, ends)
    has_any = (tcp >= 0) & (stops - tcp >= TCP_HEADER_BYTES_MIN + TIMESTAMP_BYTES)
    is_usual = has_any & (stops - tcp >= STAMPS_END) & (told["option"] == USUAL_OPTION)
    stamps[is_usual] = told["stamps"][is_usual]
    for at in np.flatnonzero(has_any & ~is_usual).tolist():
        stamps[at] = _timestamp(data[tcp[at] + TCP_HEADER_BYTES_MIN : stops[at]])
    return stamps


def _timestamp(options: bytes) -> int:
    """The timestamps among TCP options, as a signed number; 0 without any."""
    at = 0
    while at + TIMESTAMP_BYTES <= len(options):
        kind, size = options[at], options[at + 1]
        if kind == TIMESTAMP and size == TIMESTAMP_BYTES:
            return int.from_bytes(options[at + 2 : at + TIMESTAMP_BYTES], signed=True)
        if kind == 0 or (kind != _NO_OPERATION and size < 2):
            break
        at += 1 if kind == _NO_OPERATION else size
    return 0


def _of_packet(data: bytes, link_type: int) -> tuple[int, int, int]:
    """As `_told`, of one packet of any form that gave a segment; what is cut off counts as 0."""
    identification, tcp = tcp_start(data, link_type)
    return (identification, 0, 0) if tcp < 0 else (identification, *_of_tcp(data, tcp))


def tcp_start(data: bytes, link_type: int) -> tuple[int, int]:
    """The IP identification of a packet that gave a segment, and where its TCP header begins: -1 in a fragment."""
    at = LINKS[link_type](data)
    if data[at] >> 4 == 4:
        identification, fragment = _number(data, at + 4, 2), _number(data, at + 6, 2)
        return identification, -1 if fragment & 0x3FFF else at + (data[at] & 15) * 4
    protocol, at = data[at + 6], at + IPV6_BYTES
    while protocol in EXTENSIONS:
        if protocol == FRAGMENT and _number(data, at + 2, 2) & 0xFFF9:
            return _number(data, at + 6, 2), -1
        size = (data[at + 1] + 2) * 4 if protocol == AUTHENTICATION else (data[at + 1] + 1) * 8
        protocol, at = data[at], at + (8 if protocol == FRAGMENT else size)
    return 0, at


def _of_tcp(data: bytes, at: int) -> tuple[int, int]:
    options = data[at + TCP_HEADER_BYTES_MIN : at + header_bytes(data, at)]
    return _number(data, at + WINDOW_AT, 2), _timestamp(options)


def header_bytes(data: bytes, at: int) -> int:
    """The length of the TCP header that begins there."""
    return (data[at + HEADER_AT] >> 4) * 4


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size])
