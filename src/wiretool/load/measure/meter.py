"""What a load process counts. Users append times to plain lists, as that costs least; all else is done now and then."""

from collections import Counter
from dataclasses import dataclass, field

from wiretool.load.measure.histograms import Histogram
from wiretool.load.measure.intervals import Tally


@dataclass(slots=True)
class Samples:
    """One operation in one process, since it was last drained.

    Users keep `service.append` and the like, so the lists stay the same objects. Who has no schedule, and so no time
    from when it was due, leaves `response` empty or makes it the same list: both times are the same then. (All users
    of one operation do it alike.)
    """

    #: Seconds of each exchange that was answered: from its sending, and, in the same order, from when it was due.
    service: list[float] = field(default_factory=list)
    response: list[float] = field(default_factory=list)
    events: int = 0
    bytes: int = 0
    #: How often, by what went wrong, in words. What went wrong is in no other figure.
    errors: Counter[str] = field(default_factory=Counter)
    #: What was in the lists before.
    _service: Histogram = field(default_factory=Histogram)
    _response: Histogram = field(default_factory=Histogram)

    @property
    def count(self) -> int:
        """Exchanges that were answered."""
        return self._service.count + len(self.service)

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened."""
        return not (self.count or self.events or self.bytes or self.errors)

    def fold(self) -> None:
        """Count what is in the lists, and empty them."""
        self._service.add_seconds(self.service)
        if self.response is not self.service:
            self._response.add_seconds(self.response)
            self.response.clear()
        self.service.clear()

    def drain(self) -> Tally:
        """What was counted; from here on it is counted anew."""
        self.fold()
        service = self._service.text()
        tally = Tally(
            count=self._service.count,
            events=self.events,
            bytes=self.bytes,
            errors=dict(self.errors),
            service=service,
            response=self._response.text() or service,
        )
        self.clear()
        return tally

    def clear(self) -> None:
        """Forget what was counted."""
        self.service.clear()
        self.response.clear()
        self._service, self._response = Histogram(), Histogram()
        self.errors.clear()
        self.events = self.bytes = 0


class Meter:
    """The samples of every operation of one process."""

    def __init__(self) -> None:
        self._samples: dict[str, Samples] = {}

    def samples(self, operation: str) -> Samples:
        """Where an operation is counted: the same object each time."""
        if operation not in self._samples:
            self._samples[operation] = Samples()
        return self._samples[operation]

    def fold(self) -> None:
        """Count what the lists have, and empty them: what would hold up all users if it were done once a second.

        A hundred thousand times take 4 ms or more at one go. Whoever calls it every 50 ms or so makes that a fifth of a
        millisecond; nobody has to.
        """
        for samples in self._samples.values():
            samples.fold()

    def drain(self) -> dict[str, Tally]:
        """Operations in which something happened since the last time, and what; from here on it is counted anew."""
        return {name: samples.drain() for name, samples in self._samples.items() if not samples.is_empty}

    def discard(self) -> None:
        """Forget all that was counted since the last time."""
        for samples in self._samples.values():
            samples.clear()
