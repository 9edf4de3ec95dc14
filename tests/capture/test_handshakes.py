"""Short connections that begin and end in one table are not fed segment by segment."""

from io import BytesIO

from tests.bulk.made import Spoken, packets_made
from tests.helpers.captures import pcap_bytes

from wiretool.capture.bulk_streams import BulkStreams, Fed
from wiretool.capture.items import End
from wiretool.capture.merging import read_packet_tables
from wiretool.capture.plain_segments import PlainSegments
from wiretool.capture.recent import RecentRuns
from wiretool.capture.segments import read_segment_tables
from wiretool.capture.streams import Streams

COUNT = 20
RAW = pcap_bytes(packets_made([Spoken("pravega")] * COUNT, frozenset(), seed=1, frames=8))


def parts_of(is_known: bool) -> list[object]:
    """Return what the streams of the capture give, where each first payload is known or none is."""
    recent = RecentRuns()
    streams = BulkStreams(Streams((12345,), recent), recent, lambda *_: is_known)
    return [part for table in read_segment_tables(read_packet_tables([BytesIO(RAW)])) for part in streams.read(table)]


def test_known_connections_come_together_with_their_ends() -> None:
    parts = parts_of(is_known=True)
    assert not [part for part in parts if isinstance(part, Fed)]
    (plain,) = [part for part in parts if isinstance(part, PlainSegments)]
    assert {each.id for each in plain.connections} == set(range(COUNT))
    assert {each.closed for each in plain.connections} == {"fin"}
    assert all(isinstance(end, End) and end.how == "fin" for end in plain.ends)
    assert len(plain.ends) == 2 * COUNT


def test_unknown_connections_are_fed() -> None:
    assert not [part for part in parts_of(is_known=False) if isinstance(part, PlainSegments)]
