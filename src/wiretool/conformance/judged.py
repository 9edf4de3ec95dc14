"""A run with the gate applied: which results are findings, and whether the run succeeds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import shorten

from wiretool.conformance.expectations import ChangedFailure, ExpectedFailures
from wiretool.conformance.levels import Verdict
from wiretool.conformance.results import CaseResult, RunResult

#: Verdicts that are evidence about the peer.
_EVIDENCE = frozenset((Verdict.PASS, Verdict.FAIL, Verdict.LENIENT, Verdict.UNSUPPORTED))
#: Characters of a target in the summary; a command line can be longer.
TARGET_MAX = 80


@dataclass(frozen=True)
class JudgedRun:
    """The results of a run and what they mean for a gate."""

    run: RunResult
    allows_lenient: bool = False
    expected: ExpectedFailures = field(default_factory=lambda: ExpectedFailures({}))

    def reason(self, result: CaseResult) -> str | None:
        """Return why a failure is expected; None where it is not."""
        return self.expected.reason(result)

    def is_finding(self, result: CaseResult) -> bool:
        """Return whether a result makes the run fail. What was not exercised is no evidence either way."""
        if result.verdict in (Verdict.PASS, Verdict.NOT_EXERCISED):
            return False
        if result.verdict is Verdict.LENIENT and self.allows_lenient:
            return False
        return self.reason(result) is None

    @cached_property
    def findings(self) -> Sequence[CaseResult]:
        """The results that make the run fail."""
        return [result for result in self.run.results if self.is_finding(result)]

    @cached_property
    def changed_failures(self) -> Sequence[ChangedFailure]:
        """Expected failures that the run no longer shows."""
        return self.expected.changes(self.run.results)

    @property
    def changes(self) -> Sequence[str]:
        """Expected failures that the run no longer shows, in words."""
        return [change.text for change in self.changed_failures]

    @property
    def is_success(self) -> bool:
        """Return whether every selected case that was exercised is fine, any was, and the run is whole."""
        has_evidence = any(result.verdict in _EVIDENCE for result in self.run.results)
        is_whole = self.run.stopped_by is None and not self.run.is_bad_input
        return has_evidence and is_whole and not self.findings and not self.changes

    @property
    def headline(self) -> str:
        """The figures of the run in one line."""
        run = self.run
        counts = ", ".join(f"{count} {verdict}" for verdict, count in run.summary.items() if count)
        known = sum(self.reason(result) is not None for result in run.results)
        also = f" ({known} expected)" if known else ""
        target = shorten(run.target, TARGET_MAX, placeholder=" …")
        cases = f"{len(run.results)} case{'s' * (len(run.results) != 1)}"
        cut = f"; {run.why_cut}" if run.why_cut else ""
        return f"{run.protocol} on {target}: {cases} in {run.seconds:.1f} s: {counts or 'none'}{also}{cut}"
