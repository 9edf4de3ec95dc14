"""Whether the events of each writer are stored once each and in order: 1, 2, 3 and so on. Writers may be mixed."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wiretool import limits
from wiretool.codec.columns import begins_of
from wiretool.load.verify.findings import Finding, Findings, Kind, events_named

#: Is told which events of a writer are there, from a number to another, as they come; not of those that come late.
Arrived = Callable[[int, int, int], None]


@dataclass(slots=True)
class Hole:
    """Numbers that were passed over: `offset` is the byte of the event `seen`, behind which they may still come."""

    first: int
    last: int
    offset: int
    seen: int


class Line:
    """The events of one writer as far as they are seen.

    `next` is the number that would be in order, `last_at` the byte where the one before that is.
    """

    __slots__ = ("holes", "last_at", "next", "run")

    def __init__(self) -> None:
        self.next = 1
        self.last_at = 0
        #: In the order of their numbers, none of them empty.
        self.holes: list[Hole] = []
        #: The finding that the last event was part of: more of the same are one defect.
        self.run: Finding | None = None

    def hole_of(self, number: int) -> int:
        """Which hole a number is in; -1 for none."""
        at = bisect_right(self.holes, number, key=lambda hole: hole.first) - 1
        return at if at >= 0 and number <= self.holes[at].last else -1

    def fill(self, at: int, number: int) -> int:
        """A number that was passed over is there after all; gives how many more holes there are now."""
        hole = self.holes[at]
        parts = ((hole.first, number - 1), (number + 1, hole.last))
        left = [Hole(first, last, hole.offset, hole.seen) for first, last in parts if first <= last]
        self.holes[at : at + 1] = left
        return len(left) - 1


class Order:
    """The lines of all writers of one segment."""

    def __init__(self, findings: Findings, arrived: Arrived | None = None) -> None:
        self._findings = findings
        self._arrived = arrived
        self._lines: dict[int, Line] = {}
        self._holes = 0

    def __contains__(self, writer: int) -> bool:
        """Whether anything was seen of a writer."""
        return writer in self._lines

    def expected(self, writer: int) -> int:
        """The number of that writer that would be in order."""
        line = self._lines.get(writer)
        return 1 if line is None else line.next

    def seen(self) -> dict[int, int]:
        """By writer, the last number that was there, whatever is missing before it."""
        return {writer: line.next - 1 for writer, line in self._lines.items()}

    def is_missing(self, writer: int, number: int) -> bool:
        """Whether that event would be in order, or was passed over."""
        line = self._lines.get(writer)
        return number == self.expected(writer) or (line is not None and line.hole_of(number) >= 0)

    def repair(self, writer: int, number: int) -> None:
        """A missing event was there after all, no matter where."""
        line = self._line(writer)
        hole = line.hole_of(number)
        if hole >= 0:
            self._holes += line.fill(hole, number)
        else:
            self._go_on(line, 1, line.last_at)

    def place(self, writer: int, number: int, offset: int) -> None:
        """The event of that writer and number is at that byte of the segment."""
        line = self._line(writer)
        if number == line.next:
            self._go_on(line, 1, offset)
        elif number > line.next:
            self._pass_over(line, writer, number, offset)
        else:
            self._go_back(line, writer, number, offset)
            return
        if self._arrived is not None:
            self._arrived(writer, number, number)

    def _line(self, writer: int) -> Line:
        line = self._lines.get(writer)
        if line is None:
            line = self._lines[writer] = Line()
        return line

    def _go_on(self, line: Line, count: int, last_at: int) -> None:
        line.next += count
        line.last_at = last_at
        line.run = None

    def _pass_over(self, line: Line, writer: int, number: int, offset: int) -> None:
        line.holes.append(Hole(line.next, number - 1, offset, number))
        self._go_on(line, number + 1 - line.next, offset)
        self._holes += 1
        while self._holes > limits.BENCH_HOLES_MAX and line.holes:
            hole = line.holes.pop(0)
            self._holes -= 1
            self._findings.add(_lost(writer, hole, hole.last))

    def _go_back(self, line: Line, writer: int, number: int, offset: int) -> None:
        at = line.hole_of(number)
        kind = Kind.DOUBLED if at < 0 else Kind.OUT_OF_ORDER
        if at >= 0:
            self._holes += line.fill(at, number)
        if line.run is not None and line.run.kind is kind and line.run.last == number - 1:
            line.run.last = number
            return
        words = "there once more" if at < 0 else "late"
        words = f"{{events}}: {words}, after {events_named(writer, line.next - 1, line.next - 1)}"
        line.run = Finding(kind, offset, words, writer, number, number)
        self._findings.add(line.run)

    def place_rows(self, writers: NDArray[np.uint64], numbers: NDArray[np.int64], offsets: NDArray[np.int64]) -> None:
        """The same for many events, in the order of the segment; all writers are of one run."""
        rows = _by_writer(writers)
        kept, ordered = writers[rows], numbers[rows]
        begins = begins_of(kept)
        late: list[NDArray[np.int64]] = []
        for writer, first, begin, end, last, is_broken in _stretches(rows, kept, ordered, begins):
            line = self._line(writer)
            if is_broken or line.next != first:
                late.append(rows[begin:end])
                continue
            self._go_on(line, end - begin, int(offsets[last]))
            if self._arrived is not None:
                self._arrived(writer, first, line.next - 1)
        for row in np.sort(np.concatenate(late)).tolist() if late else ():
            self.place(int(writers[row]), int(numbers[row]), int(offsets[row]))

    def settle(self, acknowledged: Mapping[int, int], sent: Mapping[int, int], end: int) -> None:
        """Nothing comes any more: what is missing that was acknowledged is lost, what nobody sent is a finding.

        `acknowledged` and `sent` have the last number by writer; `end` is the length of the segment.
        """
        for writer in sorted({*self._lines, *acknowledged}):
            line = self._lines.get(writer, Line())
            known = acknowledged.get(writer, 0)
            for hole in line.holes:
                if hole.first <= known:
                    self._findings.add(_lost(writer, hole, min(hole.last, known)))
            if line.next <= known:
                self._findings.add(_lost(writer, Hole(line.next, known, end, 0), known))
            self._never_sent(writer, line, max(known, sent.get(writer, 0)))

    def _never_sent(self, writer: int, line: Line, last: int) -> None:
        if line.next - 1 <= last:
            return
        first = last + 1
        hole = line.hole_of(first)
        if hole >= 0:
            first = line.holes[hole].last + 1
        what = f"its writer sent {last:,} in all" if last else "its writer sent nothing here"
        words = f"{{events}}: there, though {what}"
        self._findings.add(Finding(Kind.NEVER_SENT, line.last_at, words, writer, first, line.next - 1))


def _lost(writer: int, hole: Hole, last: int) -> Finding:
    there = f"event {hole.seen:,} comes here" if hole.seen else "the segment ends here"
    words = f"{{events}}: acknowledged and not there; {there}"
    return Finding(Kind.LOST, hole.offset, words, writer, hole.first, last)


def _by_writer(writers: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The rows sorted by writer, each writer's in their order. Sorting by 16 bits at a time takes linear time."""
    rows = np.argsort(writers.astype(np.uint16), kind="stable")
    processes = (writers >> np.uint64(16)).astype(np.uint16)
    return rows if (processes == processes[0]).all() else rows[np.argsort(processes[rows], kind="stable")]


def _stretches(
    rows: NDArray[np.int64], writers: NDArray[np.uint64], numbers: NDArray[np.int64], begins: NDArray[np.int64]
) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Of each writer: itself, its first number, its rows from and to, its last row, and how often its numbers jump."""
    jumps = np.ones(len(numbers), np.bool_)
    np.not_equal(np.diff(numbers), 1, out=jumps[1:])
    jumps[begins] = False
    ends = np.append(begins[1:], len(numbers))
    parts = writers[begins], numbers[begins], begins, ends, rows[ends - 1], np.add.reduceat(jumps, begins, dtype=int)
    return zip(*(part.tolist() for part in parts), strict=True)
