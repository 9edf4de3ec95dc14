"""The bytes in segments, as far as they are known: by reads there, and by appends."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby


class Contents:
    """Runs of bytes in segments. Those that were read count before those that were only sent."""

    def __init__(self) -> None:
        #: Segment -> runs that were read and sent, by where they begin.
        self._read: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        self._sent: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
        #: Length of the longest run of a segment.
        self._longest: dict[str, int] = defaultdict(int)

    def add(self, segment: str, offset: int, data: bytes, *, is_sure: bool = True) -> None:
        """Note bytes in a segment."""
        if not data:
            return
        self._longest[segment] = max(self._longest[segment], len(data))
        runs = (self._read if is_sure else self._sent)[segment]
        if runs and (offset, data) < runs[-1]:
            insort(runs, (offset, data))
        else:
            runs.append((offset, data))

    def forget(self, segment: str) -> None:
        """Drop all bytes of a segment."""
        self._read.pop(segment, None)
        self._sent.pop(segment, None)

    def find_holders(self, offset: int, data: bytes, telling_bytes: int) -> list[str]:
        """Return the segments in which these bytes, or enough of them to rule out chance, were read at that place."""
        return [segment for segment in self._read if self._holds(segment, offset, data, telling_bytes)]

    def _holds(self, segment: str, offset: int, data: bytes, telling_bytes: int) -> bool:
        stop, seen = offset + len(data), 0
        for begin, run in self._near(self._read[segment], segment, offset, stop):
            first, last = max(begin, offset), min(begin + len(run), stop)
            if run[first - begin : last - begin] != data[first - offset : last - offset]:
                return False
            seen = max(seen, last - first)
        return seen >= telling_bytes

    def find_unknown(self, segment: str, offset: int, data: bytes) -> list[slice] | None:
        """Return the parts of bytes at a place of which nothing is known; None where others are known to be there."""
        held, known = bytearray(data), bytearray(len(data))
        for first, run in self.runs(segment, offset, offset + len(data)):
            held[first - offset : first - offset + len(run)] = run
            known[first - offset : first - offset + len(run)] = b"\1" * len(run)
        if held != data:
            return None
        found, at = [], 0
        for is_known, group in groupby(known):
            end = at + sum(1 for _ in group)
            if not is_known:
                found.append(slice(at, end))
            at = end
        return found

    def fill(self, segment: str, start: int, stop: int) -> bytes:
        """Return bytes to put at `start` to `stop`: those that are known, and zeros in between."""
        made = bytearray(stop - start)
        for first, run in self.runs(segment, start, stop):
            made[first - start : first - start + len(run)] = run
        return bytes(made)

    def runs(self, segment: str, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """Yield what is known of `start` to `stop`, the surest last."""
        for runs in (self._sent, self._read):
            for begin, run in self._near(runs.get(segment, []), segment, start, stop):
                first, last = max(begin, start), min(begin + len(run), stop)
                yield first, run[first - begin : last - begin]

    def _near(self, runs: list[tuple[int, bytes]], segment: str, start: int, stop: int) -> list[tuple[int, bytes]]:
        """Return the runs that reach into `start` to `stop`."""
        first = bisect_left(runs, (start - self._longest[segment], b""))
        last = bisect_left(runs, (stop, b""))
        return [(begin, run) for begin, run in runs[first:last] if begin + len(run) > start]
