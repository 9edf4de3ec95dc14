"""Runs and fed segments give the items of `Streams`, in the order of each connection."""

from collections import defaultdict
from collections.abc import Sequence
from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st
from tests.bulk.engines import table_packets
from tests.bulk.made import HARMS, TROUBLES, Spoken, packets_made
from tests.helpers.captures import pcap_bytes

from wiretool.capture.bulk_streams import BulkStreams
from wiretool.capture.files import read_packets
from wiretool.capture.items import Item
from wiretool.capture.layers import read_segments
from wiretool.capture.merging import read_packet_tables
from wiretool.capture.recent import RecentRuns
from wiretool.capture.runs import Run
from wiretool.capture.segments import read_segment_tables
from wiretool.capture.streams import Streams

Told = dict[int, list[tuple[object, ...]]]


def by_connection(items: Sequence[Item]) -> Told:
    told: Told = defaultdict(list)
    for item in items:
        told[item.connection.id].append((type(item), *item[1:]))
    return told


def items_of_runs(raw: bytes) -> list[Item]:
    recent = RecentRuns()
    streams = BulkStreams(Streams((12345,), recent), recent)
    out: list[Item] = []
    for table in read_segment_tables(read_packet_tables([BytesIO(raw)])):
        for part in streams.read(table):
            out += [item for _, item in part.told_items()] if isinstance(part, Run) else part[1]
    return out + streams.end()


def items_one_by_one(raw: bytes) -> list[Item]:
    streams = Streams((12345,))
    out = [item for segment in read_segments(read_packets([BytesIO(raw)])) for item in streams.feed(segment)]
    return out + streams.end()


@given(
    st.frozensets(st.sampled_from(TROUBLES), max_size=4),
    st.frozensets(st.sampled_from(HARMS), max_size=2),
    st.integers(0, 1000),
    st.sampled_from([29, 65_536]),
)
def test_items_of_any_segments(troubles: frozenset[str], harms: frozenset[str], seed: int, count: int) -> None:
    spoken = [Spoken("pravega", troubles=troubles), Spoken("foreign", acks=True, troubles=troubles, wraps=True)]
    raw = pcap_bytes(packets_made(spoken, harms, seed))
    with table_packets(count):
        assert by_connection(items_of_runs(raw)) == by_connection(items_one_by_one(raw))
