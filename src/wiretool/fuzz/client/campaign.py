"""The loop of a run against a client: draw a plan, run the client, judge it."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from wiretool.errors import PeerError
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.campaign import REJECTED_MAX, TRIES_MAX, Counts, Limits
from wiretool.fuzz.client.clean_runs import CleanRuns
from wiretool.fuzz.client.client_run import ClientOutcome
from wiretool.fuzz.client.investigation import ClientInvestigation, ConfirmedFault
from wiretool.fuzz.client.mutations import ReplyMutation
from wiretool.fuzz.client.oracles import ClientOracles
from wiretool.fuzz.client.pool import RunPool
from wiretool.fuzz.client.reply_fault import Plan, ReplyFault
from wiretool.fuzz.mutations.base import MutationContext
from wiretool.fuzz.oracles import Bucket, Suspicion, first_of
from wiretool.fuzz.sequences.rewriting import Rewriter
from wiretool.fuzz.sequences.sequence import FuzzSequence, Sending
from wiretool.protocols.base.protocol import Protocol

#: The share of runs with a second fault.
SECOND_SHARE = 0.3
#: The share of faults of the first messages of a name: later ones depend on timing more.
FIRST_SHARE = 0.5


def reply_context(protocol: Protocol, replies: Sequence[tuple[int, Sending]]) -> MutationContext:
    """Return the context of mutations of the server's messages."""
    adapter = fault_adapter_of(protocol)
    session = FuzzSequence(tuple(sending for _, sending in replies), "clean run")
    return MutationContext(protocol, adapter, Rewriter(adapter), lambda name: (session,), "server")


@dataclass(slots=True)
class PlanSource:
    """Draws plans. The names of messages are equally frequent, however often the server sends each."""

    replies: Sequence[tuple[int, Sending]]
    mutations: Sequence[ReplyMutation]
    context: MutationContext
    rng: random.Random
    _by_name: dict[str, list[tuple[int, Sending]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for nth, reply in self.replies:
            self._by_name.setdefault(reply.message, []).append((nth, reply))

    def draw(self) -> Plan:
        """Return a plan with one or two faults; an empty one where no mutation applies."""
        count = 2 if self.rng.random() < SECOND_SHARE else 1
        return tuple(fault for _ in range(count) if (fault := self._fault()) is not None)

    def _fault(self) -> ReplyFault | None:
        for _ in range(TRIES_MAX):
            found = self._by_name[self.rng.choice(list(self._by_name))]
            nth, reply = found[0] if self.rng.random() < FIRST_SHARE else self.rng.choice(found)
            fault = self.rng.choice(self.mutations).fault(nth, reply, self.rng, self.context)
            if fault is not None:
                return fault
        return None


@dataclass(slots=True)
class ClientCampaign:
    """One run against a client."""

    pool: RunPool
    clean: CleanRuns
    plans: PlanSource
    oracles: ClientOracles
    investigation: ClientInvestigation
    limits: Limits
    on_finding: Callable[[ConfirmedFault], None]
    on_progress: Callable[[Counts], None] = lambda counts: None
    is_stopped: Callable[[], bool] = lambda: False
    #: Takes the name of each process of a client that could not be stopped.
    on_left: Callable[[str], None] = lambda text: None
    counts: Counts = field(default_factory=Counts)
    #: Buckets that are no new findings, and those that the run has shown.
    known: set[Bucket] = field(default_factory=set)
    shown: set[Bucket] = field(default_factory=set)
    #: Names of messages that were mutated.
    phases: set[str] = field(default_factory=set)
    #: The stop signal that ended the run.
    stopped_by: int | None = None
    _features: set[tuple[str, str, str]] = field(default_factory=set)
    _rejected: Counter[Bucket] = field(default_factory=Counter)
    _started_s: float = 0.0

    def run(self) -> Counts:
        """Run to a limit; findings are reported as they come.

        PeerError where no mutation applies to any message, and where no run had a fault that took effect.
        """
        self._started_s = time.monotonic()
        for outcome in self.pool.run(self._next_plan):
            self._note(outcome)
            self.on_progress(self.counted())
        if self.counts.runs and not self.phases and not self._is_stopped:
            raise PeerError(
                f"no fault took effect in {self.counts.runs:,} runs; expected a client that repeats its work"
            )
        return self.counted()

    def _next_plan(self, under_way: int) -> Plan | None:
        """Return a plan; None where the run is over with those that are under way."""
        runs = self.limits.runs
        if self._is_over() or (runs is not None and self.counts.runs + under_way >= runs):
            return None
        for _ in range(TRIES_MAX):
            if plan := self.plans.draw():
                return plan
        raise PeerError("no mutation applies to a message of the server; expected another --case")

    @property
    def _is_stopped(self) -> bool:
        return self.is_stopped() or self.stopped_by is not None

    def _is_over(self) -> bool:
        limits, counts = self.limits, self.counts
        return (
            self._is_stopped
            or (limits.seconds is not None and time.monotonic() - self._started_s >= limits.seconds)
            or (limits.runs is not None and counts.runs >= limits.runs)
            or counts.findings >= limits.findings
        )

    def _note(self, outcome: ClientOutcome) -> None:
        self.counts.runs += 1
        self.counts.messages += outcome.log.client_messages
        self.stopped_by = self.stopped_by or outcome.stopped_by
        for text in outcome.left:
            self.on_left(text)
        for fault in outcome.acted:
            self.phases.add(fault.message)
            self._features.add((fault.message, fault.change.region, fault.change.mutation))
        suspicions = self.oracles.judge(outcome)
        self.shown.update(each.bucket for each in suspicions if each.bucket in self.known)
        for suspicion in first_of(suspicions, self.known):
            self._suspect(suspicion, outcome.plan)

    def _suspect(self, suspicion: Suspicion, plan: Plan) -> None:
        bucket = suspicion.bucket
        if self._rejected[bucket] >= REJECTED_MAX:
            return
        confirmed = self.investigation.confirm(suspicion, plan)
        self.stopped_by = self.stopped_by or self.investigation.stopped_by
        if confirmed is None:
            self._rejected[bucket] += 1
            return
        self.known.add(bucket)
        self.counts.findings += 1
        self.on_finding(confirmed)

    def counted(self) -> Counts:
        """Return the figures so far."""
        self.counts.seconds = time.monotonic() - self._started_s
        self.counts.features, self.counts.phases = len(self._features), len(self.phases)
        return self.counts
