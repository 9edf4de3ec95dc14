"""The loop of a fuzz run: choose a sequence, mutate it, run it, judge it, keep it if it shows anything new."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from wiretool.codec.remembering import remembering
from wiretool.conformance.case import Case
from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import CaseResult
from wiretool.errors import PeerError
from wiretool.fuzz.findings.case_buckets import bucket_by_id, case_bucket
from wiretool.fuzz.garbage import long_lived_frozen
from wiretool.fuzz.mutations.base import Mutation, MutationContext
from wiretool.fuzz.mutations.order import SameObjects
from wiretool.fuzz.novelty import Novelty
from wiretool.fuzz.oracles import DIED, UNHEALTHY, WRONG_ANSWER, Bucket, Oracles, Suspicion, first_of, kind_of
from wiretool.fuzz.pairs import Pairs
from wiretool.fuzz.seeds.places import SeedPlaces
from wiretool.fuzz.sequences.run import Outcome
from wiretool.fuzz.sequences.sequence import FuzzSequence, Sending
from wiretool.fuzz.sweep import Sweep
from wiretool.fuzz.targets.base import Target

#: Sequences that are run before another subset of mutations is drawn, and the share of mutations in a subset.
SWARM_RUNS, SWARM_SHARE = 64, 0.4
#: Mutations of one sequence at most; steps and bytes of a sequence that is kept.
STACKED_MAX = 4
STEPS_MAX, KEPT_BYTES_MAX = 64, 256 * 1024
QUEUE_MAX = 4096
#: Sequences that are run together.
BATCH = 16
#: The share of sequences that are made systematically, while there are any.
SYSTEMATIC_SHARE = 0.75
#: The share of the time of a run that conformance cases may take at its start.
CASES_SHARE = 1 / 3
#: The share of a number of runs that unchanged seeds may take at their start.
SEEDS_SHARE = 0.5
#: Tries to find a mutation that applies.
TRIES_MAX = 12


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits at which a run ends; None for no limit."""

    seconds: float | None = None
    runs: int | None = None
    #: Findings after which the run ends: more of them show nothing new.
    findings: int = 100
    #: Seconds that the conformance cases at the start may take; None for all of them.
    cases_s: float | None = None
    #: Seeds that are run unchanged at the start; None for all of them.
    seeds: int | None = None


@dataclass(slots=True)
class Counts:
    """Figures of a run."""

    runs: int = 0
    messages: int = 0
    seconds: float = 0.0
    #: Runs of conformance cases; those at the start, out of all that the target can run, and their time.
    cases: int = 0
    start_cases: int = 0
    planned_cases: int = 0
    cases_s: float = 0.0
    features: int = 0
    phases: int = 0
    findings: int = 0
    #: Whether the run ended because mutated sequences have as many findings as one may have.
    has_enough: bool = False


#: Investigates a sequence that showed a suspicion, given the sequences that ran before it on the same server; returns
#: whether it is a finding.
Investigate = Callable[[Suspicion, FuzzSequence, tuple[FuzzSequence, ...]], bool]
#: Rejected suspicions in one bucket, in all and with the same messages before, after which only a share is
#: investigated.
REJECTED_MAX, REJECTED_SHARE = 25, 0.05
REJECTED_ALIKE_MAX, ALIKE_MESSAGES = 4, 3


@dataclass(slots=True)
class Campaign:
    """One fuzz run."""

    target: Target
    oracles: Oracles
    seeds: Sequence[FuzzSequence]
    cases: Sequence[Case]
    mutations: Sequence[Mutation]
    context: Callable[[str], MutationContext]
    novelty: Novelty
    rng: random.Random
    limits: Limits
    investigate: Investigate
    on_progress: Callable[[Counts], None] = lambda counts: None
    counts: Counts = field(default_factory=Counts)
    is_stopped: Callable[[], bool] = lambda: False
    #: Takes mutated sequences that showed something new, and nothing wrong.
    on_novel: Callable[[FuzzSequence], None] = lambda sequence: None
    #: Sequences that run together.
    batch: int = BATCH
    #: Buckets that are no new findings, and those that the run has shown.
    known: set[Bucket] = field(default_factory=set)
    shown: set[Bucket] = field(default_factory=set)
    #: Ids of the conformance cases that failed, by the bucket of the finding, in the order in which they failed.
    failed_cases: dict[Bucket, list[str]] = field(default_factory=dict)
    _places: SeedPlaces = field(init=False)
    _pairs: Pairs | None = None
    #: Findings of the conformance cases at the start.
    _found_by_cases: int = 0
    #: The systematic parts of the run that have sequences left.
    _systematic: list[Sweep | Pairs] = field(default_factory=list)
    _rejected: Counter[Bucket] = field(default_factory=Counter)
    _rejected_alike: Counter[tuple[Bucket, tuple[str, ...]]] = field(default_factory=Counter)
    _queue: list[FuzzSequence] = field(default_factory=list)
    _swarm: Sequence[Mutation] = ()
    _swarm_left: int = 0
    _started: float = 0.0

    def __post_init__(self) -> None:
        self._places = SeedPlaces(self.novelty.exchanges)

    def run(self) -> Counts:
        """Run to a limit; findings are reported as they come. PeerError where the server is gone for good."""
        with long_lived_frozen():
            return self._run()

    def _run(self) -> Counts:
        self._started = time.monotonic()
        self._run_cases()
        self._run_seeds()
        names = [each.name for each in self.mutations]
        self._systematic.append(Sweep(self.seeds, self.context, self.rng, names, self._places))
        if SameObjects.name in names:
            self._pairs = Pairs(self.seeds, self.context, self.rng, self._places)
            self._systematic.append(self._pairs)
        batches = 0
        while not self._is_over():
            with remembering(is_on=True):
                mutated = [self._mutated() for _ in range(self._batch_size())]
            self._run_batch(mutated)
            batches += 1
            if batches % self.target.batches_per_probe == 0 and self.cases:
                self._probe()
        return self.counted()

    def _is_over(self) -> bool:
        limits, counts = self.limits, self.counts
        return (
            self.is_stopped()
            or (limits.seconds is not None and time.monotonic() - self._started >= limits.seconds)
            or (limits.runs is not None and counts.runs >= limits.runs)
            or self._has_enough
        )

    @property
    def _has_enough(self) -> bool:
        """Return whether mutated sequences have as many findings as a run may have."""
        return self.counts.findings - self._found_by_cases >= self.limits.findings

    def _batch_size(self) -> int:
        left = self.batch if self.limits.runs is None else self.limits.runs - self.counts.runs
        return max(1, min(self.batch, left))

    # -- valid sessions -------------------------------------------------------------------------------------

    def _run_cases(self) -> None:
        """Run each conformance case once: a server that fails one has a bug that needs no mutation.

        They have a share of the time, so that mutated sequences run, too.
        """
        cases, counts = [case for case in self.cases if self.target.has_case(case)], self.counts
        counts.planned_cases = len(cases)
        at = 0
        while at < len(cases) and not self._is_over() and self._cases_left_s() > 0:
            together = cases[at : at + self.target.cases_at_once]
            at += len(together)
            for result in self.target.run_cases(together, within_s=self._limit_s()):
                is_cut = result.verdict is Verdict.ERROR and self._cases_left_s() <= 0
                counts.cases += not is_cut
                counts.start_cases += not is_cut
                if result.verdict is Verdict.FAIL and isinstance(result.case, Case):
                    why = f"conformance case {result.case.id}: {result.why}"
                    self._suspect_case(WRONG_ANSWER, result, why, self._seed_of(result.case), ())
                self._found_by_cases = counts.findings
            counts.cases_s = time.monotonic() - self._started
            self.on_progress(self.counted())
            if self.target.why_gone:
                self._blame(together)
                raise PeerError(self.target.why_gone)

    def _blame(self, cases: Sequence[Case]) -> None:
        """Report the end of a server while some cases ran, with the sessions of these."""
        *before, last = map(self._seed_of, cases)
        bucket = Bucket(DIED, "", self.target.last_message, "", kind_of(self.target.why_gone))
        self._suspect([Suspicion(bucket, self.target.why_gone, max(len(last.steps) - 1, 0))], last, tuple(before))

    def _limit_s(self) -> float | None:
        return None if self.limits.cases_s is None else self._cases_left_s()

    def _cases_left_s(self) -> float:
        """Return the seconds that are left for conformance cases at the start."""
        limit_s = self.limits.cases_s
        return inf if limit_s is None else limit_s - (time.monotonic() - self._started)

    def _seed_of(self, case: Case) -> FuzzSequence:
        found = (seed for seed in self.seeds if seed.origin == case.id)
        return next(found, FuzzSequence((), case.id, setup=case.variant))

    def _run_seeds(self) -> None:
        most = self.limits.seeds
        chosen = self.seeds if most is None or most >= len(self.seeds) else spread(self.seeds, most)
        at = 0
        while at < len(chosen) and not self._is_over():
            size = self._batch_size()
            seeds = list(chosen[at : at + size])
            for seed, outcome in zip(seeds, self._run_batch(seeds), strict=False):  # a stopped run has fewer of them
                self._places.note(seed, outcome)
            at += size

    def _probe(self) -> None:
        """Run a clean case after all that the server has seen: it must still pass."""
        case = self.rng.choice(self.cases)
        seed = self._seed_of(case)
        history = self.target.history(seed)
        for result in self.target.probe(case, seed):
            self.counts.cases += 1
            if result.verdict is Verdict.FAIL:
                why = f"conformance case {case.id} fails after the sequence: {result.why}"
                self._suspect_case(UNHEALTHY, result, why, history[-1], history[:-1])

    def _suspect_case(
        self,
        oracle: str,
        result: CaseResult,
        why: str,
        sequence: FuzzSequence,
        before: tuple[FuzzSequence, ...],
    ) -> None:
        """Investigate a failed case, unless another one has failed in the same way; note its name in either case."""
        bucket, old = case_bucket(oracle, result), bucket_by_id(oracle, result)
        if old in self.known:
            self.shown.add(old)
            return
        self._suspect([Suspicion(bucket, why, 0, result.case.id)], sequence, before)
        if bucket in self.known:
            ids = self.failed_cases.setdefault(bucket, [])
            if result.case.id not in ids:
                ids.append(result.case.id)

    # -- mutated sequences ---------------------------------------------------------------------------------------------

    def _mutated(self) -> FuzzSequence:
        while self._systematic and self.rng.random() < SYSTEMATIC_SHARE:
            part = self.rng.choice(self._systematic)
            sequence = part.next()
            if sequence is not None:
                return sequence
            self._systematic.remove(part)
        sequence = self._chosen()
        for _ in range(self._stacked()):
            for _ in range(TRIES_MAX):
                made = self._mutation().apply(sequence, self.rng, self.context(sequence.setup))
                if made is not None and len(made.steps) <= STEPS_MAX and made.size_bytes <= KEPT_BYTES_MAX:
                    sequence = made
                    break
        return sequence

    def _chosen(self) -> FuzzSequence:
        if self._queue and self.rng.random() < 0.5:
            newest = self.rng.random() < 0.5
            return self.rng.choice(self._queue[-64:] if newest else self._queue)
        return self.rng.choice(self.seeds)

    def _stacked(self) -> int:
        count = 1
        while count < STACKED_MAX and self.rng.random() < 0.35:
            count += 1
        return count

    def _mutation(self) -> Mutation:
        if self._swarm_left == 0:
            size = max(1, round(len(self.mutations) * SWARM_SHARE))
            self._swarm = self.rng.sample(list(self.mutations), size)
            self._swarm_left = SWARM_RUNS
        self._swarm_left -= 1
        return self.rng.choice(self._swarm)

    def _run_batch(self, sequences: list[FuzzSequence]) -> list[Outcome]:
        outcomes = self.target.run(sequences)
        for outcome in outcomes:
            self._note(outcome)
        self.on_progress(self.counted())
        if self.target.why_gone:
            raise PeerError(self.target.why_gone)
        return outcomes

    def _note(self, outcome: Outcome) -> None:
        self.counts.runs += 1
        self.counts.messages += outcome.sent_messages
        suspicions = self.oracles.judge(outcome)
        sequence = outcome.sequence
        if self.novelty.note(outcome) and not suspicions and sequence.all_changes():
            self.on_novel(sequence)
            self._continue_pair(sequence)
            if len(self._queue) < QUEUE_MAX:
                self._queue.append(sequence)
        if suspicions:
            history = self.target.history(sequence)
            before = history[: history.index(sequence)] if sequence in history else ()
            self._suspect(suspicions, sequence, before)

    def _continue_pair(self, sequence: FuzzSequence) -> None:
        """Let each kind of message come after a new sequence on the same objects."""
        if self._pairs is None or not sequence.changes or sequence.changes[-1].mutation != SameObjects.name:
            return
        self._pairs.note_novel(sequence)
        if self._pairs not in self._systematic:
            self._systematic.append(self._pairs)

    def _suspect(
        self, suspicions: Sequence[Suspicion], sequence: FuzzSequence, before: tuple[FuzzSequence, ...]
    ) -> None:
        self.shown.update(each.bucket for each in suspicions if each.bucket in self.known)
        for suspicion in first_of(suspicions, self.known):
            if self._is_over():
                return
            bucket = suspicion.bucket
            alike = bucket, _messages_before(sequence, suspicion.step)
            is_usual = self._rejected[bucket] >= REJECTED_MAX and self._rejected_alike[alike] >= REJECTED_ALIKE_MAX
            if is_usual and self.rng.random() >= REJECTED_SHARE:
                continue
            if self.investigate(suspicion, sequence, before):
                self.known.add(bucket)
                self.counts.findings += 1
            else:
                self._rejected[bucket] += 1
                self._rejected_alike[alike] += 1
            if bucket.oracle == DIED:
                return

    def counted(self) -> Counts:
        """Return the figures so far."""
        counts = self.counts
        counts.seconds = time.monotonic() - self._started
        counts.has_enough = self._has_enough
        counts.features, counts.phases = len(self.novelty.features), len(self.novelty.phases)
        return counts


def spread(seeds: Sequence[FuzzSequence], count: int) -> list[FuzzSequence]:
    """Return some of the seeds, at even distances."""
    return [seeds[at * len(seeds) // count] for at in range(count)]


def _messages_before(sequence: FuzzSequence, step: int) -> tuple[str, ...]:
    """Return the names of the last messages up to a step."""
    names = [each.message for each in sequence.steps[: step + 1] if isinstance(each, Sending)]
    return tuple(names[-ALIKE_MESSAGES:])
