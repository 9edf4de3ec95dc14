"""Headers of packets as arrays: the same as the segments that are read of them, and right where there are none."""

from contextlib import suppress
from pathlib import Path
from struct import pack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.captures import ETHERNET, ethernet, ip, packets_of, tcp, tcp_packets
from tests.helpers.truth import Truth
from wiretool.capture.columns.header_columns import NONE, Heads, heads_of
from wiretool.capture.columns.segments import read_segment_tables
from wiretool.capture.files.tables import PacketTable, tables_of
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp.segments_of_packets import ACK, SYN
from wiretool.errors import CaptureError

ONE, OTHER = ("10.0.0.1", 40000), ("10.0.0.2", 8080)
ONE_6, OTHER_6 = ("fd00::1", 40000), ("fd00::2", 8080)
BARE = 101


def heads(*frames: bytes, link_type: int = ETHERNET) -> Heads:
    (table,) = tables_of(packets_of(frames, link_type=link_type))
    return heads_of(table)


def rows_of(heads: Heads) -> list[tuple[object, ...]]:
    """A packet's version, protocol, endpoints, seq, ack, flags and length of payload; None where it has none."""
    ends = []
    for (codes, texts), ports in ((heads.sources(), heads.source_ports), (heads.targets(), heads.target_ports)):
        ends.append([(None if code == NONE else texts[code]) for code in codes.tolist()])
        ends.append([None if port == NONE else port for port in ports.tolist()])
    others = (heads.versions, heads.protocols, heads.seqs, heads.acks, heads.flags, heads.payload_lengths)
    columns = [[None if value == NONE else value for value in column.tolist()] for column in others]
    return list(zip(*columns[:2], *ends, *columns[2:], strict=True))


def udp(source: int, target: int, payload: bytes) -> bytes:
    return pack(">4H", source, target, 8 + len(payload), 0) + payload


def tables_up_to_damage(path: Path) -> list[PacketTable]:
    found: list[PacketTable] = []
    with suppress(CaptureError):
        found.extend(read_packet_tables([path]))
    return found


def test_they_say_what_the_segments_say(own_capture: tuple[Path, Truth | None]) -> None:
    tables = tables_up_to_damage(own_capture[0])
    for table, segments in zip(tables, read_segment_tables(tables), strict=True):
        found = heads_of(table)
        rows = segments.numbers - table.first_number
        # A datagram that was put together of fragments says more than its last one.
        rows, own = rows[found.seqs[rows] >= 0], np.flatnonzero(found.seqs[rows] >= 0)
        assert len(own) >= 0.99 * len(segments)
        assert (found.seqs[rows] == segments.seqs[own]).all()
        assert (found.acks[rows] == segments.acks[own]).all()
        assert (found.flags[rows] == segments.flags[own]).all()
        assert (found.payload_lengths[rows] == (segments.lengths + segments.cuts)[own]).all()
        for row, at in zip(rows.tolist()[:50], own.tolist()[:50], strict=True):
            segment = segments.segment(at)
            assert (found.source_ports[row], found.target_ports[row]) == (segment.sport, segment.dport)
        assert (found.seqs >= 0).sum() == len(own)  # and no other packet has any


def test_tcp_of_both_versions() -> None:
    found = heads(ethernet(tcp(ONE, OTHER, 7, 8, ACK, b"abc")), ethernet(tcp(ONE_6, OTHER_6, 9, 0, SYN)))
    assert rows_of(found) == [
        (4, 6, "10.0.0.1", 40000, "10.0.0.2", 8080, 7, 8, ACK, 3),
        (6, 6, "fd00::1", 40000, "fd00::2", 8080, 9, 0, SYN, 0),
    ]


def test_udp_has_ports_and_a_payload() -> None:
    found = heads(ethernet(ip("10.0.0.1", "10.0.0.2", 17, udp(53, 5353, b"abcd"))))
    assert rows_of(found) == [(4, 17, "10.0.0.1", 53, "10.0.0.2", 5353, None, None, None, 4)]


def test_what_has_no_ports() -> None:
    found = heads(ethernet(ip("10.0.0.1", "10.0.0.2", 1, bytes(8))), ethernet(ip("fd00::1", "fd00::2", 58, bytes(8))))
    nothing = (None,) * 4
    assert rows_of(found) == [
        (4, 1, "10.0.0.1", None, "10.0.0.2", None, *nothing),
        (6, 58, "fd00::1", None, "fd00::2", None, *nothing),
    ]


def test_what_is_no_ip() -> None:
    arp = bytes(12) + pack(">H", 0x0806) + bytes(28)
    assert rows_of(heads(arp, b"", bytes(13), ethernet(b"\x55" + bytes(30)))) == [(None,) * 10] * 4


def test_behind_vlan_tags_and_on_other_links() -> None:
    packet = tcp(ONE, OTHER, 7, 8, ACK, b"abc")
    wanted = rows_of(heads(ethernet(packet)))
    assert rows_of(heads(ethernet(packet, 0x8100, 0x88A8))) == wanted
    assert rows_of(heads(packet, link_type=BARE)) == wanted
    assert rows_of(heads(bytes([2, 0, 0, 0]) + packet, link_type=0)) == wanted
    assert rows_of(heads(packet, link_type=147)) == [(None,) * 10]


def test_a_first_fragment_has_ports_and_a_later_one_has_not() -> None:
    body = tcp(ONE, OTHER, 7, 8, ACK, bytes(44))[20:]
    first = ip("10.0.0.1", "10.0.0.2", 6, body[:40], fragment=0x2000)
    later = ip("10.0.0.1", "10.0.0.2", 6, body[40:], fragment=5)
    assert rows_of(heads(ethernet(first), ethernet(later))) == [
        (4, 6, "10.0.0.1", 40000, "10.0.0.2", 8080, 7, 8, ACK, 8),
        (4, 6, "10.0.0.1", None, "10.0.0.2", None, None, None, None, None),
    ]


def test_behind_extension_headers() -> None:
    segment = tcp(ONE_6, OTHER_6, 7, 8, ACK, b"abc")[40:]
    options = pack(">BB6x", 60, 0) + pack(">BB14x", 6, 1)
    whole = heads(ethernet(ip("fd00::1", "fd00::2", 0, options + segment)))
    assert rows_of(whole) == [(6, 6, "fd00::1", 40000, "fd00::2", 8080, 7, 8, ACK, 3)]
    later = pack(">BBHI", 6, 0, 8, 1)
    cut = heads(ethernet(ip("fd00::1", "fd00::2", 44, later + segment)), ethernet(ip("fd00::1", "fd00::2", 0, b"\x06")))
    assert [row[:2] + row[3:] for row in rows_of(cut)] == [
        (6, 6, None, "fd00::2", None, None, None, None, None),
        (6, 0, None, "fd00::2", None, None, None, None, None),
    ]


@given(st.lists(st.binary(max_size=80), max_size=8), st.sampled_from([0, 1, 12, 101, 113, 228, 276]))
def test_any_bytes_are_read(frames: list[bytes], link_type: int) -> None:
    for table in tables_of(packets_of(frames, link_type=link_type)):
        assert len(rows_of(heads_of(table))) == len(frames)


@given(st.data())
def test_a_cut_packet_says_nothing_that_the_whole_one_does_not(data: st.DataObject) -> None:
    frame = ethernet(tcp(*data.draw(st.sampled_from([(ONE, OTHER), (ONE_6, OTHER_6)])), 7, 8, ACK, b"abcdef"))
    cut = data.draw(st.integers(0, len(frame)))
    (packet,) = packets_of([frame])
    (table,) = tables_of([packet._replace(data=frame[:cut])])
    for found, whole in zip(rows_of(heads_of(table))[0], rows_of(heads(frame))[0], strict=True):
        assert found in (None, whole)


@pytest.mark.parametrize("length", [0, 20])
def test_lengths_that_ip_says(length: int) -> None:
    """A total length of 0 is that of the packet; one without room for a TCP header has none."""
    packet = bytearray(tcp(ONE, OTHER, 7, 8, ACK, b"abc" * 20))
    packet[2:4] = length.to_bytes(2, "big")
    (row,) = rows_of(heads(ethernet(bytes(packet))))
    assert row[6:] == ((7, 8, ACK, 60) if length == 0 else (None,) * 4)


def test_a_conversation_has_all_of_it() -> None:
    (table,) = tables_of(tcp_packets([("client", b"abc"), ("server", b"defg")]))
    assert int(heads_of(table).payload_lengths.sum()) == 7
