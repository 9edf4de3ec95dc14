"""Packet tables of capture files and streams: of one in its own order, of several merged by time."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wiretool.capture.files import opened, recognised
from wiretool.capture.pcap import VARIANTS
from wiretool.capture.pcapng import SECTION
from wiretool.capture.pcapng_tables import read_pcapng_tables
from wiretool.capture.source import CHUNK_BYTES, open_source
from wiretool.capture.tables import TABLE_BYTES, PacketTable, read_pcap_tables, tables_of
from wiretool.codec.columns import Integers
from wiretool.errors import CaptureError


def read_packet_tables(sources: Sequence[Path | BinaryIO]) -> Iterator[PacketTable]:
    """The packets of all sources, numbered from 1, in the order of `files.read_packets`.

    A source that is damaged gives what is good of it; CaptureError comes after the last table (with several sources,
    the first such error).
    """
    if len(sources) == 1:
        return _tables_of(sources[0], TABLE_BYTES)
    # A table of each is held at once: they share what one may take in.
    share = max(TABLE_BYTES // max(len(sources), 1), CHUNK_BYTES)
    return merged_tables([_tables_of(source, share) for source in sources])


def _tables_of(capture: Path | BinaryIO, table_bytes: int) -> Iterator[PacketTable]:
    with ExitStack() as stack:
        source = open_source(*opened(capture, stack))
        source.fill(4)
        if source.buffer[:4] in VARIANTS:
            yield from read_pcap_tables(source, table_bytes)
        elif source.buffer[:4] == SECTION:
            yield from read_pcapng_tables(source, table_bytes)
        else:
            yield from tables_of(recognised(source), table_bytes)


class _Head:
    """What of one capture waits: the table that is next, and how far it is given out."""

    def __init__(self, tables: Iterator[PacketTable], errors: list[CaptureError]) -> None:
        self._tables = tables
        self._errors = errors
        self._latest_ns = np.int64(-(2**63))
        self.at = 0
        self.table: PacketTable | None = None
        #: When each packet's turn is: not before those in front of it in its file, whatever its own time.
        self.turns: Integers = np.zeros(0, np.int64)
        self.advance()

    def advance(self) -> None:
        """Go on to the next table that has packets; none is left where `table` is None."""
        self.table, self.at = None, 0
        try:
            self.table = next(self._tables, None)
        except CaptureError as err:
            self._errors.append(err)
        if self.table is not None:
            self.turns = np.maximum.accumulate(np.maximum(self.table.times, self._latest_ns))
            self._latest_ns = self.turns[-1]


def merged_tables(captures: Sequence[Iterator[PacketTable]]) -> Iterator[PacketTable]:
    """The packets of all captures by time, numbered from 1: in the order of `files.read_packets`.

    A damaged capture gives what is good of it; the first CaptureError comes after the last table.
    """
    errors: list[CaptureError] = []
    heads = [_Head(tables, errors) for tables in captures]
    number = 1
    while open_ := [head for head in heads if head.table is not None]:
        # Up to here nothing more can come between: the capture that ends first may go on later, or at this very time.
        bound = min(int(head.turns[-1]) for head in open_)
        first = next(place for place, head in enumerate(open_) if head.turns[-1] == bound)
        ends = [
            int(np.searchsorted(head.turns, bound, "right" if place <= first else "left"))
            for place, head in enumerate(open_)
        ]
        yield _merged(open_, ends, number)
        for head, end in zip(open_, ends, strict=True):
            number += end - head.at
            head.at = end
            if head.table is not None and end == len(head.table.starts):
                head.advance()
    if errors:
        raise errors[0]


def _merged(heads: Sequence[_Head], ends: Sequence[int], number: int) -> PacketTable:
    """The packets of each head up to its end, in turn."""
    parts: list[bytes] = []
    columns: list[tuple[Integers, ...]] = []
    base = 0
    for head, end in zip(heads, ends, strict=True):
        table, at = head.table, head.at
        if table is None or at == end:
            continue
        every = (table.lengths, table.wire_lengths, table.times, table.links, head.turns)
        low, high = int(table.starts[at:end].min()), int((table.starts + table.lengths)[at:end].max())
        parts.append(table.data[low:high])
        columns.append((table.starts[at:end] - low + base, *(column[at:end] for column in every)))
        base += high - low
    if len(parts) == 1:  # nothing comes between
        return PacketTable(number, parts[0], *columns[0][:-1])
    joined = [np.concatenate(same) for same in zip(*columns, strict=True)]
    order = np.argsort(joined.pop(), kind="stable")
    return PacketTable(number, b"".join(parts), *(column[order] for column in joined))
