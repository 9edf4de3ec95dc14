"""What the users of one load process have in common: what is measured, and when all begin and end."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter, time_ns

from gevent.event import Event

from wiretool.load.drain import Drain
from wiretool.load.findings import Outcome
from wiretool.load.health import Health
from wiretool.load.intervals import LATE_S, Pulse, Writer
from wiretool.load.keeping import Kept, told
from wiretool.load.meter import Meter, Samples
from wiretool.load.pacer import Pacer
from wiretool.load.sendings import Sendings
from wiretool.load.slow import Slow
from wiretool.load.slowest import Slowest

#: What appenders do.
APPEND = "append"
#: Appends of all writers together of which is kept when they were sent, at 16 bytes each.
KEPT_SENDINGS = 1_000_000


@dataclass(slots=True)
class Session:
    """One run in one process. Users set up, wait at the gate, and go on until it is over."""

    #: Names of this run alone begin with it.
    run: str
    #: The number of this process among so many.
    worker_number: int = 0
    workers: int = 1
    clock: Callable[[], float] = perf_counter
    meter: Meter = field(default_factory=Meter)
    #: Open once all users may begin; when that was, by the clock.
    gate: Event = field(default_factory=Event)
    began_s: float = 0.0
    is_over: bool = False
    #: Where a backlog is built up: what comes behind that. `is_over` is then for those who append.
    drain: Drain | None = None
    #: Users that have begun to set up, by what they do; those that are ready, and that are connected now.
    users: Counter[str] = field(default_factory=Counter)
    ready: int = 0
    connected: int = 0
    #: Why the run cannot go on; empty while it can. Whether that is our own fault.
    failure: str = ""
    has_defect: bool = False
    #: Gives users their turns on time. Set when the session ends: greenlets that have nothing to do until then.
    pacer: Pacer = field(init=False)
    sleepers: set[Event] = field(default_factory=set)
    writers: list[Writer] = field(default_factory=list)
    #: By number, what each writer is now: one may go on elsewhere, as another of the same number.
    current: dict[int, Writer] = field(default_factory=dict)
    #: Of every user: how many of its exchanges are due and not answered, and since when the oldest, at such a time.
    due: list[tuple[str, Callable[[float], tuple[int, float]]]] = field(default_factory=list)
    #: Whether anybody reads what is written meanwhile: then it is noted, by writer and segment, when appends were sent.
    is_followed: bool = False
    sendings: dict[tuple[int, str], Sendings] = field(default_factory=dict)
    #: Of every user that checks what it reads: ends that, and gives what came of it.
    checks: list[Callable[[], Outcome]] = field(default_factory=list)
    health: Health = field(default_factory=Health)
    #: The exchanges that take longest, where they are to be kept.
    slowest: Slowest[Kept] = field(default_factory=lambda: Slowest(0))
    #: The greatest lateness of an arrival in this second.
    lateness_s: float = 0.0
    #: Arrivals sent in this second, and those of them that were late.
    arrivals: int = 0
    late_arrivals: int = 0

    def __post_init__(self) -> None:
        self.pacer = Pacer(self.clock)

    def samples(self, operation: str) -> Samples:
        """Where times of one operation go."""
        return self.meter.samples(operation)

    def told_slow(self) -> Slow:
        """The slowest exchanges, with the times of day."""
        ahead_ns = time_ns() - round(self.clock() * 1e9)
        return told(self.slowest, self.worker, lambda at_s: round(at_s * 1e9) + ahead_ns)

    def next_user(self, operation: str) -> int:
        """The number of a user that begins, among those who do the same, from 0 on."""
        self.users[operation] += 1
        return self.users[operation] - 1

    @property
    def worker(self) -> str:
        """What this process is called in the report."""
        return worker_name(self.worker_number)

    def enter(self, writer: Writer) -> None:
        """A writer is there, in place of the one that had its number before."""
        self.writers.append(writer)
        self.current[writer.key] = writer

    def sendings_of(self, writer: Writer, events: int) -> Sendings | None:
        """Where it is noted when a writer's appends of so many events were sent; None where nobody wants to know."""
        where = writer.key, writer.segment
        if self.is_followed and where not in self.sendings:
            self.sendings[where] = Sendings(events, kept=KEPT_SENDINGS // len(self.writers))
        return self.sendings.get(where)

    def open(self) -> None:
        """Let the users begin."""
        self.began_s = self.clock()
        self.gate.set()

    def finish(self) -> None:
        """The time is up: let the users stop, but for those who drain a backlog."""
        self.is_over = True
        self.gate.set()
        for sleeper in self.sleepers:
            sleeper.set()

    def end(self) -> None:
        """Let the users stop."""
        self.finish()
        if self.drain is not None:
            self.drain.end()

    def fail(self, why: str) -> None:
        """The run cannot go on; the first reason is kept."""
        self.failure = self.failure or why
        self.end()

    def late(self, now: float, due: Sequence[float]) -> None:
        """Arrivals due at these times, in order, are sent now, with nothing but this process to hold them back."""
        lateness_s = now - due[0]
        self.lateness_s = max(self.lateness_s, lateness_s)
        if lateness_s > LATE_S:
            self.late_arrivals += sum(now - each > LATE_S for each in due)

    def pulse(self) -> Pulse:
        """How this process fared since the last time."""
        lateness_s, self.lateness_s = self.lateness_s, 0.0
        arrivals, self.arrivals = self.arrivals, 0
        late_arrivals, self.late_arrivals = self.late_arrivals, 0
        return self.health.pulse(
            self.worker,
            users=self.connected,
            lateness_s=lateness_s,
            arrivals=arrivals,
            late_arrivals=late_arrivals,
        )

    def unfinished(self, now: float) -> dict[str, tuple[int, int]]:
        """By operation, how many exchanges are due and not answered, and for how many microseconds the oldest."""
        out: dict[str, tuple[int, int]] = {}
        for operation, look in self.due:
            count, since = look(now)
            if count:
                had, oldest_us = out.get(operation, (0, 0))
                out[operation] = had + count, max(oldest_us, round((now - since) * 1e6))
        return out

    def due_appends(self, now: float, appends: str = APPEND) -> list[int]:
        """Return how many appends of each appender, or what that operation is, are due and not answered."""
        return [look(now)[0] for operation, look in self.due if operation == appends]


def worker_name(number: int) -> str:
    """What a load process is called in the report."""
    return f"load {number}"
