"""Everything that one fuzz run needs of a protocol: seeds, oracles, mutations, the built-in mock."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

from wiretool.capture.packets import Packet
from wiretool.capture.tls.keylog import KeyLog
from wiretool.conformance.active.mock_run import mock_of
from wiretool.conformance.case import Case, Conformance
from wiretool.conformance.mutation.mutants import Mutant
from wiretool.conformance.registry import conformance_of
from wiretool.errors import CaptureError, InputError
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.campaign import Campaign, Counts, Limits
from wiretool.fuzz.differences import AnswerComparison
from wiretool.fuzz.findings.finding import Finding
from wiretool.fuzz.findings.investigation import SHRINK_TRIES, Confirmed, Investigation
from wiretool.fuzz.mutations import MUTATIONS
from wiretool.fuzz.mutations.base import Mutation, MutationContext
from wiretool.fuzz.novelty import Novelty
from wiretool.fuzz.oracles import Bucket, Oracles, Suspicion
from wiretool.fuzz.part import fuzz_part_of
from wiretool.fuzz.seeds.captures import capture_sequences, damage_words, distinct
from wiretool.fuzz.seeds.cases import case_sequences
from wiretool.fuzz.seeds.tables import table_sequences
from wiretool.fuzz.seeds.vectors import Vector, vector_sequences
from wiretool.fuzz.sequences.rewriting import Rewriter
from wiretool.fuzz.sequences.sequence import CAPTURE_SETUP, FuzzSequence
from wiretool.fuzz.targets.base import InMemoryTarget, Target
from wiretool.fuzz.targets.branches import BranchCoverage, BranchNovelty, CoveredTarget, has_monitoring
from wiretool.ledger import Ledger
from wiretool.protocols.base.protocol import Protocol
from wiretool.replay.adapters import adapter_of
from wiretool.replay.recording import recording_of
from wiretool.server.mock import Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import mock_for

#: Seeds with more bytes are left to captures of large events.
SEED_BYTES_MAX = 64 * 1024
#: Longer sessions of conformance cases are not kept.
CASE_BYTES_MAX = 4 * 1024 * 1024
BUILT_IN = "built-in mock"


@dataclass(slots=True)
class FuzzSession:
    """The protocol under test, and where sequences come from."""

    protocol: str
    seed: int = 0
    part: Conformance = field(init=False)
    cases: list[Case] = field(default_factory=list)
    seeds: list[FuzzSequence] = field(default_factory=list)
    #: Sessions of conformance cases that are no seeds, by the id of the case: what a finding of the case shows.
    other_sessions: dict[str, FuzzSequence] = field(default_factory=dict)
    oracles: Oracles = field(default_factory=Oracles)
    #: The branches that the mock in memory has taken; None where they are not noted.
    coverage: BranchCoverage | None = None
    #: Seeds from files of the user.
    _file_seed_count: int = 0
    _options: dict[str, MockOptions] = field(default_factory=dict)
    _setups: dict[str, frozenset[str]] = field(default_factory=dict)
    _contexts: dict[str, MutationContext] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.part = conformance_of(self.protocol)
        self.oracles.real = fuzz_part_of(self.protocol).allowed

    def add_built_in_seeds(self) -> None:
        """Take the seeds of every run: the sessions of the conformance cases, and those of the session table."""
        self.add_cases()
        self.add_table()

    def add_cases(self) -> None:
        """Take the sessions of the conformance cases as seeds; problems that they allow are none."""
        made = case_sessions(self.protocol, self.seed)
        self.cases += made.cases
        self.seeds += made.seeds
        self.other_sessions |= made.others
        self.oracles.allow_all(made.shown)

    def add_table(self) -> None:
        """Take sessions that the session table allows as seeds, made of messages of the other seeds."""
        table = fuzz_part_of(self.protocol).table
        if table is not None:
            made = table_sequences(table, self.seeds, self.protocol_in(""), random.Random(self.seed))
            self.seeds += distinct(list(made))

    def add_capture(
        self,
        name: str,
        packets: Iterable[Packet],
        *,
        ports: Mapping[int, str],
        notes: Callable[[str], None],
        keys: KeyLog | None = None,
        ledger: Ledger | None = None,
    ) -> CaptureError | None:
        """Take the sessions of a capture as seeds; return the damage where only a part could be read.

        `notes` takes remarks, also on bytes inside the capture that do not decode. `keys` decrypt TLS; `ledger` counts.
        """
        recording = recording_of(packets, ports=ports, notes=notes, keys=keys, ledger=ledger)
        if words := damage_words(recording, self.protocol):
            notes(f"{name}: {words}")
        protocol = self.protocol_in("")
        adapter = adapter_of(self.protocol)
        setup = f"{CAPTURE_SETUP}{name}"
        found = distinct(list(capture_sequences(recording, protocol, adapter, origin=name, setup=setup)))
        if found:
            self._options[setup] = adapter.mock_options(recording, MockOptions(seed=self.seed))
        self._add_file_seeds(found)
        return recording.damage

    def add_vectors(self, vectors: Sequence[Vector]) -> int:
        """Take the messages of vectors as seeds, after sessions of the seeds so far; return their number."""
        table = fuzz_part_of(self.protocol).table
        found = distinct(list(vector_sequences(vectors, self.protocol_in(""), table, self.seeds)))
        self._add_file_seeds(found)
        return len(found)

    def _add_file_seeds(self, sequences: Sequence[FuzzSequence]) -> None:
        """Take sequences of the user's files as seeds; problems that they show on the clean mock are none."""
        reference = self.reference()
        for sequence in sequences:
            for outcome in reference.run_fresh([sequence]):
                self.oracles.allow(outcome)
        self.seeds += sequences
        self._file_seed_count += len(sequences)

    def add_sequences(self, sequences: Sequence[FuzzSequence]) -> None:
        """Take sequences of a corpus as seeds; problems that they show are not allowed, unlike those of the cases."""
        self.seeds += sequences

    @contextmanager
    def noting_branches(self) -> Iterator[None]:
        """Note the branches that the mock in memory takes in the block; none before Python 3.12."""
        if not has_monitoring():
            yield
            return
        self.coverage = BranchCoverage()
        with self.coverage.watching():
            yield

    def compare_answers(self) -> None:
        """Let the oracles report each answer that the reference server does not give (`differs`)."""
        self.oracles.compare = AnswerComparison(self.reference(), self.protocol_in("").exchanges).judge

    def check_seed_files(self, names: Sequence[str]) -> None:
        """CaptureError where no file of the user has a session or a message that can be a seed."""
        if not self._file_seed_count:
            why = (
                f"no connection of {self.protocol} with its first bytes, and no message of its clients in a vector; "
                "expected a session to start from"
            )
            raise CaptureError(", ".join(names), why)

    def protocol_in(self, setup: str) -> Protocol:
        """Return the protocol as it is used in a setup."""
        return self.part.protocol_in("" if setup in self._options else setup)

    def has_setup(self, setup: str) -> bool:
        """Return whether a mock can be made in a setup."""
        return setup in ("", *self._options, *self.part.variants)

    def setup_of_capture(self, setup: str) -> str:
        """Return the setup of the capture with the same file name, where only its folder is another one; or `setup`."""
        if not setup.startswith(CAPTURE_SETUP) or setup in self._options:
            return setup
        name = Path(setup.removeprefix(CAPTURE_SETUP)).name
        return next((each for each in self._options if Path(each.removeprefix(CAPTURE_SETUP)).name == name), setup)

    def check_endpoints(self, sequence: FuzzSequence, name: str) -> None:
        """InputError for a sequence in a file of this name with an endpoint that its setup does not have."""
        known = {self.part.endpoint, *(door.name for door in self.make_mock(sequence.setup).doors), ""}
        for endpoint in sorted(sequence.endpoints - known):
            where = f" in the setup {sequence.setup}" if sequence.setup else ""
            names = ", ".join(sorted(known - {""}))
            raise InputError(f"{name}: no endpoint {endpoint!r} of {self.protocol}{where}; expected {names}")

    def make_mock(self, setup: str) -> Mock:
        """Return a fresh mock in a setup."""
        if setup in self._options:
            return mock_for(self.part.server, self._options[setup])
        return mock_of(self.part, setup, self.seed)

    def reference(self) -> InMemoryTarget:
        """Return the clean built-in mock as a target."""
        return InMemoryTarget(self.part, self.make_mock, self.protocol_in, BUILT_IN)

    def mock_target(self, mutant: Mutant | None = None) -> InMemoryTarget:
        """Return the built-in mock, or a mutant of it, as a target."""
        name = BUILT_IN if mutant is None else f"{BUILT_IN}, mutant {mutant.name}"
        if self.coverage is not None:
            return CoveredTarget(self.coverage, self.part, self.make_mock, self.protocol_in, name, mutant)
        return InMemoryTarget(self.part, self.make_mock, self.protocol_in, name, mutant)

    def context(self, setup: str) -> MutationContext:
        """Return the context of mutations in a setup."""
        found = self._contexts.get(setup)
        if found is None:
            protocol = self.protocol_in(setup)
            adapter = fault_adapter_of(protocol)
            table = fuzz_part_of(self.protocol).table
            others: Mapping[str, list[FuzzSequence]] = {setup: [each for each in self.seeds if each.setup == setup]}
            found = MutationContext(
                protocol,
                adapter,
                Rewriter(adapter),
                lambda name: others.get(name, others[setup]),
                setups=self._endpoints_by_setup(),
                streams=None if table is None else table.streams,
            )
            self._contexts[setup] = found
        return found

    def _endpoints_by_setup(self) -> Mapping[str, frozenset[str]]:
        """Return the setups of the cases with the names of their endpoints."""
        if not self._setups:
            for setup in dict.fromkeys(each.setup for each in self.seeds):
                if setup not in self._options:
                    self._setups[setup] = frozenset(door.name for door in self.make_mock(setup).doors)
        return self._setups

    def investigation(self, target: Target, *, is_reference: bool, shrink_tries: int = SHRINK_TRIES) -> Investigation:
        """Return the investigation of suspicions about a target."""
        reference = None if is_reference else self.reference()
        return Investigation(
            target, reference, self.oracles, self.cases, self.protocol_in, shrink_tries=shrink_tries
        )  # fmt: skip

    def campaign(
        self,
        target: Target,
        investigation: Investigation,
        limits: Limits,
        *,
        mutations: Sequence[Mutation] | None = None,
        known: frozenset[Bucket] = frozenset(),
        on_finding: Callable[[Finding], None] = lambda finding: None,
        on_progress: Callable[[Counts], None] = lambda counts: None,
        is_stopped: Callable[[], bool] = lambda: False,
        on_novel: Callable[[FuzzSequence], None] = lambda sequence: None,
    ) -> Campaign:
        """Return a run on a target; each finding is reported once it is confirmed and shrunk.

        `on_novel` takes each mutated sequence that showed something new.
        """
        numbers = count(1)

        def investigate(suspicion: Suspicion, sequence: FuzzSequence, before: tuple[FuzzSequence, ...]) -> bool:
            confirmed = investigation.confirm(suspicion, sequence, before)
            if confirmed is None:
                return False
            confirmed = self._with_session(confirmed)
            on_finding(Finding(next(numbers), self.protocol, target.name, self.seed, confirmed))
            return True

        return Campaign(
            target=target,
            oracles=self.oracles,
            seeds=self.seeds,
            cases=self.cases,
            mutations=all_mutations(self.protocol) if mutations is None else mutations,
            context=self.context,
            novelty=(Novelty if self.coverage is None else BranchNovelty)(self.protocol_in("").exchanges),
            rng=random.Random(self.seed),
            limits=limits,
            investigate=investigate,
            on_progress=on_progress,
            is_stopped=is_stopped,
            on_novel=on_novel,
            batch=target.batch,
            known=set(known),
        )

    def _with_session(self, confirmed: Confirmed) -> Confirmed:
        """Return a finding of a conformance case with the session of the case, if it has none and that was kept."""
        if confirmed.case is None or confirmed.sequence.steps:
            return confirmed
        return replace(confirmed, sequence=self.other_sessions.get(confirmed.case.id, confirmed.sequence))


class CaseSessions(NamedTuple):
    """The conformance cases that the built-in mock passes, their sessions, and what it shows in them."""

    cases: list[Case]
    #: Those that a run starts from, and the others, by the id of the case; not those above `CASE_BYTES_MAX`.
    seeds: list[FuzzSequence]
    others: dict[str, FuzzSequence]
    shown: Oracles


@cache
def case_sessions(protocol: str, seed: int) -> CaseSessions:
    """Return the sessions of the conformance cases: the same in every run with a seed."""
    session, made = FuzzSession(protocol, seed), CaseSessions([], [], {}, Oracles())
    reference = session.reference()
    for case, sequence in case_sequences(session.part, seed=seed):
        made.cases.append(case)
        for outcome in reference.run_fresh([sequence]):
            made.shown.allow(outcome)
        if sequence.sendings and sequence.size_bytes <= SEED_BYTES_MAX:
            made.seeds.append(sequence)
        elif sequence.size_bytes <= CASE_BYTES_MAX:
            made.others[case.id] = sequence
    return made


def all_mutations(protocol: str) -> tuple[Mutation, ...]:
    """Return the mutations of every protocol, and those of this one."""
    return (*MUTATIONS, *fuzz_part_of(protocol).mutations)
