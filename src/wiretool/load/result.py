"""What a load came to: the JSON report, and what every other report is made from."""

import msgspec

#: The form of the report, which readers check: another number where an old reader would misread a new report.
FORM = 1


class Quantiles(msgspec.Struct, kw_only=True, frozen=True):
    """Microseconds within which such a share of all exchanges was done; all 0 where there were none."""

    p50: int = 0
    p90: int = 0
    p99: int = 0
    p99_9: int = 0
    max: int = 0


class Operation(msgspec.Struct, kw_only=True):
    """One kind of exchange (`append`, `fetch`, ...) over the whole measured time. Errors are in no other figure."""

    count: int
    errors: int
    per_s: float
    events_per_s: float
    bytes_per_s: float
    #: From the sending, and from when it was due: the same in a closed loop.
    service_us: Quantiles
    response_us: Quantiles
    #: How often, by what went wrong.
    error_kinds: dict[str, int] = {}
    #: On the way, or due and not sent, when the measured time ended; and how long the oldest of them had been due.
    unfinished: int = 0
    unfinished_us: int = 0
    #: Of these, appends that were not answered within five seconds after the end either.
    unanswered: int = 0
    #: The histograms, in HdrHistogram's own text form.
    service_histogram: str = ""
    response_histogram: str = ""
    #: The seconds that its rates are of: those that were measured, or those of the drain of a backlog.
    over_s: float = 0.0


def unfinished_operation() -> Operation:
    """Return an operation of which nothing was measured."""
    none = Quantiles()
    return Operation(count=0, errors=0, per_s=0.0, events_per_s=0.0, bytes_per_s=0.0, service_us=none, response_us=none)


class Moment(msgspec.Struct, kw_only=True):
    """One operation in one second of all processes."""

    count: int
    errors: int
    events: int
    bytes: int
    service_us: Quantiles
    response_us: Quantiles
    #: The histograms of this second, as `Operation` has them: what `bench compare` resamples. In a closed loop, where
    #: both are the same, that of the service time may be left out.
    service_histogram: str = ""
    response_histogram: str = ""


class Second(msgspec.Struct, kw_only=True):
    """One second of all processes; negative while the load warms up, which counts for nothing else.

    `is_drain`: behind the time in which a backlog was built up, while it was read.
    """

    second: int
    is_drain: bool = False
    operations: dict[str, Moment]
    #: Processors used: by each load process, and by the target (None: not sampled).
    generator_cpu: dict[str, float] = {}
    #: Processors that each load process was ready to use while something else ran there.
    generator_waited: dict[str, float] = {}
    lag_us: int = 0
    lateness_us: int = 0
    #: Exchanges sent on schedule, and those of them that the generator itself sent more than 10 ms late.
    arrivals: int = 0
    late_arrivals: int = 0
    target_cpu: float | None = None
    target_bytes: int | None = None


class Backlog(msgspec.Struct, kw_only=True):
    """What was appended while nobody read, warm-up included, and what became of it.

    `bytes` are as they are stored. The rates are of all readers together, over the time that the slowest of them took.
    """

    events: int
    bytes: int
    drain_s: float
    events_per_s: float
    bytes_per_s: float
    readers: int
    #: Readers that had not come to the end of their segments when it was over, and the bytes they had before them.
    readers_left: int = 0
    left_bytes: int = 0


class Verification(msgspec.Struct, kw_only=True):
    """What was read back. `findings` are sentences with the evidence, the first hundred of `found`."""

    is_on: bool
    acknowledged_events: int = 0
    checked_events: int = 0
    #: Events that were checked while loading, as fetchers got them: each as often as it was fetched.
    fetched_events: int = 0
    found: int = 0
    findings: list[str] = []


class Result(msgspec.Struct, kw_only=True):
    """The whole report. `valid`: the generator was able to measure, and the target answered; `reasons` say why not."""

    wiretool_bench: int = FORM
    valid: bool
    reasons: list[str]
    #: True but for the figures that it would change: an end before its time, schedule not kept by the target.
    remarks: list[str] = []
    #: As given on the command line, defaults filled in.
    options: dict[str, object]
    #: wiretool, Locust, Python, system.
    versions: dict[str, str]
    #: RFC 3339, UTC.
    began_at: str
    #: Measured, without what came behind the last connection that any user had.
    duration_s: float
    #: Why that is less than was asked for, where it was not stopped; empty where it is not.
    cut_short: str = ""
    operations: dict[str, Operation]
    verification: Verification
    #: None where none was built up, or nobody began to read it.
    backlog: Backlog | None = None
    seconds: list[Second]
