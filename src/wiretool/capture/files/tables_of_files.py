"""Packet tables of capture files and streams: of one in its own order, of several merged by time."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from wiretool.capture.files import tables
from wiretool.capture.files.pcap import VARIANTS
from wiretool.capture.files.pcapng import SECTION, Reader
from wiretool.capture.files.pcapng_tables import read_pcapng_tables
from wiretool.capture.files.reading import opened, recognised
from wiretool.capture.files.source import open_source
from wiretool.capture.files.tables import TABLE_BYTES, PacketTable, read_pcap_tables, tables_of
from wiretool.capture.tls.keylog import KeyLog
from wiretool.codec.columns import Integers
from wiretool.errors import CaptureError

#: What of each capture a table takes in at least: the largest packets that are usual. More is read of it at once.
SHARE_BYTES_MIN = 64 * 1024
#: How many times what a table may hold a merged one may take in.
MERGED_TABLES_MAX = 2


def read_packet_tables(sources: Sequence[Path | BinaryIO], keys: KeyLog | None = None) -> Iterator[PacketTable]:
    """The packets of all sources, numbered from 1, in the order of `reading.read_packets`; `keys` as there.

    A source that is damaged gives what is good of it; CaptureError comes after the last table (with several sources,
    the first such error).
    """
    if len(sources) == 1:
        return _tables_of(sources[0], TABLE_BYTES, keys)
    # A table of each is held at once, and what is left of the one before it: they share what one may take in.
    share = max(TABLE_BYTES // max(len(sources), 1), SHARE_BYTES_MIN)
    return merged_tables([_tables_of(source, share, keys) for source in sources])


def _tables_of(capture: Path | BinaryIO, table_bytes: int, keys: KeyLog | None) -> Iterator[PacketTable]:
    with ExitStack() as stack:
        source = open_source(*opened(capture, stack))
        source.fill(4)
        if source.buffer[:4] in VARIANTS:
            yield from read_pcap_tables(source, table_bytes)
        elif source.buffer[:4] == SECTION:
            yield from read_pcapng_tables(source, table_bytes, Reader(source, keys))
        else:
            yield from tables_of(recognised(source), table_bytes)


class _Turn(NamedTuple):
    """When a packet comes: by time, and of those at one time in the order of the captures.

    The time is not before that of any packet in front of it in its file, whatever its own.
    """

    time_ns: int
    place: int


class _Piece(NamedTuple):
    """Packets of one capture that follow one another, and the time of each one's turn."""

    table: PacketTable
    times: Integers

    def up_to(self, bound: _Turn, place: int) -> int:
        """How many have their turn up to a bound; `place` is that of their capture."""
        return int(self.times.searchsorted(bound.time_ns, "right" if place <= bound.place else "left"))

    def extent(self, start: int, end: int) -> tuple[int, int]:
        """Where the bytes of some of them begin and end."""
        starts, lengths = self.table.starts, self.table.lengths
        return (int(starts[start]), int(starts[end - 1] + lengths[end - 1])) if start < end else (0, 0)

    def cut(self, start: int, end: int) -> "_Piece":
        """Some of them, with no other bytes."""
        low, high = self.extent(start, end)
        table, rows = self.table, slice(start, end)
        columns = table.lengths[rows], table.wire_lengths[rows], table.times[rows], table.links[rows]
        data, starts = table.data[low:high], table.starts[rows] - low
        return _Piece(PacketTable(table.first_number + start, data, starts, *columns), self.times[rows])


class _Capture:
    """What of one capture waits: of its last table, and of the one before it as long as there is anything left."""

    def __init__(self, place: int, packets: Iterator[PacketTable]) -> None:
        self.place = place
        self._tables = packets
        self._pieces: list[_Piece] = []
        #: How many of the first piece were given out.
        self._at = 0
        #: The turn of the last packet that was read.
        self.last = _Turn(-(2**63), place)
        self._has_begun = False
        #: What it ended with, and when: after its last packet, or before all others.
        self.failure: tuple[bool, _Turn, CaptureError] | None = None
        self.read_on()

    def __bool__(self) -> bool:
        """Whether any packet waits."""
        return bool(self._pieces)

    @property
    def first(self) -> _Turn:
        """The turn of the first packet that waits."""
        return _Turn(int(self._pieces[0].times[self._at]), self.place)

    def read_on(self) -> None:
        """Take in the next table if half of the last one is given out, of which no more is kept than is left."""
        if len(self._pieces) > 1 or (self._pieces and 2 * self._at < len(self._pieces[0].times)):
            return
        try:
            table = next(self._tables, None)
        except CaptureError as err:
            self.failure = self._has_begun, self.last, err
            return
        if table is None:
            return
        times = np.maximum.accumulate(np.maximum(table.times, self.last.time_ns))
        self.last, self._has_begun = _Turn(int(times[-1]), self.place), True
        self._pieces = [*(piece.cut(self._at, len(piece.times)) for piece in self._pieces), _Piece(table, times)]
        self._at = 0

    def size(self, bound: _Turn) -> float:
        """How much of what a table may hold has its turn up to a bound."""
        size, start = 0.0, self._at
        for piece in self._pieces:
            end = piece.up_to(bound, self.place)
            low, high = piece.extent(start, end)
            size += max((high - low) / TABLE_BYTES, (end - start) / tables.TABLE_PACKETS)
            start = 0
        return size

    def take(self, bound: _Turn) -> Iterator[_Piece]:
        """Give out what has its turn up to a bound."""
        while self._pieces:
            piece, start = self._pieces[0], self._at
            self._at = end = piece.up_to(bound, self.place)
            if start < end:
                yield piece.cut(start, end)
            if end < len(piece.times):
                return
            del self._pieces[0]
            self._at = 0


def merged_tables(captures: Sequence[Iterator[PacketTable]]) -> Iterator[PacketTable]:
    """The packets of all captures by time, numbered from 1: in the order of `reading.read_packets`.

    In the tables of a capture packets stand in the order of their bytes. A damaged capture gives what is good of it;
    the first CaptureError comes after the last table.
    """
    every = [_Capture(place, packets) for place, packets in enumerate(captures)]
    # By turn, so that nobody looks at captures that begin later: the next packet of each, and the last that was read.
    firsts, lasts = [each.first for each in every if each], [each.last for each in every if each]
    heapify(firsts)
    heapify(lasts)
    number = 1
    while firsts:
        # Up to here nothing more can come between: the capture that ends first may go on later, or at this very time.
        while not every[lasts[0].place] or every[lasts[0].place].last != lasts[0]:
            heappop(lasts)
        taken = sorted(_popped(firsts, lasts[0]))
        bound = _bound([every[place] for place in taken], lasts[0])
        pieces = [piece for place in taken for piece in every[place].take(bound)]
        yield _merged(pieces, number)
        number += sum(len(piece.times) for piece in pieces)
        for each in (every[place] for place in taken):
            before = each.last
            each.read_on()
            if each.last != before:
                heappush(lasts, each.last)
            if each:
                heappush(firsts, each.first)
    failures = [each.failure for each in every if each.failure is not None]
    if failures:
        raise min(failures, key=lambda failure: failure[:2])[-1]


def _popped(turns: list[_Turn], bound: _Turn) -> Iterator[int]:
    """The captures whose turn is up to a bound, in any order; they are taken from the heap."""
    while turns and turns[0] <= bound:
        yield heappop(turns).place


def _bound(captures: Sequence[_Capture], bound: _Turn) -> _Turn:
    """A bound up to which they have packets, and no more than fit in a table; not behind that one."""
    first = min(each.first.time_ns for each in captures)
    while bound.time_ns > first:
        size = sum(each.size(bound) for each in captures)
        if size <= MERGED_TABLES_MAX:
            break
        # They seldom come evenly: at each turn at most half of it is left.
        bound = _Turn(first + int((bound.time_ns - first) / size), captures[-1].place)
    return bound


def _merged(pieces: Sequence[_Piece], number: int) -> PacketTable:
    """The packets of all pieces, which stand in the order of their captures."""
    parts = [piece.table for piece in pieces]
    bases = np.cumsum([0, *(len(part.data) for part in parts)])
    columns = [
        [part.starts + base for part, base in zip(parts, bases.tolist(), strict=False)],
        [part.lengths for part in parts],
        [part.wire_lengths for part in parts],
        [part.times for part in parts],
        [part.links for part in parts],
    ]
    data = b"".join(part.data for part in parts)
    if len(parts) == 1:  # nothing comes between
        return PacketTable(number, data, *(column[0] for column in columns))
    order = np.argsort(np.concatenate([piece.times for piece in pieces]), kind="stable")
    return PacketTable(number, data, *(np.concatenate(column)[order] for column in columns))
