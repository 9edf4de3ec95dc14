"""What all load processes counted together: first second by second, then over the whole measured time.

Seconds of several processes come in any order and late. `Gathering` puts them together, `Totals` and the interval log
(hdr_log.py) take each second when it is whole. Nothing that was counted is lost or counted twice on the way.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from wiretool.load.measure.histograms import Histogram
from wiretool.load.measure.intervals import Interval, Pulse, Tally
from wiretool.load.result import Moment, Operation, Second

#: Seconds that the others wait for a process that has nothing to say. One that hangs for longer than this shows in its
#: lag; what it says then still counts, in the second that it belongs to.
PATIENCE_S = 10


def is_measured(second: int, end_s: float) -> bool:
    """Whether a second counts: behind the warm-up, and begun before the end."""
    return 0 <= second < end_s


@dataclass(slots=True)
class Merged:
    """One operation of several processes, or seconds."""

    count: int = 0
    events: int = 0
    bytes: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    service: Histogram = field(default_factory=Histogram)
    response: Histogram = field(default_factory=Histogram)

    def add(self, tally: Tally) -> None:
        """Count what one process counted; raises DecodeError if its histograms are none."""
        service = Histogram.from_text(tally.service)
        response = service if tally.response == tally.service else Histogram.from_text(tally.response)
        self.merge(Merged(tally.count, tally.events, tally.bytes, Counter(tally.errors), service, response))

    def merge(self, other: "Merged") -> None:
        """Count what the other counted."""
        self.count += other.count
        self.events += other.events
        self.bytes += other.bytes
        self.errors.update(other.errors)
        self.service.merge(other.service)
        self.response.merge(other.response)


@dataclass(slots=True)
class MergedSecond:
    """One second of several processes."""

    second: int
    #: When the first of them began it, seconds since 1970.
    began_at: float
    pulses: list[Pulse] = field(default_factory=list)
    operations: dict[str, Merged] = field(default_factory=dict)

    def add(self, interval: Interval) -> None:
        """Count one process's."""
        self.began_at = min(self.began_at, interval.began_at)
        self.pulses.append(interval.pulse)
        for name, tally in interval.operations.items():
            self.operations.setdefault(name, Merged()).add(tally)


class Gathering:
    """Puts the seconds of so many processes together; gives each when all have told it, in order."""

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers
        self._open: dict[int, MergedSecond] = {}
        #: How far each process has come.
        self._reached: dict[str, int] = {}

    def add(self, interval: Interval) -> list[MergedSecond]:
        """Take one in; gives what is whole by that. Of a second that was given before, only what is new."""
        second, worker = interval.second, interval.pulse.worker
        self._open.setdefault(second, MergedSecond(second, interval.began_at)).add(interval)
        self._reached[worker] = max(second, self._reached.get(worker, second))
        return self._take()

    def leave(self, worker: str) -> list[MergedSecond]:
        """Wait no more for a process that has ended; gives what is whole by that."""
        self._workers -= 1
        self._reached.pop(worker, None)
        return self._take() if self._reached else self.rest()

    def rest(self) -> list[MergedSecond]:
        """All that is left, whole or not."""
        return [self._open.pop(second) for second in sorted(self._open)]

    def _take(self) -> list[MergedSecond]:
        """Seconds that all have told, and those that are waited for no more."""
        newest = max(self._reached.values())
        whole = min(self._reached.values()) if len(self._reached) >= self._workers else newest - PATIENCE_S
        last = max(whole, newest - PATIENCE_S)
        return [self._open.pop(second) for second in sorted(self._open) if second <= last]


class Totals:
    """The sums over the measured time, and all seconds one by one.

    It keeps two histograms for each operation, and of each second what `Second` holds.
    """

    def __init__(self, duration_s: float, end_s: float | None = None) -> None:
        self._duration_s = duration_s
        #: Seconds of a drain are from `duration_s` on until then.
        self._end_s = duration_s if end_s is None else end_s
        #: What was done in a drain.
        self._drained: set[str] = set()
        self._sums: dict[str, Merged] = {}
        self._seconds: dict[int, Second] = {}

    def add(self, merged: MergedSecond) -> None:
        """Count a second. The warm-up's only go into the list of seconds, those behind the end nowhere."""
        if merged.second >= self._end_s:
            return
        if is_measured(merged.second, self._end_s):
            for name, operation in merged.operations.items():
                self._sums.setdefault(name, Merged()).merge(operation)
        second = second_from(merged)
        second.is_drain = merged.second >= self._duration_s
        if second.is_drain:
            self._drained.update(merged.operations)
        had = self._seconds.get(merged.second)
        self._seconds[merged.second] = joined(had, second) if had else second

    def sampled(self, second: int, cpu: float, size: int) -> None:
        """What the target used by then: processors, and bytes of memory."""
        if second in self._seconds:
            self._seconds[second].target_cpu, self._seconds[second].target_bytes = cpu, size

    @property
    def seconds(self) -> list[Second]:
        """In order of time, the warm-up's first."""
        return [self._seconds[second] for second in sorted(self._seconds)]

    def operations(self, measured_s: float | None = None, drain_s: float = 0.0) -> dict[str, Operation]:
        """Each operation, with its rates over so many seconds, all that were planned if none are given.

        Over those of the drain for what was done there.
        """
        over_s = self._duration_s if measured_s is None else measured_s
        return {
            name: operation_from(merged, drain_s if name in self._drained else over_s)
            for name, merged in self._sums.items()
        }


def operation_from(merged: Merged, over_s: float) -> Operation:
    """The figures of one operation; its rates are 0 where no time was measured."""
    each_s = 1 / over_s if over_s > 0 else 0.0
    return Operation(
        count=merged.count,
        errors=merged.errors.total(),
        per_s=merged.count * each_s,
        events_per_s=merged.events * each_s,
        bytes_per_s=merged.bytes * each_s,
        service_us=merged.service.quantiles(),
        response_us=merged.response.quantiles(),
        error_kinds=dict(merged.errors.most_common()),
        service_histogram=merged.service.text(),
        response_histogram=merged.response.text(),
        over_s=over_s,
    )


def second_from(merged: MergedSecond) -> Second:
    """The figures of one second."""
    pulses = merged.pulses
    return Second(
        second=merged.second,
        operations={name: moment_from(operation) for name, operation in merged.operations.items()},
        generator_cpu={pulse.worker: share(pulse.cpu_s, pulse.wall_s) for pulse in pulses},
        generator_waited={pulse.worker: share(pulse.waited_s, pulse.wall_s) for pulse in pulses},
        lag_us=greatest(pulse.lag_us for pulse in pulses),
        lateness_us=greatest(pulse.lateness_us for pulse in pulses),
        arrivals=sum(pulse.arrivals for pulse in pulses),
        late_arrivals=sum(pulse.late_arrivals for pulse in pulses),
    )


def moment_from(merged: Merged) -> Moment:
    """The figures of one operation in one second."""
    service, response = merged.service.text(), merged.response.text()
    return Moment(
        count=merged.count,
        errors=merged.errors.total(),
        events=merged.events,
        bytes=merged.bytes,
        service_us=merged.service.quantiles(),
        response_us=merged.response.quantiles(),
        service_histogram="" if service == response else service,
        response_histogram=response,
    )


def joined(had: Second, late: Second) -> Second:
    """A second, and what a process told of it when it was given up."""
    moments = dict(had.operations)
    for name, moment in late.operations.items():
        moments[name] = joined_moments(moments[name], moment) if name in moments else moment
    return Second(
        second=had.second,
        is_drain=had.is_drain,
        operations=moments,
        generator_cpu=had.generator_cpu | late.generator_cpu,
        generator_waited=had.generator_waited | late.generator_waited,
        lag_us=max(had.lag_us, late.lag_us),
        lateness_us=max(had.lateness_us, late.lateness_us),
        arrivals=had.arrivals + late.arrivals,
        late_arrivals=had.late_arrivals + late.late_arrivals,
        target_cpu=had.target_cpu,
        target_bytes=had.target_bytes,
    )


def joined_moments(had: Moment, late: Moment) -> Moment:
    """Both as one, its quantiles from the histograms of both."""
    merged = Merged()
    for moment in (had, late):
        response = moment.response_histogram
        tally = Tally(
            count=moment.count,
            events=moment.events,
            bytes=moment.bytes,
            errors={"": moment.errors},  # the kinds are not kept by the second
            service=moment.service_histogram or response,
            response=response,
        )
        merged.add(tally)
    return moment_from(merged)


def share(part_s: float, whole_s: float) -> float:
    """A part of a time, 0 of no time."""
    return part_s / whole_s if whole_s > 0 else 0.0


def greatest(values: Iterable[int]) -> int:
    """The greatest, 0 of none."""
    return max(values, default=0)
