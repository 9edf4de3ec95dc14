from io import BytesIO
from struct import pack

import pytest

from tests.helpers.captures import (
    block,
    interface,
    old_packet_block,
    packet_block,
    packets_of,
    pcapng_bytes,
    section,
    simple_packet_block,
)
from wiretool.capture.files import pcapng
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet
from wiretool.errors import CaptureError

PACKETS = packets_of([b"one", b"twotwo", b"three" * 100])
START = section() + interface()


def read(raw: bytes) -> list[Packet]:
    return list(read_packets([BytesIO(raw)]))


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders(order: str) -> None:
    assert read(pcapng_bytes(PACKETS, order=order)) == PACKETS


@pytest.mark.parametrize(
    ("resolution", "ticks", "time_ns"),
    [
        (6, 1_234_567, 1_234_567_000),
        (9, 1_234_567, 1_234_567),
        (0, 12, 12_000_000_000),
        (12, 5_999, 5),
        (0x80 | 10, 1024 + 512, 1_500_000_000),
        (0x80, 3, 3_000_000_000),
        (127, 10**19, 0),
    ],
)
def test_every_clock(resolution: int, ticks: int, time_ns: int) -> None:
    raw = section() + interface(options=[(9, bytes([resolution]))]) + packet_block("<", 0, ticks, b"x")
    assert read(raw)[0].time_ns == time_ns


def test_a_clock_is_microseconds_unless_told_and_may_be_shifted() -> None:
    raw = section(">") + interface(">", options=[(2, b"eth0"), (14, pack(">q", -100))])
    assert read(raw + packet_block(">", 0, 200_000_007, b"x"))[0].time_ns == 100_000_007_000


@pytest.mark.parametrize(
    ("offset_s", "time_ns"), [(2**62, 2**63 - 1), (-(2**62), -(2**63)), (9_223_372_036, 2**63 - 1)]
)
def test_a_time_that_64_bits_do_not_hold_is_the_first_or_the_last_that_they_do(offset_s: int, time_ns: int) -> None:
    raw = section() + interface(options=[(14, pack("<q", offset_s))]) + packet_block("<", 0, 999_999, b"x")
    assert read(raw)[0].time_ns == time_ns


def test_sections_have_their_own_byte_order_and_interfaces() -> None:
    raw = START + interface("<", 113) + packet_block("<", 1, 5, b"a") + section(">") + interface(">", 101)
    found = read(raw + packet_block(">", 0, 6, b"b"))
    assert [(packet.number, packet.link_type, packet.data) for packet in found] == [(1, 113, b"a"), (2, 101, b"b")]


def test_older_and_simpler_packets() -> None:
    raw = section() + interface(snap=4) + old_packet_block("<", 0, 5, b"old") + simple_packet_block("<", b"simp", 9)
    assert read(raw) == [Packet(1, 5_000, 1, b"old", 3), Packet(2, 5_000, 1, b"simp", 9)]


def test_a_simple_packet_without_snap_length_is_whole() -> None:
    assert read(START + simple_packet_block("<", b"whole"))[0].data == b"whole"


def test_unknown_blocks_are_skipped() -> None:
    raw = START + block("<", 0x0BAD, b"abc") + packet_block("<", 0, 1, b"x") + block("<", 10, bytes(100))
    assert [packet.data for packet in read(raw)] == [b"x"]


PACKET = packet_block("<", 0, 1, b"x")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (PACKET[:-1], "a block ends early: expected 36 bytes, 35 left"),
        (PACKET[:7], "a block ends early: expected 12 bytes, 7 left"),
        (PACKET[:-4] + b"\x28\0\0\0", "a block of 36 bytes has the length 40 at its end"),
        (pack("<III", 6, 8, 8), "a block length of 8 "),
        (pack("<III", 6, 13, 13), "a block length of 13 "),
        (pack("<III", 6, 0xFFFF_FFF0, 0), "a block length of 4294967280 "),
        (block("<", 6, b"ab"), "a block of type 6 is too short for its fields"),
        (packet_block("<", 1, 1, b"x"), "packet 2 is of interface 1, and the section has 1"),
        (section() + PACKET, "packet 2 is of interface 0, and the section has 0"),
        (block("<", 6, pack("<5I", 0, 0, 0, 9, 9) + b"x"), "packet 2 claims 9 bytes in a block of 4"),
        (block("<", 0x0A0D0D0A, bytes(16)), "a section without byte order: its magic is 00 00 00 00"),
        (interface(options=[(14, b"1234")]), "a block of type 1 is too short for its fields"),
    ],
)
def test_damage_comes_after_what_is_good(bad: bytes, why: str) -> None:
    packets = read_packets([BytesIO(START + PACKET + bad)])
    assert next(packets).data == b"x"
    with pytest.raises(CaptureError) as caught:
        list(packets)
    assert caught.value.why.startswith(why)
    assert caught.value.offset is not None
    assert caught.value.offset >= len(START + PACKET)


def test_too_many_interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcapng, "INTERFACES_MAX", 2)
    with pytest.raises(CaptureError, match="more than 2 interfaces"):
        read(START + interface() + interface())
