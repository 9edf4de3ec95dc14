"""Runs a mock server: its doors become listening sockets, its actions bytes, its timers the loop's."""

import asyncio
import itertools
import ssl
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.faults import Cut, Deliver, Effect, Interceptor
from wiretool.net.addresses import Address, reachable
from wiretool.net.alarm import Alarm
from wiretool.net.bell import Bell
from wiretool.net.clock import Clock
from wiretool.net.running import GOODBYE_S, Traffic, listening
from wiretool.net.sockets import Owner, Socket
from wiretool.protocols.registry import protocol_named
from wiretool.servers.mock import Action, Close, Mock, Send
from wiretool.sinks.pcapng import Recording
from wiretool.sinks.text.counters import Snapshot

SIDES: tuple[Side, Side] = ("client", "server")


@dataclass(slots=True)
class Host(Owner):
    """Joins sockets, faults and a mock. `tell` gets a line for each connection that ended for a reason."""

    mock: Mock
    tell: Callable[[str], None]
    interceptor: Interceptor | None = None
    recording: Recording | None = None
    connections_max: int = limits.MOCK_CONNECTIONS_MAX
    clock: Clock = field(default_factory=Clock)
    bell: Bell = field(default_factory=Bell)
    traffic: Traffic = field(default_factory=Traffic)
    sockets: dict[int, Socket] = field(default_factory=dict)
    _listening: list[asyncio.Server] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _held: set[int] = field(default_factory=set)
    _alarm: Alarm = field(init=False)

    def __post_init__(self) -> None:
        self._alarm = Alarm(self.clock, self._ring)

    # -- listening -------------------------------------------------------------------------------------------------

    async def listen(self, door: str, address: Address, context: ssl.SSLContext | None) -> Address:
        """Open a door of the mock; where it is. PeerError where that cannot be, with the address."""

        def accept() -> Socket:
            return Socket(self, next(self._numbers), door)

        server, bound = await listening(accept, door, address, context)
        self._listening.append(server)
        self.mock.bound(door, reachable(bound.host, is_tls=context is not None), bound.port)
        return bound

    @property
    def protocols(self) -> tuple[str, ...]:
        """Which protocols are spoken at its doors."""
        return tuple(door.protocol for door in self.mock.doors)

    async def stop(self) -> None:
        """Accept no more, let the mock say goodbye, close every connection."""
        for server in self._listening:
            server.close()
        self.perform(self.mock.stopped(self.clock.now_ns()))
        for end in list(self.sockets.values()):
            end.close()
        deadline = asyncio.get_running_loop().time() + GOODBYE_S
        while self.sockets and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for end in list(self.sockets.values()):
            end.abort()
        self._alarm.cancel()

    # -- what sockets say ------------------------------------------------------------------------------------------

    def opened(self, end: Socket) -> None:
        if len(self.sockets) >= self.connections_max:
            self.traffic.refused += 1
            self.tell(f"connection {end.number} ({end.peer}): refused: {self.connections_max:,} are open already")
            end.abort()
            return
        self.traffic.opened += 1
        self.sockets[end.number] = end
        now_ns = self.clock.now_ns()
        if self.recording is not None:
            self.recording.opened(end.number, end.peer, end.local, now_ns)
        if self.interceptor is not None:
            protocol = next(door.protocol for door in self.mock.doors if door.name == end.label)
            known = protocol_named(protocol)
            self.interceptor.opened(end.number, known, str(end.peer), str(end.local), now_ns)
        self.perform(self.mock.opened(end.number, end.label, now_ns))

    def received(self, end: Socket, data: bytes) -> None:
        now_ns = self.clock.now_ns()
        self.traffic.received_bytes += len(data)
        if self.recording is not None:
            self.recording.sent(end.number, "client", data, now_ns)
        if self.interceptor is None:
            self.perform(self.mock.received(end.number, data, now_ns))
        else:
            self._apply(self.interceptor.feed(end.number, "client", data, now_ns))
            self._hold(end, self.interceptor)

    def _hold(self, end: Socket, interceptor: Interceptor) -> None:
        """Take no more from a client of whom, or for whom, too much waits in the interceptor."""
        if any(interceptor.is_full(end.number, side) for side in SIDES):
            self._held.add(end.number)
            end.pause()

    def ended(self, end: Socket) -> None:
        now_ns = self.clock.now_ns()
        if self.recording is not None:
            self.recording.finished(end.number, "client", now_ns)
        if self.interceptor is None:
            self.perform(self.mock.ended(end.number, now_ns))
        else:
            self._apply(self.interceptor.end(end.number, "client", now_ns))

    def full(self, end: Socket) -> None:
        end.pause()
        self.perform(self.mock.full(end.number, self.clock.now_ns()))

    def drained(self, end: Socket) -> None:
        end.resume()
        self.perform(self.mock.drained(end.number, self.clock.now_ns()))

    def lost(self, end: Socket, why: str) -> None:
        if self.sockets.pop(end.number, None) is None:
            return
        if self.recording is not None:
            if why:
                self.recording.lost(end.number, "client", self.clock.now_ns())
            self.recording.forget(end.number)
        if self.interceptor is not None:
            self.interceptor.lost(end.number)
        self.perform(self.mock.lost(end.number, self.clock.now_ns()))

    # -- what is to be done ----------------------------------------------------------------------------------------

    def perform(self, actions: Sequence[Action]) -> None:
        """Do what the mock wants, and see when it wants to be woken."""
        sent_bytes = 0
        send = self._write if self.interceptor is None else self._intercept
        for action in actions:
            if type(action) is Send:
                number, data = action
                sent_bytes += len(data)
                send(number, data)
            elif type(action) is Close:
                self._close(action.connection, action.why, is_abort=action.is_abort)
        if sent_bytes >= limits.MOCK_REPLY_BYTES_MAX:
            self._go_on(actions)
        self._set_alarm()

    def _go_on(self, actions: Sequence[Action]) -> None:
        """Where so much was sent at once that the mock waits for it to leave: tell it that it has, in time."""
        sent: Counter[int] = Counter()
        for action in actions:
            if isinstance(action, Send):
                sent[action.connection] += len(action.data)
        for number, count in sent.items():
            end = self.sockets.get(number)
            if count >= limits.MOCK_REPLY_BYTES_MAX and end is not None and not end.is_full:
                asyncio.get_running_loop().call_soon(self.drained, end)

    def _intercept(self, number: int, data: bytes) -> None:
        assert self.interceptor is not None
        self._apply(self.interceptor.feed(number, "server", data, self.clock.now_ns()))

    def _write(self, number: int, data: bytes) -> None:
        end = self.sockets.get(number)
        if end is None:
            return
        self.traffic.sent_bytes += len(data)
        if self.recording is not None:
            self.recording.sent(number, "server", data, self.clock.now_ns())
        end.send(data)

    def _close(self, number: int, why: str, *, is_abort: bool) -> None:
        end = self.sockets.get(number)
        if why and end is not None:
            self.tell(f"connection {number} ({end.peer}): closed: {why}")
        if self.interceptor is None or is_abort:
            self._end(number, is_abort=is_abort)
        else:
            self._apply(self.interceptor.end(number, "server", self.clock.now_ns()))

    def _end(self, number: int, *, is_abort: bool) -> None:
        end = self.sockets.get(number)
        if end is None:
            return
        if self.recording is not None:
            tell = self.recording.lost if is_abort else self.recording.finished
            tell(number, "server", self.clock.now_ns())
        if is_abort:
            end.abort()
        else:
            end.close()

    def _apply(self, effects: Iterable[Effect]) -> None:
        """Let what the interceptor passes on arrive."""
        for effect in effects:
            number = effect.connection
            if isinstance(effect, Deliver):
                if effect.side == "server":
                    self._write(number, effect.data)
                else:
                    self.perform(self.mock.received(number, effect.data, self.clock.now_ns()))
            elif isinstance(effect, Cut):
                self._end(number, is_abort=effect.is_abort)
            elif effect.side == "server":
                self._end(number, is_abort=False)
            else:
                self.perform(self.mock.ended(number, self.clock.now_ns()))
        self._set_alarm()

    # -- control ---------------------------------------------------------------------------------------------------

    @property
    def faults(self) -> Interceptor:
        """The interceptor, of a host that was given one."""
        assert self.interceptor is not None, "a host under control has an interceptor"
        return self.interceptor

    def connections(self) -> Iterator[Socket]:
        """Those that are open."""
        return iter(list(self.sockets.values()))

    def messages(self) -> Mapping[str, Mapping[str, int]]:
        """How many of each name each side has sent."""
        counts: dict[str, dict[str, int]] = {"client": {}, "server": {}}
        for (side, name), count in sorted(self.mock.outbox.counts.items()):
            counts[side][name] = count
        return counts

    def snapshot(self) -> Snapshot:
        """What has happened so far."""
        traffic = self.traffic
        return Snapshot(
            self.clock.now_ns(),
            len(self.sockets),
            traffic.opened,
            traffic.received_bytes,
            traffic.sent_bytes,
            self.messages(),
        )

    def operate(self, what: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Do something to the mock's state from outside."""
        told, actions = self.mock.operate(what, arguments, self.clock.now_ns())
        self.perform(actions)
        return told

    def wake(self) -> None:
        """Let go on what a rule that is removed has held."""
        self._ring()

    def restart(self) -> None:
        """As after a crash with all state lost."""
        self.perform(self.mock.restart(self.clock.now_ns()))

    def cut(self, connection: int, *, is_abort: bool) -> bool:
        """Close a connection; whether there was one of that number."""
        is_there = connection in self.sockets
        self._end(connection, is_abort=is_abort)
        return is_there

    # -- time ------------------------------------------------------------------------------------------------------

    def _set_alarm(self) -> None:
        wake_ns = self.mock.wake_ns
        if self.interceptor is not None:
            others_ns = self.interceptor.wake_ns
            wake_ns = others_ns if wake_ns is None else wake_ns if others_ns is None else min(wake_ns, others_ns)
            self.bell.ring()
        if wake_ns != self._alarm.when_ns:
            self._alarm.set(wake_ns)

    def _ring(self) -> None:
        now_ns = self.clock.now_ns()
        if self.interceptor is not None:
            self._apply(self.interceptor.woken(now_ns))
            self._release(self.interceptor)
        self.perform(self.mock.woken(now_ns))

    def _release(self, interceptor: Interceptor) -> None:
        """Take more from clients of whom not too much waits any longer."""
        for number in list(self._held):
            if any(interceptor.is_full(number, side) for side in SIDES):
                continue
            self._held.discard(number)
            end = self.sockets.get(number)
            if end is not None and not end.is_full:
                end.resume()
