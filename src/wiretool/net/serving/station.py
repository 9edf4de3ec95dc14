"""What a host and a tap have in common: listening sockets, room for connections, a recording, an alarm, an end."""

import asyncio
import itertools
import ssl
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wiretool import limits
from wiretool.codec.message import SIDES, Side
from wiretool.errors import PeerError, WiretoolError
from wiretool.faults import Interceptor
from wiretool.net.addresses import Address
from wiretool.net.alarm import Alarm
from wiretool.net.bell import Bell
from wiretool.net.clock import Clock
from wiretool.net.serving.traffic import Traffic
from wiretool.net.sockets import Owner, Socket, why_lost
from wiretool.sinks.pcapng import Recording
from wiretool.sinks.text.counters import Snapshot

if TYPE_CHECKING:
    from wiretool.net.telemetry.observer import RunObserver

#: Connections that may wait to be accepted.
BACKLOG = 1_024
#: How long clients are given to take what was sent to them when the server stops, and how often that is looked at.
GOODBYE_S = 1.0
LOOK_S = 0.01


class Station(Owner):
    """Listens at its doors until it is stopped. `tell` gets a line for each connection that ended for a reason."""

    def __init__(self, tell: Callable[[str], None], connections_max: int = limits.MOCK_CONNECTIONS_MAX) -> None:
        self.tell = tell
        self.connections_max = connections_max
        #: What lets it have more connections, as the end of a report; empty where nothing of the system hinders it.
        self.limit_remedy = ""
        self.interceptor: Interceptor | None = None
        self.recording: Recording | None = None
        self.clock = Clock()
        self.bell = Bell()
        self.traffic = Traffic()
        #: Counts records for metrics and spans, where options ask for them.
        self.observer: RunObserver | None = None
        #: Why it cannot go on (its output or recording cannot be written), and who wants to know at once.
        self.failure: WiretoolError | BrokenPipeError | None = None
        self.on_failure: Callable[[], None] = lambda: None
        self._alarm = Alarm(self.clock, self._ring)
        self._listening: list[asyncio.Server] = []
        self._numbers = itertools.count(1)

    # -- doors -----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def protocols(self) -> tuple[str, ...]:
        """Which protocols are spoken at its doors."""

    async def listen(self, door: str, address: Address, context: ssl.SSLContext | None) -> Address:
        """Open a door; where it is. PeerError with the address where that cannot be."""

        def accept() -> Socket:
            return Socket(self, next(self._numbers), door)

        try:
            server = await asyncio.get_running_loop().create_server(accept, *address, ssl=context, backlog=BACKLOG)
        except (OSError, UnicodeError) as err:
            raise PeerError(f"cannot listen on {address} ({door}): {why_lost(err)}") from err
        self._listening.append(server)
        bound = Address(*server.sockets[0].getsockname()[:2])
        self.bound(door, bound, is_tls=context is not None)
        return bound

    @abstractmethod
    def bound(self, door: str, address: Address, *, is_tls: bool) -> None:
        """A door is open there; nobody has come yet."""

    async def stop(self) -> None:
        """Accept no more, and close every connection in an orderly way; what is not taken in time is reset."""
        for server in self._listening:
            server.close()
        self.say_goodbye()
        deadline = asyncio.get_running_loop().time() + GOODBYE_S
        while self.open_count and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(LOOK_S)
        self.abort_all()
        self._alarm.cancel()

    @property
    @abstractmethod
    def open_count(self) -> int:
        """How many connections are open."""

    @abstractmethod
    def say_goodbye(self) -> None:
        """Close every connection once what was sent has left."""

    @abstractmethod
    def abort_all(self) -> None:
        """Reset every connection that is left."""

    def totals(self) -> str:
        """What went over all connections, in a line."""
        traffic = self.traffic
        connections = "1 connection" if traffic.opened == 1 else f"{traffic.opened:,} connections"
        refused = f", {traffic.refused:,} refused" if traffic.refused else ""
        return f"{connections}{refused}; {traffic.received_bytes:,} bytes from clients, {traffic.sent_bytes:,} to them"

    def has_room(self, end: Socket) -> bool:
        """Whether one more connection may be open; where not, it is refused and that is told."""
        if self.open_count < self.connections_max:
            self.traffic.opened += 1
            return True
        self.traffic.refused += 1
        why = f"refused: {self.connections_max:,} are open already{self.limit_remedy}"
        self.tell(f"connection {end.number} ({end.peer}): {why}")
        end.abort()
        return False

    # -- what went over it -----------------------------------------------------------------------------------------

    @abstractmethod
    def messages(self) -> Mapping[str, Mapping[str, int]]:
        """How many of each name each side has sent."""

    def snapshot(self) -> Snapshot:
        """What has happened so far."""
        traffic = self.traffic
        return Snapshot(
            self.clock.now_ns(),
            self.open_count,
            traffic.opened,
            traffic.received_bytes,
            traffic.sent_bytes,
            self.messages(),
        )

    def record(self, what: Callable[[Recording, int], None]) -> None:
        """Write into the recording, if there is one, at the time it is now. Where that fails the run has failed."""
        if self.recording is None:
            return
        try:
            what(self.recording, self.clock.now_ns())
        except (WiretoolError, BrokenPipeError) as err:
            self.recording = None
            self.fail(err)

    def note_closed(self, connection: int) -> None:
        """Let the observer know that a connection is over."""
        if self.observer is not None:
            self.observer.note_closed(connection, self.clock.now_ns())

    def fail(self, err: WiretoolError | BrokenPipeError) -> None:
        """It cannot go on, for this reason or an earlier one."""
        self.failure = self.failure or err
        self.on_failure()

    # -- time ------------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Let go on what a rule that is removed has held."""
        self._ring()

    @abstractmethod
    def _ring(self) -> None:
        """It is the time that the alarm was set to, or later."""


def named_counts(counts: Mapping[tuple[Side, str], int]) -> dict[str, dict[str, int]]:
    """Counts by side and name, each side's in the order of the alphabet."""
    named: dict[str, dict[str, int]] = {side: {} for side in SIDES}
    for (side, name), count in sorted(counts.items()):
        named[side][name] = count
    return named
