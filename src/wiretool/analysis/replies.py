"""How long replies took, and what they answer."""

from array import array
from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from wiretool import limits
from wiretool.records import Record

T = TypeVar("T")
#: Fewer requests at once than this are remembered one by one, so that what is remembered at once is never much.
MANY_MIN = 64


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


class Many(NamedTuple, Generic[T]):
    """What was said of the records [first_n, stop_n), by their places; None of those that are no requests."""

    first_n: int
    stop_n: int
    value_at: Callable[[int], T | None]


class Asked(Generic[T]):
    """Remembers something of each request, for its replies.

    Of `limits.REQUESTS_OPEN_MAX` records back it is forgotten.
    """

    def __init__(self) -> None:
        #: What was said of the request of number n has the place n modulo their length.
        self.numbers = array("q", bytes(8 * limits.REQUESTS_OPEN_MAX))
        self.values: list[T | None] = [None] * limits.REQUESTS_OPEN_MAX
        #: Of records that were noted at once, ascending.
        self._many: list[Many[T]] = []

    def note(self, n: int, value: T) -> None:
        """Remember it of the request with the number `n`."""
        slot = n % len(self.values)
        self.numbers[slot] = n
        self.values[slot] = value

    def note_many(self, first_n: int, count: int, value_at: Callable[[int], T | None]) -> None:
        """Remember `value_at(i)` of the request with the number `first_n + i`; None is said of what is none.

        These are the latest `count` records. It is not asked before somebody wants to know.
        """
        if count < MANY_MIN:
            for place in range(count):
                value = value_at(place)
                if value is not None:
                    self.note(first_n + place, value)
            return
        # The next record to reply comes behind them all.
        oldest = first_n + count - len(self.values)
        del self._many[: bisect_right(self._many, oldest, key=attrgetter("stop_n"))]
        self._many.append(Many(first_n, first_n + count, value_at))

    def of(self, n: int, reply_to: int) -> T | None:
        """What is remembered of the request that the record `n` answers."""
        if n - reply_to >= len(self.values):
            return None
        at = bisect_right(self._many, reply_to, key=attrgetter("first_n")) - 1
        if at >= 0 and reply_to < self._many[at].stop_n:
            return self._many[at].value_at(reply_to - self._many[at].first_n)
        slot = reply_to % len(self.values)
        return self.values[slot] if self.numbers[slot] == reply_to else None
