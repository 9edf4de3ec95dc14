"""Reads back what is stored and checks it: each acknowledged event is there once, in its writer's order, unchanged.

Each defect is found once and the check goes on behind it. What is all right goes through arrays (rows.py);
whatever looks odd there goes event by event, the way that is here, which is the truth.
"""

from collections.abc import Mapping

from wiretool import limits
from wiretool.codec.event_trailer import MARK_BYTES
from wiretool.load.events import Filler, Head, tag_of
from wiretool.load.verify.event import SHOWN_BYTES, Judge, is_good
from wiretool.load.verify.findings import Finding, Findings, Kind, Outcome
from wiretool.load.verify.rows import NUMBER_MAX, ROWS_MIN, Rows, RowsReader
from wiretool.load.verify.sequence import Arrived

#: Bytes of a body by which its beginning is looked for.
_BEGIN_BYTES = 8
#: Bytes that come before the next event is looked for once more.
_LOOK_BYTES = 64 * 1024


class Checker:
    """Checks the bytes of one segment, from the first one on, in pieces of any size.

    It holds one event at most, and what was passed over. With `is_bulk` off all goes one by one: slower, the same.
    `arrived` is told which events are there as they come, see order.py.
    """

    def __init__(
        self,
        segment: str,
        *,
        run: str,
        head: Head,
        filler: Filler,
        is_bulk: bool = True,
        arrived: Arrived | None = None,
    ) -> None:
        self._segment = segment
        self._head = head
        self._width = head.width
        self._begin = bytes(filler.body(_BEGIN_BYTES))
        self._findings = Findings()
        self._judge = Judge(self._findings, tag_of(run), filler, arrived)
        self._reader = RowsReader(head, filler, tag_of(run)) if is_bulk else None
        self._parts: list[bytes] = []
        #: Bytes in the parts, how many it takes to go on, and where they begin in the segment.
        self._held = 0
        self._wanted = 1
        self._offset = 0
        #: Where bytes begin that are no event, while the next one is looked for (-1: nothing is amiss); the first ones.
        self._lost_at = -1
        self._lost_bytes = b""

    @property
    def found(self) -> int:
        """Findings so far; what is lost shows only in the end."""
        return self._findings.count

    @property
    def checked(self) -> int:
        """Events of the run so far that are as they were written."""
        return self._judge.checked

    def feed(self, data: bytes) -> None:
        """More bytes of the segment."""
        if not data:
            return
        self._parts.append(data)
        self._held += len(data)
        if self._held >= self._wanted:
            self._read(is_end=False)

    def take(self, event: bytes, offset: int) -> None:
        """One event without its head, for whoever has the events apart already; `offset` is where to find it."""
        if not self._judge.take(event, offset):
            self._judge.take_damaged(event, offset)

    def end(self, acknowledged: Mapping[int, int], sent: Mapping[int, int]) -> Outcome:
        """There is no more. By writer of this segment: the last number acknowledged, and the last one sent.

        Of a writer that died with its process neither may be known for sure: give the least and a large number.
        """
        self._read(is_end=True)
        self._judge.end(acknowledged, sent, self._offset + self._held)
        return self._outcome(sum(acknowledged.values()))

    def leave(self) -> Outcome:
        """Nobody reads on, though the segment may: what is missing between events that came is lost."""
        if self._lost_at >= 0:
            words = f"no event begins here, {self._lost_bytes.hex(' ')} is there; none follows so far"
            self._findings.add(Finding(Kind.BROKEN, self._lost_at, words))
        seen = self._judge.order.seen()
        self._judge.end(seen, dict.fromkeys(seen, NUMBER_MAX), self._offset + self._held)
        return self._outcome(0)

    def _outcome(self, acknowledged: int) -> Outcome:
        return Outcome(
            acknowledged=acknowledged,
            checked=self._judge.checked,
            foreign=self._judge.foreign,
            found=self._findings.count,
            kinds={str(kind): count for kind, count in self._findings.kinds.items()},
            findings=self._findings.told(self._segment),
        )

    def _read(self, *, is_end: bool) -> None:
        data = b"".join(self._parts) if len(self._parts) != 1 else self._parts[0]
        self._wanted = 0
        done = self._walk(data, is_end)
        self._offset += done
        self._parts = [data[done:]]
        self._held = len(data) - done
        self._wanted = max(self._wanted, self._held + 1)

    def _walk(self, data: bytes, is_end: bool) -> int:
        """How far it came."""
        at = 0
        while True:
            before = at, self._lost_at
            if self._lost_at >= 0:
                at = self._find_again(data, at, is_end)
            else:
                at = self._take_rows(data, at, is_end)
                at = self._take_one(data, at, is_end)
            if before == (at, self._lost_at):
                return at

    def _take_one(self, data: bytes, at: int, is_end: bool) -> int:
        """Behind the event at `at`; at it while more bytes are wanted or it is none."""
        if self._lost_at >= 0 or at == len(data):
            return at
        stop = self._stop_of(data, at)
        if stop < 0:
            return self._lose(data, at)
        if stop > len(data):
            return self._lose(data, at) if is_end else self._want(stop - at, at)
        event = data[at + self._width : stop]
        if self._judge.take(event, self._offset + at):
            return stop
        if not is_end and stop + self._width > len(data):
            return self._want(stop + self._width - at, at)
        if not self._is_length_right(data, event, stop):
            return self._lose(data, at)
        self._judge.take_damaged(event, self._offset + at)
        return stop

    def _is_length_right(self, data: bytes, event: bytes, stop: int) -> bool:
        """Whether an event that is not right ends where its head says: it ends by a mark, or by what follows it."""
        hit = event.find(self._judge.tag)
        return hit == len(event) - MARK_BYTES or (hit < 0 and self._stop_of(data, stop) >= 0)

    def _stop_of(self, data: bytes, at: int) -> int:
        """Where the event ends whose head is at `at`, or the head if it is cut; -1 where none begins."""
        if len(data) - at < self._width:
            return at + self._width
        size = self._head.size_at(data, at)
        return at + self._width + size if 0 < size <= limits.BENCH_EVENT_BYTES_MAX else -1

    def _want(self, count: int, at: int) -> int:
        self._wanted = count
        return at

    def _lose(self, data: bytes, at: int) -> int:
        self._lost_at = self._offset + at
        self._lost_bytes = data[at : at + SHOWN_BYTES]
        return at

    def _take_rows(self, data: bytes, at: int, is_end: bool) -> int:
        """Behind as many events as go together; those among them that look odd go one by one."""
        rows = None if self._reader is None else self._reader.read(data, at)
        if self._reader is None or rows is None:
            return at
        taken = 0
        for bad in [*rows.bad, rows.count]:
            self._take_good(rows, taken, bad)
            taken, at = bad, int(rows.places[bad])
            if bad < rows.count:
                at = self._take_one(data, at, is_end)
                if at != rows.places[bad + 1] or self._lost_at >= 0:
                    break
                taken += 1
        self._reader.note(rows, taken)
        return at

    def _take_good(self, rows: Rows, first: int, last: int) -> None:
        self._judge.checked += last - first
        offsets = self._offset + rows.places[first:last]
        parts = rows.writers[first:last], rows.numbers[first:last], offsets
        if last - first >= ROWS_MIN:
            self._judge.order.place_rows(*parts)
            return
        for writer, number, offset in zip(*(part.tolist() for part in parts), strict=True):
            self._judge.order.place(writer, number, offset)

    def _find_again(self, data: bytes, at: int, is_end: bool) -> int:
        """Where events go on, or behind the bytes that cannot be part of one; at the end of all, behind all."""
        begin = self._next_good(data, at)
        if begin >= 0 or is_end:
            stop = begin if begin >= 0 else len(data)
            self._judge.pass_by(data, at, stop, self._offset + at)
            self._tell_broken(data, at, begin)
            self._lost_at = -1
            return stop
        stop = max(at, len(data) - limits.BENCH_EVENT_BYTES_MAX - self._width)
        self._judge.pass_by(data, at, stop, self._offset + at)
        # Half as much again, so that one byte is not searched many times.
        return self._want((len(data) - stop) * 3 // 2 + _LOOK_BYTES, stop)

    def _tell_broken(self, data: bytes, at: int, begin: int) -> None:
        """No event was found from `_lost_at` to `begin`, or to the end of all where that is -1."""
        is_cut = begin < 0 and self._lost_at == self._offset + at and self._stop_of(data, at) > len(data)
        shown = self._lost_bytes.hex(" ")
        if is_cut:
            wanted, there = self._stop_of(data, at) - at, len(data) - at
            words = f"the segment ends within an event: {there:,} of {wanted:,} bytes are there, {shown}"
        else:
            until = f"the next one is at byte {self._offset + begin:,}" if begin >= 0 else "none follows"
            words = f"no event begins here, {shown} is there; {until}"
        self._findings.add(Finding(Kind.CUT if is_cut else Kind.BROKEN, self._lost_at, words))

    def _next_good(self, data: bytes, at: int) -> int:
        """Where the first event of this run begins that is whole and right; -1 for none."""
        hit = data.find(self._judge.tag, at)
        while 0 <= hit <= len(data) - MARK_BYTES:
            begin = self._begin_of(data, at, hit)
            if begin >= 0:
                return begin
            at = hit + MARK_BYTES
            hit = data.find(self._judge.tag, at)
        return -1

    def _begin_of(self, data: bytes, low: int, hit: int) -> int:
        """Where the event begins, from `low` on, whose mark is at `hit`; -1 where it is not right."""
        stop = hit + MARK_BYTES
        # A short body is too little to look for; each length is tried.
        bodies: list[int] = [data.rfind(self._begin, low, hit), *range(hit, hit - _BEGIN_BYTES, -1)]
        for begin in (body - self._width for body in bodies):
            if begin >= low and self._stop_of(data, begin) == stop and is_good(data[begin + self._width : stop]):
                return begin
        return -1
