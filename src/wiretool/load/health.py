"""Whether the generator was able to measure: how a load process watches itself, and what is made of that.

A load process that has to wait for a processor sends late and reads late, and its histograms show its own waiting as
the server's. So each tells once a second how long it was ready to run while something else ran (Linux counts that for
every task), how late its greenlets came to their turns and how late arrivals were sent.

What the limit on waiting comes from, on two cores, 64 appenders and a mock: of the time that a generator wanted a
processor it waited for 1-5 % in most seconds of a closed loop, and up to 32 % in those in which both were put on one
core; at 100 to 10,000 a second for 0-31 %. With one other busy process on the machine it was 30-40 %, with two 37-56 %.
Its lag stayed below 13 ms all the while.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import msgspec

from wiretool.load.intervals import Pulse
from wiretool.load.plan import Plan
from wiretool.load.result import Second
from wiretool.load.totals import is_measured
from wiretool.sinks.printable import printable

#: Of the time in which a load process wanted a processor, the share that it may wait for one: between what the system's
#: own scheduling makes of a generator and a mock on two cores, and what another busy process does to them.
WAITED_SHARE_MAX = 0.35
#: Waiting for less than this share of a second is no harm, whatever part of the wanted time it is: a process that
#: wants little waits a few times for microseconds.
WAITED_MIN = 0.02
#: How late a greenlet may come to its turn. A server's reply lies that long unread; a hundred times of what is seen on
#: a machine that is not busy, so that it takes a process that was held, or users that do not let go.
LAG_US_MAX = 100_000
#: How late an arrival on schedule may be sent where only the process held it: ten times of what is seen in quiet, and
#: all of it is in the response times.
LATENESS_US_MAX = 50_000
#: The share of the measured seconds that may be bad, and how many in any case: one hiccup spoils no result.
BAD_SHARE_MAX = 0.1
BAD_SECONDS_MIN = 2
#: A drain of fewer whole seconds is not judged, as one hiccup would do for it.
DRAIN_SECONDS_MIN = 2
#: From here on a load process has no more to give.
BUSY_CPU = 0.9

#: Linux: nanoseconds on a processor, nanoseconds ready to run without one, turns; of the first thread, the one that
#: Locust runs in (Documentation/scheduler/sched-stats.rst, "/proc/<pid>/schedstat").
SCHEDSTAT = Path("/proc/self/schedstat")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process had of its processors up to some time, in seconds."""

    cpu_s: float
    waited_s: float
    wall_s: float


def usage_now(schedstat: Path = SCHEDSTAT) -> Usage:
    """This process's, up to now. Where the system does not count the waiting it is 0."""
    return Usage(process_time(), waited_s(schedstat), perf_counter())


def waited_s(schedstat: Path) -> float:
    """Seconds that this process was ready to run while something else ran; 0 where nobody counts them."""
    try:
        return int(schedstat.read_text("ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Health:
    """How a load process fares, told once a second."""

    def __init__(self, usage: Callable[[], Usage] = usage_now) -> None:
        self._usage = usage
        self._before = Usage(0.0, 0.0, 0.0)
        self._lag_s = 0.0

    def begin(self) -> None:
        """Forget what was; the first second begins."""
        self._before = self._usage()
        self._lag_s = 0.0

    def lag(self, seconds: float) -> None:
        """A greenlet came so much later to its turn than it wanted."""
        self._lag_s = max(self._lag_s, seconds)

    def pulse(self, worker: str, *, users: int = 0, lateness_s: float = 0.0) -> Pulse:
        """What was since the last time."""
        before, now = self._before, self._usage()
        lag_s, self._lag_s = self._lag_s, 0.0
        self._before = now
        return Pulse(
            worker=worker,
            users=users,
            cpu_s=now.cpu_s - before.cpu_s,
            waited_s=now.waited_s - before.waited_s,
            wall_s=now.wall_s - before.wall_s,
            lag_us=round(lag_s * 1e6),
            lateness_us=round(lateness_s * 1e6),
        )


def reasons_from(seconds: Iterable[Second], plan: Plan, failure: str = "") -> list[str]:
    """Why what was measured is not to be trusted, a sentence each with what to do; none if it is.

    `failure` is why the run ended early, if it did.

    A drain is judged by its whole seconds, from two on: a shorter one is over before it is known how it was measured.
    """
    measured, drained = phases_of(seconds, plan)
    if not measured and failure:
        return [f"nothing was measured: {failure}"]
    if not measured:
        return ["nothing was measured: the run ended within its warm-up; use a shorter --warmup, or remove the cause"]
    reasons = [*missing(measured), *starved(measured), *lagging(measured)]
    if plan.rate_per_s is not None:
        reasons += late(measured)
    whole = whole_of(drained)
    return reasons + in_drain(whole if len(whole) >= DRAIN_SECONDS_MIN else [], starved, lagging)


def remarks_from(seconds: Iterable[Second], plan: Plan) -> list[str]:
    """What to know of load processes that gave all they had: in a closed loop the limit may be theirs.

    Of a drain by its whole seconds, or by the only one that there is.
    """
    measured, drained = phases_of(seconds, plan)
    return busy(measured) + in_drain(whole_of(drained) or drained, busy)


def phases_of(seconds: Iterable[Second], plan: Plan) -> tuple[list[Second], list[Second]]:
    """The seconds that are measured, and those of a drain behind them, each of which has figures of its own."""
    counting = [second for second in seconds if is_measured(second.second, plan.end_s)]
    return [each for each in counting if not each.is_drain], [each for each in counting if each.is_drain]


def whole_of(drained: Sequence[Second]) -> list[Second]:
    """The whole seconds of a drain, each of the processes that were not at its end then.

    The last second that a process tells of ends with its last read: shares of so little time are noise.
    """
    return [with_workers(second, later.generator_cpu) for second, later in pairwise(drained)]


def with_workers(second: Second, workers: Container[str]) -> Second:
    """A second with the shares of these load processes alone."""
    cpu, waited = second.generator_cpu.items(), second.generator_waited.items()
    return msgspec.structs.replace(
        second,
        generator_cpu={name: share for name, share in cpu if name in workers},
        generator_waited={name: share for name, share in waited if name in workers},
    )


def in_drain(seconds: Sequence[Second], *looks: Callable[[Sequence[Second]], list[str]]) -> list[str]:
    """What these find in a drain. A process that says nothing more then has read all that it was to read."""
    return [f"while the backlog was read: {text}" for look in looks for text in look(seconds)]


def busy(seconds: Sequence[Second]) -> list[str]:
    """Load processes that used up a processor."""
    used = {name: median(each.generator_cpu.get(name, 0.0) for each in seconds) for name in workers_of(seconds)}
    most = {name: cpu for name, cpu in used.items() if cpu >= BUSY_CPU}
    if not most:
        return []
    return [
        f"{named(list(most))} used {min(most.values()):.0%} of a processor: the generator may be the limit, not the "
        "server; more --processes on free processors would show which"
    ]


def missing(seconds: Sequence[Second]) -> list[str]:
    """Load processes that said nothing for long: what they did in that time is in no figure."""
    told = {name: sum(name in second.generator_cpu for second in seconds) for name in workers_of(seconds)}
    silent = [name for name, count in told.items() if is_too_many(len(seconds) - count, len(seconds))]
    if not silent:
        return []
    least = min(told[name] for name in silent)
    return [
        f"{named(silent)} reported only {least} of {len(seconds)} seconds; look for the reason; "
        "its work in the others is not counted"
    ]


def starved(seconds: Sequence[Second]) -> list[str]:
    """Load processes that had to wait for a processor."""
    shares = {name: waits(name, seconds) for name in workers_of(seconds)}
    hungry = {name: bad for name, bad in shares.items() if is_too_many(len(bad), len(seconds))}
    if not hungry:
        return []
    worst = max(hungry, key=lambda name: (len(hungry[name]), median(hungry[name])))
    bad = hungry[worst]
    return [
        f"{named(list(hungry))} waited for a processor for {median(bad):.0%} of its run time, "
        f"in {len(bad)} of {len(seconds)} seconds (at most {WAITED_SHARE_MAX:.0%}): "
        "stop other programs on this machine, use fewer --processes, or load from another machine"
    ]


def lagging(seconds: Sequence[Second]) -> list[str]:
    """Turns that came too late."""
    bad = spoiling([second.lag_us for second in seconds], LAG_US_MAX)
    if not bad:
        return []
    return [
        f"replies lay unread for as long as {median(bad) / 1000:.0f} ms in {len(bad)} of {len(seconds)} seconds, "
        f"as a load process was busy (at most {LAG_US_MAX // 1000} ms): "
        "use fewer users in each of more --processes, a shorter --pipeline, or a machine that is less busy"
    ]


def late(seconds: Sequence[Second]) -> list[str]:
    """Arrivals that the generator itself did not send when they were due."""
    bad = spoiling([second.lateness_us for second in seconds], LATENESS_US_MAX)
    if not bad:
        return []
    return [
        f"the generator sent as much as {median(bad) / 1000:.0f} ms later than was due in {len(bad)} of {len(seconds)} "
        f"seconds (at most {LATENESS_US_MAX // 1000} ms): "
        "ask for a lower --rate, use more --processes, or a machine that is less busy"
    ]


def waits(worker: str, seconds: Sequence[Second]) -> list[float]:
    """The share of its wanted time that a load process waited, in each second in which that was too much."""
    shares = []
    for second in seconds:
        waited = second.generator_waited.get(worker, 0.0)
        share = waited / (waited + second.generator_cpu.get(worker, 0.0)) if waited > WAITED_MIN else 0.0
        if share > WAITED_SHARE_MAX:
            shares.append(share)
    return shares


def spoiling(times_us: Sequence[int], limit_us: int) -> list[int]:
    """Those beyond the limit, one a second; none where they are too few to spoil a result."""
    bad = [time_us for time_us in times_us if time_us > limit_us]
    return bad if is_too_many(len(bad), len(times_us)) else []


def is_too_many(bad: int, seconds: int) -> bool:
    """Whether so many bad seconds spoil a result of so many."""
    return bad >= min(BAD_SECONDS_MIN, seconds) and bad > BAD_SHARE_MAX * seconds


def workers_of(seconds: Iterable[Second]) -> list[str]:
    """The load processes that were ever heard of, by name."""
    return sorted({name for second in seconds for name in second.generator_cpu})


def named(workers: Sequence[str]) -> str:
    """Return load processes in words, at most three by name: names come over the network."""
    first = ", ".join(printable(name.removeprefix("load ")) for name in workers[:3])
    more = f" and {len(workers) - 3} more" if len(workers) > 3 else ""
    return f"load process {first}{more}" if len(workers) == 1 else f"load processes {first}{more}"
