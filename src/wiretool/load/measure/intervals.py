"""What a load process has to say, a second at a time: the one form that workers, master and command line exchange."""

from typing import Literal

import msgspec

from wiretool.load.planning.plan import Plan
from wiretool.load.slow.model import Slow

#: An arrival on schedule is late if nothing but the load process holds it for longer: what the system's own scheduling
#: of a few busy processes stays below, and servers that are measured over a network seldom answer in.
LATE_S = 0.010


class Tally(msgspec.Struct, kw_only=True):
    """What one operation came to in one second of one process.

    `service` and `response` are histograms of microseconds in HdrHistogram's own text form (V2, compressed, base64),
    empty where nothing was counted: times from the sending, and from when it was due.
    """

    count: int = 0
    events: int = 0
    bytes: int = 0
    #: How often, by what went wrong, in words.
    errors: dict[str, int] = {}
    service: str = ""
    response: str = ""


class Pulse(msgspec.Struct, kw_only=True):
    """How a load process itself fared in one second."""

    #: Names the process, within the run.
    worker: str
    users: int = 0
    #: Seconds on a processor, and seconds ready to run while something else ran (0 where the system does not tell).
    cpu_s: float = 0.0
    waited_s: float = 0.0
    wall_s: float = 0.0
    #: The greatest delay of a greenlet that wanted to run at a given time, and of an arrival on schedule that nothing
    #: held back but the process itself: microseconds.
    lag_us: int = 0
    lateness_us: int = 0
    #: Exchanges sent on schedule, and those of them that were `LATE_S` late for no other reason.
    arrivals: int = 0
    late_arrivals: int = 0


class Interval(msgspec.Struct, kw_only=True, tag="interval"):
    """One second of one load process, counted from the beginning of what is measured: negative while it warms up."""

    second: int
    #: When it began, seconds since 1970.
    began_at: float
    pulse: Pulse
    operations: dict[str, Tally] = {}


class Ready(msgspec.Struct, kw_only=True, tag="ready"):
    """All users of a process are set up; what is measured begins in so many seconds."""

    worker: str
    plan: Plan
    users: int
    begins_in_s: float


class Writer(msgspec.Struct, kw_only=True):
    """What one writer has sent to its segment, and what of it is acknowledged: numbers of events, from 1 on."""

    #: Its number in the events (load/events.py), and its name on the wire.
    key: int
    wire_id: str
    segment: str
    sent: int = 0
    acknowledged: int = 0
    #: When what was sent last was sent, by the clock of its session.
    since: float = 0.0


class Written(msgspec.Struct, kw_only=True, tag="written"):
    """A backlog is built up: what the writers of a process, or of several, have appended to it."""

    worker: str
    #: Acknowledged, by segment; the bytes of all of them as they are stored.
    events: dict[str, int]
    bytes: int
    #: How many readers each process has.
    readers: dict[str, int] = {}


class Drained(msgspec.Struct, kw_only=True):
    """How the drain of a backlog went in one process: how long it took until its slowest reader had all, or the end."""

    lasted_s: float
    readers: int
    #: Readers that had not come to the end of their segments then, and the bytes that they had before them.
    left: int = 0
    left_bytes: int = 0
    #: What was read, by whoever it was.
    segments: list[str] = []


class Ended(msgspec.Struct, kw_only=True, tag="ended"):
    """A process has nothing more to say."""

    worker: str
    #: Users that it had.
    users: int = 0
    #: Measured, by its own clock; and for how long up to the end of that none of its users had a connection.
    duration_s: float
    absent_s: float = 0.0
    #: By operation: exchanges due and not answered when time was up, and the microseconds since the oldest was due.
    unfinished: dict[str, tuple[int, int]] = {}
    #: Appends among these that were not answered within `GRACE_S` after that either; 0 where the server was gone.
    unanswered: int = 0
    #: Why it ended before its time; empty where it did not.
    failure: str = ""
    has_defect: bool = False
    writers: list[Writer] = []
    #: What fetchers checked as they got it: events that were as they were written, findings, and the first of these in
    #: words.
    checked: int = 0
    found: int = 0
    findings: list[str] = []
    #: Of a backlog; None where nobody began to read one.
    drained: Drained | None = None


class Listening(msgspec.Struct, kw_only=True, tag="listening"):
    """A master waits for its workers at this port."""

    port: int


class PageOpen(msgspec.Struct, kw_only=True, tag="page"):
    """Locust's page accepts connections at the address that was ordered."""


Said = Listening | PageOpen | Ready | Interval | Written | Slow | Ended


class Orders(msgspec.Struct, kw_only=True):
    """What a load process is to do: all by itself, as the master of so many workers, or as one of them.

    A worker is told its plan by its master. `host` and `port` are where that listens, 0 for any port that is free.
    """

    plan: Plan | None = None
    role: Literal["local", "master", "worker"] = "local"
    workers: int = 1
    host: str = "127.0.0.1"
    port: int = 0
    #: Where Locust's page is served; port 0 for nowhere.
    page_host: str = ""
    page_port: int = 0
