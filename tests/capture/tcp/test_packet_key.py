"""Two copies of a packet have one mark, and a packet that was sent again has another one."""

from io import BytesIO
from struct import pack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dissect.columns.made import HARMS, Spoken, packets_made
from tests.helpers.captures import ethernet, ip, packets_of, pcap_bytes
from wiretool.capture.columns.segments import read_segment_tables
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp import packet_key as marks_module
from wiretool.capture.tcp.packet_key import _of_packet, _timestamp, marks_of

V4, V6 = ("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")
STAMPS = pack(">BBBBII", 1, 1, 8, 10, 77, 88)
SACK = pack(">BBBBII", 1, 1, 5, 10, 1, 2)
SYN_OPTIONS = b"\x02\x04\x05\xb4\x04\x02" + STAMPS[2:] + b"\x01\x03\x03\x0a"


def tcp(
    options: bytes = STAMPS, payload: bytes = b"abc", *, seq: int = 1, ack: int = 2, flags: int = 16, window: int = 9
) -> bytes:
    """A TCP segment without its IP header."""
    size = (20 + len(options)) // 4 << 4
    return pack(">HHIIBBHHH", 1000, 2000, seq, ack, size, flags, window, 0, 0) + options + payload


def packet(body: bytes, ends: tuple[str, str] = V4, identification: int = 7) -> bytes:
    return ethernet(ip(*ends, 6, body, identification=identification))


def marks(*frames: bytes, link_type: int = 1, snap: int = 262_144) -> list[int]:
    raw = pcap_bytes(packets_of(frames), link_type=link_type, snap=snap)
    tables, again = read_packet_tables([BytesIO(raw)]), read_packet_tables([BytesIO(raw)])
    found = [marks_of(*both).tolist() for both in zip(again, read_segment_tables(tables), strict=True)]
    return [mark for each in found for mark in each]


def on_its_way(frame: bytes) -> bytes:
    """The frame behind a router: other MACs, a hop less, another checksum."""
    is_ipv4 = frame[12:14] == b"\x08\x00"
    out = bytearray(b"\x02routeR\x04route"[:12] + frame[12:])
    if is_ipv4:
        out[14 + 8] -= 1
        out[14 + 10 : 14 + 12] = b"\x12\x34"
    else:
        out[14 + 7] -= 1
    return bytes(out)


@pytest.mark.parametrize("ends", [V4, V6])
@pytest.mark.parametrize("options", [STAMPS, b"", SACK, SYN_OPTIONS, STAMPS + SACK, SACK + STAMPS, b"\x01" * 12])
def test_copies_have_one_mark(ends: tuple[str, str], options: bytes) -> None:
    """With a tag, behind a router, without a link layer, and beside others."""
    frame = packet(tcp(options), ends)
    bare = frame[14:]
    size = 20 if ends == V4 else 40
    longer = b"\x46" + bare[1:20] + bytes(4) + bare[20:] if ends == V4 else b""
    copies = [frame, on_its_way(frame), frame[:12] + b"\x81\0\0\x07" + frame[12:], frame + bytes(40)]
    found = marks(*copies, packet(tcp(options, b"x" * 90), ends), *copies)
    assert len(set(found[:4] + found[5:])) == 1
    assert found[4] != found[0]
    assert marks(bare, bare + bytes(90), link_type=101) == [found[0]] * 2
    assert marks(frame, snap=14 + size + 20 + len(options)) == [found[0]]
    if longer:  # with an IP option
        total = pack(">H", len(ip(*ends, 6, tcp(options))) + 4)
        assert marks(longer[:2] + total + longer[4:], link_type=101) == [found[0]]


@pytest.mark.parametrize("options", [STAMPS, SYN_OPTIONS])
def test_what_is_sent_again_has_another_mark(options: bytes) -> None:
    later = options.replace(pack(">I", 77), pack(">I", 78))
    replied = options.replace(pack(">I", 88), pack(">I", 89))
    found = marks(
        packet(tcp(options)),
        packet(tcp(options), identification=8),
        packet(tcp(later)),
        packet(tcp(replied)),
        packet(tcp(options, seq=2)),
        packet(tcp(options, ack=1)),
        packet(tcp(options, flags=24)),
        packet(tcp(options, window=10)),
        packet(tcp(options, b"abcd")),
        packet(tcp(b"")),
    )
    assert len(set(found)) == 10
    assert len(set(marks(packet(tcp(options), V6), packet(tcp(later), V6)))) == 2


def test_a_datagram_in_pieces_has_the_mark_of_its_identification() -> None:
    body = tcp(payload=bytes(100))

    def pieces(identification: int) -> list[bytes]:
        return [
            ethernet(ip(*V4, 6, body[:48], fragment=0x2000, identification=identification)),
            ethernet(ip(*V4, 6, body[48:], fragment=6, identification=identification)),
        ]

    def pieces_of_ipv6(identification: int) -> list[bytes]:
        heads = [pack(">BBHI", 6, 0, place, identification) for place in (1, 48)]
        return [ethernet(ip(*V6, 44, head + part)) for head, part in zip(heads, (body[:48], body[48:]), strict=True)]

    for of in (pieces, pieces_of_ipv6):
        first, copy, other = marks(*of(1), *of(1), *of(2))
        assert first == copy != other
        assert marks(*reversed(of(1))) == [first]


@pytest.mark.parametrize("before", [b"\x06\x00" + bytes(6), b"\x06\x01" + bytes(14)])
def test_headers_before_tcp(before: bytes) -> None:
    plain = marks(packet(tcp(), V6))
    assert marks(ethernet(ip(*V6, 0, before + tcp()))) == plain
    assert marks(ethernet(ip(*V6, 51, b"\x06\x01" + bytes(10) + tcp()))) == plain
    assert marks(ethernet(ip(*V6, 44, b"\x06\x00\x00\x00" + bytes(4) + tcp()))) == plain


@given(st.frozensets(st.sampled_from(HARMS)), st.integers(0, 100))
def test_many_at_once_are_as_one_by_one(harms: frozenset[str], seed: int) -> None:
    """Snapped packets, too."""
    frames = packets_made([Spoken("pravega"), Spoken("foreign", ipv6=True)], harms, seed, 20)
    (packets,) = read_packet_tables([BytesIO(pcap_bytes(frames))])
    (segments,) = read_segment_tables([packets])
    every = [packets.packet(int(row)) for row in segments.numbers - packets.first_number]
    one_by_one = np.array([_of_packet(each.data, each.link_type) for each in every], np.int64).T
    told = marks_module._told(packets, segments.numbers - packets.first_number)
    assert [each.tolist() for each in told] == one_by_one.tolist()


@given(st.binary(max_size=40))
def test_any_options(options: bytes) -> None:
    assert isinstance(_timestamp(options), int)
    assert _timestamp(STAMPS + options) == (77 << 32) + 88


def test_a_packet_without_segments() -> None:
    assert marks(b"", bytes(60)) == []
