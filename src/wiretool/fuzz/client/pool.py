"""Runs of a client side by side: each in a process of its own, which stops all that its client has started."""

import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self

from wiretool.errors import PeerError, WiretoolError
from wiretool.fuzz.client.client_run import ClientOutcome, ClientSetup, run_plan
from wiretool.fuzz.client.reply_fault import Plan

#: Seconds for a worker to end.
END_S = 10.0


class RunPool:
    """Runs plans on several workers; with one job in this process. Used as a context."""

    def __init__(self, setup: ClientSetup, jobs: int) -> None:
        self._setup = setup
        self._jobs = jobs
        self._workers: list[tuple[BaseProcess, Connection]] = []

    def __enter__(self) -> Self:
        if self._jobs > 1:
            context = multiprocessing.get_context("spawn")
            for _ in range(self._jobs):
                ours, theirs = context.Pipe()
                process = context.Process(target=_work, args=(self._setup, theirs), daemon=True)
                process.start()
                theirs.close()
                self._workers.append((process, ours))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, connection in self._workers:
            connection.close()
        for process, _ in self._workers:
            process.join(END_S)
            if process.is_alive():
                process.kill()
        self._workers.clear()

    def run(self, next_plan: Callable[[int], Plan | None]) -> Iterator[ClientOutcome]:
        """Run plans as long as there are any; yield the outcomes as the runs end.

        `next_plan` takes the number of runs that are under way; None for no more plans. A worker that is done gets the
        next plan at once, so that a slow run does not hold up the others.
        """
        if not self._workers:
            while (plan := next_plan(0)) is not None:
                yield run_plan(self._setup, plan)
            return
        idle = [connection for _, connection in self._workers]
        busy: list[Connection] = []
        while True:
            while idle and (plan := next_plan(len(busy))) is not None:
                idle[-1].send(plan)
                busy.append(idle.pop())
            if not busy:
                return
            for ready in wait(busy):
                assert isinstance(ready, Connection)
                busy.remove(ready)
                idle.append(ready)
                yield _received(ready)


def _received(connection: Connection) -> ClientOutcome:
    """Return the outcome that a worker sends. PeerError where the worker ended, WiretoolError of its run."""
    try:
        result = connection.recv()
    except (EOFError, ConnectionError) as err:
        raise PeerError("a process that runs the client has ended; run with --jobs 1 to see why") from err
    if isinstance(result, WiretoolError):
        raise result
    assert isinstance(result, ClientOutcome)
    return result


def _work(setup: ClientSetup, connection: Connection) -> None:
    """Run the plans that come, until the other end is closed or a signal stops a run."""
    stopped_by = None
    while stopped_by is None:
        try:
            plan = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            outcome = run_plan(setup, plan)
            stopped_by = outcome.stopped_by
            connection.send(outcome)
        except WiretoolError as err:
            connection.send(err)
