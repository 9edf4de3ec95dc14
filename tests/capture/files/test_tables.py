"""Packets as arrays are the packets that are read one by one."""

import gzip
from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.captures import packets_of, pcap_bytes, pcapng_bytes
from wiretool.capture.files import tables
from wiretool.capture.files.reading import read_packets
from wiretool.capture.files.source import open_source
from wiretool.capture.files.tables import PacketTable
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.packets import Packet
from wiretool.codec.columns import Integers
from wiretool.codec.frames.boundaries import Hops, hop
from wiretool.codec.frames.prefix import Prefix
from wiretool.errors import CaptureError


def both(raw: bytes) -> tuple[list[Packet | str], list[Packet | str]]:
    """The packets by tables, and one by one, each with the damage behind them."""
    by_table = (table.packet(row) for table in read_packet_tables([BytesIO(raw)]) for row in range(len(table.starts)))
    out: list[list[Packet | str]] = [[], []]
    for found, packets in zip(out, (by_table, read_packets([BytesIO(raw)])), strict=True):
        try:
            found.extend(packets)
        except CaptureError as err:
            found.append(str(err))
    return out[0], out[1]


class Trickle(BytesIO):
    """A file that never gives more than a few bytes at once."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read(64)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("start_ns", [0, 1_700_000_000_000_000_000, 65_535 * 10**9 + 999_000_000])
def test_many_records_are_found_side_by_side(order: str, start_ns: int) -> None:
    """Records of every size, some of them full of what looks like the headers of others."""
    inside = pcap_bytes(packets_of([b"abc"] * 90, start_ns=start_ns), order=order)[24:]
    frames = [bytes(size % 1500) if size % 7 else inside for size in range(0, 90_000, 13)]
    found, expected = both(pcap_bytes(packets_of(frames, start_ns=start_ns), order=order))
    assert found == expected
    assert len(found) == len(frames)


@given(st.lists(st.binary(max_size=90), max_size=40), st.data())
def test_every_cut_gives_the_same(frames: list[bytes], data: st.DataObject) -> None:
    raw = pcap_bytes(packets_of(frames))
    cut = raw[: data.draw(st.integers(0, len(raw)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "TABLE_PACKETS", 7)
        found, expected = both(cut)
    assert found == expected


def test_a_table_takes_so_many_packets_and_bytes_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = pcap_bytes(packets_of([bytes(100)] * 100))
    monkeypatch.setattr(tables, "TABLE_PACKETS", 30)
    assert [len(each.starts) for each in read_packet_tables([BytesIO(raw)])] == [30, 30, 30, 10]
    packed = gzip.compress(raw)
    assert sum(len(each.starts) for each in read_packet_tables([BytesIO(packed)])) == 100
    assert list(chain(read_packet_tables([BytesIO(b"")]))) == []


@pytest.mark.parametrize("make", [pcap_bytes, pcapng_bytes])
def test_before_a_damage_there_may_be_more_than_a_table(make: Callable[[list[Packet]], bytes]) -> None:
    """Of packed data that ends early everything is read that can be, though a table takes but a few packets."""
    packed = gzip.compress(make(packets_of([bytes(20)] * 1000)))[:-40]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "TABLE_PACKETS", 7)
        found, expected = both(packed)
    assert found == expected
    assert len(found) > 100
    assert "gzip" in str(found[-1])


@pytest.mark.parametrize("place", [0, 20, 39])
def test_behind_a_packet_that_is_larger_than_a_table_it_goes_on_as_arrays(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = [bytes(60)] * 40
    frames[place] = bytes(3000)
    singles: list[Packet] = []
    table_of = tables._table_of

    def noted(packets: Sequence[Packet]) -> PacketTable:
        singles.extend(packets)
        return table_of(packets)

    monkeypatch.setattr(tables, "_table_of", noted)
    every = list(tables.read_pcap_tables(open_source("made", Trickle(pcap_bytes(packets_of(frames)))), 1000))
    assert [table.packet(row) for table in every for row in range(len(table.starts))] == packets_of(frames)
    assert [each.number for each in singles] == [place + 1]


def test_a_damage_behind_a_large_packet() -> None:
    raw = pcap_bytes(packets_of([bytes(tables.TABLE_BYTES + 9), b"behind it", bytes(tables.TABLE_BYTES + 9)]))
    for cut in (raw, raw[:-1], raw[: tables.TABLE_BYTES + 80]):
        found, expected = both(cut)
        assert found == expected


@pytest.mark.parametrize("order", ["<", ">"])
def test_packets_that_become_long_and_short_again(order: str) -> None:
    """Only short ones are looked for by guesses."""
    packets = packets_of([bytes(size) for size in (100, 9000, 100) for _ in range(1_000_000 // size)])
    every = tables.read_pcap_tables(open_source("made", BytesIO(pcap_bytes(packets, order=order))), 600_000)
    assert [table.packet(row) for table in every for row in range(len(table.starts))] == packets


def test_what_is_damaged_when_packed_is_told_as_packet_by_packet() -> None:
    """The first wrong byte may make a record that no packet has, long before the sum at the end is wrong."""
    raw = pcap_bytes([Packet(number, number, 1, bytes(60), 60) for number in range(1, 401)])
    packed = bytearray(gzip.compress(raw, compresslevel=0))
    place = packed.index(raw[:40]) + 24 + 200 * 76 + 8
    packed[place : place + 4] = b"\xff\xff\xff\x7f"
    one, many = both(bytes(packed))
    assert one == many
    assert "packet 201 claims 2147483647 bytes" in str(one[-1])


def test_the_window_is_not_visited_again_for_each_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table has so few of tiny records that the window has many tables."""
    visited: list[int] = []

    def noting(data: bytes, start: int, end: int, prefix: Prefix, guesses: Integers) -> Hops:
        visited.append(end - start)
        return hop(data, start, end, prefix, guesses)

    monkeypatch.setattr(tables, "hop", noting)
    monkeypatch.setattr(tables, "TABLE_PACKETS", 500)
    raw = pcap_bytes(packets_of([b""] * 20_000 + [b"a" * 9_000] * 3))
    found, expected = both(raw)
    assert found == expected
    assert sum(visited) < 4 * len(raw)
