"""The connections of captures without payload: without a SYN or payload the streams never begin."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from wiretool.capture.columns.segments import SegmentTable, read_segment_tables
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.tcp.closed_flows import way_back
from wiretool.errors import CaptureError


def note_connections(table: SegmentTable, known: set[bytes]) -> None:
    """Add the connections of all segments, each as the lesser of its two flows' keys."""
    known.update(min(key, way_back(key)) for key in table.keys)


def count_connections(paths: Sequence[Path]) -> int:
    """Count the pairs of endpoints with TCP segments, as far as the captures can be read again."""
    known: set[bytes] = set()
    for path in paths:
        with suppress(CaptureError):
            for table in read_segment_tables(read_packet_tables([path])):
                note_connections(table, known)
    return len(known)


def without_payload(connections: int, packets: int) -> str:
    """Return that nothing was sent, as in `no payload in 2 TCP connections`; of packets where these are not known."""
    count, unit = (connections, "TCP connection") if connections else (packets, "packet")
    return f"no payload in {count:,} {unit}{'s' * (count != 1)}"
