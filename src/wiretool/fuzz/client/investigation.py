"""From a suspicion to a finding: does the client do it again, and which is the smallest fault that shows it."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from wiretool.fuzz.client.client_run import ClientOutcome, ClientSetup, run_plan
from wiretool.fuzz.client.oracles import ClientOracles
from wiretool.fuzz.client.reply_fault import FaultKind, Plan, ReplyFault
from wiretool.fuzz.findings.investigation import CONFIRMATIONS
from wiretool.fuzz.oracles import Bucket, Suspicion
from wiretool.fuzz.sequences.sequence import Edit, Splice
from wiretool.fuzz.sequences.shrink import fewer

#: Runs that shrinking may take; seconds, and seconds for each second of the time limit.
SHRINK_TRIES, SHRINK_S, SHRINK_S_PER_S = 24, 20.0, 3.0


@dataclass(frozen=True, slots=True)
class ConfirmedFault:
    """A finding: the smallest plan, and how many runs of it showed the bug."""

    suspicion: Suspicion
    plan: Plan
    shown: int
    #: The run that showed it last.
    outcome: ClientOutcome

    @property
    def is_flaky(self) -> bool:
        """True where some runs did not show it."""
        return self.shown < CONFIRMATIONS


class ClientInvestigation:
    """Confirms and shrinks suspicions by further runs of the client."""

    def __init__(
        self, setup: ClientSetup, oracles: ClientOracles, *, is_stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self._setup = setup
        self._oracles = oracles
        self._is_stopped = is_stopped
        self._tries_left = 0
        self._give_up_s = 0.0
        #: The stop signal that ended a run.
        self.stopped_by: int | None = None

    def confirm(self, suspicion: Suspicion, plan: Plan) -> ConfirmedFault | None:
        """Return the finding; None where the client does not do it again."""
        bucket = suspicion.bucket
        if self._shown(plan, bucket) is None:
            return None
        self._tries_left = SHRINK_TRIES
        self._give_up_s = time.monotonic() + SHRINK_S + SHRINK_S_PER_S * self._setup.timeout_s
        plan = self._shrunk(plan, bucket)
        shown = [found for _ in range(CONFIRMATIONS) if (found := self._shown(plan, bucket)) is not None]
        if not shown:
            return None
        return ConfirmedFault(shown[-1][0], plan, len(shown), shown[-1][1])

    def _shown(self, plan: Plan, bucket: Bucket) -> tuple[Suspicion, ClientOutcome] | None:
        """Run a plan; return its suspicion in a bucket, None where there is none or wiretool is stopped."""
        if self._is_stopped() or self.stopped_by is not None:
            return None
        outcome = run_plan(self._setup, plan)
        self.stopped_by = outcome.stopped_by
        return next(((each, outcome) for each in self._oracles.judge(outcome) if each.bucket == bucket), None)

    def _shrunk(self, plan: Plan, bucket: Bucket) -> Plan:
        """Return a plan with fewer faults and smaller edits that still falls into the bucket."""
        candidates = smaller_plans(plan)
        while (candidate := next(candidates, None)) is not None:
            if self._tries_left <= 0 or time.monotonic() > self._give_up_s:
                break
            self._tries_left -= 1
            if self._shown(candidate, bucket) is not None:
                plan, candidates = candidate, smaller_plans(candidate)
        return plan


def smaller_plans(plan: Plan) -> Iterator[Plan]:
    """Yield plans that are a step smaller: a fault less, an edit less, fewer bytes, fewer copies, a shorter delay."""
    if len(plan) > 1:
        for at in range(len(plan)):
            yield (*plan[:at], *plan[at + 1 :])
    for at, fault in enumerate(plan):
        for smaller in _smaller_faults(fault):
            yield (*plan[:at], smaller, *plan[at + 1 :])


def _smaller_faults(fault: ReplyFault) -> Iterator[ReplyFault]:
    if fault.kind is FaultKind.DOUBLE and fault.times > 1:
        yield replace(fault, times=1)
    if fault.kind is FaultKind.DELAY and fault.seconds > 0.1:
        yield replace(fault, seconds=fault.seconds / 4)
    for edits in fewer(fault.edits):
        if edits:
            yield replace(fault, edits=edits)
    for edits in _shorter(fault.edits):
        yield replace(fault, edits=edits)


def _shorter(edits: Sequence[Edit]) -> Iterator[tuple[Edit, ...]]:
    for at, edit in enumerate(edits):
        if isinstance(edit, Splice) and len(edit.inserted) > 1:
            half = len(edit.inserted) // 2
            is_overwrite = edit.removed == len(edit.inserted)
            made = edit._replace(inserted=edit.inserted[:half], removed=half if is_overwrite else edit.removed)
            yield (*edits[:at], made, *edits[at + 1 :])
