"""What is known of the bytes in segments, by what was read there and what was appended."""

from bisect import bisect_left, insort
from collections import defaultdict


class Contents:
    """Pieces of segments. Those that were read count before those that were only sent."""

    def __init__(self) -> None:
        #: Segment -> pieces that were read and sent, by where they begin.
        self._read: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        self._sent: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        #: Length of the longest piece of a segment.
        self._longest: dict[str, int] = defaultdict(int)

    def add(self, segment: str, offset: int, data: bytes, *, is_sure: bool = True) -> None:
        """These bytes are there."""
        if not data:
            return
        self._longest[segment] = max(self._longest[segment], len(data))
        pieces = (self._read if is_sure else self._sent)[segment]
        if pieces and (offset, data) < pieces[-1]:
            insort(pieces, (offset, data))
        else:
            pieces.append((offset, data))

    def holders(self, offset: int, data: bytes, telling_bytes: int) -> list[str]:
        """The segments in which these bytes, or so many of them that it is no chance, were read at that place."""
        return [segment for segment in self._read if self._holds(segment, offset, data, telling_bytes)]

    def _holds(self, segment: str, offset: int, data: bytes, telling_bytes: int) -> bool:
        stop, seen = offset + len(data), 0
        for begin, piece in self._near(self._read[segment], segment, offset, stop):
            first, last = max(begin, offset), min(begin + len(piece), stop)
            if piece[first - begin : last - begin] != data[first - offset : last - offset]:
                return False
            seen = max(seen, last - first)
        return seen >= telling_bytes

    def bytes_of(self, segment: str, start: int, stop: int) -> bytes:
        """The bytes `start` to `stop`; zeros where they are not known."""
        made = bytearray(stop - start)
        for pieces in (self._sent, self._read):
            for begin, piece in self._near(pieces.get(segment, []), segment, start, stop):
                first, last = max(begin, start), min(begin + len(piece), stop)
                made[first - start : last - start] = piece[first - begin : last - begin]
        return bytes(made)

    def _near(self, pieces: list[tuple[int, bytes]], segment: str, start: int, stop: int) -> list[tuple[int, bytes]]:
        """The pieces that reach into `start` to `stop`."""
        first = bisect_left(pieces, (start - self._longest[segment], b""))
        last = bisect_left(pieces, (stop, b""))
        return [(begin, piece) for begin, piece in pieces[first:last] if begin + len(piece) > start]
