"""Packets of captures as arrays: a table for every few mebibytes of file, so that memory does not grow with it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from wiretool.capture.files.pcap import Variant, check_claim, read_head, read_records
from wiretool.capture.files.source import Source
from wiretool.capture.packets import Packet
from wiretool.codec.columns import NO_INTEGERS, Integers, gathered
from wiretool.codec.frames.boundaries import hop
from wiretool.codec.frames.prefix import Prefix
from wiretool.errors import CaptureError

#: Bytes of a capture that one table takes in: enough that what is done once a table costs nothing, and small beside
#: what a reader may hold.
TABLE_BYTES = 4 * 1024 * 1024
#: Packets that one table takes in at most, where they are tiny.
TABLE_PACKETS = 16_384
#: Where in the header of a record of pcap its captured length stands, and that any fits: what is too long ends late.
CAPTURED_AT, ANY_LENGTH = 8, 0xFFFF_FFFF
#: Records are guessed in stretches of so many bytes, each in so many places; none is longer in the usual captures.
GUESS_BYTES, GUESS_TRIES = 32 * 1024, 8
LIKELY_BYTES_MAX = 256 * 1024
#: Records of so many bytes and more are so few that one after another takes less than to guess where they begin.
LONG_BYTES = 2048


@dataclass(frozen=True, slots=True)
class PacketTable:
    """Packets that follow one another: packet `first_number + i` is `data[starts[i] : starts[i] + lengths[i]]`.

    `times` are ns since the epoch, `wire_lengths` what each had on the wire (at least `lengths`), `links` LINKTYPEs.
    """

    first_number: int
    data: bytes
    starts: Integers
    lengths: Integers
    wire_lengths: Integers
    times: Integers
    links: Integers

    def packet(self, row: int) -> Packet:
        """One of them by itself."""
        start, length = int(self.starts[row]), int(self.lengths[row])
        number, time_ns, link = self.first_number + row, int(self.times[row]), int(self.links[row])
        return Packet(number, time_ns, link, self.data[start : start + length], int(self.wire_lengths[row]))


def tables_of(packets: Iterable[Packet], table_bytes: int = TABLE_BYTES) -> Iterator[PacketTable]:
    """Packets that were read one by one, as tables; CaptureError comes after the last table."""
    packets = iter(packets)
    failure: CaptureError | None = None
    while failure is None:
        chunk: list[Packet] = []
        try:
            size = 0
            for packet in islice(packets, TABLE_PACKETS):
                chunk.append(packet)
                size += len(packet.data)
                if size >= table_bytes:
                    break
        except CaptureError as err:
            failure = err
        if chunk:
            yield _table_of(chunk)
        elif failure is None:
            return
    raise failure


def _table_of(packets: Sequence[Packet]) -> PacketTable:
    lengths = np.fromiter((len(packet.data) for packet in packets), np.int64, len(packets))
    return PacketTable(
        packets[0].number,
        b"".join(packet.data for packet in packets),
        np.cumsum(lengths) - lengths,
        lengths,
        np.fromiter((packet.length for packet in packets), np.int64, len(packets)),
        np.fromiter((packet.time_ns for packet in packets), np.int64, len(packets)),
        np.fromiter((packet.link_type for packet in packets), np.int64, len(packets)),
    )


# -- pcap --------------------------------------------------------------------------------------------------------------


def read_pcap_tables(source: Source, table_bytes: int = TABLE_BYTES) -> Iterator[PacketTable]:
    """The packets of a pcap file, as `read_pcap`. One that is larger than a table is a table by itself."""
    return read_record_tables(source, *read_head(source), table_bytes=table_bytes)


def read_record_tables(
    source: Source, variant: Variant, link_type: int, number: int = 1, table_bytes: int = TABLE_BYTES
) -> Iterator[PacketTable]:
    """The packets of all records from the window on, of which the first is number `number`."""
    failure, is_guessed, reach = None, False, table_bytes
    while True:
        # What is sound before a damage may be more than a table.
        failure = failure or filled(source, table_bytes)
        start = source.at
        starts = _hop(source, variant, reach, is_guessed=is_guessed)
        if len(starts):
            size = source.at - start
            is_guessed = size < LONG_BYTES * len(starts)
            # Where records are tiny, a table has a small part of the window: what is after it is not visited each time.
            is_small = 2 * len(starts) > TABLE_PACKETS
            reach = size + size // 8 if is_small else max(table_bytes, len(source.buffer))
            table = _pcap_table(source.buffer, starts, variant, link_type, number)
        elif failure is not None:
            if source.left >= variant.record.size:  # what is read one by one stumbles over this first
                check_claim(source, number, variant.record.unpack_from(source.buffer, source.at)[2])
            raise failure
        elif (packet := next(read_records(source, variant, link_type, number), None)) is not None:
            table = _table_of([packet])
        else:
            return
        yield table
        number += len(table.starts)


def filled(source: Source, table_bytes: int) -> CaptureError | None:
    """Widen the window to a table; the damage that ends it."""
    try:
        source.fill(table_bytes)
    except CaptureError as err:
        return err
    return None


def _hop(source: Source, variant: Variant, reach: int, *, is_guessed: bool) -> Integers:
    """Return where the data of each whole record in the next `reach` bytes begins; move the window after them.

    Where no record is whole there, those of all the window count. `is_guessed`: the records are short, so that it is
    worth to guess where some begin.
    """
    data, at, header_bytes = source.buffer, source.at, variant.record.size
    prefix = Prefix(header_bytes, CAPTURED_AT, header_bytes, 0, ANY_LENGTH, variant.order)
    for end in sorted({min(at + reach, len(data)), len(data)}):
        hops = hop(data, at, end, prefix, _guesses(data, at, end, variant) if is_guessed else NO_INTEGERS)
        if len(hops.starts):
            break
    starts, source.at = hops.starts, hops.end
    if len(starts) > TABLE_PACKETS:
        source.at = int(starts[TABLE_PACKETS])
    return starts[:TABLE_PACKETS] + header_bytes


def _guesses(data: bytes, at: int, end: int, variant: Variant) -> Integers:
    """Where records before `end` are likely to begin, one every few packets: the time is like that at `at`."""
    half = 2 if variant.order == "<" else 0
    about_now, found = data[at + half : at + half + 2], []
    for near in range(at + GUESS_BYTES, end - variant.record.size, GUESS_BYTES):
        for _ in range(GUESS_TRIES):
            near = data.find(about_now, near + 1, near + GUESS_BYTES)
            if near < 0:
                break
            if _is_likely(data, near - half, variant):
                found.append(near - half)
                break
    return np.array(found, np.int64)


def _is_likely(data: bytes, at: int, variant: Variant) -> bool:
    """Whether a record header may stand there: captured is at most what there was."""
    if at + variant.record.size > len(data):
        return False
    _, fraction, captured, length = variant.record.unpack_from(data, at)
    return bool(fraction < 1_000_000_000 and captured <= length <= LIKELY_BYTES_MAX)


def _pcap_table(data: bytes, starts: Integers, variant: Variant, link_type: int, number: int) -> PacketTable:
    header_bytes = variant.record.size
    heads = gathered(data, starts - header_bytes, "V16").view(variant.order + "u4").reshape(-1, 4)
    seconds, fraction, captured, length = heads.T.astype(np.int64)
    times = seconds * 1_000_000_000 + fraction * variant.fraction_ns
    links = np.full(len(starts), link_type, np.int64)
    return PacketTable(number, data, starts, captured, np.maximum(length, captured), times, links)
