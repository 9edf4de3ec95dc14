"""The observer of a server or tap: it counts records, and puts requests and replies together for its listeners.

A record costs an increment and a place in a buffer. Exchanges are computed for many records at once: when the buffer is
full, and when metrics are read.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeVar

from wiretool import limits
from wiretool.analysis.exchanges import Exchanged, Exchanging
from wiretool.analysis.response_times import ResponseTimes
from wiretool.analysis.stats import OTHERS
from wiretool.batches.batch import Batch
from wiretool.codec.message import Side
from wiretool.faults.standing import Standing
from wiretool.records import Record

#: Gets exchanges, and when the connections of unanswered requests ended, in ns since the epoch.
Listener = Callable[[Exchanged, Mapping[int, int]], None]
K = TypeVar("K")


class RunObserver:
    """Show it every record in order, rules that act, and connections that close. `now_ns` is ns since the epoch."""

    def __init__(self) -> None:
        #: Frames by protocol, message and sender; problems by protocol and kind; actions by rule and action.
        self.messages: Counter[tuple[str, str, Side]] = Counter()
        self.problems: Counter[tuple[str, str]] = Counter()
        self.applied: Counter[tuple[str, str]] = Counter()
        self.responses = ResponseTimes()
        self._listeners: list[Listener] = [lambda exchanged, _: self.responses.add(exchanged)]
        self._exchanging = Exchanging()
        self._records: list[Record] = []
        self._record_bytes = 0
        self._ended_ns: dict[int, int] = {}

    def listen(self, listener: Listener) -> None:
        """Give a listener all exchanges from now on."""
        self._listeners.append(listener)

    def note(self, record: Record) -> None:
        """Count a record, and keep a frame until its exchange is computed."""
        if record.kind == "problem":
            _count(self.problems, (record.protocol, record.error), (record.protocol, OTHERS))
        if record.kind != "frame":
            return
        key = record.protocol, record.message, record.side
        _count(self.messages, key, (record.protocol, OTHERS, record.side))
        self._records.append(record)
        self._record_bytes += record.length
        if len(self._records) >= limits.OBSERVED_RECORDS_MAX or self._record_bytes >= limits.OBSERVED_BYTES_MAX:
            self.flush()

    def note_hit(self, standing: Standing) -> None:
        """Count a rule that has acted."""
        action = action_of(standing)
        _count(self.applied, (standing.rule.text, action), (OTHERS, action))

    def note_closed(self, connection: int, now_ns: int) -> None:
        """Note the end of a connection: its open requests stay unanswered."""
        self._ended_ns[connection] = now_ns
        if len(self._ended_ns) >= limits.OBSERVED_RECORDS_MAX:
            self.flush()

    def flush(self) -> None:
        """Give the listeners the exchanges of all records so far."""
        records, self._records, self._record_bytes = self._records, [], 0
        ended_ns, self._ended_ns = self._ended_ns, {}
        if records:
            self._emit(self._exchanging.take(Batch(records[0].n, len(records), (), records)), ended_ns)
        if ended_ns:
            self._emit(self._exchanging.forget(ended_ns), ended_ns)

    def end(self) -> None:
        """Give the listeners all that is left: no more records come."""
        self.flush()
        self._emit(self._exchanging.end(), {})

    def _emit(self, exchanged: Exchanged, ended_ns: Mapping[int, int]) -> None:
        if len(exchanged):
            for listener in self._listeners:
                listener(exchanged, ended_ns)


def action_of(standing: Standing) -> str:
    """Return the name of a rule's action, such as `delay`."""
    return standing.rule.action.text.split()[0]


def _count(counts: Counter[K], key: K, others: K) -> None:
    """Count one of a key; where there are too many keys, under that of all others."""
    if key not in counts and len(counts) >= limits.METRIC_SERIES_MAX:
        key = others
    counts[key] += 1
