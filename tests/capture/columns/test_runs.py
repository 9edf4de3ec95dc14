"""Runs tell the items that they stand for."""

from collections import Counter
from collections.abc import Iterator
from io import BytesIO

from tests.dissect.columns.made import Spoken, packets_made
from tests.helpers.captures import pcap_bytes
from wiretool.capture.columns.plain_runs import PlainSegments
from wiretool.capture.columns.runs import Run
from wiretool.capture.columns.segments import read_segment_tables
from wiretool.capture.columns.streams import BulkStreams, Fed
from wiretool.capture.files.reading import read_packets
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp.lent_streams import LentStreams
from wiretool.capture.tcp.retransmit_history import RecentRuns
from wiretool.capture.tcp.segments_of_packets import read_segments
from wiretool.capture.tcp.stream_events import Data

RAW = pcap_bytes(packets_made([Spoken("pravega", each=12)], frozenset(["lost"]), 1))


def items() -> list[Data]:
    """The data of the capture."""
    streams = LentStreams((12345,))
    given = [item for segment in read_segments(read_packets([BytesIO(RAW)])) for item in streams.feed(segment)]
    return [item for item in given if isinstance(item, Data)]


def given_in_bulk() -> Iterator[Run | Data]:
    """The same in runs, where there are any."""
    recent = RecentRuns()
    streams = BulkStreams(LentStreams((12345,), recent), recent)
    for table in read_segment_tables(read_packet_tables([BytesIO(RAW)])):
        for part in streams.read(table):
            if isinstance(part, Run):
                yield part
            elif isinstance(part, PlainSegments):
                yield from part.runs()
            elif isinstance(part, Fed):
                for item in part.items:
                    item.connection.is_understood = True
                    if isinstance(item, Data):
                        yield item


def key_of(item: Data) -> tuple[str, int, bytes, int, int]:
    return item.side, item.offset, item.data, item.time_ns, item.packet


def test_runs_stand_for_items() -> None:
    given = list(given_in_bulk())
    each = [
        item for part in given for item in ([row[1] for row in part.told_items()] if isinstance(part, Run) else [part])
    ]
    assert sorted(map(key_of, each)) == sorted(map(key_of, items()))
    assert any(isinstance(part, Run) for part in given)


def test_what_is_behind_a_row() -> None:
    (run, *_) = [part for part in given_in_bulk() if isinstance(part, Run)]
    every = [item for _, item in run.told_items()]
    assert len(every) > 5
    for row in range(-1, len(every)):
        done = Counter(item.side for item in every[: row + 1])
        behind = run.behind(done["client"], done["server"])
        assert [item for _, item in behind.told_items()] == every[row + 1 :]
