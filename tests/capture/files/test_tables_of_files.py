"""Several captures as tables, in the very order of the packets read one by one."""

import gzip
import struct
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.captures import outcome, packets_of, pcap_bytes
from wiretool.capture.files import tables
from wiretool.capture.files import tables_of_files as merging
from wiretool.capture.files.reading import read_packets
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.packets import Packet


def pcap(times: list[int], mark: int) -> bytes:
    """A capture of tiny packets at these times (ns), each with the mark and its place."""
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
    return head + b"".join(record(time, mark, place) for place, time in enumerate(times))


def record(time: int, mark: int, place: int) -> bytes:
    data = bytes((mark, place % 256, 0, 0))[: 2 + place % 3]
    return struct.pack("<IIII", time // 10**9, time % 10**9, len(data), 9) + data


def both(sources: Callable[[], Sequence[Path | BinaryIO]]) -> tuple[list[Packet | str], list[Packet | str]]:
    """The packets by tables, and one by one, each with the damage behind them."""
    by_table = (table.packet(row) for table in read_packet_tables(sources()) for row in range(len(table.starts)))
    return outcome(by_table), outcome(read_packets(sources()))


def streams(captures: Iterable[bytes]) -> list[BytesIO]:
    return [BytesIO(each) for each in captures]


@given(
    st.lists(st.lists(st.one_of(st.integers(0, 6), st.integers(0, 10**6)), max_size=12), max_size=6),
    st.lists(st.integers(0, 20), min_size=6, max_size=6),
    st.integers(1, 5),
)
def test_tables_come_in_the_order_of_packets(times: list[list[int]], cuts: list[int], size: int) -> None:
    """Of damaged captures, too, of which the first to end is told."""
    captures = [pcap(each, mark) for mark, each in enumerate(times)]
    captures = [each[: len(each) - cut] for each, cut in zip(captures, cuts, strict=False)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "TABLE_PACKETS", size)
        found, expected = both(lambda: streams(captures))
    assert found == expected


def test_a_damaged_capture_gives_what_is_good_of_it() -> None:
    captures = [pcap([1, 5], 0)[:-1], pcap([2, 9], 1)]
    found, expected = both(lambda: streams(captures))
    assert found == expected
    assert [each.time_ns for each in found if isinstance(each, Packet)] == [1, 2, 9]
    assert "packet 2 ends early" in str(found[-1])


def test_captures_of_every_form_that_are_not_there_too(tmp_path: Path) -> None:
    there = tmp_path / "there.pcap"
    there.write_bytes(pcap([1, 2], 0))

    def sources() -> list[Path | BinaryIO]:
        return [tmp_path / "missing.pcap", there, *streams([b"no capture", gzip.compress(pcap([0, 9], 1))])]

    found, expected = both(sources)
    assert found == expected
    assert len(found) == 5
    assert str(found[-1]).endswith("missing.pcap: no such file")


def test_several_share_the_bytes_that_a_table_takes_in() -> None:
    """What waits of each capture is a part of what one by itself has."""
    captures = [pcap_bytes(packets_of([bytes(1000)] * 9000)) for _ in range(2)]
    [one, *_] = [len(table.data) for table in read_packet_tables([BytesIO(captures[0])])]
    of_two = [len(table.data) for table in read_packet_tables(streams(captures))]
    assert one >= tables.TABLE_BYTES
    assert max(of_two) < 1.2 * one


def test_of_many_captures_at_once_a_table_takes_in_no_more_than_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though they come in bursts."""
    captures = [
        pcap([second * 10**9 + at * (mark + 1) for second in (0, 50, 51) for at in range(250)], mark)
        for mark in range(30)
    ]
    monkeypatch.setattr(merging, "TABLE_BYTES", 20_000)
    found, expected = both(lambda: streams(captures))
    assert found == expected
    every = list(read_packet_tables(streams(captures)))
    assert max(len(table.data) for table in every) <= 2 * 20_000
    assert len(every) < 120


def test_captures_one_after_another_are_not_looked_at_before_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    captures = [pcap([(40 * mark + at) * 1000 for at in range(40)], mark) for mark in range(50)]
    monkeypatch.setattr(tables, "TABLE_PACKETS", 10)
    looked = []
    size = merging._Capture.size

    def noted(capture: merging._Capture, bound: merging._Turn) -> float:
        looked.append(capture.place)
        return size(capture, bound)

    monkeypatch.setattr(merging._Capture, "size", noted)
    found, expected = both(lambda: streams(captures))
    assert found == expected
    assert looked == sorted(looked)
    assert len(looked) <= 50 * 4
