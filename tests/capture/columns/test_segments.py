"""Segments as arrays are the segments that are read one by one."""

from io import BytesIO
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dissect.columns.made import HARMS, Spoken, packets_made
from tests.helpers.captures import packets_of, pcap_bytes, tcp_packets
from wiretool.capture.columns import segments
from wiretool.capture.columns.segments import FEW_FLOWS, VIEW_BYTES_MIN, SegmentTable, _few_of, read_segment_tables
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.files.reading import read_packets
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp.pending_fragments import rows_with_fragments
from wiretool.capture.tcp.segments_of_packets import read_segments, segment_of
from wiretool.capture.tcp.stream_events import Side


def tables_of(raw: bytes) -> list[SegmentTable]:
    return list(read_segment_tables(read_packet_tables([BytesIO(raw)])))


@given(st.frozensets(st.sampled_from(HARMS)), st.booleans(), st.integers(0, 1000))
def test_segments_of_any_packets(harms: frozenset[str], ipv6: bool, seed: int) -> None:
    raw = pcap_bytes(packets_made([Spoken("pravega"), Spoken("foreign", ipv6=ipv6)], harms, seed, 60))
    expected = list(read_segments(read_packets([BytesIO(raw)])))
    found = [table.segment(row) for table in tables_of(raw) for row in range(len(table))]
    assert found == expected
    assert [each for table in tables_of(raw) for each in table.segments(np.arange(len(table)))] == expected


@given(st.lists(st.sampled_from([1, 2, 700, VIEW_BYTES_MIN, 5000]), min_size=1, max_size=12), st.integers(1, 60))
def test_payloads_that_are_alike_are_copied_as_one(sizes: list[int], times: int) -> None:
    said: list[tuple[Side, bytes]] = [
        ("client", bytes([number % 251]) * size) for number, size in enumerate(sizes) for _ in range(times)
    ]
    (table,) = tables_of(pcap_bytes(tcp_packets(said, acks=False, mtu=5000)))
    rows = np.flatnonzero(table.lengths > 0)
    assert b"".join(table.payloads(rows)) == b"".join(data for _, data in said)
    assert table.payloads(rows[:0]) == []


@pytest.mark.parametrize("sizes", [[9000] * 40, [9000, 8000] * 20])
def test_long_payloads_are_not_copied(sizes: list[int]) -> None:
    said: list[tuple[Side, bytes]] = [("client", bytes(size)) for size in sizes]
    (table,) = tables_of(pcap_bytes(tcp_packets(said, acks=False, mtu=9000)))
    payloads = table.payloads(np.flatnonzero(table.lengths > 0))
    assert [len(each) for each in payloads] == sizes
    assert all(isinstance(each, memoryview) and each.obj is table.data for each in payloads)


@given(st.lists(st.integers(0, 2 * FEW_FLOWS), min_size=1))
def test_a_few_flows_are_told_apart(values: list[int]) -> None:
    found, known = _few_of(np.array(values, np.uint64)), list(dict.fromkeys(values))
    if len(known) > FEW_FLOWS:
        assert found is None
    else:
        assert found is not None
        assert [values[row] for row in found[0].tolist()] == known
        assert [known[index] for index in found[1].tolist()] == values


@given(st.frozensets(st.sampled_from(HARMS)), st.booleans(), st.integers(0, 1000))
def test_packets_are_counted_as_by_rows(harms: frozenset[str], ipv6: bool, seed: int) -> None:
    raw = pcap_bytes(packets_made([Spoken("pravega"), Spoken("foreign", ipv6=ipv6)], harms, seed, 60))
    of_rows, of_columns = PacketCounts(), PacketCounts()
    list(read_segments(read_packets([BytesIO(raw)]), of_rows))
    list(read_segment_tables(read_packet_tables([BytesIO(raw)]), of_columns))
    assert of_columns == of_rows
    assert of_rows.packets > 0


@pytest.mark.parametrize("link", [0, 1, 101, 113, 276, 999])
def test_empty_packets_are_counted_without_reading_each(link: int, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = pcap_bytes(packets_of([b""] * 1000, link_type=link), link_type=link)
    of_rows, of_columns = PacketCounts(), PacketCounts()
    list(read_segments(read_packets([BytesIO(raw)]), of_rows))
    reader = Mock(wraps=segment_of)
    monkeypatch.setattr(segments, "segment_of", reader)
    list(read_segment_tables(read_packet_tables([BytesIO(raw)]), of_columns))
    assert of_columns == of_rows
    assert of_rows.packets == 1000
    assert reader.call_count == 1


def test_short_packets_are_no_fragments() -> None:
    """Without a byte of IP there is nothing to wait for."""
    raw = pcap_bytes(packets_of([b"", b"a" * 19, b"a" * 20]))
    (table,) = read_packet_tables([BytesIO(raw)])
    assert rows_with_fragments(table).tolist() == [2]
