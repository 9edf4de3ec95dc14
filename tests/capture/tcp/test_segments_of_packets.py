from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.captures import CLIENT, SERVER, ethernet, ip, packets_of, tcp, tcp_packets
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.packets import Packet
from wiretool.capture.tcp.link_layer import LINKS
from wiretool.capture.tcp.segments_of_packets import ACK, Segment, read_segments

CLIENT_6, SERVER_6 = ("::1", 40000), ("2001:db8::2", 8080)
V4 = tcp(CLIENT, SERVER, 7, 9, ACK, b"payload")
V6 = tcp(CLIENT_6, SERVER_6, 7, 9, ACK, b"payload")


def one(frame: bytes, link_type: int = 1) -> Segment:
    (segment,) = read_segments(packets_of([frame], link_type=link_type))
    return segment


def reasons(*frames: bytes, link_type: int = 1) -> dict[str, int]:
    """What is told of packets that give no segment."""
    counts = PacketCounts()
    assert list(read_segments(packets_of(frames, link_type=link_type), counts)) == []
    assert (counts.packets, counts.tcp) == (len(frames), 0)
    return +counts.others


def test_a_segment_has_what_the_headers_say() -> None:
    segment = one(ethernet(V4))
    assert (segment.seq, segment.ack, segment.flags, segment.payload, segment.cut) == (7, 9, ACK, b"payload", 0)
    assert (segment.src, segment.sport) == (bytes([10, 0, 0, 1]), 40000)
    assert (segment.dst, segment.dport) == (bytes([10, 0, 0, 2]), 8080)


def test_a_segment_of_ipv6() -> None:
    segment = one(ethernet(V6))
    assert (segment.src, segment.sport, segment.dport) == (bytes(15) + b"\1", 40000, 8080)
    assert (segment.seq, segment.payload) == (7, b"payload")


@pytest.mark.parametrize("packet", [V4, V6])
def test_padding_is_no_payload(packet: bytes) -> None:
    assert one(ethernet(packet) + b"\xee" * 4).payload == b"payload"


def sll(packet: bytes) -> bytes:
    return bytes(14) + pack(">H", 0x0800 if packet == V4 else 0x86DD) + packet


def sll2(packet: bytes) -> bytes:
    return pack(">H", 0x0800 if packet == V4 else 0x86DD) + bytes(18) + packet


@pytest.mark.parametrize("packet", [V4, V6])
@pytest.mark.parametrize(
    ("link_type", "header"),
    [
        (1, lambda packet: ethernet(packet)),
        (1, lambda packet: ethernet(packet, 0x8100)),
        (1, lambda packet: ethernet(packet, 0x88A8, 0x8100)),
        (1, lambda packet: ethernet(packet, 0x9100, 0x8100, 0x8100)),
        (113, sll),
        (276, sll2),
        (276, lambda packet: pack(">H", 0x8100) + bytes(18) + ethernet(packet, 0x8100)[14:]),
        *((link_type, lambda packet: packet) for link_type in (12, 14, 101)),
    ],
)
def test_link_layers(link_type: int, header: object, packet: bytes) -> None:
    assert callable(header)
    assert one(header(packet), link_type).payload == b"payload"


@pytest.mark.parametrize(
    ("link_type", "frame"),
    [
        (0, b"\2\0\0\0" + V4),
        (0, b"\0\0\0\2" + V4),
        (0, b"\x1e\0\0\0" + V6),
        (0, b"\0\0\0\x0a" + V6),
        (108, b"\0\0\0\2" + V4),
        (108, b"\0\0\0\x18" + V6),
        (228, V4),
        (229, V6),
    ],
)
def test_link_layers_of_loopback_and_of_one_ip_version(link_type: int, frame: bytes) -> None:
    assert one(frame, link_type).payload == b"payload"


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (bytes(12) + b"\x08\x06" + bytes(46), "ARP"),
        (bytes(12) + b"\x00\x26" + bytes(46), "802.3"),
        (bytes(12) + b"\x12\x34" + bytes(46), "EtherType 0x1234"),
        (ethernet(ip("10.0.0.1", "10.0.0.2", 17, bytes(20))), "UDP"),
        (ethernet(ip("10.0.0.1", "10.0.0.2", 1, b"")), "ICMP"),
        (ethernet(ip("::1", "::1", 58, bytes(20))), "ICMPv6"),
        (ethernet(ip("::1", "::1", 200, bytes(20))), "IP protocol 200"),
        (ethernet(V4)[:13], "headers cut short"),
        (ethernet(V4)[:14], "headers cut short"),
        (ethernet(V4)[:30], "headers cut short"),
        (ethernet(V4)[:40], "headers cut short"),
        (ethernet(V6)[:60], "headers cut short"),
        (b"", "headers cut short"),
        (ethernet(b"\x44" + V4[1:]), "damaged IP header"),
        (ethernet(V4[:2] + b"\0\x05" + V4[4:]), "damaged IP header"),
        (ethernet(V4[:2] + b"\0\x25" + V4[4:]), "damaged TCP header"),
        (ethernet(V4[:32] + b"\x40" + V4[33:]), "damaged TCP header"),
        (bytes(12) + b"\x08\x00" + b"\x55" + bytes(60), "IP version 5"),
    ],
)
def test_what_is_no_tcp_segment_is_counted(frame: bytes, why: str) -> None:
    assert reasons(frame, frame) == {why: 2}


def test_other_links_are_counted() -> None:
    assert reasons(V4, link_type=147) == {"of unsupported link type 147": 1}
    assert reasons(b"\x09\0\0\0" + V4, link_type=0) == {"address family 9": 1}


def test_segments_are_counted() -> None:
    counts = PacketCounts()
    assert len(list(read_segments(tcp_packets([("client", b"x")]), counts))) == counts.tcp == counts.packets == 8


def test_ipv4_options() -> None:
    packet = b"\x46" + V4[1:2] + pack(">H", len(V4) + 4) + V4[4:20] + b"\1\1\1\0" + V4[20:]
    assert one(ethernet(packet)).payload == b"payload"


def test_a_length_of_zero_means_the_packet_was_too_long_to_tell() -> None:
    big = tcp(CLIENT, SERVER, 7, 9, ACK, b"z" * 40_000)
    assert len(one(ethernet(big[:2] + b"\0\0" + big[4:])).payload) == 40_000
    big = tcp(CLIENT_6, SERVER_6, 7, 9, ACK, b"z" * 40_000)
    assert len(one(ethernet(big[:4] + b"\0\0" + big[6:])).payload) == 40_000


def extended(*headers: tuple[int, bytes]) -> bytes:
    """V6 with extension headers: the number of each, and its bytes without the next number."""
    numbers = [number for number, _ in headers] + [6]
    chain = b"".join(bytes([after]) + body for after, (_, body) in zip(numbers[1:], headers, strict=True))
    return ip("::1", "2001:db8::2", numbers[0], chain + V6[40:])


@pytest.mark.parametrize(
    "headers",
    [
        [(0, b"\0" + bytes(6))],
        [(0, b"\1" + bytes(14)), (43, b"\0" + bytes(6)), (60, b"\0" + bytes(6))],
        [(51, b"\4" + bytes(22))],
        [(44, bytes(7))],
    ],
)
def test_ipv6_extension_headers(headers: list[tuple[int, bytes]]) -> None:
    segment = one(ethernet(extended(*headers)))
    assert (segment.sport, segment.payload) == (40000, b"payload")


def test_ipv6_extension_headers_cut_short() -> None:
    assert reasons(ethernet(extended((0, b"\0" + bytes(6))))[:55]) == {"headers cut short": 1}


@pytest.mark.parametrize("packet", [V4, V6])
@given(keep=st.integers(0, 7))
def test_what_the_snap_length_cut_is_told(packet: bytes, keep: int) -> None:
    frame = ethernet(packet)
    whole = frame.index(b"payload")
    (segment,) = read_segments([Packet(1, 0, 1, frame[: whole + keep], len(frame))])
    assert (segment.payload, segment.cut) == (b"payload"[:keep], 7 - keep)


def test_a_cut_inside_the_tcp_options_is_told() -> None:
    (segment,) = read_segments([Packet(1, 0, 1, ethernet(V4)[:56], 73)])
    assert (segment.payload, segment.cut) == (b"", 7)


LONG = tcp(CLIENT, SERVER, 7, 9, ACK, bytes(range(200)))
LONG_6 = tcp(CLIENT_6, SERVER_6, 7, 9, ACK, bytes(range(200)))


def fragments_4(size: int, identification: int = 7) -> list[bytes]:
    """LONG in IPv4 fragments of `size` bytes."""
    body = LONG[20:]
    return [
        ethernet(
            ip(
                "10.0.0.1",
                "10.0.0.2",
                6,
                body[at : at + size],
                fragment=at // 8 | (0x2000 if at + size < len(body) else 0),
                identification=identification,
            )
        )
        for at in range(0, len(body), size)
    ]


def fragments_6(size: int) -> list[bytes]:
    body = LONG_6[40:]
    return [
        ethernet(
            ip("::1", "2001:db8::2", 44, pack(">BxHI", 6, at | (at + size < len(body)), 99) + body[at : at + size])
        )
        for at in range(0, len(body), size)
    ]


@given(st.sampled_from([8, 16, 64, 128]), st.sampled_from([fragments_4, fragments_6]), st.randoms())
def test_fragments_in_any_order_and_twice(size: int, cut: object, random: object) -> None:
    assert callable(cut)
    frames = cut(size)
    frames += frames[: len(frames) // 2]
    random.shuffle(frames)  # type: ignore[attr-defined]
    segments = list(read_segments(packets_of(frames)))
    assert segments
    assert {segment.payload for segment in segments} == {bytes(range(200))}


def test_fragments_of_a_whole_datagram_are_counted() -> None:
    counts = PacketCounts()
    assert len(list(read_segments(packets_of(fragments_4(64)), counts))) == 1
    assert (counts.tcp, +counts.others) == (1, {"IP fragment": len(fragments_4(64)) - 1})


def test_fragments_without_the_rest_are_counted() -> None:
    assert reasons(*fragments_4(64)[1:]) == {"IP fragment of an incomplete datagram": 3}


def test_a_fragment_that_the_snap_length_cut() -> None:
    counts = PacketCounts()
    assert list(read_segments([Packet(1, 0, 1, fragments_4(64)[0][:70], 98)], counts)) == []
    assert counts.others == {"IP fragment cut short": 1}


def test_a_fragment_of_something_else() -> None:
    assert reasons(ethernet(ip("10.0.0.1", "10.0.0.2", 17, bytes(64), fragment=0x2000))) == {"UDP": 1}
    assert reasons(ethernet(ip("::1", "::1", 44, pack(">BxHI", 17, 1, 9) + bytes(64)))) == {"UDP": 1}


@given(st.sampled_from(sorted(LINKS)), st.sampled_from([ethernet(V4), ethernet(V6), V4, V6, LONG]), st.data())
def test_any_bytes_give_a_segment_or_a_reason(link_type: int, frame: bytes, data: st.DataObject) -> None:
    raw = bytearray(frame[: data.draw(st.integers(0, len(frame)))])
    for at in data.draw(st.lists(st.integers(0, max(len(raw) - 1, 0)), max_size=6)):
        raw[at : at + 1] = data.draw(st.binary(min_size=1, max_size=1))
    counts = PacketCounts()
    segments = list(read_segments(packets_of([bytes(raw)], link_type=link_type), counts))
    assert len(segments) + counts.others.total() == 1
