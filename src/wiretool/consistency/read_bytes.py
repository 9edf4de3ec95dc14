"""The bytes of a segment that reads returned, by offset."""

from bisect import bisect_right


class _Run:
    """Bytes without a gap; `marks` has the offset from which each record's bytes go on."""

    __slots__ = ("data", "marks", "start")

    def __init__(self, start: int, data: bytearray, marks: list[tuple[int, int]]) -> None:
        self.start = start
        self.data = data
        self.marks = marks

    @property
    def end(self) -> int:
        return self.start + len(self.data)


class ReadBytes:
    """Runs of bytes in the order of their offsets. The latest read of a byte counts."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self.held_bytes = 0
        #: Bytes that a later read returned otherwise: from, to, and its record; the latest last.
        self._changed: list[tuple[int, int, int]] = []

    def add(self, offset: int, data: bytes, n: int) -> list[tuple[int, int]]:
        """Add the bytes of a read, whose record is `n`; return the ranges of offsets that are new or differ."""
        end, at = offset + len(data), offset
        found: list[tuple[int, int]] = []
        missing: list[tuple[int, int]] = []
        for run in self._runs_in(offset, end):
            low, high = max(run.start, offset), min(run.end, end)
            if at < low:
                missing.append((at, low))
            now = data[low - offset : high - offset]
            if run.data[low - run.start : high - run.start] != now:
                run.data[low - run.start : high - run.start] = now
                self._changed.append((low, high, n))
                found.append((low, high))
            at = high
        if at < end:
            missing.append((at, end))
        for low, high in missing:
            self._insert(_Run(low, bytearray(data[low - offset : high - offset]), [(low, n)]))
        return sorted(found + missing)

    def covers(self, start: int, end: int) -> bool:
        """Return whether every byte of a stretch was read."""
        run = self._run_at(start)
        return run is not None and end <= run.end

    def get(self, start: int, end: int) -> bytes:
        """Return the bytes of a stretch that reads cover."""
        run = self._run_at(start)
        assert run is not None
        return bytes(run.data[start - run.start : end - run.start])

    def run_from(self, offset: int) -> tuple[bytearray, int]:
        """Return the bytes of the run that has an offset, and the place of that offset in them; no bytes without."""
        run = self._run_at(offset)
        return (bytearray(), 0) if run is None else (run.data, offset - run.start)

    def record_at(self, offset: int) -> int:
        """Return the number of the record that returned the byte at an offset."""
        for low, high, n in reversed(self._changed):
            if low <= offset < high:
                return n
        run = self._run_at(offset)
        assert run is not None
        return run.marks[bisect_right(run.marks, offset, key=lambda mark: mark[0]) - 1][1]

    def find(self, data: bytes) -> int:
        """Return the offset where these bytes begin first; -1 where no run has them."""
        for run in self._runs:
            at = run.data.find(data)
            if at >= 0:
                return run.start + at
        return -1

    def _index(self, offset: int) -> int:
        return bisect_right(self._runs, offset, key=lambda run: run.start)

    def _runs_in(self, start: int, end: int) -> list[_Run]:
        first = max(self._index(start) - 1, 0)
        return [run for run in self._runs[first : self._index(end - 1)] if run.end > start]

    def _run_at(self, offset: int) -> _Run | None:
        index = self._index(offset) - 1
        return self._runs[index] if index >= 0 and offset < self._runs[index].end else None

    def _insert(self, made: _Run) -> None:
        """Put a run between the others, which it does not overlap, and join it with those that it touches."""
        self.held_bytes += len(made.data)
        index = self._index(made.start)
        before = self._runs[index - 1] if index else None
        if before is not None and before.end == made.start:
            before.data += made.data
            before.marks += made.marks
            made, index = before, index - 1
        else:
            self._runs.insert(index, made)
        after = self._runs[index + 1] if index + 1 < len(self._runs) else None
        if after is not None and made.end == after.start:
            made.data += after.data
            made.marks += after.marks
            del self._runs[index + 1]
