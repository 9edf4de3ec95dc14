"""How long replies took, and what they answer."""

from array import array
from typing import Generic, TypeVar

from wiretool import limits
from wiretool.records import Record

T = TypeVar("T")


class ReplyTimes:
    """Remembers when the latest records were captured, so that a reply knows how old its request is.

    Show it every record in order. Of `limits.REQUESTS_OPEN_MAX` records back the time is forgotten.
    """

    def __init__(self) -> None:
        self._first_ns: int | None = None
        #: The record of number n has the place n modulo their length.
        self.times = array("q", bytes(8 * limits.REQUESTS_OPEN_MAX))
        self.numbers = array("q", bytes(8 * limits.REQUESTS_OPEN_MAX))

    def note(self, record: Record) -> None:
        """Remember when `record` was captured."""
        if self._first_ns is None:
            self._first_ns = record.time_ns
        slot = record.n % limits.REQUESTS_OPEN_MAX
        self.times[slot] = record.time_ns
        self.numbers[slot] = record.n

    def since_first_ns(self, record: Record) -> int:
        """Nanoseconds from the first record to this one."""
        return record.time_ns - (record.time_ns if self._first_ns is None else self._first_ns)

    def latency_ns(self, record: Record) -> int | None:
        """Nanoseconds from the request to this reply; None where it is no reply or the request is forgotten."""
        n = record.reply_to
        if n is None or self.numbers[n % limits.REQUESTS_OPEN_MAX] != n:
            return None
        return record.time_ns - self.times[n % limits.REQUESTS_OPEN_MAX]


class Asked(Generic[T]):
    """Remembers something of each request, for its replies.

    Of `limits.REQUESTS_OPEN_MAX` records back it is forgotten.
    """

    def __init__(self) -> None:
        #: What was said of the request of number n has the place n modulo their length.
        self.numbers = array("q", bytes(8 * limits.REQUESTS_OPEN_MAX))
        self.values: list[T | None] = [None] * limits.REQUESTS_OPEN_MAX

    def note(self, n: int, value: T) -> None:
        """Remember it of the request with the number `n`."""
        slot = n % len(self.values)
        self.numbers[slot] = n
        self.values[slot] = value

    def of(self, n: int, reply_to: int) -> T | None:
        """What is remembered of the request that the record `n` answers."""
        slot = reply_to % len(self.values)
        if n - reply_to >= len(self.values) or self.numbers[slot] != reply_to:
            return None
        return self.values[slot]
