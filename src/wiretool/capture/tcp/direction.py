"""One direction of a TCP connection: segments in any order in, its bytes in order out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Protocol

from wiretool import limits
from wiretool.capture.tcp.reassembly_buffer import Held, Overlap, Piece, Pieces, Ranges
from wiretool.capture.tcp.segments_of_packets import Segment
from wiretool.capture.tcp.stream_events import Connection, Data, End, Finding, Gap, Item, Side

#: The largest window a receiver can offer (65,535 << 14, RFC 7323 §2.3): what is further off is of another connection.
WINDOW_BYTES_MAX = 1 << 30
#: A hole whose bytes the other side has acknowledged is given up after so many more segments of the connection, or so
#: much time: packets are reordered between the wire and the capture file by far less.
ACKED_SEGMENTS, ACKED_NS = 64, 2_000_000_000
#: The same when nothing is seen of the other side: the bytes may come again after a few retransmission timeouts.
ONE_WAY_SEGMENTS, ONE_WAY_NS = 1000, 5_000_000_000
#: Segments after which a stream without beginning starts at the lowest byte seen: dup-ACK threshold of RFC 5681 §3.2.
START_SEGMENTS = 3
#: Data items kept to compare with what comes again. On loopback one can have 64 KiB.
RECENT_ITEMS = 1024
#: More bytes than any stream has.
NEVER_BYTES = 1 << 62
#: Where a stream began whose beginning was not captured: before every offset.
LONG_AGO = -(1 << 62)

_data = partial(tuple.__new__, Data)


class Recent(Protocol):
    """The last `RECENT_ITEMS` items that were given out."""

    #: Bytes of a stream before its next one that what comes again is compared with.
    bytes_max: int

    def append(self, item: Data, /) -> None: ...
    def overlapping(self, connection: Connection, side: Side, start: int, end: int) -> Iterator[Data]: ...


class RecentItems(deque[Data]):
    """Them as they are."""

    __slots__ = ()
    bytes_max = NEVER_BYTES

    def __init__(self) -> None:
        super().__init__(maxlen=RECENT_ITEMS)

    def overlapping(self, connection: Connection, side: Side, start: int, end: int) -> Iterator[Data]:
        """Those of a stream that share bytes with [start, end), the newest first."""
        for item in reversed(self):
            if item.connection is connection and item.side == side and shares_bytes(item, start, end):
                yield item


def shares_bytes(item: Data, start: int, end: int) -> bool:
    """Whether bytes of the item are in [start, end) of its stream."""
    return item.offset < end and start < item.offset + len(item.data)


class Shared:
    """What the flows of all connections have in common: what was given out last, and what is held."""

    def __init__(self, recent: Recent | None = None) -> None:
        self.recent: Recent = RecentItems() if recent is None else recent
        self.held = Held()
        #: Empty ones, of all flows in good order.
        self.no_pieces, self.no_ranges = Pieces(self.held), Ranges(limits.FLOW_HOLES_MAX)


def missing_before_start() -> Ranges:
    """Return the missing bytes of a flow whose beginning was not captured, and no others."""
    missing = Ranges(limits.FLOW_HOLES_MAX)
    missing.add(LONG_AGO, 0)
    return missing


def distance(a: int, b: int) -> int:
    """How far the sequence number `b` is behind `a` (negative: before it), across a wrap (RFC 9293 §3.4)."""
    return (b - a + 0x8000_0000) % 0x1_0000_0000 - 0x8000_0000


class Flow:
    """What is known of one direction.

    `seq` is the sequence number of the stream's byte `offset`, the next one to be given out. A flow `is_started` once
    it is known which byte is number 0; until then offsets count from the first byte seen.
    """

    __slots__ = (
        "ack",
        "connection",
        "fin",
        "first_ack",
        "is_ended",
        "is_plain",
        "is_started",
        "isn",
        "key",
        "missing",
        "offset",
        "peer",
        "pieces",
        "reach",
        "recent",
        "seq",
        "settle_ns",
        "settle_offset",
        "settle_packets",
        "side",
    )

    peer: Flow

    def __init__(self, key: bytes, connection: Connection, side: Side, shared: Shared) -> None:
        self.key = key
        self.connection = connection
        self.side = side
        self.recent = shared.recent
        #: Nothing is out of the ordinary: a segment at `seq` can be given out at once.
        self.is_plain = False
        self.is_started = self.is_ended = False
        #: Before the first payload no sequence number is the next.
        self.seq, self.offset = -1, 0
        #: The sequence number of its SYN.
        self.isn: int | None = None
        #: The other side's newest and first acknowledgement of this flow's bytes.
        self.ack: int | None = None
        self.first_ack: int | None = None
        #: The offset of its FIN.
        self.fin: int | None = None
        #: The highest offset that is known to have been sent, if that is beyond `offset`.
        self.reach = 0
        self.pieces = shared.no_pieces
        #: Stretches before `offset` that were not given out; where there are very many, with what is between some.
        self.missing = shared.no_ranges
        #: When holes before `settle_offset` are given up; 0 while no hole is watched.
        self.settle_ns = self.settle_packets = self.settle_offset = 0

    # -- the start -------------------------------------------------------------------------------------------------

    def offset_of(self, seq: int) -> int:
        return self.offset + distance(self.seq, seq)

    def start(self, seq: int, *, is_known: bool) -> None:
        """Call the byte at `seq` number 0, or an earlier one that is held; `is_known`: nothing was sent before it."""
        first = 0
        if self.pieces:
            first = min(self.offset_of(seq), self.pieces.first_offset)
            seq = (self.seq + first - self.offset) % (1 << 32)
            self.pieces.shift(-first)
        self.reach = max(self.reach - first, 0)
        self.seq, self.offset, self.is_started = seq, 0, True
        if not is_known:
            self._miss(LONG_AGO, 0)

    def _miss(self, start: int, end: int) -> None:
        """Note a stretch that is skipped."""
        if not self.missing:  # many flows share an empty one
            self.missing = Ranges(limits.FLOW_HOLES_MAX)
        self.missing.add(start, end)

    def start_at_lowest(self) -> None:
        if not self.is_started and self.pieces:
            self.start(self.seq, is_known=False)

    def _start_with(self, segment: Segment) -> None:
        """Start at this first payload if it is clear that nothing came before it; else count from it for now."""
        first, seq = self.first_ack, segment.seq
        if self.connection.opened and first is not None and 0 <= distance(first, seq) < WINDOW_BYTES_MAX:
            self.start(first, is_known=True)
        elif self.ack == seq:
            self.start(seq, is_known=False)
        elif not self.pieces:
            self.seq = seq

    # -- what comes ------------------------------------------------------------------------------------------------

    def take(self, segment: Segment, out: list[Item]) -> None:
        """The payload of a segment, which may be partly or wholly known."""
        if self.is_ended and not self.is_started:
            self.start(segment.seq, is_known=True)
        elif not self.is_started:
            self._start_with(segment)
        offset, payload = self.offset_of(segment.seq), segment.payload
        if len(payload) == 1 and self.pieces and offset + 1 == self.reach:  # a keep-alive probe while bytes are missing
            self.connection.count_again(self.side, 1)
            payload = b""
        if self.fin is None and not self.is_ended:
            self.reach = max(self.reach, offset + len(payload) + segment.cut)
        piece = Piece(offset, payload, segment.time_ns, segment.number)
        piece = self._without_late(self._without_beyond(piece, out), out) if self.is_started else piece
        if piece.data:
            self.pieces = self.pieces.own()
            for overlap in self.pieces.add(piece):
                self._take_again(overlap, piece, out)
        if not self.is_started and self.pieces.packets > START_SEGMENTS:
            self.start_at_lowest()
        if self.is_started:
            self.drain(out, segment)

    def take_fin(self, segment: Segment, out: list[Item]) -> None:
        """A FIN behind the payload of this segment: the stream ends there."""
        self.start_at_lowest()
        if not self.is_started:
            self.start(segment.seq, is_known=False)
        if self.fin is None and not self.is_ended:
            self.fin = self.reach = max(self.reach, self.offset_of(segment.seq) + len(segment.payload) + segment.cut)
        self.drain(out, segment)

    def take_ack(self, segment: Segment, out: list[Item]) -> None:
        """The other side has everything before this number."""
        ack = segment.ack
        if self.ack is None or distance(self.ack, ack) > 0:
            self.ack = ack
        if self.first_ack is None:
            self.first_ack = ack
        if not self.is_started and self.pieces and self.offset_of(ack) > self.pieces.first_offset:
            self.start_at_lowest()
            self.drain(out, segment)

    def _without_beyond(self, piece: Piece, out: list[Item]) -> Piece:
        """The piece without what lies behind the end of the stream."""
        last = self.offset if self.is_ended else self.fin
        if last is None or piece.end <= last:
            return piece
        start = max(last, piece.offset)
        data = piece.data[start - piece.offset :]
        out.append(self._finding(piece, start, len(data), "after-end", "sent after the end of the stream", data))
        return piece._replace(data=piece.data[: start - piece.offset])

    def _without_late(self, piece: Piece, out: list[Item]) -> Piece:
        """The piece without what lies before the next byte."""
        late = self.offset - piece.offset
        if late <= 0:
            return piece
        at = piece.offset
        end = min(piece.end, self.offset)
        for start, stop in [*self.missing.take(at, end), (end, end)]:
            self._take_known(piece, at, start, out)
            if stop > start:
                out.append(self._passed(piece, start, stop))
            at = stop
        return piece._replace(offset=self.offset, data=piece.data[late:])

    def _passed(self, piece: Piece, start: int, end: int) -> Finding:
        data = piece.data[start - piece.offset : end - piece.offset]
        if start < 0:
            return self._finding(piece, start, len(data), "before-start", "before the first byte of the flow", data)
        return self._finding(piece, start, len(data), "after-gap", "arrived after the gap was given up", data)

    def _take_known(self, piece: Piece, start: int, end: int, out: list[Item]) -> None:
        """Bytes that were given out before; a single one just before the next is a keep-alive's, and means nothing."""
        now = piece.data[start - piece.offset : end - piece.offset]
        is_probe = len(piece.data) == 1 and end == self.offset
        self.connection.count_again(self.side, len(now))
        if now and not is_probe:
            for overlap in self._given(start, now):
                self._compare(overlap, piece, out)

    def _given(self, offset: int, now: bytes) -> list[Overlap]:
        """What of these bytes is among the items given out last, with what was given out."""
        end, oldest = offset + len(now), self.offset - self.recent.bytes_max
        if end <= oldest:
            return []
        if offset < oldest:
            offset, now = oldest, now[oldest - offset :]
        found, left = [], len(now)
        for data in self.recent.overlapping(self.connection, self.side, offset, end):
            start, stop = max(offset, data.offset), min(end, data.offset + len(data.data))
            first = data.data[start - data.offset : stop - data.offset]
            found.append(Overlap(start, now[start - offset : stop - offset], first))
            left -= stop - start
            if not left:
                break
        return found

    def _take_again(self, overlap: Overlap, piece: Piece, out: list[Item]) -> None:
        self.connection.count_again(self.side, len(overlap.now))
        self._compare(overlap, piece, out)

    def _compare(self, overlap: Overlap, piece: Piece, out: list[Item]) -> None:
        if overlap.now != overlap.first:
            why = "retransmitted with other bytes; the first ones are used"
            out.append(self._finding(piece, overlap.offset, len(overlap.now), "overlap-differs", why))

    def _finding(self, piece: Piece, offset: int, length: int, kind: str, why: str, data: bytes = b"") -> Finding:
        return Finding(self.connection, self.side, offset, length, kind, why, piece.time_ns, piece.packet, data)

    # -- what goes out ---------------------------------------------------------------------------------------------

    def drain(self, out: list[Item], now: Segment) -> None:
        """Give out what follows without a hole."""
        connection, side = self.connection, self.side
        for offset, data, time_ns, packet in self.pieces.take_from(self.offset):
            item = _data((connection, side, offset, data, time_ns, packet))
            self.recent.append(item)
            out.append(item)
            self._advance(offset + len(data))
        if self.fin is not None and self.offset >= self.fin and not self.is_ended:
            self.is_ended = True
            connection.closed = "fin" if self.peer.is_ended else ""
            out.append(End(connection, side, "fin", now.time_ns, now.number))

    def _advance(self, offset: int) -> None:
        self.seq = (self.seq + offset - self.offset) % (1 << 32)
        self.offset = offset

    @property
    def has_hole(self) -> bool:
        return bool(self.pieces) or self.offset < self.reach

    @property
    def is_in_order(self) -> bool:
        """Whether the next segment may be given out as it comes, and acknowledges the other side just as plainly."""
        return not self.is_ended and self.fin is None and self.peer.first_ack is not None and not self.has_hole

    @property
    def hole_end(self) -> int:
        return self.pieces.first_offset if self.pieces else self.reach

    def give_up_hole(self, out: list[Item], now: Segment) -> None:
        """Call the bytes before the first held one a gap, and go on with that."""
        end = self.hole_end
        out.append(Gap(self.connection, self.side, self.offset, end - self.offset, now.time_ns, now.number))
        self._miss(self.offset, end)
        self._advance(end)
        self.drain(out, now)

    def flush(self, out: list[Item], now: Segment) -> None:
        """Nothing more will come: give out all that is held, and tell what is known to be missing."""
        self.start_at_lowest()
        if not self.is_started or self.is_ended:
            return
        self.drain(out, now)
        self._reach_for_ack()
        while self.has_hole:
            self.give_up_hole(out, now)

    def _reach_for_ack(self) -> None:
        """What was acknowledged was sent; one byte more than was seen may be a FIN that was not captured."""
        if self.ack is not None and self.fin is None:
            acked = self.offset_of(self.ack)
            if max(self.offset, self.reach) + 1 < acked < self.offset + WINDOW_BYTES_MAX:
                self.reach = acked

    # -- waiting for a hole to be filled ---------------------------------------------------------------------------

    def watch_hole(self, now: Segment) -> None:
        """Decide until when the missing bytes may still come."""
        packets, time_ns = self.connection.packets, now.time_ns
        if self.ack is None:
            self.settle_offset = self.reach
            self.settle_packets, self.settle_ns = packets + ONE_WAY_SEGMENTS, time_ns + ONE_WAY_NS
        else:
            self.settle_offset = self.offset_of(self.ack)
            self.settle_packets, self.settle_ns = packets + ACKED_SEGMENTS, time_ns + ACKED_NS

    def settle(self, out: list[Item], now: Segment) -> None:
        """Give up the holes whose time has come; it begins to run when the other side has what is missing."""
        if self.ack is not None and self.settle_offset < self.hole_end <= self.offset_of(self.ack):
            self.watch_hole(now)
        if now.time_ns < self.settle_ns and self.connection.packets < self.settle_packets:
            return
        while self.has_hole and self.hole_end <= self.settle_offset:
            self.give_up_hole(out, now)
        if self.has_hole:
            self.watch_hole(now)
