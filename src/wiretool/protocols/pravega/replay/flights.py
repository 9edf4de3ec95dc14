"""Appends on their way: which of other connections a store may have taken before one, or behind it."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from wiretool.protocols.pravega.replay.appends import Append, AppendLog


class Flight(NamedTuple):
    """An append on its way: from which record to which."""

    said: int
    acked: int
    append: Append


class Flights:
    """Those to one segment."""

    def __init__(self, flights: Iterable[Flight]) -> None:
        self._flights = sorted(flights, key=attrgetter("said"))
        self._said = [flight.said for flight in self._flights]
        #: The last record at which one of the flights up to each was acknowledged.
        self._acked = list(accumulate((flight.acked for flight in self._flights), max))
        self._of = {flight.append.record.n: flight for flight in self._flights}

    def beside(self, append: Append) -> list[int]:
        """Bytes of each of other connections' appends that were on their way while this one was."""
        own = self._of.get(append.record.n)
        found: list[int] = []
        at = 0 if own is None else bisect_left(self._said, own.acked)
        while own is not None and at > 0 and self._acked[at - 1] > own.said:
            at -= 1
            other = self._flights[at]
            if other.append.dialogue is not append.dialogue and own.said < other.acked:
                found.append(other.append.length)
        return found


def flights_of(log: AppendLog) -> dict[str | None, Flights]:
    """By segment, all appends that were acknowledged."""
    flights: dict[str | None, list[Flight]] = defaultdict(list)
    for acked, appends in log.acked.items():
        for append in appends:
            flights[append.segment].append(Flight(append.record.n, acked, append))
    return {segment: Flights(each) for segment, each in flights.items()}
