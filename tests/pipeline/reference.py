"""What a pipeline has to say, the plain way: each flow gathered from all files, and read record by record."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from wiretool.capture.files.reading import read_packets
from wiretool.capture.tcp.closed_flows import way_back
from wiretool.capture.tcp.segments_of_packets import Segment, read_segments
from wiretool.dissect.dissector import Dissector
from wiretool.errors import CaptureError
from wiretool.pipeline.flows.deduplicate import WINDOW_NS
from wiretool.pipeline.flows.segments import Namer
from wiretool.pipeline.layout import Manifest

Row = dict[str, Any]


class Seen(NamedTuple):
    """A segment in the order in which it was captured."""

    turn_ns: int
    file: int
    segment: Segment


def segments_in(file: int, path: Path) -> Iterator[Seen]:
    """The segments of a file, up to where it is damaged."""
    turn_ns = -(2**63)
    times = []

    def noted() -> Iterator[Any]:
        for packet in read_packets([path]):
            times.append(packet.time_ns)
            yield packet

    done = 0
    try:
        for segment in read_segments(noted()):
            turn_ns, done = max([turn_ns, *times[done : segment.number]]), segment.number
            yield Seen(turn_ns, file, segment)
    except CaptureError:
        return


def taken_once(flow: Sequence[Seen]) -> list[Seen]:
    """Those that are not copies, in another file, of an earlier one."""
    kept: list[tuple[Seen, set[int]]] = []
    for seen in flow:
        for first, files in kept:
            is_near = seen.turn_ns - first.turn_ns <= WINDOW_NS and seen.file not in files
            if is_near and first.segment._replace(number=0, time_ns=0) == seen.segment._replace(number=0, time_ns=0):
                files.add(seen.file)
                break
        else:
            kept.append((seen, {seen.file}))
    return [seen for seen, _ in kept]


def frames_of(paths: Sequence[Path]) -> list[Row]:
    """The rows of `frames`, sorted, without those columns that only appends have."""
    flows: dict[bytes, list[Seen]] = defaultdict(list)
    for file, path in enumerate(paths):
        for seen in segments_in(file, path):
            flows[min(seen.segment.flow, way_back(seen.segment.flow))].append(seen)
    rows = [row for flow, seen in flows.items() for row in _rows_of(flow, sorted(seen, key=_turn), paths)]
    return in_order(rows)


def _turn(seen: Seen) -> tuple[int, int, int]:
    return seen.turn_ns, seen.file, seen.segment.number


def _rows_of(flow: bytes, seen: Sequence[Seen], paths: Sequence[Path]) -> Iterator[Row]:
    seen = taken_once(seen)
    segments = [each.segment._replace(number=number) for number, each in enumerate(seen, 1)]
    for record in Dissector(name=Namer(flow)).records_of(segments):
        first, last = (seen[number - 1] for number in record.packets)
        yield {
            "n": record.n,
            "kind": record.kind,
            "time_ns": record.time_ns,
            "connection": record.connection,
            "client": record.client,
            "server": record.server,
            "side": record.side,
            "protocol": record.protocol or "none",
            "message": record.message or None,
            "first_file": str(paths[first.file]),
            "first_packet": first.segment.number,
            "last_file": str(paths[last.file]),
            "last_packet": last.segment.number,
            "offset": record.offset,
            "length": record.length,
            "reply_to": record.reply_to,
            "error": record.error or None,
            "why": record.why or None,
        }


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Rows by connection and number."""
    return sorted(rows, key=lambda row: (row["connection"], row["n"]))


# -- tables ------------------------------------------------------------------------------------------------------------


def table(root: Path, name: str) -> pa.Table:
    """A table as a reader of the folder has it, with the columns that its folders name."""
    return ds.dataset(root / name, format="parquet", partitioning="hive").to_table()


def rows(root: Path, name: str) -> list[Row]:
    """Its rows, those of the same flow in order; none where there is no such table."""
    if not (root / name).exists():
        return []
    return in_order(table(root, name).to_pylist())


def every_row(root: Path, manifest: Manifest) -> dict[str, list[str]]:
    """All rows of all tables as text, sorted: what must be the same however it was made."""
    return {
        name: sorted(repr(sorted(row.items())) for row in table(root, name).to_pylist()) for name in manifest.tables
    }
