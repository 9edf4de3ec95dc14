"""From a suspicion to a finding: does it happen on a fresh server, is it expected, which is the shortest sequence."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from wiretool.conformance.case import Case
from wiretool.conformance.levels import Verdict
from wiretool.faults.adapter import fault_adapter_of
from wiretool.fuzz.mutations.order import relabelled
from wiretool.fuzz.oracles import DIED, MEMORY, SILENT, STALL, UNHEALTHY, WRONG_ANSWER, Bucket, Oracles, Suspicion
from wiretool.fuzz.sequences.rewriting import Rewriter
from wiretool.fuzz.sequences.sequence import FuzzSequence
from wiretool.fuzz.sequences.shrink import Shrinker
from wiretool.fuzz.targets.base import Target
from wiretool.protocols.base.protocol import Protocol

#: Runs on a fresh server by which a finding is confirmed.
CONFIRMATIONS = 3
#: Runs that shrinking may take.
SHRINK_TRIES = 400
#: While a sequence is shrunk, a server in memory has stalled sooner; the confirmation has the usual time again.
SHRINK_STALL_S = 0.4
#: Oracles whose suspicions the reference server may show as well.
COMPARED = frozenset({MEMORY, SILENT, WRONG_ANSWER, UNHEALTHY})


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A finding: the shortest sequence, and how many runs of it showed the bug."""

    suspicion: Suspicion
    sequence: FuzzSequence
    shown: int
    #: The conformance case that fails, where one does.
    case: Case | None = None
    #: Why no run could confirm it; empty where one did.
    why_unconfirmed: str = ""

    @property
    def is_flaky(self) -> bool:
        """True where some runs on a fresh server did not show it."""
        return self.shown < CONFIRMATIONS


class Investigation:
    """Confirms and shrinks suspicions on fresh servers."""

    def __init__(
        self,
        target: Target,
        reference: Target | None,
        oracles: Oracles,
        cases: Sequence[Case],
        protocol_in: Callable[[str], Protocol],
        *,
        shrink_tries: int = SHRINK_TRIES,
    ) -> None:
        """`reference` is the built-in mock; None where it is the target itself."""
        self._target = target
        self._reference = reference
        self._oracles = oracles
        self._cases = {case.id: case for case in cases}
        self._protocol_in = protocol_in
        self._shrink_tries = shrink_tries

    def confirm(
        self, suspicion: Suspicion, sequence: FuzzSequence, before: tuple[FuzzSequence, ...]
    ) -> Confirmed | None:
        """Return the finding; None where it does not happen again, or where the reference server does the same.

        Where the server is gone for good, nothing can happen again: that is a finding with all sequences before it.
        """
        if not self._target.why_gone:
            confirmed = self._confirm(suspicion, sequence, before)
            if not self._target.why_gone:
                return confirmed
        if suspicion.bucket.oracle != DIED:
            return None
        return Confirmed(suspicion, joined((*before, sequence)), 0, why_unconfirmed=self._target.why_gone)

    def _confirm(
        self, suspicion: Suspicion, sequence: FuzzSequence, before: tuple[FuzzSequence, ...]
    ) -> Confirmed | None:
        """Confirm and shrink; the result means nothing where the server goes away meanwhile."""
        bucket = suspicion.bucket
        case = self._cases.get(suspicion.case)
        if case is not None and bucket.oracle == WRONG_ANSWER:
            shown = sum(self._fails_case(self._target, case, ()) for _ in range(CONFIRMATIONS))
            return Confirmed(suspicion, sequence, shown, case) if shown else None
        if case is not None:
            return self._confirm_unhealthy(suspicion, sequence, before, case)
        for candidate in _candidates(sequence, before):
            if not self.shows(candidate, bucket):
                continue
            if self._is_expected(candidate, bucket):
                return None
            shrunk = self._shrunk(candidate, bucket, lambda each: self.shows(each, bucket))
            shown = sum(self.shows(shrunk, bucket) for _ in range(CONFIRMATIONS))
            return Confirmed(self._again(shrunk, suspicion), shrunk, shown) if shown else None
        return None

    def shows(self, sequence: FuzzSequence, bucket: Bucket) -> bool:
        """Return whether a run on a fresh server falls into a bucket."""
        return self._shows_on(self._target, sequence, bucket)

    def _shows_on(self, target: Target, sequence: FuzzSequence, bucket: Bucket) -> bool:
        outcomes = target.run_fresh([sequence], is_measured=bucket.oracle == MEMORY)
        return any(each.bucket == bucket for outcome in outcomes for each in self._oracles.judge(outcome))

    def _again(self, sequence: FuzzSequence, suspicion: Suspicion) -> Suspicion:
        """Return the suspicion as the shrunk sequence shows it."""
        is_measured = suspicion.bucket.oracle == MEMORY
        for outcome in self._target.run_fresh([sequence], is_measured=is_measured):
            for each in self._oracles.judge(outcome):
                if each.bucket == suspicion.bucket:
                    return each
        return suspicion

    def _is_expected(self, sequence: FuzzSequence, bucket: Bucket) -> bool:
        """Return whether the reference server shows the same; where that is the target, only a stall is unexpected."""
        if bucket.oracle not in COMPARED:
            return False
        if self._reference is None:
            return bucket.reply != STALL
        return self._shows_on(self._reference, sequence, bucket)

    def _confirm_unhealthy(
        self, suspicion: Suspicion, sequence: FuzzSequence, before: tuple[FuzzSequence, ...], case: Case
    ) -> Confirmed | None:
        """Find the sequences after which a case fails that passes on a fresh server."""
        if self._fails_case(self._target, case, ()):
            return None  # it needs no sequence: running the cases reports it

        def breaks(each: FuzzSequence) -> bool:
            return self._fails_case(self._target, case, (each,))

        every = joined((*before, sequence))
        if self._reference is None or self._fails_case(self._reference, case, (*before, sequence)):
            return None
        candidate = next((each for each in (sequence, *reversed(before)) if breaks(each)), None)
        if candidate is None and breaks(every):
            candidate = every
        if candidate is None or self._fails_case(self._reference, case, (candidate,)):
            return None
        shrunk = self._shrunk(
            candidate,
            suspicion.bucket,
            lambda each: breaks(each) and not (self._reference and self._fails_case(self._reference, case, (each,))),
        )
        shown = sum(breaks(shrunk) for _ in range(CONFIRMATIONS))
        return Confirmed(suspicion, shrunk, shown, case) if shown else None

    @staticmethod
    def _fails_case(target: Target, case: Case, before: Sequence[FuzzSequence]) -> bool:
        return any(result.verdict is Verdict.FAIL for result in target.run_cases([case], before))

    def _shrunk(self, sequence: FuzzSequence, bucket: Bucket, fails: Callable[[FuzzSequence], bool]) -> FuzzSequence:
        protocol = self._protocol_in(sequence.setup)

        def is_unexpected(each: FuzzSequence) -> bool:
            return fails(each) and not (
                bucket.oracle in COMPARED
                and bucket.oracle != UNHEALTHY
                and self._reference is not None
                and self._shows_on(self._reference, each, bucket)
            )

        shrinker = Shrinker(is_unexpected, protocol, Rewriter(fault_adapter_of(protocol)), tries=self._shrink_tries)
        usual_s, self._target.stall_s = self._target.stall_s, SHRINK_STALL_S
        try:
            return shrinker.shrink(sequence)
        finally:
            self._target.stall_s = usual_s


def _candidates(sequence: FuzzSequence, before: tuple[FuzzSequence, ...]) -> Iterator[FuzzSequence]:
    """Yield a sequence alone, after each one of those before it, the last one first, and after all of them."""
    yield sequence
    yield from (joined((each, sequence)) for each in reversed(before))
    if len(before) > 1:
        yield joined((*before, sequence))


def joined(sequences: Sequence[FuzzSequence]) -> FuzzSequence:
    """Return several sequences as one, each with connections of its own."""
    whole = sequences[0]
    for each in sequences[1:]:
        steps = (*whole.steps, *relabelled(each, whole, is_same=False))
        stays_open = whole.stays_open or each.stays_open
        whole = replace(whole, steps=steps, origin=each.origin, stays_open=stays_open)
    return whole
