"""Ctrl-C belongs to a loop while it runs, and to whom it belonged before once it is over."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from wiretool.net.loops import loop_factory
from wiretool.net.signals import on_stop
from wiretool.processes import STOP_SIGNALS

DEADLINE_S = 20


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_goes_to_the_loop_and_afterwards_to_whom_it_went_before(number: signal.Signals) -> None:
    before: list[int] = []
    signal.signal(number, lambda number, frame: before.append(number))

    async def stopped_by_it() -> None:
        stopped = asyncio.Event()
        with on_stop(stopped.set) as came:
            signal.raise_signal(number)
            await asyncio.wait_for(stopped.wait(), DEADLINE_S)
        assert came == [number]

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(stopped_by_it())
    assert before == []
    signal.raise_signal(number)
    assert before == [number]


def test_a_hangup_that_is_ignored_stays_so() -> None:
    """As nohup arranges it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def not_stopped() -> None:
        stopped = asyncio.Event()
        with on_stop(stopped.set) as came:
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGTERM)
            await asyncio.wait_for(stopped.wait(), DEADLINE_S)
        assert came == [signal.SIGTERM]

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(not_stopped())
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
