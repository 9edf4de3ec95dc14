"""An active run of many cases: a caller that has several of them under way at once."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from wiretool.conformance.active.case_run import NS_PER_S, CaseRun
from wiretool.conformance.active.reach_probe import CUT_CASES, ReachProbe
from wiretool.conformance.case import Case, Conformance, Verdict
from wiretool.conformance.results import CaseResult
from wiretool.net.calling.caller import Act, Caller, Dial

#: Tokens of cases in names: short, and fit for every protocol's names.
_TOKEN_BASE = 36
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
#: Why a case has no verdict.
STOPPED = "the run was stopped before its end"


class ConformanceCaller(Caller):
    """Runs cases against one server; `jobs` of them at the same time."""

    def __init__(
        self,
        cases: Sequence[Case],
        part: Conformance,
        *,
        token: str,
        patience_s: float,
        jobs: int = 1,
        deadline_s: float | None = None,
        spent_s: float = 0.0,
        numbers: Iterator[int] | None = None,
        on_result: Callable[[CaseResult], None] = lambda result: None,
        review: Callable[[CaseResult], CaseResult] = lambda result: result,
        probe_for: Callable[[Iterator[int]], ReachProbe] | None = None,
        explain_loss: Callable[[str], str] = lambda why: why,
    ) -> None:
        """`token` makes the names of this run different from those of all others; `spent_s` of the deadline are over.

        `review` may replace the result of a case before the next one begins. `probe_for` returns a probe that decides
        whether the run goes on after several cases whose connections were refused or reset. `explain_loss` takes the
        reason of such a probe, or nothing after a case, and returns why the target is gone; empty where it is not.
        """
        self._part = part
        self._waiting = deque(enumerate(cases))
        self._count = len(cases)
        self._token = token
        self._patience_ns = round(patience_s * NS_PER_S)
        self._jobs = jobs
        self._deadline_s = deadline_s
        self._spent_s = spent_s
        self._deadline_ns: int | None = None
        self._numbers = numbers or count(1)
        self._running: dict[int, CaseRun] = {}
        #: Which case a connection belongs to; connections outlive their case until they are closed.
        self._owners: dict[int, int] = {}
        self._on_result = on_result
        self._review = review
        self._probe_for = probe_for
        self._explain_loss = explain_loss
        self._probe: ReachProbe | None = None
        #: Consecutive cases whose connections were refused or reset.
        self._cut_cases = 0
        #: Why the target could no longer be reached, and the run ended; empty where it could.
        self.why_lost = ""
        #: True once the deadline has ended the run.
        self.is_late = False
        self.results: dict[int, CaseResult] = {}

    @property
    def progress(self) -> tuple[int, int]:
        return len(self.results), self._count

    def start(self, now_ns: int) -> list[Act]:
        if self._deadline_s is not None:
            self._deadline_ns = now_ns + round((self._deadline_s - self._spent_s) * NS_PER_S)
        return self._fill(now_ns)

    def opened(self, connection: int, now_ns: int) -> list[Act]:
        if (probe := self._probe_of(connection)) is not None:
            return self._after(probe.opened(connection, now_ns), now_ns)
        run = self._run_of(connection)
        return [] if run is None else self._after(run.opened(connection, now_ns), now_ns)

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        if (probe := self._probe_of(connection)) is not None:
            return self._after(probe.received(connection, data, now_ns), now_ns)
        run = self._run_of(connection)
        return [] if run is None else self._after(run.received(connection, data, now_ns), now_ns)

    def ended(self, connection: int, now_ns: int) -> list[Act]:
        if (probe := self._probe_of(connection)) is not None:
            return self._after(probe.ended(connection, now_ns), now_ns)
        run = self._run_of(connection)
        return [] if run is None else self._after(run.ended(connection, "(connection closed)", now_ns), now_ns)

    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        if (probe := self._probe_of(connection)) is not None:
            return self._after(probe.lost(connection, why, now_ns), now_ns)
        run = self._run_of(connection)
        return [] if run is None else self._after(run.lost(connection, why, now_ns), now_ns)

    def woken(self, now_ns: int) -> list[Act]:
        if self._deadline_ns is not None and now_ns >= self._deadline_ns:
            self.is_late = True
            return self._expire(deadline_reason(self._deadline_s or 0.0), now_ns)
        acts: list[Act] = []
        if self._probe is not None and self._probe.wake_ns is not None and self._probe.wake_ns <= now_ns:
            acts += self._probe.woken(now_ns)
        for run in list(self._running.values()):
            if run.wake_ns is not None and run.wake_ns <= now_ns:
                acts += run.woken(now_ns)
        return self._after(acts, now_ns)

    # -- cases ---------------------------------------------------------------------------------------------------------

    def _run_of(self, connection: int) -> CaseRun | None:
        return self._running.get(self._owners.get(connection, -1))

    def _probe_of(self, connection: int) -> ReachProbe | None:
        return self._probe if self._probe is not None and self._probe.has(connection) else None

    def _after(self, acts: list[Act], now_ns: int) -> list[Act]:
        """Collect the cases that have ended, begin others, and set the next wake-up."""
        for index, run in list(self._running.items()):
            dialled = (act.connection for act in acts if isinstance(act, Dial))
            self._owners |= {connection: index for connection in dialled if run.has(connection)}
            if run.result is not None:
                del self._running[index]
                is_own = self._keep(index, run.result)
                self._cut_cases = self._cut_cases + 1 if run.is_cut and is_own else 0
                self.why_lost = self.why_lost or self._explain_loss("")
        if self._probe is not None and self._probe.is_over:
            self.why_lost, self._probe = self._explain_loss(self._probe.why), None
        if self.why_lost:
            return acts + self._expire(loss_reason(self.why_lost), now_ns)
        return acts + self._probe_after_cuts(now_ns) + self._fill(now_ns)

    def _probe_after_cuts(self, now_ns: int) -> list[Act]:
        """Probe the target where several cases in a row were cut off; no other case begins meanwhile."""
        if self._probe_for is None or self._cut_cases < CUT_CASES or self._probe is not None:
            return []
        self._cut_cases = 0
        self._probe = self._probe_for(self._numbers)
        return self._probe.start(now_ns)

    def _fill(self, now_ns: int) -> list[Act]:
        acts: list[Act] = []
        while self._waiting and len(self._running) < self._jobs and self._probe is None:
            index, case = self._waiting.popleft()
            run = CaseRun(
                case,
                self._part,
                self._part.protocol_in(case.variant),
                token=f"{self._token}{base_36(index)}",
                numbers=self._numbers,
                patience_ns=self._patience_ns,
            )
            self._running[index] = run
            begun = run.start(now_ns)
            self._owners |= {act.connection: index for act in begun if isinstance(act, Dial)}
            acts += begun
        self._set_wake()
        self.is_over = not self._running and not self._waiting
        return acts

    def _keep(self, index: int, result: CaseResult) -> bool:
        """Keep the result of a case as it is reviewed. Return whether the review left it as it was."""
        self.results[index] = final = self._review(result)
        self._on_result(final)
        return final is result

    def _expire(self, why: str, now_ns: int) -> list[Act]:
        """End the run before its last case: cases that have not ended, or not begun, get no verdict of their own."""
        acts: list[Act] = []
        for index, run in self._running.items():
            acts += run.stop(why, now_ns)
            assert run.result is not None
            self._keep(index, run.result)
        for index, case in self._waiting:
            self._keep(index, CaseResult(case, Verdict.ERROR, why))
        self._running.clear()
        self._waiting.clear()
        self.is_over, self.wake_ns = True, None
        return acts

    def stop(self) -> None:
        """End the cases under way without a verdict: the server did not close what the user closed."""
        self.results |= {index: CaseResult(run.case, Verdict.ERROR, STOPPED) for index, run in self._running.items()}
        self._running.clear()
        self._waiting.clear()

    def _set_wake(self) -> None:
        wakes = [run.wake_ns for run in self._running.values() if run.wake_ns is not None]
        if self._probe is not None and self._probe.wake_ns is not None:
            wakes.append(self._probe.wake_ns)
        if self._deadline_ns is not None:
            wakes.append(self._deadline_ns)
        self.wake_ns = min(wakes, default=None)


def loss_reason(why: str) -> str:
    """Return why a case that was left when the target was gone has no verdict."""
    return f"the target became unreachable: {why}"


def deadline_reason(deadline_s: float) -> str:
    """Return why a case that its deadline cut off has no verdict."""
    return f"the run reached its deadline of {deadline_s:g} s"


def base_36(number: int) -> str:
    """Return a number in digits and small letters, two at least."""
    text = ""
    while number:
        number, digit = divmod(number, _TOKEN_BASE)
        text = _DIGITS[digit] + text
    return text.rjust(2, "0")
