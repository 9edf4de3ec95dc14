"""Runs tell the items that they stand for."""

from collections import Counter
from collections.abc import Sequence
from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st
from tests.bulk.made import HARMS, Spoken, packets_made
from tests.helpers.captures import pcap_bytes

from wiretool.capture.bulk_streams import BulkStreams, Fed
from wiretool.capture.files import read_packets
from wiretool.capture.items import Data
from wiretool.capture.layers import read_segments
from wiretool.capture.merging import read_packet_tables
from wiretool.capture.recent import RecentRuns
from wiretool.capture.runs import Part, Run, joined, run_of
from wiretool.capture.segments import SegmentTable, read_segment_tables
from wiretool.capture.streams import Streams


def told() -> list[tuple[int, Data]]:
    """The data of a capture, each told five packets after its own."""
    raw = pcap_bytes(packets_made([Spoken("pravega")], frozenset(), 1))
    streams = Streams((12345,))
    items = [item for segment in read_segments(read_packets([BytesIO(raw)])) for item in streams.feed(segment)]
    return [(item.packet + 5, item) for item in items if isinstance(item, Data)]


def test_items_that_were_given_out_as_a_run() -> None:
    items = told()
    run = run_of(items)
    assert [item for _, item in run.told_items()] == [item for _, item in items]
    assert [int(run.told_at(row)) for row, _ in run.told_items()] == [number for number, _ in items]
    assert not run.only("client").server.size


def test_what_is_behind_a_row() -> None:
    items = told()
    run = run_of(items)
    for row in range(-1, len(items)):
        done = Counter(item.side for _, item in items[: row + 1])
        behind = run.behind(done["client"], done["server"])
        assert [item for _, item in behind.told_items()] == [item for _, item in items[row + 1 :]]


def parts_of(raw: bytes) -> list[tuple[SegmentTable, list[Part]]]:
    """What each stretch of one connection without anything but data gave, with the table that it is of."""
    recent = RecentRuns()
    streams = BulkStreams(Streams((12345,), recent), recent)
    out: list[tuple[SegmentTable, list[Part]]] = []
    for table in read_segment_tables(read_packet_tables([BytesIO(raw)])):
        out.append((table, []))
        for part in streams.read(table):
            if isinstance(part, Run):
                out[-1][1].append(part)
            elif isinstance(part, Fed):
                for item in part.items:
                    item.connection.is_understood = True
                    if isinstance(item, Data):
                        out[-1][1].append((int(table.numbers[part.row]), item))
                    else:
                        out.append((table, []))
    return out


def items_in(parts: Sequence[Part]) -> list[tuple[int, Data]]:
    """Each item of the parts with the packet at which it was given out."""
    out: list[tuple[int, Data]] = []
    for part in parts:
        out += [(int(part.told_at(row)), item) for row, item in part.told_items()] if isinstance(part, Run) else [part]
    return out


@given(st.frozensets(st.sampled_from(HARMS), max_size=3), st.integers(0, 1000))
def test_parts_that_are_joined_give_the_same_items(harms: frozenset[str], seed: int) -> None:
    raw = pcap_bytes(packets_made([Spoken("pravega", each=3)], harms, seed))
    for table, parts in parts_of(raw):
        runs = list(joined(parts, table))
        assert items_in(runs) == items_in(parts)
        assert len(runs) <= max(len(parts), 1)


def test_what_was_swapped_is_one_run() -> None:
    packets = packets_made([Spoken("pravega", each=12)], frozenset(), 1)
    at = len(packets) // 2
    packets[at - 6], packets[at] = (
        packets[at]._replace(number=packets[at - 6].number),
        packets[at - 6]._replace(number=packets[at].number),
    )
    ((table, parts),) = [each for each in parts_of(pcap_bytes(packets)) if len(each[1]) > 3][-1:]
    (run,) = joined(parts, table)
    assert run.told is not None
    assert items_in([run]) == items_in(parts)
