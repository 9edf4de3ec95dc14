"""How many appends of one writer were on the way at a time, out of the records of appends and of their answers."""

from collections import Counter, deque
from typing import TypeVar

from wiretool import limits
from wiretool.analysis.replies import Asked

K = TypeVar("K")
V = TypeVar("V")

#: What a tally keeps of numbers that it cannot keep apart.
_BITS = 12


class Tally(Counter[int]):
    """How often each number came. It stays small: of very many different ones only the first bits are kept."""

    def note(self, number: int, times: int = 1) -> None:
        """The number came so many times."""
        if number not in self and len(self) >= limits.BENCH_APART_MAX:
            shift = max(number.bit_length() - _BITS, 0)
            number = number >> shift << shift
        self[number] += times

    @property
    def mean(self) -> float:
        """What the numbers are on average; 0 of none."""
        return sum(number * times for number, times in self.items()) / max(self.total(), 1)

    def quantile(self, share: float) -> int:
        """The least number that is not below such a share of them all; 0 of none."""
        rank, passed = share * self.total(), 0
        for number in sorted(self):
            passed += self[number]
            if passed >= rank:
                return number
        return 0


class Flight:
    """The appends of one writer on one connection: how many were sent, and how many of these are answered."""

    __slots__ = ("answered", "sent")

    def __init__(self) -> None:
        self.sent = 0
        self.answered = 0


class Flights:
    """The appends on the way of all writers; show it appends and answers in order.

    `depths` says how many of a writer were on the way whenever one of them was answered: of appends that nobody saw
    answered nothing is known. With `is_cumulative` an answer is one to all that its writer sent before.
    """

    def __init__(self, *, is_cumulative: bool) -> None:
        self.depths = Tally()
        self._is_cumulative = is_cumulative
        self._asked: Asked[tuple[Flight, int]] = Asked()
        self._flights: dict[int, dict[str, Flight]] = {}

    def sent(self, n: int, connection: int, writer: str) -> None:
        """A writer appends, in the record of that number."""
        flights = _room(self._flights, connection, limits.CONNECTIONS_MAX).setdefault(connection, {})
        flight = flights.get(writer)
        if flight is None:
            flight = _room(flights, writer, limits.WRITERS_MAX)[writer] = Flight()
        self._asked.note(n, (flight, flight.sent))
        flight.sent += 1

    def answered(self, n: int, reply_to: int) -> None:
        """The record of number `n` answers another one, which may be an append."""
        asked = self._asked.of(n, reply_to)
        if asked is None:
            return
        flight, place = asked
        if flight.sent > flight.answered:
            self.depths.note(flight.sent - flight.answered)
        flight.answered = max(flight.answered, place + 1) if self._is_cumulative else flight.answered + 1

    def lose(self, connection: int) -> None:
        """Something of a connection was not captured: what became of what is on the way nobody knows."""
        self._flights.pop(connection, None)


class Credits:
    """What consumers asked for: `depths` says how many of one's requests were open whenever a message came."""

    def __init__(self) -> None:
        self.depths = Tally()
        #: By connection, messages that each open request still waits for; and how many requests these are.
        self._open: dict[int, deque[int]] = {}
        self._count = 0

    def asked(self, connection: int, count: int) -> None:
        """A consumer asks for so many more."""
        if self._count < limits.BENCH_REQUESTS_OPEN_MAX:
            self._open.setdefault(connection, deque()).append(count)
            self._count += 1

    def came(self, connection: int) -> None:
        """A message."""
        waiting = self._open.get(connection)
        if not waiting:
            return
        self.depths.note(len(waiting))
        waiting[0] -= 1
        if waiting[0] <= 0:
            waiting.popleft()
            self._count -= 1

    def lose(self, connection: int) -> None:
        """Something of a connection was not captured, or its consumer wants no more."""
        self._count -= len(self._open.pop(connection, ()))


def _room(known: dict[K, V], key: K, most: int) -> dict[K, V]:
    """The same, the oldest forgotten where there is no room for another one."""
    if key not in known and len(known) >= most:
        del known[next(iter(known))]
    return known
