"""TCP segments of packet tables, as arrays; `capture/tcp/segments_of_packets.py` reads all others."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wiretool.capture.files.packet_counts import PacketCounts
from wiretool.capture.files.tables import PacketTable
from wiretool.capture.tcp.fragments import Fragments
from wiretool.capture.tcp.segments_of_packets import TCP, Segment, segment_of
from wiretool.codec.columns import Bytes, Integers, begins_of, gathered

#: Payloads of one size behind one another that are worth an array.
ALIKE_MIN = 16
#: Payloads of so many bytes and more are not copied to be joined; for shorter ones a copy costs less than a view.
VIEW_BYTES_MIN = 2048
#: So many flows in a table are told apart one after another.
FEW_FLOWS = 8
#: How many bytes IPv4 and IPv6 have in front of a TCP header, and with the part of that which is read here.
IPV4_BYTES, IPV4_TCP_BYTES = 20, 34
IPV6_BYTES, IPV6_TCP_BYTES = 40, 54
#: What of the headers is read, and where it stands: `layers._ipv4_tcp` and `_ipv6_tcp` as arrays.
_NAMES = ["total", "fragment", "protocol", "seq", "ack", "header", "flags"]
_FORMATS = [">u2", ">u2", "u1", ">u4", ">u4", "u1", "u1"]
IPV4_TCP = np.dtype(
    {"names": _NAMES, "formats": _FORMATS, "offsets": [2, 6, 9, 24, 28, 32, 33], "itemsize": IPV4_TCP_BYTES}
)
#: There is no fragment here: the traffic class stands for it and is masked out.
IPV6_TCP = np.dtype(
    {"names": _NAMES, "formats": _FORMATS, "offsets": [4, 0, 6, 44, 48, 52, 53], "itemsize": IPV6_TCP_BYTES}
)
IPV4_FLOW, IPV6_FLOW = slice(12, 24), slice(8, 44)
#: Odd multipliers that spread the words of a flow's key over 64 bits (the first digits of square roots of primes).
_SPREAD = np.array(
    [0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1, 0x510E527FADE682D1,
     0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179, 0xCBBB9D5DC1059ED9],
    np.uint64,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SegmentTable:
    """TCP segments in the order of their packets; row i has the payload `data[starts[i] : starts[i] + lengths[i]]`.

    `flows` are indices into `keys`, which are as `Segment.flow`; the other columns are as in `Segment`.
    """

    data: bytes
    numbers: Integers
    times: Integers
    flows: Integers
    keys: Sequence[bytes]
    seqs: Integers
    acks: Integers
    flags: Integers
    starts: Integers
    lengths: Integers
    cuts: Integers

    def __len__(self) -> int:
        return len(self.numbers)

    def segment(self, row: int) -> Segment:
        """One of them by itself."""
        return Segment(
            int(self.numbers[row]),
            int(self.times[row]),
            self.keys[self.flows[row]],
            int(self.seqs[row]),
            int(self.acks[row]),
            int(self.flags[row]),
            self.payload(row),
            int(self.cuts[row]),
        )

    def segments(self, rows: Integers) -> Iterator[Segment]:
        """Some of them."""
        names = (self.numbers, self.times, self.flows, self.seqs, self.acks, self.flags, self.starts, self.lengths)
        columns = (column[rows].tolist() for column in (*names, self.cuts))
        keys, data = self.keys, self.data
        for number, time_ns, flow, seq, ack, flags, start, length, cut in zip(*columns, strict=True):
            yield Segment(number, time_ns, keys[flow], seq, ack, flags, data[start : start + length], cut)

    def payload(self, row: int) -> bytes:
        """The payload of one of them."""
        start = int(self.starts[row])
        return self.data[start : start + int(self.lengths[row])]

    def payloads(self, rows: Integers) -> list[bytes | memoryview]:
        """The payloads of some in their order, to be joined: each by itself, or many that are alike as one."""
        starts, lengths = self.starts[rows], self.lengths[rows]
        firsts = begins_of(lengths)
        lasts = np.append(firsts[1:], len(rows))
        is_long = (lasts - firsts >= ALIKE_MIN) & (lengths[firsts] < VIEW_BYTES_MIN)
        out: list[bytes | memoryview] = []
        done = 0
        for first, last in zip(firsts[is_long].tolist(), lasts[is_long].tolist(), strict=True):
            out += self._each(starts[done:first], lengths[done:first])
            out.append(self._alike(starts[first:last], int(lengths[first])))
            done = last
        out += self._each(starts[done:], lengths[done:])
        return out

    def _each(self, starts: Integers, lengths: Integers) -> Iterable[bytes | memoryview]:
        is_long = lengths.sum() >= VIEW_BYTES_MIN * len(lengths)
        data = memoryview(self.data) if is_long else self.data
        return [data[start:end] for start, end in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]

    def _alike(self, starts: Integers, size: int) -> memoryview:
        """Payloads of one size, copied at once: a size that comes again and again is that of full segments."""
        every = np.ndarray((len(self.data) - size + 1,), f"V{size}", self.data, strides=(1,))
        return every[starts].view(np.uint8).data


def read_segment_tables(tables: Iterable[PacketTable], counts: PacketCounts | None = None) -> Iterator[SegmentTable]:
    """The TCP segments of packets, a table for each; empty where none of its packets has any.

    `counts` counts the packets by what they are.
    """
    fragments, counts = Fragments(), PacketCounts() if counts is None else counts
    try:
        for table in tables:
            yield segments_of(table, fragments, counts)
    finally:
        counts.count_lost_fragments(fragments.lost)


@dataclass(frozen=True, slots=True)
class _Part:
    """Segments of one form: the rows of their packets, their columns, and their flows' keys."""

    rows: Integers
    columns: Sequence[Integers]
    flows: Integers
    keys: Sequence[bytes]


def segments_of(table: PacketTable, fragments: Fragments, counts: PacketCounts) -> SegmentTable:
    """The TCP segments of one table; `fragments` wait from table to table."""
    view = np.frombuffer(table.data, np.uint8)
    at = ip_starts(table)
    rows4, rows6 = _rows_of(table, view, at)
    parts = [
        _plain_part(table, at, rows4, IPV4_TCP, IPV4_FLOW, IPV4_BYTES, 0),
        _plain_part(table, at, rows6, IPV6_TCP, IPV6_FLOW, IPV6_BYTES, IPV6_BYTES),
    ]
    is_plain = np.zeros(len(table.starts), np.bool_)
    for part in parts:
        is_plain[part.rows] = True
        counts.packets += len(part.rows)
        counts.tcp += len(part.rows)
    is_empty = table.lengths == 0
    _count_empty(table, np.flatnonzero(is_empty), counts)
    odd, extra = _odd_part(table, np.flatnonzero(~is_plain & ~is_empty), fragments, counts)
    return _joined(table, [*parts, odd], extra)


def ip_starts(table: PacketTable) -> Integers:
    """Where IP begins in each packet, -1 where its link layer is not of the plainest form or cuts it short."""
    at = np.full(len(table.starts), -1, np.int64)
    is_alike = bool((table.links == table.links[:1]).all())
    for link in table.links[:1].tolist() if is_alike else np.unique(table.links).tolist():
        rows = np.flatnonzero((table.links == link) & (table.lengths > _IP_AT.get(link, 0) + IPV4_BYTES))
        starts = table.starts[rows]
        if link in _TYPE_AT and len(rows):
            kind = gathered(table.data, starts + _TYPE_AT[link], ">u2")
            is_ip = (kind == 0x0800) | (kind == 0x86DD)
            rows, starts = rows[is_ip], starts[is_ip]
        if link in _IP_AT:
            at[rows] = starts + _IP_AT[link]
    return at


#: By LINKTYPE: where IP begins, and where the EtherType stands, if there is one; `capture/tcp/link_layer.py` has all.
_IP_AT = {1: 14, 12: 0, 14: 0, 101: 0, 113: 16, 228: 0, 229: 0, 276: 20}
_TYPE_AT = {1: 12, 113: 14, 276: 0}


def _rows_of(table: PacketTable, view: Bytes, at: Integers) -> tuple[Integers, Integers]:
    """The rows that may be plain IPv4, and IPv6, with as much of a TCP header as is read here."""
    rows = np.flatnonzero(at >= 0)
    first = view[at[rows]]
    left = (table.starts + table.lengths - at)[rows]
    return rows[(first == 0x45) & (left >= IPV4_TCP_BYTES)], rows[(first >> 4 == 6) & (left >= IPV6_TCP_BYTES)]


def _plain_part(
    table: PacketTable,
    at: Integers,
    rows: Integers,
    form: np.dtype[np.void],
    flow: slice,
    ip_bytes: int,
    before_total: int,
) -> _Part:
    """The plain TCP segments among `rows`; `before_total`: the IP header's bytes that its length does not count."""
    if not len(rows):
        return _Part(rows, [rows] * 8, rows, [])
    begin = at[rows]
    heads = gathered(table.data, begin, form)
    header = heads["header"].astype(np.int64)
    start = begin + ip_bytes + (header >> 4) * 4
    end = begin + before_total + heads["total"]
    fragment = heads["fragment"] if not before_total else np.zeros(len(rows), np.uint16)
    plain = (heads["protocol"] == TCP) & (fragment & 0x3FFF == 0) & (header >= 0x50) & (start <= end)
    if not plain.all():
        rows, start, end = rows[plain], start[plain], end[plain]
        # As plain bytes: of a structure only the fields would be taken, and not what is between them.
        heads = heads.view(f"V{form.itemsize}")[plain].view(form)
    captured_end = table.starts[rows] + table.lengths[rows]
    length = np.maximum(np.minimum(end, captured_end) - start, 0)
    numbers = [heads[name].astype(np.int64) for name in ("seq", "ack", "flags")]
    raw = heads.view(np.uint8).reshape(-1, form.itemsize)[:, flow]
    flows, keys = _flows_of(np.ascontiguousarray(raw).view("<u4"))
    columns = [table.first_number + rows, table.times[rows], *numbers, start, length, end - start - length]
    return _Part(rows, columns, flows, keys)


def _flows_of(words: NDArray[np.uint32]) -> tuple[Integers, list[bytes]]:
    """The keys among rows of words, and for each row the index of its key."""
    if not len(words):
        return np.zeros(0, np.int64), []
    mixed = np.zeros(len(words), np.uint64)
    for column, factor in zip(words.T, _SPREAD, strict=False):
        mixed += column * factor
    mixed ^= mixed >> np.uint64(29)
    first, index = _few_of(mixed) or np.unique(mixed, return_index=True, return_inverse=True)[1:]
    if (words[first[index]] != words).any():  # two keys spread alike: compare whole ones
        _, first, index = np.unique(words, axis=0, return_index=True, return_inverse=True)
        index = index.reshape(-1)
    return index.astype(np.int64), [words[row].tobytes() for row in first.tolist()]


def _few_of(values: NDArray[np.uint64]) -> tuple[Integers, Integers] | None:
    """Where each value comes first, and for each row which of them it is; None where there are more than a few."""
    index, firsts = np.zeros(len(values), np.int64), [0]
    rest = values != values[0]
    while len(firsts) <= FEW_FLOWS:
        first = int(rest.argmax())
        if not rest[first]:
            return np.array(firsts, np.int64), index
        index[rest] = len(firsts)
        firsts.append(first)
        rest &= values != values[first]
    return None


def _count_empty(table: PacketTable, rows: Integers, counts: PacketCounts) -> None:
    """Count packets of which no byte was captured: all of a link layer are of one kind, and none has a segment."""
    for link in np.unique(table.links[rows]).tolist():
        same, one = rows[table.links[rows] == link], PacketCounts()
        segment_of(table.packet(int(same[0])), Fragments(), one)
        counts.packets += len(same)
        counts.others.update(dict.fromkeys(one.others, len(same)))


def _odd_part(table: PacketTable, rows: Integers, fragments: Fragments, counts: PacketCounts) -> tuple[_Part, bytes]:
    """What the other packets give, read one by one, and their payloads: these may be joined of several packets."""
    found: list[tuple[int, Segment]] = []
    for row in rows.tolist():
        segment = segment_of(table.packet(row), fragments, counts)
        if segment is not None:
            found.append((row, segment))
    known: dict[bytes, int] = {}
    flows = [known.setdefault(segment.flow, len(known)) for _, segment in found]
    payloads = [segment.payload for _, segment in found]
    lengths = _integers(len(payload) for payload in payloads)
    columns = [
        _integers(segment.number for _, segment in found),
        _integers(segment.time_ns for _, segment in found),
        _integers(segment.seq for _, segment in found),
        _integers(segment.ack for _, segment in found),
        _integers(segment.flags for _, segment in found),
        np.cumsum(lengths) - lengths + len(table.data),
        lengths,
        _integers(segment.cut for _, segment in found),
    ]
    odd = _integers(row for row, _ in found)
    return _Part(odd, columns, _integers(flows), list(known)), b"".join(payloads)


def _integers(values: Iterable[int]) -> Integers:
    return np.array(list(values), np.int64)


def _joined(table: PacketTable, parts: Sequence[_Part], extra: bytes) -> SegmentTable:
    """All parts in the order of their packets, with one list of keys."""
    parts = [part for part in parts if len(part.rows)] or [parts[-1]]
    known: dict[bytes, int] = {}
    flows = []
    for part in parts:
        codes = np.array([known.setdefault(key, len(known)) for key in part.keys], np.int64)
        flows.append(codes[part.flows] if len(codes) else part.flows)
    if len(parts) == 1:
        return _in_order(table, parts[0].columns, flows[0], list(known), extra)
    order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")
    columns = [np.concatenate(same)[order] for same in zip(*(part.columns for part in parts), strict=True)]
    return _in_order(table, columns, np.concatenate(flows)[order], list(known), extra)


def _in_order(
    table: PacketTable, columns: Sequence[Integers], flows: Integers, keys: Sequence[bytes], extra: bytes
) -> SegmentTable:
    number, time_ns, seq, ack, flags, start, length, cut = columns
    data = table.data + extra if extra else table.data
    return SegmentTable(data, number, time_ns, flows, keys, seq, ack, flags, start, length, cut)
