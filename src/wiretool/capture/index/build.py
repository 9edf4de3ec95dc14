"""The exact split points of a capture file: found in one pass over it, kept beside it, and carried on as it grows.

There is no mark in a capture at which a reader could set in, and any guess is wrong in a capture that carries one: so
every record is visited once. From any joint to any other one reads what the reading of the whole file gives there.

A file that a capture program still writes is read with `is_growing`: a last record that is not whole yet is no damage,
and `extended` goes on where the index ends (`tail`), without reading what is before. Programs rotate in two ways. With
new names (tcpdump -G, or -C alone; dumpcap -b) each file only grows. In a ring (tcpdump -C -W) a name is used again and
the file is emptied: `is_continued` is then False, what was not read of the old file is lost, and the new one wants an
index of its own.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from wiretool.capture.files.pcap import VARIANTS, read_head
from wiretool.capture.files.pcapng import SECTION
from wiretool.capture.files.reading import FileStatus, opened_to_seek, recognised
from wiretool.capture.files.source import PACKINGS, open_source
from wiretool.capture.index.cache import cached, keep
from wiretool.capture.index.object_cache import cached_object, keep_object
from wiretool.capture.index.ranges import FileSegments, read_range, read_span
from wiretool.capture.index.split_points import JOINT_BYTES, NO_TIME, FileIndex, Joint, Place, Span
from wiretool.capture.index.window import (
    NotedReader,
    PcapngTables,
    PcapTables,
    Placed,
    Tables,
    Window,
    packet_at,
    tables_from,
    window_of,
)
from wiretool.capture.tcp.pending_fragments import Waiting, rows_with_fragments
from wiretool.codec.columns import Integers
from wiretool.errors import CaptureError, UsageError
from wiretool.limits import JOINT_PLACES_MAX
from wiretool.storage.url_path import UrlPath

__all__ = [
    "JOINT_BYTES",
    "NO_TIME",
    "FileIndex",
    "FileSegments",
    "Joint",
    "Place",
    "Span",
    "extended",
    "index_of",
    "is_continued",
    "read_range",
    "read_span",
]

#: Of the first bytes so many tell files apart: the head of a pcap file, and its first record with its time.
HEAD_BYTES = 64
#: The least size of a packet in a file: the header of a pcap record; that of a pcapng block is longer.
PACKET_BYTES_MIN = 16
#: No split point is ever found there.
_NEVER = 1 << 63
_START = Joint(0, 1)


def index_of(path: Path, *, every_bytes: int = JOINT_BYTES, cache: bool = True, is_growing: bool = False) -> FileIndex:
    """The index of a capture file, with a joint at its first packet and about every so many bytes.

    It is taken from beside the file, and kept there, where `cache` allows it. CaptureError where the file is no capture
    at all; what is damaged has an index of what is sound before.
    """
    if every_bytes < 1:
        raise UsageError(f"a split point every {every_bytes} bytes; expected 1 or more")
    with ExitStack() as stack:
        name, file, stat = opened_to_seek(path, stack)
        known = _cached(path, file, stat, every_bytes) if cache else None
        is_usable = known is not None and not (is_growing and known.damage)  # it may be of an end that is awaited
        if known is not None and is_usable and _is_of(name, file, known):
            return known
        index, is_short = _indexed(name, file, stat, every_bytes, is_growing)
        if cache and not is_short:
            _keep(path, file, stat, index, every_bytes)
    return index


def _cached(path: Path, file: BinaryIO, stat: FileStatus, every_bytes: int) -> FileIndex | None:
    if isinstance(path, UrlPath):
        return cached_object(path, stat.st_size, every_bytes)
    assert isinstance(stat, os.stat_result), "files have one"
    return cached(path, file, stat, every_bytes)


def _keep(path: Path, file: BinaryIO, stat: FileStatus, index: FileIndex, every_bytes: int) -> None:
    if isinstance(path, UrlPath):
        keep_object(path, index, every_bytes)
        return
    assert isinstance(stat, os.stat_result), "files have one"
    keep(path, file, stat, index, every_bytes)


def _is_of(name: str, file: BinaryIO, index: FileIndex) -> bool:
    """Whether an index that was kept has all of a file: nothing before its first joint, and nothing after its last.

    Whether its ranges meet shows when they are read.
    """
    head = _head(name, file)
    is_packed = any(head.startswith(magic) for magic, _, _ in PACKINGS)
    if index.head != head or index.is_packed != is_packed or not _has_room(index):
        return False
    if is_packed:  # it has one range, which is read as a whole
        return [joint.number for joint in index.joints] == [1] * bool(index.packets)
    if index.kind != _kind(window_of(name, file, 0, index.size), is_growing=False):
        return False
    first = index.joints[0] if index.joints else index.tail
    has_first = not index.joints or (first.number == 1 and _is_bare(name, file, index, _START, first))
    return has_first and _is_end(name, file, index)


def _has_room(index: FileIndex) -> bool:
    """Return whether the file has room for the packets of each range."""
    ends = [_START, *index.joints, index.tail]
    has_room = all(
        to.at - since.at >= PACKET_BYTES_MIN * (to.number - since.number) >= 0 for since, to in pairwise(ends)
    )
    return has_room and (index.is_packed or index.tail.at <= index.size)


def _is_bare(name: str, file: BinaryIO, index: FileIndex, since: Joint, until: Joint) -> bool:
    """Whether no packets are between two joints, and what is known at the second one is true."""
    try:
        _, tables = tables_from(name, file, index.kind, since, until.at)
        is_empty = next(iter(tables), None) is None
    except CaptureError:
        return False
    expected = replace(since, at=until.at, number=since.number, blocks=tables.blocks(since.number))
    return is_empty and expected == until


def _is_end(name: str, file: BinaryIO, index: FileIndex) -> bool:
    """Whether no more packets follow the last one, and what is wrong there is that."""
    if not index.kind:
        return index.size == 0
    since = index.tail if index.joints else _START
    try:
        _, tables = tables_from(name, file, index.kind, since, index.size)
        if next(iter(tables), None) is not None:
            return False
    except CaptureError as err:
        return _said(err) == index.damage
    return not index.damage and tables.end == index.tail.at


def extended(path: Path, index: FileIndex, *, every_bytes: int = JOINT_BYTES, is_growing: bool = True) -> FileIndex:
    """The index of a file that may have grown since; its joints are those that `index_of` finds.

    Of a plain file only what is behind the last whole record is read. CaptureError where it is not `is_continued`.
    """
    with ExitStack() as stack:
        name, file, stat = opened_to_seek(path, stack)
        if not _is_continued(name, file, stat, index):
            raise CaptureError(name, "the file was rewritten; expected an unchanged file")
        if not index.kind or index.is_packed or index.tail.at == 0:
            return _indexed(name, file, stat, every_bytes, is_growing)[0]
        window, tables = tables_from(name, file, index.kind, index.tail, stat.st_size)
        scan = _Scan(every_bytes, index.tail, list(index.joints), index.first_ns, index.last_ns)
        for place in index.tail.fragments:
            scan.waiting.take(packet_at(name, file, place), place)
        damage = _scanned(scan, window, tables, is_growing)[0]
        return replace(
            scan.index(tables, index),
            size=stat.st_size,
            mtime_ns=stat.st_mtime_ns,
            head=_head(name, file),
            damage=damage,
        )


def is_continued(path: Path, index: FileIndex) -> bool:
    """Whether it is still the file that was indexed, as it was or with more behind it; CaptureError if it is gone."""
    with ExitStack() as stack:
        name, file, stat = opened_to_seek(path, stack)
        return _is_continued(name, file, stat, index)


def _is_continued(name: str, file: BinaryIO, stat: FileStatus, index: FileIndex) -> bool:
    is_same = stat.st_ino == index.inode and stat.st_size >= index.size
    return is_same and _head(name, file).startswith(index.head)


def _head(name: str, file: BinaryIO) -> bytes:
    window = window_of(name, file, 0, HEAD_BYTES)
    window.fill(HEAD_BYTES)
    return window.buffer


def _indexed(name: str, file: BinaryIO, stat: FileStatus, every_bytes: int, is_growing: bool) -> tuple[FileIndex, bool]:
    """The index of a whole file, and whether its end is awaited."""
    head = _head(name, file)
    is_packed = any(head.startswith(magic) for magic, _, _ in PACKINGS)
    window = _unpacked(name, file) if is_packed else window_of(name, file, 0, stat.st_size)
    scan = _Scan(_NEVER if is_packed else every_bytes, _START)
    kind = _kind(window, is_growing)
    empty = FileIndex(stat.st_size, stat.st_mtime_ns, stat.st_ino, head, kind, (), _START, 0, 0, "", is_packed)
    index = replace(empty, first_ns=NO_TIME, last_ns=NO_TIME)
    if not kind:
        return index, window.left > 0
    try:
        tables = _tables(window, kind)
    except CaptureError as err:  # not even the head of the file is whole
        is_short = is_growing and window.is_short
        return replace(index, damage="" if is_short else _said(err)), is_short
    damage, is_short = _scanned(scan, window, tables, is_growing)
    return replace(scan.index(tables, index), damage=damage), is_short


def _unpacked(name: str, file: BinaryIO) -> Window:
    file.seek(0)
    return Window(name, open_source(name, file).rest())


def _kind(window: Window, is_growing: bool) -> str:
    """What kind of capture it is by its first bytes; "" where there are none, or not enough yet."""
    window.fill(4)
    magic = window.buffer[:4]
    if magic in VARIANTS:
        return "pcap"
    if magic == SECTION:
        return "pcapng"
    if not (is_growing and any(known.startswith(magic) for known in (*VARIANTS, SECTION))):
        recognised(window)  # raises, with the words that all others use, unless there is nothing
    return ""


def _tables(window: Window, kind: str) -> Tables:
    if kind == "pcapng":
        return PcapngTables(window, NotedReader(window), _START)
    return PcapTables(window, *read_head(window), replace(_START, at=window.at))


def _scanned(scan: "_Scan", window: Window, tables: Tables, is_growing: bool) -> tuple[str, bool]:
    """Look at all tables: what is wrong behind them, and whether that is only an end that is still being written."""
    try:
        for placed in tables:
            scan.take(placed, tables)
    except CaptureError as err:
        is_short = is_growing and window.is_short
        return "" if is_short else _said(err), is_short
    return "", False


def _said(err: CaptureError) -> str:
    return err.reason


@dataclass(slots=True)
class _Scan:
    """What is found of joints, from the place `since` on."""

    every_bytes: int
    since: Joint
    joints: list[Joint] = field(default_factory=list)
    first_ns: int = NO_TIME
    last_ns: int = NO_TIME
    waiting: Waiting = field(default_factory=Waiting)
    #: Where the next joint may be at the earliest; the turn and the time of the last packet.
    next_at: int = 0
    turn_ns: int = NO_TIME
    packet_ns: int = 0

    def __post_init__(self) -> None:
        if self.joints:
            self.next_at = self.joints[-1].at + self.every_bytes
        self.turn_ns, self.packet_ns = self.since.before_ns, self.since.packet_ns

    def take(self, placed: Placed, tables: Tables) -> None:
        """Look at the packets of one table."""
        table, odd = placed.table, rows_with_fragments(placed.table)
        done = 0
        for row in self._rows(placed):
            end = int(odd.searchsorted(row))
            self.waiting.take_rows(table, placed.base, odd[done:end].tolist())
            done = end
            if self.waiting.count <= JOINT_PLACES_MAX:
                self._join(placed, row, tables)
        self.waiting.take_rows(table, placed.base, odd[done:].tolist())
        self._pass(table.times, is_first=table.first_number == 1)

    def _rows(self, placed: Placed) -> Iterator[int]:
        """The packets at which a joint is due."""
        row = int(placed.records.searchsorted(self.next_at))
        while row < len(placed.records):
            yield row
            row = max(row + 1, int(placed.records.searchsorted(self.next_at)))

    def _join(self, placed: Placed, row: int, tables: Tables) -> None:
        at, number = int(placed.records[row]), placed.table.first_number + row
        blocks = tables.blocks(number)
        if self.joints and len(blocks) > JOINT_PLACES_MAX:  # the first one there must be
            return
        times = placed.table.times[:row]
        before_ns = max(self.turn_ns, int(times.max())) if row else self.turn_ns
        packet_ns = int(times[-1]) if row else self.packet_ns
        self.joints.append(Joint(at, number, before_ns, packet_ns, blocks, self.waiting.places()))
        self.next_at = min(at + self.every_bytes, _NEVER - 1)

    def _pass(self, times: Integers, *, is_first: bool) -> None:
        least_ns, self.packet_ns = int(times.min()), int(times[-1])
        self.first_ns = least_ns if is_first else min(self.first_ns, least_ns)
        self.turn_ns = self.last_ns = max(self.turn_ns, int(times.max()))

    def index(self, tables: Tables, before: FileIndex) -> FileIndex:
        """What was found, in place of what was known before."""
        number = tables.next_number
        blocks, places = tables.blocks(number), self.waiting.places()
        tail = Joint(tables.end, number, self.turn_ns, self.packet_ns, blocks, places)
        return replace(before, joints=tuple(self.joints), tail=tail, first_ns=self.first_ns, last_ns=self.last_ns)
