"""What the exchanges of a user hang on: frames, when each is due, how many may be on the way.

None of it knows a protocol. Whoever works with it (exchange_loop.py) goes on until the session is over, then waits for
what is on the way, which counts for nothing any more but that it was acknowledged.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, Protocol

from wiretool.load.link import Link
from wiretool.load.measure.intervals import Writer
from wiretool.load.measure.meter import Samples
from wiretool.load.planning.schedule import Schedule
from wiretool.load.run.session import Session
from wiretool.load.send_times import Sendings


class Source(Protocol):
    """Gives frames, each with the next numbers in it."""

    #: How many events a frame has; of the last frame, the number of its last event and the bytes of its events.
    events: int
    last: int
    size: int

    def next(self) -> bytes | bytearray:
        """The next frame; what it gave before may be changed by that."""


class Arrivals(Protocol):
    """When exchanges are due."""

    def take(self, now: float, room: int) -> list[float]:
        """The times, up to now, of those that are due and were not taken before; `room` at most."""

    def next_s(self) -> float:
        """When the next is due; infinity where that does not hang on the time."""

    def waiting(self, now: float) -> tuple[int, float]:
        """How many are due and not taken, and since when the first of them."""


class AtOnce:
    """A closed loop: whatever has room is due now."""

    def take(self, now: float, room: int) -> list[float]:
        return [now] * room

    def next_s(self) -> float:
        return inf

    def waiting(self, now: float) -> tuple[int, float]:
        return 0, now


class OnSchedule:
    """An open loop: due at given times, whatever became of those before."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        #: The next that is to be taken.
        self._index = 0

    def take(self, now: float, room: int) -> list[float]:
        count = min(self._schedule.due(now) - self._index, room)
        due = [self._schedule.at(index) for index in range(self._index, self._index + count)]
        self._index += count
        return due

    def next_s(self) -> float:
        return self._schedule.at(self._index)

    def waiting(self, now: float) -> tuple[int, float]:
        return max(self._schedule.due(now) - self._index, 0), self._schedule.at(self._index)


@dataclass(slots=True)
class Work:
    """All that a loop needs: where it talks, what it says, how it reads answers, where it counts."""

    session: Session
    link: Link
    source: Source
    #: The number of the last event that these bytes acknowledge, 0 for none.
    feed: Callable[[bytes], int]
    writer: Writer
    samples: Samples
    #: Where it is noted when each was sent, if anybody wants to know.
    sendings: Sendings | None = None


class Exchange(NamedTuple):
    """One that is on the way: the number of its last event, when it was due and when it was sent, its bytes."""

    last: int
    due_s: float
    sent_s: float
    size: int


class Window:
    """Exchanges of one user that are on the way, `limit` at most."""

    def __init__(self, arrivals: Arrivals, limit: int) -> None:
        self.arrivals = arrivals
        self.limit = limit
        self.on_the_way: deque[Exchange] = deque()

    def waiting(self, now: float) -> tuple[int, float]:
        """How many are due and not answered, and since when the first of them."""
        count, since_s = self.arrivals.waiting(now)
        if self.on_the_way:
            since_s = self.on_the_way[0].due_s
        return count + len(self.on_the_way), since_s
