"""The interface of targets, and the built-in mock in memory as one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import count

from wiretool.codec.remembering import remembering
from wiretool.conformance.active.in_memory import InMemory
from wiretool.conformance.active.run import ConformanceCaller
from wiretool.conformance.case import Case, Conformance
from wiretool.conformance.levels import Verdict
from wiretool.conformance.mutation.mutants import Mutant, applied
from wiretool.conformance.results import CaseResult
from wiretool.consistency.model import Consistency
from wiretool.consistency.registry import consistency_of
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.garbage import collect_all
from wiretool.fuzz.sequences.rewriting import Rewriter
from wiretool.fuzz.sequences.run import NS_PER_S, Outcome, Patience, RunSetting, SequenceRun
from wiretool.fuzz.sequences.sequence import FuzzSequence
from wiretool.fuzz.targets.memory import MemoryTarget, alarm, allocations_traced, peak_address_space
from wiretool.protocols.base.protocol import Protocol
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.server.mock import Mock
from wiretool.sinks.pcapng import Recording

#: Waiting costs nothing in memory.
MEMORY_PATIENCE = Patience(5 * NS_PER_S, NS_PER_S)
#: Sequences that one mock is used for.
RUNS_PER_MOCK = 32
#: Of so many sequences one runs on a fresh mock, from which all acknowledged events are read back at the end.
READ_BACK_EVERY = 4
CASE_PATIENCE_S = 5.0
#: Of so many batches, the memory of the runs of one is measured.
BATCHES_PER_MEASURED = 16
#: Batches after which the whole heap is searched for garbage: runs that are measured search only their own objects.
BATCHES_PER_COLLECTION = 512
#: Growth of the process in one batch for which each of its runs is measured.
PEAK_STEP_BYTES = 32 * 1024 * 1024

#: Returns a fresh mock for a setup of the server.
MockMaker = Callable[[str], Mock]


class Target(ABC):
    """A server under test."""

    #: Its name in reports.
    name = ""
    #: Sequences that are best run together.
    batch = 16
    #: Batches after which a clean case is run.
    batches_per_probe = 8
    #: Seconds in which a server in memory has to end a run; None for the usual time.
    stall_s: float | None = None
    #: Conformance cases that are run together.
    cases_at_once = 16
    #: The stop signal that ended a run.
    stopped_by: int | None = None
    #: The name of the last message that was sent, by a sequence or a conformance case; empty where it is not noted.
    last_message = ""
    #: Why the server is gone for good; empty while it accepts connections, or can be started again.
    why_gone = ""

    @abstractmethod
    def fits(self, sequence: FuzzSequence) -> bool:
        """Return whether the server has the endpoints of a sequence."""

    @abstractmethod
    def run(self, sequences: Sequence[FuzzSequence]) -> list[Outcome]:
        """Run sequences, each with connections of its own; return their outcomes in the same order."""

    @abstractmethod
    def run_fresh(self, sequences: Sequence[FuzzSequence], *, is_measured: bool = False) -> list[Outcome]:
        """Run sequences one after the other on a server without earlier state, as far as that can be had.

        `is_measured`: with the memory that each run takes, where it can be known.
        """

    def has_case(self, case: Case) -> bool:
        """Return whether a conformance case can be run on the server."""
        return True

    @abstractmethod
    def run_cases(
        self, cases: Sequence[Case], before: Sequence[FuzzSequence] = (), *, within_s: float | None = None
    ) -> list[CaseResult]:
        """Run conformance cases on a fresh server, after some sequences.

        Where waiting takes time, those that have not ended after `within_s` seconds have the verdict ERROR.
        """

    def probe(self, case: Case, setup: FuzzSequence) -> list[CaseResult]:
        """Run a case after all sequences in the setup of this one that the server has seen; none after none."""
        history = self.history(setup)
        return self.run_cases([case], history) if history else []

    @abstractmethod
    def record(self, sequence: FuzzSequence, recording: Recording) -> None:
        """Run a sequence on a fresh server, and write the bytes of both sides."""

    @abstractmethod
    def history(self, sequence: FuzzSequence) -> tuple[FuzzSequence, ...]:
        """Return the sequences that the server has seen since it was fresh, with the last one."""


class InMemoryTarget(Target):
    """The built-in mock, or a mutant of it, called directly."""

    batches_per_probe = 2

    def __init__(
        self,
        part: Conformance,
        make_mock: MockMaker,
        protocol_in: Callable[[str], Protocol],
        name: str,
        mutant: Mutant | None = None,
    ) -> None:
        self.name = name
        self._part = part
        self._make_mock = make_mock
        self._protocol_in = protocol_in
        #: Applied while the target runs, so that the reference stays clean.
        self._mutant = mutant
        self._settings: dict[str, RunSetting] = {}
        self._has_model = bool(PROTOCOLS[part.protocol].consistency)
        self._numbers = count(1)
        self._targets: dict[str, MemoryTarget] = {}
        self._histories: dict[str, list[FuzzSequence]] = {}
        self._count = 0
        self._runs = count()
        self._probes = count()
        self._peak_bytes = peak_address_space()

    def fits(self, sequence: FuzzSequence) -> bool:
        return sequence.endpoints <= {"", *(door.name for door in self._make_mock(sequence.setup).doors)}

    def run(self, sequences: Sequence[FuzzSequence]) -> list[Outcome]:
        number = next(self._runs)
        if number % BATCHES_PER_COLLECTION == BATCHES_PER_COLLECTION - 1:
            collect_all()
        is_measured = number % BATCHES_PER_MEASURED == 0
        tracing = allocations_traced() if is_measured else nullcontext()
        with applied(self._mutant), self._remembering(is_measured=is_measured), tracing:
            outcomes = [self._run_next(sequence, is_measured=is_measured) for sequence in sequences]
        peak = peak_address_space()
        if peak - self._peak_bytes > PEAK_STEP_BYTES and self._peak_bytes and not is_measured:
            for outcome in outcomes:
                (again,) = self.run_fresh([outcome.sequence], is_measured=True)
                outcome.peak_bytes = again.peak_bytes
        self._peak_bytes = max(peak, self._peak_bytes)
        return outcomes

    def _remembering(self, *, is_measured: bool) -> AbstractContextManager[None]:
        """Return a block that remembers readings, unless they are of a mutant or would count as memory of a run."""
        return remembering(is_on=self._mutant is None and not is_measured)

    def _run_next(self, sequence: FuzzSequence, *, is_measured: bool) -> Outcome:
        self._count += 1
        if self._count % READ_BACK_EVERY == 0 and self._has_model:
            return self._run_new(sequence, is_measured=is_measured)
        target = self._target(sequence.setup)
        history = self._histories[sequence.setup]
        if len(history) >= RUNS_PER_MOCK:
            target.reset()
            history.clear()
        history.append(sequence)
        outcome = self._run_on(target, sequence, is_measured=is_measured)
        if outcome.error is not None:
            target.reset()
        return outcome

    def run_fresh(self, sequences: Sequence[FuzzSequence], *, is_measured: bool = False) -> list[Outcome]:
        with applied(self._mutant), self._remembering(is_measured=is_measured):
            if len(sequences) == 1 and self._has_model and not sequences[0].stays_open:
                return [self._run_new(sequences[0], is_measured=is_measured)]
            target = MemoryTarget(lambda: self._make_mock(sequences[0].setup))
            return [self._run_on(target, sequence, is_measured=is_measured) for sequence in sequences]

    def _run_new(self, sequence: FuzzSequence, *, is_measured: bool = False) -> Outcome:
        """Run a sequence on a fresh mock, and read back what that has acknowledged."""
        target = MemoryTarget(lambda: self._make_mock(sequence.setup))
        model = consistency_of(self._part.protocol, is_new=True)
        return self._run_on(target, sequence, model=model, is_measured=is_measured)

    def run_cases(
        self, cases: Sequence[Case], before: Sequence[FuzzSequence] = (), *, within_s: float | None = None
    ) -> list[CaseResult]:
        with applied(self._mutant):
            return [result for case in cases for result in self._run_case(case, before)]

    def _run_case(self, case: Case, before: Sequence[FuzzSequence]) -> list[CaseResult]:
        target = MemoryTarget(lambda: self._make_mock(case.variant))
        for sequence in before:
            if self._run_on(target, sequence).error is not None:
                return []
        return self._run_case_on(target, case, "zc")

    def probe(self, case: Case, setup: FuzzSequence) -> list[CaseResult]:
        """Run a case on the very server that has seen the sequences, beside connections that they left open."""
        if not self._histories.get(case.variant):
            return []
        target = self._targets[case.variant]
        with applied(self._mutant):
            results = self._run_case_on(target, case, f"zc{next(self._probes)}")
        if any(result.verdict is Verdict.FAIL for result in results):
            target.reset()
        return results

    def _run_case_on(self, target: MemoryTarget, case: Case, token: str) -> list[CaseResult]:
        caller = ConformanceCaller([case], self._part, token=token, patience_s=CASE_PATIENCE_S, numbers=self._numbers)
        stage = InMemory(caller, target.mock, now_ns=target.now_ns)
        try:
            with alarm(self.stall_s):
                stage.run()
        except Exception as err:  # noqa: BLE001  (any exception of the mock fails the case)
            return [CaseResult(case, Verdict.FAIL, f"the server raised {type(err).__name__}: {err}")]
        target.now_ns = stage.now_ns + 1_000_000
        return list(caller.results.values())

    def record(self, sequence: FuzzSequence, recording: Recording) -> None:
        with applied(self._mutant):
            self._run_on(MemoryTarget(lambda: self._make_mock(sequence.setup)), sequence, recording)

    def history(self, sequence: FuzzSequence) -> tuple[FuzzSequence, ...]:
        return tuple(self._histories.get(sequence.setup, ()))

    def _target(self, setup: str) -> MemoryTarget:
        found = self._targets.get(setup)
        if found is None:
            found = self._targets[setup] = MemoryTarget(lambda: self._make_mock(setup))
            self._histories[setup] = []
        return found

    def _run_on(
        self,
        target: MemoryTarget,
        sequence: FuzzSequence,
        recording: Recording | None = None,
        model: Consistency | None = None,
        *,
        is_measured: bool = False,
    ) -> Outcome:
        setting = self._setting(sequence.setup)
        run = SequenceRun(sequence, setting, self._numbers, model=model, may_stay=model is None)
        return target.run(run, recording, stall_s=self.stall_s, is_measured=is_measured)

    def _setting(self, setup: str) -> RunSetting:
        found = self._settings.get(setup)
        if found is None:
            found = self._settings[setup] = setting_of(self._part, self._protocol_in(setup), MEMORY_PATIENCE)
        return found


def setting_of(part: Conformance, protocol: Protocol, patience: Patience) -> RunSetting:
    """Return the setting of runs against a server of a protocol."""
    revisions = tuple(dict.fromkeys(part.revisions.values()))
    return RunSetting(protocol, Rewriter(fault_adapter_of(protocol)), part.server, patience, revisions)
