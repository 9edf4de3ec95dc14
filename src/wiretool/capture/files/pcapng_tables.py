"""Packets of a pcapng file as arrays: stretches of enhanced packet blocks whole, all else through `pcapng.Reader`."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wiretool.capture.files import tables
from wiretool.capture.files.pcapng import DATA_AT, FIRST_NS, LAST_NS, Interface, Layout, Reader
from wiretool.capture.files.pcapng_blocks import Kind
from wiretool.capture.files.source import Source
from wiretool.capture.files.tables import TABLE_BYTES, PacketTable, filled
from wiretool.codec.columns import Flags, Integers, gathered
from wiretool.codec.frames.boundaries import hop
from wiretool.codec.frames.prefix import Prefix
from wiretool.errors import CaptureError
from wiretool.limits import BLOCK_BYTES_MAX, PACKET_BYTES_MAX

#: An enhanced packet block up to its packet, and with its length again behind that.
HEAD_BYTES, PACKET_BLOCK_BYTES_MIN = 28, 32
#: Blocks that are worth an array. After a stretch that ended early so many go one by one, and the next one is at most
#: twice as long as that was: what is looked at in vain stays in proportion to what is read.
STRETCH_BLOCKS = 64
#: So many and more are found side by side, all of the window, from guesses: one every so many bytes, each in so many
#: places, of blocks that are no longer than the usual ones.
ABREAST_BLOCKS = 1024
GUESS_BYTES, GUESS_TRIES, LIKELY_BYTES_MAX = 32 * 1024, 8, 256 * 1024
SECOND_NS = 1_000_000_000


def read_pcapng_tables(
    source: Source, table_bytes: int = TABLE_BYTES, reader: Reader | None = None
) -> Iterator[PacketTable]:
    """The packets of a pcapng file, as `read_pcapng`; `reader` is one that knows what is before the window."""
    reader = reader or Reader(source)
    rows = _Rows(source, reader)
    failure, goes_on = None, True
    while goes_on:
        # What is sound before a damage may be more than a table.
        failure = failure or filled(source, table_bytes)
        try:
            goes_on = rows.gather(is_damaged=failure is not None)
        except CaptureError as err:
            failure, goes_on = err, False
        if rows.count:
            yield rows.take()
        elif failure is not None:
            break
    if failure is not None:
        raise failure


class _Columns(NamedTuple):
    """As in a PacketTable."""

    starts: Any
    lengths: Any
    wire_lengths: Any
    times: Any
    links: Any


class _Rows:
    """The packets of a window, in stretches; then those of the next one."""

    def __init__(self, source: Source, reader: Reader) -> None:
        self._source = source
        self._reader = reader
        self._first_number = reader.number + 1
        self._parts: list[_Columns] = []
        #: Packets that were read one by one since the last stretch.
        self._singles: list[tuple[int, ...]] = []
        #: Packets so far.
        self.count = 0
        #: How many blocks the next stretch may have, and how many are read one by one before it.
        self._reach = STRETCH_BLOCKS
        self._wait = 0

    def take(self) -> PacketTable:
        """All of them, so that there are none."""
        self._join_singles()
        columns = (np.concatenate(same) for same in zip(*self._parts, strict=True))
        table = PacketTable(self._first_number, self._source.buffer, *columns)
        self._first_number, self._parts, self.count = self._first_number + self.count, [], 0
        return table

    def gather(self, *, is_damaged: bool) -> bool:
        """Take in what is whole in the window; False where the capture ends. CaptureError where it makes no sense.

        The window is moved on for nothing but a first packet; not even for that if what would follow is damaged.
        """
        while (room := tables.TABLE_PACKETS - self.count) > 0:
            if self._wait == 0 and self._take_stretch(min(room, self._reach)):
                continue
            if not self._reader.is_at_hand() and (self.count or is_damaged):
                return True
            if not self._reader.has_block():
                return False
            self._take_block()
        return True

    def _take_block(self) -> None:
        """The next block, by itself."""
        self._wait = max(self._wait - 1, 0)
        source, layout = self._source, self._reader.layout
        packet = self._reader.read()
        if packet is None:
            return
        (length,) = layout.word.unpack_from(source.buffer, source.at - 4)
        (kind,) = layout.word.unpack_from(source.buffer, source.at - length)
        start = source.at - length + 8 + DATA_AT[kind]
        self._singles.append((start, len(packet.data), packet.length, packet.time_ns, packet.link_type))
        self.count += 1

    def _join_singles(self) -> None:
        if self._singles:
            self._parts.append(_Columns(*np.array(self._singles, np.int64).T))
            self._singles = []

    def _take_stretch(self, most: int) -> bool:
        """Packets as arrays, if enough of them follow."""
        starts = _packet_blocks(self._source, self._reader.layout, most)
        if len(starts) < min(STRETCH_BLOCKS, most):
            self._wait = len(starts)
            return False
        columns = _columns(self._source.buffer, starts, self._reader)
        taken = len(columns.starts)
        is_whole = taken == len(starts)
        self._reach = max(2 * taken, self._reach if is_whole else STRETCH_BLOCKS)
        self._wait = 0 if is_whole else STRETCH_BLOCKS
        if not taken:
            return False
        self._join_singles()
        self._parts.append(columns)
        self.count += taken
        last = int(starts[taken - 1])
        _, size = self._reader.layout.pair.unpack_from(self._source.buffer, last)
        self._reader.pass_by(last + size - self._source.at, taken, int(columns.times[-1]))
        return True


def _packet_blocks(source: Source, layout: Layout, most: int) -> Integers:
    """Where the enhanced packet blocks begin that come next, as far as the window goes, so many at most.

    Where they are many, others may be among them.
    """
    data, at = source.buffer, source.at
    if most < ABREAST_BLOCKS:
        return np.array(list(islice(_walk(data, at, layout), most)), np.int64)
    prefix = Prefix(PACKET_BLOCK_BYTES_MIN, 4, 0, PACKET_BLOCK_BYTES_MIN, BLOCK_BYTES_MAX, layout.order)
    return hop(data, at, len(data), prefix, _guesses(data, at, layout)).starts[:most]


def _walk(data: bytes, at: int, layout: Layout) -> Iterator[int]:
    end, unpack = len(data), layout.pair.unpack_from
    while at + PACKET_BLOCK_BYTES_MIN <= end:
        kind, length = unpack(data, at)
        if kind != Kind.PACKET or length < PACKET_BLOCK_BYTES_MIN or at + length > end:
            return
        yield at
        at += length


def _guesses(data: bytes, at: int, layout: Layout) -> Integers:
    """Where packet blocks are likely to begin: where a length stands that is there again at the end."""
    kind, found = layout.word.pack(Kind.PACKET), []
    for begin in range(at + GUESS_BYTES, len(data), GUESS_BYTES):
        near = begin - 1
        for _ in range(GUESS_TRIES):
            near = data.find(kind, near + 1, begin + GUESS_BYTES)
            if near < 0:
                break
            if _is_likely(data, near, layout):
                found.append(near)
                break
    return np.array(found, np.int64)


def _is_likely(data: bytes, at: int, layout: Layout) -> bool:
    if at + PACKET_BLOCK_BYTES_MIN > len(data):
        return False
    _, length = layout.pair.unpack_from(data, at)
    end = at + length
    return PACKET_BLOCK_BYTES_MIN <= length <= LIKELY_BYTES_MAX and data[end - 4 : end] == data[at + 4 : at + 8]


def _columns(data: bytes, starts: Integers, reader: Reader) -> _Columns:
    """The packets of blocks, up to the first that is not quite plain."""
    order = reader.layout.order
    heads = gathered(data, starts, np.dtype((np.void, HEAD_BYTES))).view(order + "u4").reshape(-1, 7)
    kinds, lengths, index, high, low, captured, wire = heads.T.astype(np.int64)
    again = gathered(data, starts + lengths - 4, order + "u4")
    is_sound = (kinds == Kind.PACKET) & (again == lengths) & (lengths % 4 == 0) & (lengths <= BLOCK_BYTES_MAX)
    is_sound &= (captured <= lengths - PACKET_BLOCK_BYTES_MIN) & (captured <= PACKET_BYTES_MAX)
    is_sound &= index < len(reader.interfaces)
    sound = _first_false(is_sound)
    used, codes = _used(index[:sound])
    interfaces = [reader.interfaces[each] for each in used.tolist()]
    times, is_told = _times(high[:sound], low[:sound], np.array([_clock(each) for each in interfaces], CLOCK)[codes])
    told = _first_false(is_told)
    links = np.array([interface.link_type for interface in interfaces], np.int64)[codes]
    links = np.broadcast_to(links, (sound,))[:told]
    captured = captured[:told]
    return _Columns(starts[:told] + HEAD_BYTES, captured, np.maximum(wire[:told], captured), times[:told], links)


def _used(index: Integers) -> tuple[Integers, Integers]:
    """The interfaces of packets, and of which each packet is; a single 0 stands for all packets of one interface."""
    if len(index) and (index == index[0]).all():
        return index[:1], np.zeros(1, np.int64)
    return np.unique(index, return_inverse=True)


def _first_false(truths: Flags) -> int:
    """How many are true before the first that is not."""
    return len(truths) if truths.all() else int(truths.argmin())


def _times(high: Integers, low: Integers, clocks: NDArray[np.void]) -> tuple[Integers, Flags]:
    """`Interface.time_ns` of each packet, by the clock of each or the one of all; and for which of them it is right."""
    ticks = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    per_second = clocks["per_second"]
    # Not `divmod`: a division by one and the same number is much faster.
    seconds = ticks // per_second
    rest = ticks - seconds * per_second
    since_offset = seconds * np.uint64(SECOND_NS) + rest * clocks["numerator"] // clocks["denominator"]
    return since_offset.astype(np.int64) + clocks["offset_ns"], seconds < clocks["seconds_end"]


#: As in an Interface; ticks per second, and from which second on arrays do not hold the time.
CLOCK = np.dtype(
    {
        "names": ["per_second", "numerator", "denominator", "offset_ns", "seconds_end"],
        "formats": ["u8", "u8", "u8", "i8", "u8"],
    }
)
#: No time is held of those whose ticks are too fine for the 64 bits in which they are turned into ns.
NO_CLOCK = (1, 1, 1, 0, 0)


def _clock(interface: Interface) -> tuple[int, ...]:
    _, _, numerator, denominator, offset_ns = interface
    per_second_ns = SECOND_NS * denominator
    if per_second_ns >= 1 << 64 or not FIRST_NS <= offset_ns <= LAST_NS:
        return NO_CLOCK
    seconds_end = (LAST_NS - max(offset_ns, 0)) // SECOND_NS
    return per_second_ns // numerator, numerator, denominator, offset_ns, seconds_end
