"""Packet tables of a part of a capture file, and where in the file they stand."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from wiretool.capture.files.pcap import FILE_HEADER_BYTES, VARIANTS, Variant, read_head
from wiretool.capture.files.pcapng import DATA_AT, Block, Reader
from wiretool.capture.files.pcapng_blocks import Kind
from wiretool.capture.files.pcapng_tables import read_pcapng_tables
from wiretool.capture.files.source import CHUNK_BYTES, Source
from wiretool.capture.files.tables import PacketTable, read_record_tables
from wiretool.capture.index.cache import cache_path
from wiretool.capture.index.object_cache import object_cache_folder
from wiretool.capture.index.split_points import Joint, Place
from wiretool.capture.packets import Packet
from wiretool.codec.columns import Integers
from wiretool.errors import CaptureError, system_reason
from wiretool.storage.url_path import is_url

#: Bytes asked of the system for one block by itself; interface blocks have some hundred.
BLOCK_CHUNK_BYTES = 4096
#: What a block has in front of its body.
BLOCK_HEAD_BYTES = 8


class Window(Source):
    """The bytes of a capture from a place on, and where they stand."""

    __slots__ = ("is_short",)

    def __init__(self, name: str, chunks: Iterator[bytes], at: int = 0) -> None:
        super().__init__(name, chunks)
        self._before = at
        #: Whether more was asked for last than there was.
        self.is_short = False

    @property
    def origin(self) -> int:
        """Where in the capture the buffer begins."""
        return self._before

    def fill(self, size: int) -> bool:
        self.is_short = False
        has_all = super().fill(size)
        self.is_short = not has_all
        return has_all


def window_of(name: str, file: BinaryIO, at: int, end: int, chunk_bytes: int = CHUNK_BYTES) -> Window:
    """The bytes of a plain file from `at` to `end`; none is read that nobody asks for."""
    return Window(name, _chunks(name, file, at, end, chunk_bytes), at)


def _chunks(name: str, file: BinaryIO, at: int, end: int, chunk_bytes: int) -> Iterator[bytes]:
    try:
        while at < end:
            file.seek(at)
            chunk = file.read(min(chunk_bytes, end - at))
            if not chunk:
                return
            at += len(chunk)
            yield chunk
    except OSError as err:
        raise CaptureError(name, f"cannot be read: {system_reason(err)}", offset=at) from err


def packet_at(name: str, file: BinaryIO, place: Place) -> Packet:
    """The packet of a waiting fragment; its number is 0, as it gives no segment by itself."""
    window = window_of(name, file, place.at, place.at + place.captured)
    if not window.fill(place.captured):
        raise changed(name, place.at)
    return Packet(0, place.time_ns, place.link_type, window.buffer, place.length)


def changed(name: str, at: int) -> CaptureError:
    """Return the error for a file that is not what its index says."""
    kept = f"the folder {object_cache_folder()}" if is_url(name) else cache_path(Path(name)).name
    why = f"the file changed after it was indexed; run the command again, after removing {kept} if that is there"
    return CaptureError(name, why, offset=at)


class Placed(NamedTuple):
    """Packets and where they stand: byte 0 of their table's data at `base`, and their records at `records`."""

    table: PacketTable
    base: int
    records: Integers


class PcapTables:
    """The packets of a pcap file from a joint on."""

    def __init__(self, source: Window, variant: Variant, link_type: int, start: Joint) -> None:
        self._source = source
        self._variant = variant
        self._tables = read_record_tables(source, variant, link_type, start.number)
        #: Behind the last whole record, and the number of the packet after it.
        self.end, self.next_number = start.at, start.number

    def __iter__(self) -> Iterator[Placed]:
        for table in self._tables:
            base = self._base(table)
            self.end = base + int(table.starts[-1] + table.lengths[-1])
            self.next_number = table.first_number + len(table.starts)
            yield Placed(table, base, base + table.starts - self._variant.record.size)

    def _base(self, table: PacketTable) -> int:
        source = self._source
        if table.data is source.buffer:
            return source.origin
        return source.origin + source.at - len(table.data)  # a packet that is larger than a table, by itself

    def blocks(self, number: int) -> tuple[int, ...]:
        """What holds for a packet beside the head of the file: nothing."""
        return ()


class PcapngTables:
    """The packets of a pcapng file from a joint on."""

    def __init__(self, source: Window, reader: "NotedReader", start: Joint) -> None:
        self._source = source
        self._reader = reader
        #: The number of the packet that would be next.
        self.next_number = start.number

    @property
    def end(self) -> int:
        """Behind the last whole block."""
        return self._source.origin + self._source.at

    def __iter__(self) -> Iterator[Placed]:
        source, reader = self._source, self._reader
        for table in read_pcapng_tables(source, reader=reader):
            base, self.next_number = source.origin, table.first_number + len(table.starts)
            yield Placed(table, base, base + table.starts - self._heads(table))
            reader.forget()

    def _heads(self, table: PacketTable) -> Integers:
        """How far each packet stands behind the begin of its block."""
        heads = np.full(len(table.starts), BLOCK_HEAD_BYTES + DATA_AT[Kind.PACKET], np.int64)
        simples = np.array(self._reader.simples, np.int64) - table.first_number
        heads[simples] = BLOCK_HEAD_BYTES + DATA_AT[Kind.SIMPLE_PACKET]
        return heads

    def blocks(self, number: int) -> tuple[int, ...]:
        """Where the section header and the interface blocks stand that hold for the packet of that number."""
        return self._reader.blocks(number)


class _Noted(NamedTuple):
    """Where a section header or an interface block stands, and how many packets are before it."""

    at: int
    packets: int
    is_section: bool


class NotedReader(Reader):
    """A reader that remembers where the blocks stand that hold for its packets."""

    def __init__(self, source: Window) -> None:
        super().__init__(source)
        self._window = source
        self._noted: list[_Noted] = []
        #: Numbers of the packets of simple packet blocks.
        self.simples: list[int] = []

    def _read(self, block: Block) -> Packet | None:
        packet = super()._read(block)
        if block.kind == Kind.SIMPLE_PACKET:
            self.simples.append(self.number)
        elif block.kind in (Kind.SECTION, Kind.INTERFACE):
            self._note(block.kind == Kind.SECTION)
        return packet

    def _note(self, is_section: bool) -> None:
        if is_section:  # one that has no packets is of no use: there may be any number of them
            begin = self._section(self.number + 1)
            if begin < len(self._noted) and self._noted[begin].packets == self.number:
                del self._noted[begin:]
        self._noted.append(_Noted(self._window.origin + self._window.at, self.number, is_section))

    def _section(self, number: int) -> int:
        """Which of the noted blocks begins the section of a packet."""
        for at in range(len(self._noted) - 1, -1, -1):
            if self._noted[at].is_section and self._noted[at].packets < number:
                return at
        return 0

    def blocks(self, number: int) -> tuple[int, ...]:
        """Where the section header and the interface blocks stand that hold for the packet of that number."""
        return tuple(noted.at for noted in self._noted[self._section(number) :] if noted.packets < number)

    def forget(self) -> None:
        """Keep only what holds for the packets that follow."""
        del self._noted[: self._section(self.number + 1)]
        self.simples.clear()

    def resume(self, name: str, file: BinaryIO, start: Joint, size: int) -> None:
        """Take over what holds at a joint of a file of that size."""
        source = self._window
        for at in start.blocks:
            self._source = self._window = window_of(name, file, at, size, BLOCK_CHUNK_BYTES)
            if not self.has_block():
                raise changed(name, at)
            self.read()
        self._source = self._window = source
        self.number, self.time_ns = start.number - 1, start.packet_ns


Tables = PcapTables | PcapngTables


def tables_from(name: str, file: BinaryIO, kind: str, start: Joint, end: int) -> tuple[Window, Tables]:
    """The packets of a plain capture file from a joint to `end`, and the window through which they are read."""
    if kind == "pcap":  # where nothing was read of it yet its first record is behind the head
        start = replace(start, at=max(start.at, FILE_HEADER_BYTES))
    source = window_of(name, file, start.at, end)
    if kind == "pcapng":
        reader = NotedReader(source)
        reader.resume(name, file, start, end)
        return source, PcapngTables(source, reader, start)
    head = window_of(name, file, 0, FILE_HEADER_BYTES)
    if not head.fill(FILE_HEADER_BYTES) or head.buffer[:4] not in VARIANTS:
        raise changed(name, 0)
    return source, PcapTables(source, *read_head(head), start)
