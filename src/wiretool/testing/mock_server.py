"""A mock server as a test sees it: its addresses, fault rules, received messages and recording."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from wiretool.errors import CaptureError, Unmet, UsageError, WiretoolError
from wiretool.net.addresses import Address
from wiretool.net.serving.mock_thread import RuleCounts
from wiretool.records import Record

T = TypeVar("T")
#: Seconds between two looks, and how often a recording that is being written is read again.
LOOK_S, TRIES = 0.005, 20


class RunningMock(Protocol):
    """A mock in a thread or in a process."""

    addresses: dict[str, Address]

    @property
    def log(self) -> list[str]: ...
    def add_rule(self, text: str) -> int: ...
    def remove_rule(self, number: int) -> None: ...
    def count_rules(self) -> dict[int, RuleCounts]: ...
    def operate(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]: ...
    def restart(self) -> None: ...
    def synchronize(self) -> None: ...
    def stop(self) -> None: ...


class FaultRule:
    """A fault rule in force."""

    def __init__(self, running: Callable[[], RunningMock], number: int, text: str) -> None:
        """`running` returns the mock that it is in force in. UsageError once that is stopped."""
        self._running = running
        self._number = number
        #: The rule in its one-line form.
        self.text = text

    def __repr__(self) -> str:
        return f"<fault rule {self.text!r}>"

    @property
    def counts(self) -> RuleCounts:
        """The figures of the rule so far. UsageError once it is removed."""
        found = self._running().count_rules().get(self._number)
        if found is None:
            raise UsageError(f"fault {self.text!r}: not in force any more")
        return found

    @property
    def hits(self) -> int:
        """The number of times that it acted."""
        return self.counts.hits

    def wait(self, count: int = 1, *, timeout_s: float = 5.0) -> None:
        """Wait until it has acted so often. Unmet where it has not in time."""
        __tracebackhide__ = True
        hits = wait_for(lambda: self.hits, lambda found: found >= count, timeout_s)
        if hits < count:
            raise Unmet(f"fault {self.text!r}: acted {hits} times within {timeout_s:g} s; expected {count}")

    def remove(self) -> None:
        """Take it out of force."""
        __tracebackhide__ = True
        shortened(lambda: self._running().remove_rule(self._number))


class MockServer:
    """A mock server that runs for one test.

    `address` and `controller` are pairs of host and port; as text they are `HOST:PORT`.
    """

    def __init__(
        self, protocol: str, mock: RunningMock, protocols: Mapping[str, str], recording: Path, rules: Mapping[int, str]
    ) -> None:
        """`protocols` are those of the endpoints, by name; `rules` are the fault rules from the start, by number."""
        #: The name of the protocol.
        self.protocol = protocol
        #: The path of the recording, which may lack the last message.
        self.path = recording
        #: The address of each endpoint by name, the main one first.
        self.addresses: Mapping[str, Address] = mock.addresses
        #: The fault rules from the start.
        self.faults = tuple(FaultRule(self._running, number, text) for number, text in rules.items())
        #: The fault rules from the start that were in force and never acted, once the server is stopped.
        self.unapplied: tuple[str, ...] = ()
        self._mock = mock
        self._protocols = protocols
        self._rules = rules
        self._is_stopped = False
        #: The records of the recording as it was when it had so many bytes.
        self._read_records: list[Record] = []
        self._read_bytes = 0

    def __repr__(self) -> str:
        return f"<mock server of {self.protocol} at {self.address}>"

    @property
    def address(self) -> Address:
        """The address of the main endpoint."""
        return next(iter(self.addresses.values()))

    @property
    def controller(self) -> Address:
        """The address of the controller. UsageError for a protocol without one."""
        __tracebackhide__ = True
        if "controller" not in self.addresses:
            raise UsageError(f"{self.protocol}: no endpoint is a controller; expected {', '.join(self.addresses)}")
        return self.addresses["controller"]

    @property
    def recording(self) -> Path:
        """The pcapng file with all traffic so far, as clients saw it: with the effects of fault rules."""
        if not self._is_stopped:
            self._mock.synchronize()
        return self.path

    @property
    def ports(self) -> dict[int, str]:
        """The protocol at each port."""
        return {address.port: self._protocols[name] for name, address in self.addresses.items()}

    def fault(self, rule: str) -> FaultRule:
        """Put a fault rule in force, for bytes that arrive from now on. UsageError for a bad rule."""
        __tracebackhide__ = True
        from wiretool.faults import parse_rule

        if not isinstance(rule, str):
            raise UsageError(f"fault {rule!r}: expected the text of a rule")
        try:
            parse_rule(rule, protocols=list(self._protocols.values()))
            return FaultRule(self._running, self._running().add_rule(rule), rule)
        except WiretoolError as err:
            raise err.with_traceback(None) from None  # a test shows its own line

    def received(self, where: str = "", *, count: int = 0, timeout_s: float = 5.0) -> list[Record]:
        """Return the messages of clients that match a filter expression, in order.

        Wait until there are `count`. Unmet where there are fewer after `timeout_s`, UsageError for a bad expression.
        """
        __tracebackhide__ = True
        return self._messages("client", where, count, timeout_s)

    def sent(self, where: str = "", *, count: int = 0, timeout_s: float = 5.0) -> list[Record]:
        """Return the messages of the server, as `received` those of clients."""
        __tracebackhide__ = True
        return self._messages("server", where, count, timeout_s)

    def _messages(self, side: str, where: str, count: int, timeout_s: float) -> list[Record]:
        __tracebackhide__ = True

        def find() -> list[Record]:
            __tracebackhide__ = True
            return [record for record in self._select(where) if record.kind == "frame" and record.side == side]

        found = wait_for(find, lambda found: len(found) >= count, timeout_s)
        if len(found) < count:
            which = f"messages of the {side}" + (f" where {where}" if where else "")
            raise Unmet(f"{len(found)} {which} within {timeout_s:g} s; expected {count}")
        return found

    def _select(self, where: str) -> list[Record]:
        """Return the records of the recording that match an expression."""
        from wiretool.filter import History, Selection, names_for
        from wiretool.protocols.base.registry import protocol_named

        names = names_for(map(protocol_named, dict.fromkeys(self._protocols.values())))
        __tracebackhide__ = True
        try:
            selection = Selection(names, History(), expression=where)
        except UsageError as err:
            raise err.with_traceback(None) from None
        return [record for record in self._records() if selection(record)]

    def _records(self) -> list[Record]:
        """Return all records of the recording. CaptureError where it is damaged.

        The last packet may be half written; then it is read again.
        """
        path = self.recording
        size = path.stat().st_size
        if size != self._read_bytes:
            self._read_records, self._read_bytes = self._read(path), size
        return self._read_records

    def _read(self, path: Path) -> list[Record]:
        from wiretool.dissect.dissector import read

        for _ in range(TRIES):
            try:
                return list(read(path, ports=self.ports))
            except CaptureError:
                time.sleep(LOOK_S)
        return list(read(path, ports=self.ports))

    def operate(self, name: str, **arguments: object) -> Mapping[str, Any]:
        """Change the state of the server from outside, as `wiretool control` does. UsageError if it cannot."""
        __tracebackhide__ = True
        return shortened(lambda: self._running().operate(name, arguments))

    def restart(self) -> None:
        """Reset every connection and forget all state, as a server that crashed."""
        __tracebackhide__ = True
        shortened(lambda: self._running().restart())

    def stop(self) -> None:
        """Close all connections. WiretoolError, or the exception of a plugin's mock, where the server has failed."""
        if self._is_stopped:
            return
        try:
            counts = self._mock.count_rules()
        except WiretoolError:  # it has failed already: to stop it raises why
            counts = {}
        self.unapplied = tuple(
            text for number, text in self._rules.items() if number in counts and not counts[number].hits
        )
        self._is_stopped = True
        self._mock.stop()

    @property
    def log(self) -> list[str]:
        """The lines that `wiretool serve` would have written to stderr."""
        return self._mock.log

    def _running(self) -> RunningMock:
        if self._is_stopped:
            raise UsageError(f"the mock server of {self.protocol} is stopped")
        return self._mock


def shortened(act: Callable[[], T]) -> T:
    """Return the result of an act; its error has no traceback of its own, so that a test shows its own line."""
    __tracebackhide__ = True
    try:
        return act()
    except WiretoolError as err:
        raise err.with_traceback(None) from None


def wait_for(look: Callable[[], T], is_enough: Callable[[T], bool], timeout_s: float) -> T:
    """Return the result of `look` once it is enough, or the last one before the timeout."""
    __tracebackhide__ = True
    give_up_s = time.monotonic() + timeout_s
    while not is_enough(found := look()) and time.monotonic() < give_up_s:
        time.sleep(LOOK_S)
    return found
