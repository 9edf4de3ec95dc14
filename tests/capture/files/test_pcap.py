from io import BytesIO
from struct import pack

import pytest

from tests.helpers.captures import START_NS, packets_of, pcap_bytes
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet
from wiretool.errors import CaptureError
from wiretool.limits import PACKET_BYTES_MAX

PACKETS = packets_of([b"one", b"twotwo", b"three" * 100])


def read(raw: bytes) -> list[Packet]:
    return list(read_packets([BytesIO(raw)]))


def read_damaged(raw: bytes) -> tuple[list[Packet], CaptureError]:
    found: list[Packet] = []
    with pytest.raises(CaptureError) as caught:
        found.extend(read_packets([BytesIO(raw)]))
    return found, caught.value


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_every_variant_gives_the_same_packets(order: str, nano: bool) -> None:
    assert read(pcap_bytes(PACKETS, order=order, nano=nano)) == PACKETS


def test_nanoseconds_are_exact() -> None:
    odd = [PACKETS[0]._replace(time_ns=START_NS + 123_456_789)]
    assert read(pcap_bytes(odd, nano=True)) == odd


def test_kuznetzov_records_have_longer_headers() -> None:
    raw = pack("<IHHiIII", 0xA1B2CD34, 2, 4, 0, 0, 65535, 113) + pack("<IIIIIHBx", 7, 8, 3, 9, 1, 2, 3) + b"abc"
    assert read(raw) == [Packet(1, 7_000_008_000, 113, b"abc", 9)]


def test_the_check_sequence_length_is_not_part_of_the_link_type() -> None:
    assert read(pcap_bytes(PACKETS, link_type=0x5400_0001))[0].link_type == 1


def test_a_snapped_packet_keeps_its_length_on_the_wire() -> None:
    packet = read(pcap_bytes(PACKETS, snap=10))[2]
    assert (len(packet.data), packet.length) == (10, 500)


def test_a_wire_length_below_what_was_captured_is_not_believed() -> None:
    assert read(pcap_bytes([PACKETS[0]._replace(length=1)]))[0].length == 3


def test_no_packets_are_no_error() -> None:
    assert read(pcap_bytes([])) == []


def test_a_cut_record_ends_the_file() -> None:
    found, err = read_damaged(pcap_bytes(PACKETS)[:-463])
    assert found == PACKETS[:2]
    assert err.why == "the record of packet 3 ends early: expected 500 bytes, 37 left"
    assert err.offset == 24 + 16 + 3 + 16 + 6 + 16


def test_a_cut_record_header_ends_the_file() -> None:
    found, err = read_damaged(pcap_bytes(PACKETS[:1]) + bytes(5))
    assert found == PACKETS[:1]
    assert err.why == "the record of packet 2 ends early: expected 16 bytes, 5 left"


def test_a_cut_file_header() -> None:
    found, err = read_damaged(pcap_bytes([])[:20])
    assert (found, err.why) == ([], "the file header ends early: expected 24 bytes, 20 left")


def test_a_record_beyond_the_limit() -> None:
    found, err = read_damaged(pcap_bytes(PACKETS) + pack("<IIII", 1, 1, PACKET_BYTES_MAX + 1, 1))
    assert found == PACKETS
    assert err.why == f"packet 4 claims {PACKET_BYTES_MAX + 1} bytes, more than {PACKET_BYTES_MAX}"
