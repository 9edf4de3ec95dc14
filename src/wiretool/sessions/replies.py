"""How long replies took."""

from array import array

from wiretool import limits
from wiretool.records import Record


class ReplyTimes:
    """Remembers when the latest records were captured, so that a reply knows how old its request is.

    Show it every record in order. Of `limits.REQUESTS_OPEN_MAX` records back the time is forgotten.
    """

    def __init__(self) -> None:
        self._first_ns: int | None = None
        self._times = array("q", bytes(8 * limits.REQUESTS_OPEN_MAX))
        self._numbers = array("q", bytes(8 * limits.REQUESTS_OPEN_MAX))

    def note(self, record: Record) -> None:
        """Remember when `record` was captured."""
        if self._first_ns is None:
            self._first_ns = record.time_ns
        slot = record.n % limits.REQUESTS_OPEN_MAX
        self._times[slot] = record.time_ns
        self._numbers[slot] = record.n

    def since_first_ns(self, record: Record) -> int:
        """Nanoseconds from the first record to this one."""
        return record.time_ns - (record.time_ns if self._first_ns is None else self._first_ns)

    def latency_ns(self, record: Record) -> int | None:
        """Nanoseconds from the request to this reply; None where it is no reply or the request is forgotten."""
        n = record.reply_to
        if n is None or self._numbers[n % limits.REQUESTS_OPEN_MAX] != n:
            return None
        return record.time_ns - self._times[n % limits.REQUESTS_OPEN_MAX]
