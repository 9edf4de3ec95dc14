"""What is held of a stream until the bytes before it come, and what of it was never given out."""

from bisect import bisect_left, bisect_right
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import NamedTuple

#: Bytes a held piece costs beside its data, so that a flood of tiny pieces is bounded too.
PIECE_OVERHEAD_BYTES = 128

_offset = attrgetter("offset")
_start, _end = itemgetter(0), itemgetter(1)


class Piece(NamedTuple):
    """Bytes at their place in the stream."""

    offset: int
    data: bytes
    time_ns: int
    packet: int

    @property
    def end(self) -> int:
        return self.offset + len(self.data)


class Overlap(NamedTuple):
    """Bytes that came again: where, as they came now, and as they came first."""

    offset: int
    now: bytes
    first: bytes


class Held:
    """What all pieces of all flows cost together, in bytes."""

    def __init__(self) -> None:
        self.size = 0


class Pieces:
    """Held pieces in the order of the stream; they never overlap."""

    __slots__ = ("_held", "_pieces", "size")

    def __init__(self, held: Held) -> None:
        self._pieces: list[Piece] = []
        self._held = held
        #: What holding them costs, in bytes.
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def own(self) -> "Pieces":
        """Return pieces to be added to: these, or new ones where they are empty, as many flows share empty ones."""
        return self if self._pieces else Pieces(self._held)

    @property
    def first_offset(self) -> int:
        return self._pieces[0].offset

    @property
    def oldest_ns(self) -> int:
        """Return when the first of them was captured; there must be one."""
        return min(piece.time_ns for piece in self._pieces)

    @property
    def packets(self) -> int:
        """How many pieces there are."""
        return len(self._pieces)

    def add(self, piece: Piece) -> list[Overlap]:
        """Hold what is new of it, and tell what is not."""
        if not self._pieces or piece.offset >= self._pieces[-1].end:  # as nearly always
            self._pieces.append(piece)
            self._count(len(piece.data) + PIECE_OVERHEAD_BYTES)
            return []
        overlaps, at = [], piece.offset
        for other in self._touching(piece):
            if other.offset > at:
                self._insert(_part(piece, at, other.offset))
            start, end = max(at, other.offset), min(piece.end, other.end)
            overlaps.append(Overlap(start, _part(piece, start, end).data, _part(other, start, end).data))
            at = end
        if at < piece.end:
            self._insert(_part(piece, at, piece.end))
        return overlaps

    def take_from(self, offset: int) -> list[Piece]:
        """Let go of the pieces that follow on `offset` without a hole."""
        count = 0
        for piece in self._pieces:
            if piece.offset > offset:
                break
            count, offset = count + 1, piece.end
        if not count:
            return []
        taken = self._pieces[:count]
        del self._pieces[:count]
        self._count(-sum(len(piece.data) + PIECE_OVERHEAD_BYTES for piece in taken))
        return taken

    def shift(self, by: int) -> None:
        """Count all offsets from elsewhere."""
        self._pieces = [piece._replace(offset=piece.offset + by) for piece in self._pieces]

    def count_again(self) -> None:
        """Count again what holding them costs; ValueError where they overlap, or are out of order."""
        if any(not piece.data for piece in self._pieces) or any(
            before.end > piece.offset for before, piece in pairwise(self._pieces)
        ):
            raise ValueError("held pieces of a stream are empty, overlap, or are out of order")
        self.size = 0
        self._count(sum(len(piece.data) + PIECE_OVERHEAD_BYTES for piece in self._pieces))

    def _touching(self, piece: Piece) -> list[Piece]:
        """Held pieces that share bytes with this one."""
        at = bisect_left(self._pieces, piece.offset, key=_offset)
        found = [self._pieces[at - 1]] if at and self._pieces[at - 1].end > piece.offset else []
        while at < len(self._pieces) and self._pieces[at].offset < piece.end:
            found.append(self._pieces[at])
            at += 1
        return found

    def _insert(self, piece: Piece) -> None:
        self._pieces.insert(bisect_left(self._pieces, piece.offset, key=_offset), piece)
        self._count(len(piece.data) + PIECE_OVERHEAD_BYTES)

    def _count(self, size: int) -> None:
        self.size += size
        self._held.size += size


def _part(piece: Piece, start: int, end: int) -> Piece:
    return piece._replace(offset=start, data=piece.data[start - piece.offset : end - piece.offset])


class Ranges:
    """Stretches of a stream in its order, taken out piecewise; `most` are told apart, the oldest made one."""

    __slots__ = ("_most", "_ranges")

    def __init__(self, most: int) -> None:
        self._ranges: list[tuple[int, int]] = []
        self._most = most

    def __len__(self) -> int:
        return len(self._ranges)

    def add(self, start: int, end: int) -> None:
        """One more, behind all others."""
        self._ranges.append((start, end))
        self._merge()

    def take(self, start: int, end: int) -> list[tuple[int, int]]:
        """What of [start, end) lies in the ranges; it is in them afterwards only where two are merged over it."""
        first = bisect_right(self._ranges, start, key=_end)
        last = bisect_left(self._ranges, end, lo=first, key=_start)
        touched = self._ranges[first:last]
        taken = [(max(low, start), min(high, end)) for low, high in touched]
        if touched:
            left = ((touched[0][0], start), (end, touched[-1][1]))
            self._ranges[first:last] = [(low, high) for low, high in left if low < high]
            self._merge()
        return taken

    def _merge(self) -> None:
        """Of too many make the second and third one, with what is between: the first may be all before the stream."""
        if len(self._ranges) > self._most:
            self._ranges[1:3] = [(self._ranges[1][0], self._ranges[2][1])]
