"""What a batch was made of is gone with it: nothing waits for the garbage collector, which may not come for long."""

import gc
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from tests.bench.pravega_appends import make_capture
from tests.dissect.columns.engines import table_packets
from tests.dissect.columns.made import FORMS, Spoken, files_of, packets_made
from wiretool.analysis.stats import Stats
from wiretool.analysis.stats_bulk import BatchCounter
from wiretool.capture.columns.segments import SegmentTable, read_segment_tables
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.dissect.columns.read import BulkDissector
from wiretool.dissect.dissector import Source, paths_of

#: Here many frames are told with defects, or with errors that have others as their cause.
DEFECTS = ("offramp/err_counts.pcap", "offramp/err_malformed.pcap", "offramp/mixed_noise.pcap", "sbp/rs_append.pcap")
CAPTURES = Path(__file__).parents[3] / "captures"


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """None comes by itself; one that is called looks at what was made in the test alone, not at all other tests."""
    gc.disable()
    gc.collect()
    gc.freeze()
    yield
    gc.enable()


def garbage(capture: Source) -> list[int]:
    """How many objects each batch leaves to the collector, up to the last table: then connections are closed."""
    is_over, left, counter = False, [], BatchCounter(Stats())

    def tables() -> Iterator[SegmentTable]:
        nonlocal is_over
        yield from read_segment_tables(read_packet_tables(paths_of(capture)))
        is_over = True

    gc.collect()
    for batch in BulkDissector().batches(tables()):
        if is_over:
            break
        counter.add(batch)
        counter.flush()
        del batch
        left.append(gc.collect())
    return left


def assert_none(left: list[int]) -> None:
    """AssertionError if a batch left anything."""
    assert left
    assert not any(left)


def test_small_appends(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    make_capture(path, 2000, 6, 40, 1, connections=3)
    garbage(path)  # what is loaded and written once leaves something
    for count in (65_536, 300):
        with table_packets(count):
            assert_none(garbage(path))


@pytest.mark.parametrize("name", DEFECTS)
def test_defects(name: str) -> None:
    garbage(CAPTURES / name)
    for count in (65_536, 61):
        with table_packets(count):
            assert_none(garbage(CAPTURES / name))


@pytest.mark.parametrize("protocol", ["pravega", "pravega-draft", "sbp", "sbp-0.1", "offramp"])
def test_every_protocol(protocol: str) -> None:
    spoken = [Spoken(protocol), Spoken(protocol, troubles=frozenset({"lost", "other bytes"}))]
    raw = files_of(packets_made(spoken, frozenset(), 7), FORMS[0], 1)[0]
    garbage(BytesIO(raw))
    for count in (65_536, 61):
        with table_packets(count):
            assert_none(garbage(BytesIO(raw)))
