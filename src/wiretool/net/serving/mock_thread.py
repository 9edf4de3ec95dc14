"""A mock server on an event loop in a thread of its own, for callers that block."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from wiretool.errors import PeerError
from wiretool.faults import Interceptor, Rule, parse_rule
from wiretool.net.addresses import Address
from wiretool.net.loops import loop_factory
from wiretool.net.serving.host import Host
from wiretool.server.mock import Mock
from wiretool.sinks.pcapng import open_recording

T = TypeVar("T")
#: Seconds for one call on the loop; each takes microseconds, and the last one a second at most.
CALL_S = 30.0
#: Rounds of the loop after which bytes that had arrived are handled: sockets are read once in each.
SYNC_ROUNDS = 3


class RuleCounts(NamedTuple):
    """The figures of a fault rule: how often its condition was true, it acted, and it could not act, and why last."""

    matches: int
    hits: int
    failures: int
    why: str


class MockThread:
    """A mock that listens from the start until `stop`; its methods may be called by any other thread."""

    def __init__(
        self,
        mock: Mock,
        listens: Mapping[str, Address],
        *,
        rules: Sequence[Rule] = (),
        seed: int = 0,
        record: Path,
    ) -> None:
        """PeerError where an address cannot be bound, UsageError where the recording cannot be written."""
        #: Lines of the log, and exceptions that were not caught.
        self.log: list[str] = []
        self._errors: list[BaseException] = []
        self._host = Host(mock, self.log.append)
        self._host.interceptor = Interceptor(rules, seed=seed, on_note=self.log.append, is_watching=True)
        self._loop = loop_factory()()
        self._loop.set_exception_handler(self._note_error)
        self._thread = Thread(target=self._loop.run_forever, name=f"mock of {mock.doors[0].protocol}", daemon=True)
        with ExitStack() as stack:
            stack.callback(self._close_loop)
            recording = self._host.recording = stack.enter_context(open_recording(record))
            recording.begin()
            self._thread.start()
            stack.callback(self._stop_host)
            self.addresses = self._run(self._listen(listens))
            self._open = stack.pop_all()

    async def _listen(self, listens: Mapping[str, Address]) -> dict[str, Address]:
        return {door: await self._host.listen(door, address, None) for door, address in listens.items()}

    def _note_error(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        self._errors.append(context.get("exception") or RuntimeError(context["message"]))

    # -- fault rules and operations --------------------------------------------------------------------------------

    def add_rule(self, text: str) -> int:
        """Put a fault rule in force and return its number. UsageError for a bad one."""
        rule = parse_rule(text, protocols=self._host.protocols)
        return self._call(lambda: self._host.faults.add(rule))

    def remove_rule(self, number: int) -> None:
        """Take a fault rule out of force. UsageError where there is none of that number."""

        def remove() -> None:
            self._host.faults.remove(number)
            self._host.wake()

        self._call(remove)

    def count_rules(self) -> dict[int, RuleCounts]:
        """Return the figures of each rule in force, by its number."""
        return self._call(
            lambda: {
                number: RuleCounts(each.matches, each.hits, each.failures, each.why)
                for number, each in self._host.faults.standings.items()
            }
        )

    def operate(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Change the state of the mock from outside its protocol. UsageError for an unknown operation."""
        return self._call(lambda: self._host.operate(name, arguments))

    def restart(self) -> None:
        """Reset every connection and forget all state."""
        self._call(self._host.restart)

    def synchronize(self) -> None:
        """Return after the mock has handled and recorded all bytes that have arrived by now."""
        self._run(self._pass_rounds())

    async def _pass_rounds(self) -> None:
        for _ in range(SYNC_ROUNDS):
            await asyncio.sleep(0)

    # -- the loop --------------------------------------------------------------------------------------------------

    def _call(self, function: Callable[[], T]) -> T:
        async def called() -> T:
            return function()

        return self._run(called())

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine that runs on the loop. PeerError where that takes too long."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(CALL_S)
        except TimeoutError as err:
            future.cancel()
            raise PeerError(f"the mock server has not answered within {CALL_S:g} s") from err

    def stop(self) -> None:
        """Close all connections and end the thread. Raise the first exception that the mock has not handled."""
        self._open.close()
        if self._host.failure is not None:
            raise self._host.failure
        for error in self._errors:
            raise error

    def _stop_host(self) -> None:
        try:
            self._run(self._host.stop())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CALL_S)

    def _close_loop(self) -> None:
        if not self._thread.is_alive():
            self._loop.close()
