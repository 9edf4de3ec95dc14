"""A caller that runs many sequences against one server, several at the same time."""

from collections import deque
from collections.abc import Callable, Sequence

from wiretool.fuzz.sequences.run import Outcome, SequenceRun
from wiretool.fuzz.sequences.sequence import FuzzSequence
from wiretool.net.calling.caller import Act, Caller, Dial


class FuzzCaller(Caller):
    """Runs sequences; `make_run` begins one."""

    def __init__(
        self, sequences: Sequence[FuzzSequence], make_run: Callable[[FuzzSequence], SequenceRun], *, jobs: int
    ) -> None:
        self._waiting = deque(enumerate(sequences))
        self._make_run = make_run
        self._jobs = jobs
        self._running: dict[int, SequenceRun] = {}
        self._owners: dict[int, int] = {}
        #: Runs with a wake-up time; most have none when they only wait for a reply that comes at once.
        self.outcomes: dict[int, Outcome] = {}
        #: Sequences whose first connection was refused or reset, one after the other.
        self.refused = 0

    def start(self, now_ns: int) -> list[Act]:
        return self._fill(now_ns)

    def opened(self, connection: int, now_ns: int) -> list[Act]:
        return self._step(connection, lambda run: run.opened(connection, now_ns), now_ns)

    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        return self._step(connection, lambda run: run.received(connection, data, now_ns), now_ns)

    def ended(self, connection: int, now_ns: int) -> list[Act]:
        return self._step(connection, lambda run: run.ended(connection, now_ns), now_ns)

    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        return self._step(connection, lambda run: run.lost(connection, why, now_ns), now_ns)

    def woken(self, now_ns: int) -> list[Act]:
        acts: list[Act] = []
        for index, run in list(self._running.items()):
            if run.wake_ns is not None and run.wake_ns <= now_ns:
                acts += self._noted(index, run.woken(now_ns))
        return acts + self._fill(now_ns)

    def stop(self) -> None:
        """Keep the outcomes of the runs under way."""
        for index, run in self._running.items():
            self.outcomes[index] = run.outcome
        self._running.clear()
        self._waiting.clear()

    def _step(self, connection: int, act: Callable[[SequenceRun], list[Act]], now_ns: int) -> list[Act]:
        index = self._owners.get(connection, -1)
        run = self._running.get(index)
        if run is None:
            return []
        acts = self._noted(index, act(run))
        if run.is_over:
            return acts + self._fill(now_ns)
        if run.wake_ns is not None and (self.wake_ns is None or run.wake_ns < self.wake_ns):
            self.wake_ns = run.wake_ns
        return acts

    def _noted(self, index: int, acts: list[Act]) -> list[Act]:
        """Note the connections that a run opens, and its end."""
        for act in acts:
            if isinstance(act, Dial):
                self._owners[act.connection] = index
        run = self._running[index]
        if run.is_over:
            del self._running[index]
            self.outcomes[index] = run.outcome
            self.refused = self.refused + 1 if run.outcome.refused else 0
        return acts

    def _fill(self, now_ns: int) -> list[Act]:
        acts: list[Act] = []
        while self._waiting and len(self._running) < self._jobs:
            index, sequence = self._waiting.popleft()
            run = self._running[index] = self._make_run(sequence)
            acts += self._noted(index, run.start(now_ns))
        self._set_wake()
        self.is_over = not self._running and not self._waiting
        return acts

    def _set_wake(self) -> None:
        self.wake_ns = min((run.wake_ns for run in self._running.values() if run.wake_ns is not None), default=None)
