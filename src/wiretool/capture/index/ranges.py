"""The TCP segments of a part of a capture file, as the reading of the whole file gives them."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from wiretool.capture.columns.segments import SegmentTable, segments_of
from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.files.reading import opened_to_seek
from wiretool.capture.files.tables import PacketTable
from wiretool.capture.files.tables_of_files import read_packet_tables
from wiretool.capture.index.passed import Passed
from wiretool.capture.index.split_points import FileIndex, Joint, Span
from wiretool.capture.index.window import changed, packet_at, tables_from
from wiretool.capture.tcp.fragments import Fragments
from wiretool.capture.tcp.packet_key import header_bytes, marks_of, tcp_start
from wiretool.capture.tcp.segments_of_packets import segment_of
from wiretool.codec.columns import Integers
from wiretool.errors import CaptureError
from wiretool.storage.url_path import UrlPath


@dataclass(frozen=True, slots=True)
class FileSegments:
    """TCP segments of one file: a payload with `starts < plain` stands in the file at `base + starts`.

    The others are put together of several packets. `base` is -1 where the file is packed, or is an object, whose bytes
    are not read a second time. `turns` are the greatest times in the file up to each packet, in ns; `marks` what two
    copies of a packet have in common; `counts` count the packets of this table by what they are.
    """

    table: SegmentTable
    base: int
    plain: int
    turns: Integers
    marks: NDArray[np.uint64]
    counts: PacketCounts


def read_range(path: Path, index: FileIndex, first: int = 0, stop: int | None = None) -> Iterator[FileSegments]:
    """The segments of the ranges `first` to `stop` of a file, without it, a table for each few mebibytes.

    Packets are numbered as in the whole file. CaptureError where the file is not the one that was indexed any more; of
    the damage behind the last range, which the index tells, nothing is said.
    """
    return read_span(path, index.span(first, stop))


def read_span(path: Path, span: Span) -> Iterator[FileSegments]:
    """As `read_range`."""
    if span.next_number == span.since.number:
        return
    with ExitStack() as stack:
        name, file, _ = opened_to_seek(path, stack, span.end)
        fragments, turn_ns = _fragments_at(name, file, span.since), span.since.before_ns
        for packets, base in _tables(name, file, path, span):
            turns = np.maximum.accumulate(np.maximum(packets.times, turn_ns))
            turn_ns = int(turns[-1])
            yield _segments(packets, base, turns, fragments)


def read_span_packets(path: Path, span: Span) -> Iterator[PacketTable]:
    """The packets themselves; otherwise as `read_span`."""
    if span.next_number == span.since.number:
        return
    with ExitStack() as stack:
        name, file, _ = opened_to_seek(path, stack, span.end)
        for packets, _ in _tables(name, file, path, span):
            yield packets


def _tables(name: str, file: BinaryIO, path: Path, span: Span) -> Iterator[tuple[PacketTable, int]]:
    """The packets of a span, and where in the file the data of each table stands; CaptureError as `read_range`."""
    if span.is_packed:
        return _packed(name, path, span)
    tables = _plain(name, file, span)
    return ((table, -1) for table, _ in tables) if isinstance(path, UrlPath) else tables


def _fragments_at(name: str, file: BinaryIO, joint: Joint) -> Fragments:
    """What waits at a joint."""
    fragments, counts = Fragments(), PacketCounts()
    for place in joint.fragments:
        segment_of(packet_at(name, file, place), fragments, counts)
    return fragments


def _plain(name: str, file: BinaryIO, span: Span) -> Iterator[tuple[PacketTable, int]]:
    _, tables = tables_from(name, file, span.kind, span.since, span.end)
    passed = Passed(name, file, span.since)
    for placed in tables:
        passed.take(placed)
        yield placed.table, placed.base
    passed.check(span, tables)


def _packed(name: str, path: Path, span: Span) -> Iterator[tuple[PacketTable, int]]:
    """The packets of a packed file, all of them, up to its damage."""
    number = span.since.number
    try:
        for table in read_packet_tables([path]):
            number = table.first_number + len(table.starts)
            yield table, -1
    except CaptureError:
        if number != span.next_number:
            raise
    if number != span.next_number:
        raise changed(name, span.end)


def _segments(packets: PacketTable, base: int, turns: Integers, fragments: Fragments) -> FileSegments:
    counts, lost = PacketCounts(), fragments.lost
    table = segments_of(packets, fragments, counts)
    counts.count_lost_fragments(fragments.lost - lost)  # negative where it completes those that waited
    rows = table.numbers - packets.first_number
    if base >= 0:
        table = _found(table, packets, rows)
    return FileSegments(table, base, len(packets.data), turns[rows], marks_of(packets, table), counts)


def _found(table: SegmentTable, packets: PacketTable, rows: Integers) -> SegmentTable:
    """The segments, with the payloads that were taken from packets with tags, say, where these have them."""
    copied = np.flatnonzero((table.starts >= len(packets.data)) & (table.lengths > 0))
    if not len(copied):
        return table
    starts = table.starts.copy()
    for at in copied.tolist():
        packet = packets.packet(int(rows[at]))
        _, tcp = tcp_start(packet.data, packet.link_type)
        if tcp >= 0:
            starts[at] = packets.starts[rows[at]] + tcp + header_bytes(packet.data, tcp)
    return replace(table, starts=starts)
