"""Runs tell the items that they stand for."""

from io import BytesIO

from tests.bulk.made import Spoken, packets_made
from tests.helpers.captures import pcap_bytes

from wiretool.capture.files import read_packets
from wiretool.capture.items import Data
from wiretool.capture.layers import read_segments
from wiretool.capture.runs import run_of
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
        assert [item for _, item in run.behind(row).told_items()] == [item for _, item in items[row + 1 :]]
