"""Packets of pcapng files as arrays are the packets that are read one by one."""

import gzip
from io import BytesIO
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.captures import (
    block,
    interface,
    old_packet_block,
    outcome,
    packet_block,
    packets_of,
    pcapng_bytes,
    section,
    simple_packet_block,
)
from wiretool.capture.files import pcapng_tables, tables
from wiretool.capture.files.pcapng import read_pcapng
from wiretool.capture.files.pcapng_tables import read_pcapng_tables
from wiretool.capture.files.source import Source, open_source
from wiretool.capture.packets import Packet

#: Enough for arrays: in this test 16 are.
MANY = 48
TICKS = st.one_of(st.integers(0, 2**64 - 1), st.integers(10**15, 10**19), st.integers(0, 3))
RESOLUTIONS = st.one_of(st.sampled_from([6, 9, 0x80 | 32]), st.integers(0, 255))
OFFSETS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-(10**10), 10**10))


@st.composite
def interfaces(draw: st.DrawFn, order: str) -> bytes:
    options = [(2, b"eth0")]
    if draw(st.booleans()):
        options.append((9, bytes([draw(RESOLUTIONS)])))
    if draw(st.booleans()):
        options.append((14, pack(order + "q", draw(OFFSETS))))
    return interface(order, draw(st.sampled_from([1, 101, 113, 276])), snap=draw(st.integers(0, 9)), options=options)


@st.composite
def packet_blocks(draw: st.DrawFn, order: str, indices: int) -> bytes:
    """A stretch of enhanced packet blocks: ticks and interfaces as they come, some with a comment."""
    count = draw(st.sampled_from([1, 5, MANY]))
    start, index, size = draw(TICKS), draw(st.integers(0, indices)), draw(st.integers(0, 30))
    comment = pack(order + "HH", 1, 8) + b"a remark" + bytes(4) if draw(st.booleans()) else b""
    out = []
    for at in range(count):
        data = bytes([at]) * ((size + at) % 31)
        ticks = (start + at) % 2**64
        head = pack(order + "5I", (index + at) % max(indices, 1), ticks >> 32, ticks % 2**32, len(data), at % 40)
        out.append(block(order, 6, head + data + bytes(-len(data) % 4) + comment))
    return b"".join(out)


@st.composite
def sections(draw: st.DrawFn) -> bytes:
    """A section with its interfaces, not all of them at its beginning, and packets of every kind."""
    order = draw(st.sampled_from("<>"))
    out, indices = [section(order)], 0
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["interface", "packets", "packets", "old", "simple", "other"]))
        if kind == "interface" or not indices:
            out.append(draw(interfaces(order)))
            indices += 1
        elif kind == "packets":
            out.append(draw(packet_blocks(order, indices)))
        elif kind == "old":
            out.append(old_packet_block(order, draw(st.integers(0, indices - 1)), draw(TICKS), b"old"))
        elif kind == "simple":
            out.append(simple_packet_block(order, draw(st.binary(max_size=9)), draw(st.integers(0, 20))))
        else:
            out.append(block(order, draw(st.sampled_from([4, 5, 0x0BAD])), draw(st.binary(max_size=20))))
    return b"".join(out)


@st.composite
def damaged(draw: st.DrawFn, raw: bytes) -> bytes:
    """Cut short, with another byte somewhere, or as it is."""
    how = draw(st.sampled_from(["", "cut", "other byte", "other word"]))
    if how == "cut":
        return raw[: draw(st.integers(4, len(raw)))]
    if how == "other byte":
        at = draw(st.integers(4, len(raw) - 1))
        return raw[:at] + bytes([draw(st.integers(0, 255))]) + raw[at + 1 :]
    if how == "other word":
        at = 4 * draw(st.integers(1, len(raw) // 4 - 1))
        return raw[:at] + pack("<I", draw(st.integers(0, 64))) + raw[at + 4 :]
    return raw


def source_of(raw: bytes, piece: int) -> Source:
    return Source("made", (raw[at : at + piece] for at in range(0, len(raw), piece)))


def by_tables(source: Source, table_bytes: int) -> list[Packet | str]:
    every = read_pcapng_tables(source, table_bytes)
    return outcome(table.packet(row) for table in every for row in range(len(table.starts)))


@given(
    st.lists(sections(), min_size=1, max_size=3).map(b"".join).flatmap(damaged),
    st.sampled_from([1, 7, 1000]),
    st.sampled_from([20, 500, 1 << 20]),
    st.sampled_from([50, 4096]),
    st.sampled_from([16, 1024]),
)
def test_any_file_gives_the_same(raw: bytes, count: int, table_bytes: int, piece: int, abreast: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pcapng_tables, "STRETCH_BLOCKS", 16)
        patch.setattr(pcapng_tables, "ABREAST_BLOCKS", abreast)
        patch.setattr(pcapng_tables, "GUESS_BYTES", 64)
        patch.setattr(tables, "TABLE_PACKETS", count)
        found = by_tables(source_of(raw, piece), table_bytes)
    assert found == outcome(read_pcapng(source_of(raw, piece)))


@pytest.mark.parametrize("order", ["<", ">"])
def test_many_packets_are_found_side_by_side(order: str) -> None:
    """Packets of every size, some of them full of what looks like others, among blocks of other kinds."""
    inside = pcapng_bytes(packets_of([b"abc"] * 90), order=order)
    frames = [bytes(size % 1500) if size % 7 else inside for size in range(0, 90_000, 13)]
    raw = pcapng_bytes(packets_of(frames), order=order) + block(order, 5, bytes(80))
    raw = raw + raw[: len(raw) // 2]
    found = by_tables(source_of(raw, 100_000), 1 << 22)
    assert found == outcome(read_pcapng(source_of(raw, 100_000)))
    assert len(found) > len(frames)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("resolution", [0, 6, 9, 10, 19, 20, 0x80, 0x80 | 32, 0x80 | 34, 0x80 | 35, 0xFF])
@pytest.mark.parametrize("offset_s", [0, 1_700_000_000, -(2**33), 2**40])
def test_every_clock(order: str, resolution: int, offset_s: int) -> None:
    """At the borders of what arrays hold, too."""
    clock = interface(order, options=[(9, bytes([resolution])), (14, pack(order + "q", offset_s))])
    per_second = 1 << (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    seconds = [0, 1, 9_223_372_036 - offset_s, 9_223_372_035 - offset_s, 9_223_372_037]
    ticks = [max(second * per_second + more, 0) % 2**64 for second in seconds for more in (-1, 0, 1, 854_775_807)]
    blocks = [packet_block(order, 0, at, b"x") * pcapng_tables.STRETCH_BLOCKS for at in ticks]
    raw = section(order) + clock + b"".join(blocks)
    assert by_tables(source_of(raw, 1000), 1 << 20) == outcome(read_pcapng(source_of(raw, 1000)))


def test_a_plain_file_is_read_as_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics between packets do not change that."""
    raw = pcapng_bytes(packets_of([b"some bytes"] * 5000)) + block("<", 5, bytes(8))
    raw += b"".join(packet_block("<", 0, at, b"more") for at in range(5000))
    expected = outcome(read_pcapng(source_of(raw, 9000)))
    singles = []
    take = pcapng_tables._Rows._take_block

    def take_noted(rows: pcapng_tables._Rows) -> None:
        singles.append(rows.count)
        take(rows)

    monkeypatch.setattr(pcapng_tables._Rows, "_take_block", take_noted)
    assert by_tables(source_of(raw, 9000), 100_000) == expected
    assert len(singles) < 400


def test_packed_data_that_is_damaged_gives_what_is_good_of_it() -> None:
    raw = pcapng_bytes(packets_of([bytes(100)] * 200))
    lost = gzip.compress(raw)[:-20]
    expected = outcome(read_pcapng(open_source("made", BytesIO(lost))))
    assert by_tables(open_source("made", BytesIO(lost)), 4096) == expected
    assert "gzip" in str(expected[-1])


def test_a_table_takes_so_many_packets_and_bytes_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = pcapng_bytes(packets_of([bytes(68)] * 100))
    assert [len(each.starts) for each in read_pcapng_tables(source_of(raw, 100), 2500)] == [24, 25, 25, 25, 1]
    monkeypatch.setattr(tables, "TABLE_PACKETS", 30)
    assert [len(each.starts) for each in read_pcapng_tables(source_of(raw, 100))] == [30, 30, 30, 10]
