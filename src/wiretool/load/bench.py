"""A whole run from outside: a load process is given its orders, its messages are joined, what it wrote is read."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version

from wiretool import __version__
from wiretool.errors import PeerError, Stopped, Unmet, WiretoolError
from wiretool.load.backlog import FETCH, backlog_of, drained_in, joined, undrained_texts
from wiretool.load.children import Load
from wiretool.load.closing import read_back
from wiretool.load.findings import Outcome, distinct, verification_of
from wiretool.load.hdr_log import HdrLog
from wiretool.load.health import phases_of, reasons_from, remarks_from
from wiretool.load.intervals import Drained, Ended, Interval, Listening, Orders, PageOpen, Ready, Written
from wiretool.load.part import load_part
from wiretool.load.plan import Plan
from wiretool.load.result import Operation, Result, Verification, unfinished_operation
from wiretool.load.sampling import Sampler
from wiretool.load.slow import Slow, SlowOnes
from wiretool.load.totals import Gathering, MergedSecond, Totals
from wiretool.load.verdict import doubts, expected_operations

#: What a run may be shorter than planned by, with nobody having stopped it.
SHORT_S = 0.1


@dataclass(slots=True)
class Bench:
    """One run; `on_second` is told each second of it when it is whole."""

    plan: Plan
    sampler: Sampler | None = None
    log: HdrLog | None = None
    on_second: Callable[[Totals], None] = lambda totals: None
    #: Called when all users are set up.
    on_ready: Callable[[], None] = lambda: None
    #: Called when Locust's page accepts connections.
    on_page: Callable[[], None] = lambda: None
    totals: Totals = field(init=False)
    gathering: Gathering = field(default_factory=Gathering)
    ended: list[Ended] = field(default_factory=list)
    #: What each process has added to a backlog.
    written: list[Written] = field(default_factory=list)
    began_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    #: The signal that asked for an early end; 0 where none did.
    stopped_by: int = 0
    #: Why what was written could not be read back.
    unread: WiretoolError | None = None
    #: The plan as it is to be read back: what was good for the load may be too old by then.
    renew: Callable[[Plan], Plan] = lambda plan: plan
    #: The exchanges that took longest, where they are kept.
    slow: SlowOnes = field(init=False)
    #: Whether this is one worker's part of a run, whose users may do only some of what is expected of all.
    is_part: bool = False
    #: What else is to be remarked.
    remarks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slow = SlowOnes(self.plan.keep_slow)
        self.totals = Totals(self.plan.duration_s, self.plan.end_s)

    def run(self, load: Load, orders: Orders, *, on_listening: Callable[[int], None] = lambda port: None) -> None:
        """From the orders to the last word of the load process; `on_listening` is called with the port of a master.

        PeerError where it sends nothing, Stopped where it was stopped before it could.
        """
        load.order(orders)
        self.gathering = Gathering(orders.workers)
        while (said := load.next()) is not None:
            if isinstance(said, Listening):
                on_listening(said.port)
            elif isinstance(said, PageOpen):
                self.on_page()
            else:
                self.hear(said)
        if not self.ended and self.stopped_by:
            raise Stopped(self.stopped_by)
        if not self.ended:
            raise PeerError("the load process ended without a report; its standard error is above")

    def hear(self, said: Ready | Interval | Written | Slow | Ended) -> None:
        """Take a message of a load process on its run."""
        if isinstance(said, Interval):
            self._take(self.gathering.add(said))
        elif isinstance(said, Ready):
            self.began_at = datetime.now(UTC)
            self.on_ready()
            if self.sampler is not None:
                self.sampler.begin()
        elif isinstance(said, Written):
            self.written.append(said)
        elif isinstance(said, Slow):
            self.slow.add(said)
        else:
            self._take(self.gathering.leave(said.worker))
            self.ended.append(said)

    def _take(self, seconds: list[MergedSecond]) -> None:
        for merged in seconds:
            self.totals.add(merged)
            if self.sampler is not None and (sample := self.sampler.sample()) is not None:
                self.totals.sampled(merged.second, *sample)
            if self.log is not None:
                self.log.add(merged)
            self.on_second(self.totals)

    @property
    def failure(self) -> str:
        """Why it ended before its time; empty where it did not."""
        return next((ended.failure for ended in self.ended if ended.failure), "")

    @property
    def has_defect(self) -> bool:
        """Whether that was our own fault."""
        return any(ended.has_defect for ended in self.ended)

    @property
    def whole_s(self) -> float:
        """How long was measured."""
        return max((ended.duration_s for ended in self.ended), default=0.0)

    @property
    def absent_s(self) -> float:
        """For how long up to the end of that nobody had a connection: the server was not there, and has no rates."""
        return min((ended.absent_s for ended in self.ended if ended.users), default=0.0)

    @property
    def _absence(self) -> str:
        return f"no user had a connection in the last {self.absent_s:.3g} s" if self.absent_s else ""

    def verify(self) -> Outcome | None:
        """What is found where the events were written; None where they cannot be read, which is kept."""
        try:
            return read_back(self.renew(self.plan), [writer for ended in self.ended for writer in ended.writers])
        except (PeerError, Unmet) as err:
            self.unread = err
            return None

    def result(self, options: Mapping[str, object], outcome: Outcome | None) -> Result:
        """The report."""
        plan, seconds = self.plan, self.totals.seconds
        measured_s = max(self.whole_s - self.absent_s, 0.0)
        drained = drained_in([ended.drained for ended in self.ended if ended.drained is not None])
        operations = self._operations(measured_s, 0.0 if drained is None else drained.lasted_s)
        expected = [] if self.is_part else expected_operations(plan, is_drained=drained is not None)
        measured = phases_of(seconds, plan)[0]
        reasons = [*doubts(operations, expected, measured, plan), *reasons_from(seconds, plan, self.failure)]
        return Result(
            valid=not reasons,
            reasons=reasons,
            remarks=[*self._remarks(drained), *remarks_from(seconds, plan)],
            options=dict(options),
            versions=versions(),
            began_at=self.began_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            duration_s=measured_s,
            cut_short=self.failure or self._absence,
            operations=operations,
            verification=self._verification(outcome),
            backlog=None if drained is None else backlog_of(joined(self.written), drained, operations.get(FETCH)),
            seconds=seconds,
        )

    def _verification(self, outcome: Outcome | None) -> Verification:
        """What was found in what was read back, and, while loading, by those who fetched it."""
        fetched = distinct(
            Outcome(checked=ended.checked, found=ended.found, findings=ended.findings) for ended in self.ended
        )
        if outcome is None and not fetched.checked and not fetched.found:
            return Verification(is_on=False)
        return verification_of(outcome or Outcome(), fetched)

    def _operations(self, measured_s: float, drain_s: float) -> dict[str, Operation]:
        operations = self.totals.operations(measured_s, drain_s)
        for ended in self.ended:
            for name, (count, since_us) in ended.unfinished.items():
                operation = operations.setdefault(name, unfinished_operation())
                operation.unfinished += count
                operation.unfinished_us = max(operation.unfinished_us, since_us)
            if ended.unanswered:
                operations[load_part(self.plan.protocol).writes].unanswered += ended.unanswered
        return operations

    def _remarks(self, drained: Drained | None) -> list[str]:
        remarks = []
        if self.failure:
            remarks.append(f"it ended early: {self.failure}")
        if self.unread is not None:
            remarks.append(f"the appended events could not be read back: {self.unread}")
        if self.absent_s:
            remarks.append(f"{self._absence}, which are in no rate")
        is_short = self.whole_s < self.plan.duration_s - SHORT_S
        if not self.failure and (is_short or (self.stopped_by and drained is None)):
            remarks.append(f"it was stopped after {self.whole_s:.3g} of {self.plan.duration_s:g} s")
        if self.stopped_by and drained is not None:
            remarks.append("it was stopped while the backlog was read")
        if self.plan.has_backlog:
            remarks += undrained_texts(joined(self.written), drained, self.plan.fetchers)
        return [*remarks, *self.remarks]


def versions() -> dict[str, str]:
    """Of what the figures may hang on."""
    return {
        "wiretool": __version__,
        "locust": version("locust"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
