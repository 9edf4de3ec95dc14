"""The built-in mock in memory as a target: no sockets, and a counted clock, so that waiting costs nothing."""

import gc
import signal
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import ParamSpec, Protocol

from wiretool.codec.message import Side
from wiretool.conformance.active.in_memory import CLIENT_PORTS, FIRST_CLIENT_PORT, LOOPBACK, START_NS
from wiretool.errors import UsageError
from wiretool.fuzz.garbage import earlier_frozen
from wiretool.fuzz.sequences.run import Outcome, SequenceRun
from wiretool.net.calling.caller import Abort, Act, Dial, Finish, Send
from wiretool.server.mock import Action, Close, Mock

#: Processor time of one call of the mock after which it has stalled.
STALL_S = 2.0
#: Memory that is still held after a run from which on garbage is collected before it counts.
COLLECTED_BYTES = 64 * 1024
#: Wall time of a call of the mock from which on the processor time of its run is read, which is a system call.
LONG_CALL_S = 0.05
STATUS_FILE = Path("/proc/self/status")


P = ParamSpec("P")


class MockStalls(Exception):
    """One call of the mock takes too long."""


class SessionRecorder(Protocol):
    """Takes the bytes of both sides; a recording in a file is one. Times are ns since 1970."""

    def opened(self, connection: int, client: tuple[str, int], server: tuple[str, int], now_ns: int) -> None: ...
    def sent(self, connection: int, side: Side, data: bytes, now_ns: int) -> None: ...
    def finished(self, connection: int, side: Side, now_ns: int) -> None: ...


class MemoryTarget:
    """Runs sequences against one mock; `reset` begins again with a fresh one."""

    def __init__(self, make_mock: Callable[[], Mock]) -> None:
        self._make_mock = make_mock
        self.now_ns = START_NS
        self.reset()

    def reset(self) -> None:
        """Replace the mock by a fresh one."""
        self.mock = self._make_mock()
        self._endpoints = {"", *(door.name for door in self.mock.doors)}
        for door in self.mock.doors:
            self.mock.bound(door.name, "127.0.0.1", door.port)

    def run(
        self,
        run: SequenceRun,
        recording: SessionRecorder | None = None,
        *,
        stall_s: float | None = None,
        is_measured: bool = False,
    ) -> Outcome:
        """Carry out a sequence. An exception of the mock is in the outcome; the mock is not usable after it.

        `stall_s` is the time in which it has to end, STALL_S for None. `is_measured`: memory is measured, which slows
        the run down. UsageError for a sequence with an endpoint that the mock does not have.
        """
        missing = run.sequence.endpoints - self._endpoints
        if missing:
            raise UsageError(f"the mock has no endpoint {', '.join(sorted(missing))}; expected another setup")
        stage = _Stage(self.mock, run, self.now_ns, recording)
        started = time.process_time()
        try:
            with measured(run.outcome) if is_measured else nullcontext(), alarm(stall_s):
                stage.play()
        except Exception as err:  # noqa: BLE001  (any exception of the mock is a finding)
            run.outcome.error = err
        self.now_ns = stage.now_ns + 1_000_000
        if stage.slowest_s > LONG_CALL_S:  # the wall time of a call counts at most as the processor time of the run
            stage.slowest_s = min(stage.slowest_s, time.process_time() - started)
        run.outcome.slowest_s, run.outcome.slowest_step = stage.slowest_s, stage.slowest_step
        return run.outcome


class _Stage:
    """Joins one run and the mock."""

    def __init__(self, mock: Mock, run: SequenceRun, now_ns: int, recording: SessionRecorder | None) -> None:
        self._mock = mock
        self._run = run
        self.now_ns = now_ns
        self._acts: deque[Act] = deque()
        self._open: set[int] = set()
        self._ended: set[int] = set()
        self._recording = recording
        self.slowest_s = 0.0
        self.slowest_step = 0

    def play(self) -> None:
        """Run to the end of the sequence, and let the mock forget its connections."""
        self._carry_out(self._run.start(self.now_ns))
        while not self._run.is_over:
            wakes = [wake for wake in (self._run.wake_ns, self._mock.wake_ns) if wake is not None]
            assert wakes, "the sequence waits for something that cannot happen"
            self.now_ns = max(min(wakes), self.now_ns)
            if self._mock.wake_ns is not None and self._mock.wake_ns <= self.now_ns:
                self._answer(self._timed(self._mock.woken, self.now_ns))
            if not self._run.is_over and self._run.wake_ns is not None and self._run.wake_ns <= self.now_ns:
                self._carry_out(self._run.woken(self.now_ns))
        if self._run.sequence.stays_open:
            return
        for number in list(self._open):
            self._timed(self._mock.lost, number, self.now_ns)

    def _carry_out(self, acts: Iterable[Act]) -> None:
        is_first = not self._acts
        self._acts.extend(acts)
        if not is_first:
            return
        while self._acts:
            self._act(self._acts[0])
            self._acts.popleft()

    def _act(self, act: Act) -> None:
        number = act.connection
        if isinstance(act, Send):
            if number in self._open and number not in self._ended:
                if self._recording is not None:
                    self._recording.sent(number, "client", act.data, self.now_ns)
                self._answer(self._timed(self._mock.received, number, act.data, self.now_ns))
        elif isinstance(act, Dial):
            door = next(each for each in self._mock.doors if act.door in ("", each.name))
            self._open.add(number)
            if self._recording is not None:
                client = (LOOPBACK, FIRST_CLIENT_PORT + number % CLIENT_PORTS)
                self._recording.opened(number, client, (LOOPBACK, door.port), self.now_ns)
            actions = self._timed(self._mock.opened, number, door.name, self.now_ns)
            self._carry_out(self._run.opened(number, self.now_ns))
            self._answer(actions)
        elif isinstance(act, Finish):
            if number in self._open and number not in self._ended:
                if self._recording is not None:
                    self._recording.finished(number, "client", self.now_ns)
                self._answer(self._timed(self._mock.ended, number, self.now_ns))
        elif isinstance(act, Abort) and number in self._open:
            self._open.discard(number)
            self._answer(self._timed(self._mock.lost, number, self.now_ns))

    def _answer(self, actions: Collection[Action]) -> None:
        if not actions:
            return
        sent: dict[int, list[bytes]] = {}
        for action in actions:
            number = action.connection
            if number not in self._open or number in self._ended:
                continue
            if isinstance(action, Close):
                self._deliver(sent)
                self._ended.add(number)
                if self._recording is not None:
                    self._recording.finished(number, "server", self.now_ns)
                self._carry_out(self._run.ended(number, self.now_ns))
            else:
                sent.setdefault(number, []).append(action.data)
        for number in self._deliver(sent):
            if number in self._open and (more := self._mock.drained(number, self.now_ns)):
                self._answer(more)

    def _deliver(self, sent: dict[int, list[bytes]]) -> list[int]:
        """Hand over the bytes that were sent so far, all bytes of a connection at once."""
        numbers = list(sent)
        for number in numbers:
            parts = sent.pop(number)
            data = parts[0] if len(parts) == 1 else b"".join(parts)
            if self._recording is not None:
                self._recording.sent(number, "server", data, self.now_ns)
            self._carry_out(self._run.received(number, data, self.now_ns))
        return numbers

    def _timed(self, call: Callable[P, list[Action]], *arguments: P.args, **named: P.kwargs) -> list[Action]:
        started = time.perf_counter()
        actions = call(*arguments, **named)
        took = time.perf_counter() - started
        if took > self.slowest_s:
            self.slowest_s, self.slowest_step = took, self._run.outcome.last_step
        return actions


def peak_address_space() -> int:
    """Return the most bytes of address space that this process ever had; 0 where the system does not report it."""
    try:
        status = STATUS_FILE.read_bytes()
    except OSError:
        return 0  # not Linux: only the runs that are measured show memory
    _, _, rest = status.partition(b"VmPeak:")
    return int(rest.split(None, 1)[0]) * 1024 if rest else 0


@contextmanager
def measured(outcome: Outcome) -> Iterator[None]:
    """Note the memory that is taken in a block: the bytes still held at its end, and the most bytes at one time."""
    with allocations_traced():
        begin = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with earlier_frozen():  # earlier objects are not searched for garbage: only that of this block counts
            try:
                yield
            finally:
                held, peak = tracemalloc.get_traced_memory()
                if held - begin > COLLECTED_BYTES:
                    gc.collect()
                    held = tracemalloc.get_traced_memory()[0]
                outcome.grown_bytes, outcome.peak_bytes = held - begin, peak - begin


@contextmanager
def allocations_traced() -> Iterator[None]:
    """Trace allocations for the time of a block, where they are not traced yet.

    Python 3.11 keeps some 8 kB of each start and end of it, so many measured runs share one.
    """
    if tracemalloc.is_tracing():
        yield
        return
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


@contextmanager
def alarm(seconds: float | None = None) -> Iterator[None]:
    """Raise MockStalls in the code under test once it took some processor time, STALL_S for None.

    Garbage is collected before and after the block, not in it: a collection of the whole heap would count as the code's
    own time, and what is raised in a callback of the collector is lost.
    """
    limit_s = STALL_S if seconds is None else min(seconds, STALL_S)

    def ring(number: int, frame: FrameType | None) -> None:
        raise MockStalls(f"no return in {limit_s:g} s")

    was_collecting = gc.isenabled()
    gc.disable()
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, limit_s, limit_s)  # again and again: what rings in a finalizer is lost
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        if was_collecting:
            gc.enable()
