"""Whether the generator was able to measure: how a load process watches itself, and what is made of that.

A load process that has to wait for a processor sends late and reads late, and its histograms show its own waiting as
the server's. So each tells once a second how long it was ready to run while something else ran (Linux counts that for
every task), how late its greenlets came to their turns, how late arrivals were sent and how many of them.

Waiting is judged by its share of the time that passed, as that is the share of the time in which nothing could be sent
or read. The ratio of waiting to running does not matter: a process that is seldom awake may wait for longer than it
runs, and be on time all the same.

What the limit on waiting comes from, on two cores, 64 appenders and a mock: a generator waited for 1-5 % of most
seconds of a closed loop, and for up to 28 % of those in which both were put on one core. With a busy process on each
core it was 40 %, with three on each 43-46 %. At 20 and 500 a second on a machine with a load average of 5-11 it was
1-26 %; with three busy processes on each core 10-31 %, with an arrival 5 ms late at most, and 76 % at 5,000 a second.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import msgspec

from wiretool.load.measure.figures import share_text
from wiretool.load.measure.intervals import LATE_S, Pulse
from wiretool.load.measure.totals import is_measured
from wiretool.load.planning.plan import Plan
from wiretool.load.result import Second
from wiretool.sinks.printable import printable

#: The share of a second that a load process may wait for a processor: between what the system's own scheduling makes of
#: a generator and a mock on two cores, and what another busy process on each does to them.
WAITED_SHARE_MAX = 0.35
#: How late a greenlet may come to its turn. A server's reply lies that long unread; a hundred times of what is seen on
#: a machine that is not busy, so that it takes a process that was held, or users that do not let go.
LAG_US_MAX = 100_000
#: How late an arrival on schedule may be sent where only the process held it: ten times of what is seen in quiet, and
#: all of it is in the response times.
LATENESS_US_MAX = 50_000
#: The share of all arrivals that only the process may have held for longer than `LATE_S`, and the share from which on
#: they are most of what lies beyond p99.
LATE_SHARE_MAX, LATE_SHARE_REMARKED = 0.1, 0.01
#: The share of the measured seconds that may be bad, and how many in any case: one hiccup spoils no result.
BAD_SHARE_MAX = 0.1
BAD_SECONDS_MIN = 2
#: A drain of fewer whole seconds is not judged, as one hiccup would do for it.
DRAIN_SECONDS_MIN = 2
#: What to do about arrivals that are late.
LESS_LATE = "ask for a lower --rate, use more --processes, or a machine that is less busy"
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

    def pulse(
        self, worker: str, *, users: int = 0, lateness_s: float = 0.0, arrivals: int = 0, late_arrivals: int = 0
    ) -> Pulse:
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
            arrivals=arrivals,
            late_arrivals=late_arrivals,
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
        reasons += [*late(measured), *often_late(measured)]
    whole = whole_of(drained)
    return reasons + in_drain(whole if len(whole) >= DRAIN_SECONDS_MIN else [], starved, lagging)


def remarks_from(seconds: Iterable[Second], plan: Plan) -> list[str]:
    """Return remarks on load processes that used a whole processor, or that sent requests late.

    Of a drain by its whole seconds, or by the only one that there is.
    """
    measured, drained = phases_of(seconds, plan)
    return busy(measured) + sometimes_late(measured) + in_drain(whole_of(drained) or drained, busy)


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
        f"{named(list(most))} used {share_text(min(most.values()))} of a processor: the generator may be the limit, "
        "not the server; more --processes on free processors would show which"
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
        f"{named(list(hungry))} waited for a processor for up to {share_text(max(bad))} of a second, "
        f"in {len(bad)} of {len(seconds)} seconds (at most {share_text(WAITED_SHARE_MAX)}): "
        "stop other programs on this machine, use fewer --processes, or load from another machine"
    ]


def lagging(seconds: Sequence[Second]) -> list[str]:
    """Turns that came too late."""
    bad = spoiling([second.lag_us for second in seconds], LAG_US_MAX)
    if not bad:
        return []
    return [
        f"replies lay unread for as long as {max(bad) / 1000:.0f} ms in {len(bad)} of {len(seconds)} seconds, "
        f"as a load process was busy (at most {LAG_US_MAX // 1000} ms): "
        "use fewer users in each of more --processes, a shorter --pipeline, or a machine that is less busy"
    ]


def late(seconds: Sequence[Second]) -> list[str]:
    """Arrivals that the generator itself did not send when they were due."""
    bad = spoiling([second.lateness_us for second in seconds], LATENESS_US_MAX)
    if not bad:
        return []
    return [
        f"the generator sent as much as {max(bad) / 1000:.0f} ms later than was due in {len(bad)} of {len(seconds)} "
        f"seconds (at most {LATENESS_US_MAX // 1000} ms): "
        f"{LESS_LATE}"
    ]


def often_late(seconds: Sequence[Second]) -> list[str]:
    """So many late arrivals that the times are those of the generator."""
    if late_share(seconds) <= LATE_SHARE_MAX:
        return []
    return [f"{late_text(seconds)} (at most {share_text(LATE_SHARE_MAX)}): {LESS_LATE}"]


def sometimes_late(seconds: Sequence[Second]) -> list[str]:
    """Late arrivals that are too few to spoil the result, and enough to show in the greatest response times."""
    if not LATE_SHARE_REMARKED <= late_share(seconds) <= LATE_SHARE_MAX:
        return []
    return [f"{late_text(seconds)}: response times from p99 on include that delay"]


def late_share(seconds: Sequence[Second]) -> float:
    """Return the share of arrivals that the generator itself sent late; 0 where nothing was on schedule."""
    return sum(each.late_arrivals for each in seconds) / max(sum(each.arrivals for each in seconds), 1)


def late_text(seconds: Sequence[Second]) -> str:
    """Return how many arrivals were late, in words."""
    total = sum(each.arrivals for each in seconds)
    share = share_text(late_share(seconds))
    return f"the generator sent {share} of {total:,} requests more than {LATE_S * 1000:.0f} ms later than was due"


def waits(worker: str, seconds: Sequence[Second]) -> list[float]:
    """The share of each second that a load process waited for a processor, where that was too much."""
    shares = [second.generator_waited.get(worker, 0.0) for second in seconds]
    return [share for share in shares if share > WAITED_SHARE_MAX]


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
