"""Several captures as tables, in the very order of the packets read one by one."""

import struct
from collections.abc import Iterator
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wiretool.capture import tables
from wiretool.capture.files import read_packets
from wiretool.capture.merging import merged_tables
from wiretool.capture.packets import Packet
from wiretool.capture.tables import read_packet_tables
from wiretool.errors import CaptureError


def pcap(times: list[int], mark: int) -> bytes:
    """A capture of tiny packets at these times (ns), each with the mark and its place."""
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
    return head + b"".join(record(time, mark, place) for place, time in enumerate(times))


def record(time: int, mark: int, place: int) -> bytes:
    data = bytes((mark, place, 0, 0))[: 2 + place % 3]
    return struct.pack("<IIII", time // 10**9, time % 10**9, len(data), 9) + data


def by_tables(captures: list[bytes]) -> list[Packet]:
    sources = [read_packet_tables([BytesIO(capture)]) for capture in captures]
    return [table.packet(row) for table in merged_tables(sources) for row in range(len(table.starts))]


@given(st.lists(st.lists(st.integers(0, 6), max_size=12), min_size=1, max_size=4), st.integers(1, 5))
def test_tables_come_in_the_order_of_packets(times: list[list[int]], size: int) -> None:
    captures = [pcap(each, mark) for mark, each in enumerate(times)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "TABLE_PACKETS", size)
        assert by_tables(captures) == list(read_packets([BytesIO(each) for each in [*captures, pcap([], 0)]]))


def test_a_damaged_capture_gives_what_is_good_of_it() -> None:
    captures = [pcap([1, 5], 0)[:-1], pcap([2, 9], 1)]
    found: list[int] = []
    with pytest.raises(CaptureError, match="packet 2 ends early"):
        found.extend(times_of(captures))
    assert found == [1, 2, 9]


def times_of(captures: list[bytes]) -> Iterator[int]:
    for table in merged_tables([read_packet_tables([BytesIO(each)]) for each in captures]):
        yield from table.times.tolist()
