"""Earlier records, as far as a filter needs them: the first one's time, and values of requests for their replies."""

from collections.abc import Callable
from typing import Any

from wiretool.analysis.replies import Asked
from wiretool.records import Record

#: A value in JSON form, None where the record has none.
Getter = Callable[[Record], Any]
Steps = tuple[str | int, ...]


class RequestValues:
    """One value of each frame, kept for its replies: of the latest `limits.REQUESTS_OPEN_MAX` records."""

    def __init__(self, get: Getter) -> None:
        self.get = get
        self._earlier: Asked[Any] = Asked()
        #: The numbers of the batch at hand, and the value of each of its frames.
        self._batch = range(0)
        self._batch_value: Callable[[int], Any] | None = None

    def note(self, record: Record) -> None:
        """Keep the value of a frame."""
        if record.kind == "frame" and (value := self.get(record)) is not None:
            self._earlier.note(record.n, value)

    def begin_batch(self, first_n: int, count: int, value_at: Callable[[int], Any]) -> None:
        """Look up requests in a batch first, and keep the values of the one before it.

        `value_at` takes a place in the batch; it is asked for one of them at the next call, and must then hold no data.
        """
        if self._batch_value is not None and self._batch:
            self._batch_value(0)
            self._earlier.note_many(self._batch.start, len(self._batch), self._batch_value)
        self._batch, self._batch_value = range(first_n, first_n + count), value_at

    def of(self, n: int, reply_to: int) -> Any:
        """Return the value of the request that record `n` answers; None where it has none or is forgotten."""
        if n - reply_to >= len(self._earlier.values):
            return None
        if reply_to in self._batch and self._batch_value is not None:
            return self._batch_value(reply_to - self._batch.start)
        return self._earlier.of(n, reply_to)


class History:
    """What a filter remembers of the records before the one at hand. Show it every record in order."""

    def __init__(self) -> None:
        self._first_ns: int | None = None
        #: By the steps to the value.
        self.requests: dict[Steps, RequestValues] = {}

    def note(self, record: Record) -> None:
        """Remember a record."""
        self.since_first_ns(record)
        for values in self.requests.values():
            values.note(record)

    def since_first_ns(self, record: Record) -> int:
        """Return the nanoseconds from the first record this was asked for to this one."""
        return record.time_ns - self.first_ns(record.time_ns)

    def first_ns(self, time_ns: int) -> int:
        """Return the time of the first record; that is `time_ns` where this is the first time it is asked for."""
        if self._first_ns is None:
            self._first_ns = time_ns
        return self._first_ns

    def request_values(self, steps: Steps, get: Getter) -> RequestValues:
        """Return the values of requests under `steps`, kept from now on."""
        return self.requests.setdefault(steps, RequestValues(get))
