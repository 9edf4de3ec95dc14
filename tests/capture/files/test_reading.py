import gzip
from collections.abc import Callable, Iterator
from io import BytesIO, RawIOBase
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.captures import packets_of, pcap_bytes, pcapng_bytes
from wiretool.capture.files.reading import read_packets
from wiretool.capture.packets import Packet
from wiretool.errors import CaptureError

PACKETS = packets_of([bytes([at]) * (at * 7) for at in range(40)])
PCAP = pcap_bytes(PACKETS)
PCAPNG = pcapng_bytes(PACKETS)


def read(*raws: bytes) -> list[Packet]:
    return list(read_packets([BytesIO(raw) for raw in raws]))


def read_some(*raws: bytes) -> tuple[list[Packet], str]:
    """The good packets, and why there are no more."""
    found: list[Packet] = []
    try:
        found.extend(read_packets([BytesIO(raw) for raw in raws]))
    except CaptureError as err:
        return found, err.why
    return found, ""


def zstd(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(raw)


class Trickle(RawIOBase):
    """A pipe that gives few bytes at a time, and tells how many it gave."""

    def __init__(self, raw: bytes, size: int) -> None:
        self.given = 0
        self._raw, self._size = raw, size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = self._raw[self.given : self.given + self._size]
        self.given += len(piece)
        return piece


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
@pytest.mark.parametrize("raw", [PCAP, PCAPNG])
def test_packed_files_are_recognised_by_their_bytes(pack: Callable[[bytes], bytes], raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "no-extension"
    path.write_bytes(pack(raw))
    assert list(read_packets([path])) == PACKETS


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_packed_members_follow_each_other(pack: Callable[[bytes], bytes]) -> None:
    assert read(pack(PCAP[:500]) + pack(PCAP[500:])) == PACKETS


def test_gzip_may_be_padded() -> None:
    assert read(gzip.compress(PCAP) + bytes(512)) == PACKETS


@pytest.mark.parametrize("raw", [b"", gzip.compress(b""), pcap_bytes([]), pcapng_bytes([])])
def test_an_empty_capture_has_no_packets(raw: bytes) -> None:
    assert read(raw) == []


def test_no_sources_have_no_packets() -> None:
    assert list(read_packets([])) == []


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"<html>", "neither pcap nor pcapng: starts with 3c 68 74 6d"),
        (b"\xd4", "neither pcap nor pcapng: starts with d4"),
        (gzip.compress(b"text"), "neither pcap nor pcapng: starts with 74 65 78 74"),
    ],
)
def test_what_is_no_capture(raw: bytes, why: str) -> None:
    assert read_some(raw) == ([], why)


def test_a_path_that_cannot_be_opened(tmp_path: Path) -> None:
    for path, why in [(tmp_path / "none", "no such file"), (tmp_path, "a folder; expected a file")]:
        with pytest.raises(CaptureError, match=f"{path}: {why}"):
            list(read_packets([path]))


class Broken(RawIOBase):
    def read(self, size: int = -1) -> bytes:
        raise OSError(5, "Input/output error")


def test_a_stream_that_fails() -> None:
    with pytest.raises(CaptureError, match="cannot be read: Input/output error"):
        list(read_packets([Broken()]))  # type: ignore[list-item]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("raw", [PCAP, PCAPNG])
def test_packets_come_as_soon_as_their_bytes_do(raw: bytes, size: int) -> None:
    pipe = Trickle(raw, size)
    packets: Iterator[Packet] = read_packets([pipe])  # type: ignore[list-item]
    assert next(packets) == PACKETS[0]
    assert pipe.given < 200 + size
    assert list(packets) == PACKETS[1:]


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_damaged_packing_gives_what_was_unpacked(pack: Callable[[bytes], bytes]) -> None:
    noise = packets_of(
        [bytes((at * at * 31 + step * 7 + at * step) % 251 for step in range(1000)) for at in range(400)]
    )
    packed = bytearray(pack(pcap_bytes(noise)))
    found, why = read_some(bytes(packed[:-100]))
    assert found == noise[: len(found)]
    assert "data ends early" in why
    packed[-5] ^= 0xFF
    found, why = read_some(bytes(packed))
    assert found == noise[: len(found)]
    assert "data is damaged" in why


def test_several_sources_are_merged_by_time() -> None:
    mixed = read(pcap_bytes(PACKETS[1::2]), pcapng_bytes(PACKETS[::2]))
    assert mixed == PACKETS


def test_at_equal_times_the_first_source_comes_first() -> None:
    first, second = packets_of([b"a"]), packets_of([b"b"])
    assert [packet.data for packet in read(pcap_bytes(first), pcap_bytes(second))] == [b"a", b"b"]


def test_a_damaged_source_does_not_hide_the_others() -> None:
    found, why = read_some(pcap_bytes(PACKETS[::2])[:-1], b"junk", pcap_bytes(PACKETS[1::2]))
    assert [packet.data for packet in found] == [packet.data for packet in PACKETS if packet.number != 39]
    assert why.startswith("neither pcap")


@given(st.sampled_from([PCAP, PCAPNG, gzip.compress(PCAP), zstd(PCAPNG)]), st.data())
def test_any_cut_leaves_good_packets(raw: bytes, data: st.DataObject) -> None:
    found, _ = read_some(raw[: data.draw(st.integers(0, len(raw)))])
    assert found == PACKETS[: len(found)]


@given(st.sampled_from([PCAP, PCAPNG, gzip.compress(PCAP), zstd(PCAPNG)]), st.data())
def test_any_damage_is_a_capture_error_at_worst(raw: bytes, data: st.DataObject) -> None:
    damaged = bytearray(raw)
    for at, value in data.draw(st.dictionaries(st.integers(0, len(raw) - 1), st.integers(0, 255), max_size=5)).items():
        damaged[at] = value
    read_some(bytes(damaged))


@given(st.binary())
def test_any_bytes_at_all(raw: bytes) -> None:
    read_some(raw)
