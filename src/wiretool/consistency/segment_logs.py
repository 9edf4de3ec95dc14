"""The segments of one server by name."""

from collections.abc import Iterable, Iterator

from wiretool import limits
from wiretool.consistency.model import Anomaly
from wiretool.consistency.segment_log import EventEnd, SegmentLog
from wiretool.memory_budget import MemoryBudget


class SegmentLogs:
    """A log for each segment that was appended to. `kind` is the protocol's word for one, `is_new` as in Consistency.

    Where all together hold too much, the largest are forgotten: what was not judged of them never is.
    """

    def __init__(self, kind: str, event_end: EventEnd, *, is_new: bool) -> None:
        self._kind = kind
        self._event_end = event_end
        self._is_new = is_new
        self._logs: dict[str, SegmentLog] = {}
        #: Segments that clients removed, or asked to remove, with the record that asked: that they do not exist proves
        #: nothing.
        self._removed: dict[str, int] = {}
        self._judged = 0
        self._budget: MemoryBudget[str] = MemoryBudget(limits.CONSISTENCY_BYTES_MAX)

    @property
    def judged(self) -> int:
        """Return the number of acknowledged events that reads returned or showed to be missing."""
        return self._judged + sum(log.judged for log in self._logs.values())

    def items(self) -> Iterator[tuple[str, SegmentLog]]:
        """Yield the segments that clients have not removed, with their names; logs may come and go meanwhile."""
        yield from [(name, log) for name, log in self._logs.items() if name not in self._removed]

    def find(self, name: str) -> SegmentLog | None:
        """Return the log of a segment that was appended to."""
        return self._logs.get(name)

    def of(self, name: str) -> SegmentLog:
        """Return the log of a segment, a new one where there is none."""
        log = self._logs.get(name)
        if log is None:
            log = self._logs[name] = self._open(name, is_whole=self._is_new)
        return log

    def create(self, name: str, asked: int | None = None) -> None:
        """The segment was created: it is empty, and no other was of that name since it was removed.

        Record `asked` is the request. Where clients asked to remove the segment after that, it may be gone already.
        Appends that wait for their acknowledgement may be of this one: then copies of them prove nothing.
        """
        before = self.drop(name)
        if asked is None or self._removed.get(name, asked) <= asked:
            self._removed.pop(name, None)
        self._logs[name] = self._open(name, is_whole=before is None or not before.has_pending)

    def remove(self, name: str, asked: int) -> SegmentLog | None:
        """Clients asked in a record to remove the segment; return its log."""
        self.leave((name,), asked)
        return self.drop(name)

    def drop(self, name: str) -> SegmentLog | None:
        """Forget a segment; return its log."""
        log = self._logs.pop(name, None)
        if log is not None:
            self._judged += log.judged
            self._budget.note(name, 0)
        return log

    def leave(self, names: Iterable[str], asked: int) -> None:
        """Clients asked in a record to remove these segments, which may be read until then."""
        self._removed.update(dict.fromkeys(names, asked))

    def restore(self, names: Iterable[str]) -> None:
        """A request to remove these segments was refused."""
        for name in names:
            self._removed.pop(name, None)

    def vanish(self, name: str, n: int) -> list[Anomaly]:
        """Record `n` denies that a segment exists."""
        log = self._logs.get(name)
        if log is None or name in self._removed:
            return []
        anomalies = log.vanish(n)
        self.remove(name, n)
        return anomalies

    def doubt(self) -> None:
        """Requests are missing: segments may have been removed, or appended to."""
        for name in list(self._logs):
            self.drop(name)
        self._is_new = False

    def doubt_copies(self) -> None:
        """An append is not known: an event may have been sent more often than it seems."""
        self._is_new = False
        for log in self._logs.values():
            log.is_whole = False

    def bound_bytes(self, name: str) -> None:
        """Note the size of a segment that has changed, and forget segments while all hold too much."""
        log = self._logs.get(name)
        if log is None:
            return
        self._budget.note(name, log.held_bytes)
        for largest in self._budget.excess():
            self.drop(largest)

    def _open(self, name: str, *, is_whole: bool) -> SegmentLog:
        return SegmentLog(f"{self._kind} {name}", self._event_end, is_whole=is_whole)
