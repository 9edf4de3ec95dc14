"""When appends were sent, for those who read them: whoever gets one of a writer of the same process looks it up here.

An event has no room for a time, and a clock that other machines share would be needed to make use of it. So of an
append there are times only where the process that sent it also reads it.
"""

from array import array
from typing import NamedTuple

#: Of one writer: what is kept in any case.
KEPT_MIN = 256


class Times(NamedTuple):
    """When an append was sent, and when it was due."""

    sent_s: float
    due_s: float


class Sendings:
    """The times of the last `kept` appends of one writer, each of so many events.

    Whoever asks for an older one gets the oldest that is known: the append took no less.
    """

    def __init__(self, events: int, *, kept: int) -> None:
        self.events = events
        self._kept = max(kept, KEPT_MIN)
        #: By the number of the append, which counts from 1, the same place again and again; 0 where none was noted.
        self._sent = array("d", bytes(8 * self._kept))
        self._due = array("d", bytes(8 * self._kept))
        self._newest = 0

    def note(self, last: int, sent_s: float, due_s: float) -> None:
        """The append whose last event has that number was sent then."""
        self._newest = last // self.events
        place = self._newest % self._kept
        self._sent[place] = sent_s
        self._due[place] = due_s

    def of(self, first: int, last: int) -> list[Times]:
        """The times of the appends whose last event is among these, as far as any were noted."""
        oldest = self._newest - self._kept + 1
        appends = range(-(-first // self.events), min(last // self.events, self._newest) + 1)
        times = [self._at(max(append, oldest)) for append in appends]
        return [time for time in times if time.sent_s]

    def _at(self, append: int) -> Times:
        place = append % self._kept
        return Times(self._sent[place], self._due[place])
