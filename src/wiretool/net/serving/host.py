"""Runs a mock server: its doors become listening sockets, its actions bytes, its timers the loop's."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from wiretool import limits
from wiretool.codec.message import SIDES
from wiretool.faults import Cut, Deliver, Effect, Interceptor, Misdeed
from wiretool.net.addresses import Address, reachable
from wiretool.net.serving.station import Station, named_counts
from wiretool.net.sockets import Socket
from wiretool.protocols.base.registry import protocol_named
from wiretool.server.mock import Action, Close, Mock, Send


class Host(Station):
    """Joins sockets, faults and a mock.

    What the mock and the interceptor want done is done in the order in which they said so, whatever that leads to
    meanwhile: everything goes through one queue, of which one call at a time takes from the front.
    """

    def __init__(
        self,
        mock: Mock,
        tell: Callable[[str], None],
        *,
        interceptor: Interceptor | None = None,
        exempt: set[Address] | None = None,
        connections_max: int = limits.MOCK_CONNECTIONS_MAX,
    ) -> None:
        """The interceptor does not see connections from addresses in `exempt`, each removed when accepted."""
        super().__init__(tell, connections_max)
        self.mock = mock
        self.interceptor = interceptor
        self._exempt = exempt if exempt is not None else set()
        #: Open connections that the interceptor does not see.
        self._unseen: set[int] = set()
        self._protocol_of = {door.name: door.protocol for door in mock.doors}
        self.sockets: dict[int, Socket] = {}
        self._queue: deque[Action | Effect] = deque()
        self._is_working = False
        #: Connections of which, or for which, too much waits in the interceptor.
        self._held: set[int] = set()

    @property
    def protocols(self) -> tuple[str, ...]:
        return tuple(door.protocol for door in self.mock.doors)

    @property
    def open_count(self) -> int:
        return len(self.sockets)

    def bound(self, door: str, address: Address, *, is_tls: bool) -> None:
        self.mock.bound(door, reachable(address.host, is_tls=is_tls), address.port)

    def say_goodbye(self) -> None:
        self.perform(self.mock.stopped(self.clock.now_ns()))
        for end in list(self.sockets.values()):
            end.close()

    def abort_all(self) -> None:
        for end in list(self.sockets.values()):
            end.abort()

    # -- what sockets say ------------------------------------------------------------------------------------------

    def opened(self, end: Socket) -> None:
        if not self.has_room(end):
            return
        self.sockets[end.number] = end
        self.record(lambda recording, now_ns: recording.opened(end.number, end.peer, end.local, now_ns))
        now_ns = self.clock.now_ns()
        if end.peer in self._exempt:
            self._exempt.remove(end.peer)
            self._unseen.add(end.number)
        elif self.interceptor is not None:
            protocol = self._protocol_of[end.label]
            self.interceptor.opened(end.number, protocol_named(protocol), str(end.peer), str(end.local), now_ns)
        self.perform(self.mock.opened(end.number, end.label, now_ns))

    def received(self, end: Socket, data: bytes) -> None:
        number = end.number
        self.traffic.received[self._protocol_of[end.label]] += len(data)
        if self.recording is not None:
            self.record(lambda recording, now_ns: recording.sent(number, "client", data, now_ns))
        now_ns = self.clock.now_ns()
        interceptor = self.interceptor
        if interceptor is None or number in self._unseen:
            self.perform(self.mock.received(number, data, now_ns))
        else:
            self.perform(interceptor.feed(number, "client", data, now_ns))
            self._hold(number, interceptor)

    def ended(self, end: Socket) -> None:
        self.record(lambda recording, now_ns: recording.finished(end.number, "client", now_ns))
        now_ns = self.clock.now_ns()
        interceptor = self._interceptor_of(end.number)
        if interceptor is None:
            self.perform(self.mock.ended(end.number, now_ns))
        else:
            self.perform(interceptor.end(end.number, "client", now_ns))

    def full(self, end: Socket) -> None:
        end.pause()
        self.perform(self.mock.full(end.number, self.clock.now_ns()))

    def drained(self, end: Socket) -> None:
        if end.number in self._held or end.is_full:
            return
        end.resume()
        self.perform(self.mock.drained(end.number, self.clock.now_ns()))

    def lost(self, end: Socket, why: str) -> None:
        if self.sockets.pop(end.number, None) is None:
            return
        if why:
            self.record(lambda recording, now_ns: recording.lost(end.number, "client", now_ns))
        self.record(lambda recording, _: recording.forget(end.number))
        if self.interceptor is not None:
            self.interceptor.lost(end.number)
        self.note_closed(end.number)
        self._unseen.discard(end.number)
        self.perform(self.mock.lost(end.number, self.clock.now_ns()))

    # -- what is to be done ----------------------------------------------------------------------------------------

    def perform(self, items: Iterable[Action | Effect]) -> None:
        """Do what the mock and the interceptor want, behind all that they wanted before."""
        self._queue.extend(items)
        if self._is_working:
            return
        if self._queue:
            self._is_working = True
            try:
                self._work()
            finally:
                self._is_working = False
        self._set_alarm()

    def _work(self) -> None:
        """Empty the queue; where much was sent at once, see that the mock goes on with what waits for that."""
        queue, interceptor, unseen = self._queue, self.interceptor, self._unseen
        sent: dict[int, int] = {}
        while queue:
            item = queue.popleft()
            if type(item) is Send:
                number, data = item
                if interceptor is not None and number not in unseen:
                    queue.extend(interceptor.feed(number, "server", data, self.clock.now_ns()))
                    self._hold(number, interceptor)
                else:
                    self._write(number, data)
                if queue or sent or len(data) >= limits.MOCK_REPLY_BYTES_MAX:  # not of a single reply, the usual case
                    sent[number] = sent.get(number, 0) + len(data)
            else:
                self._carry_out(item)
        for number, count in sent.items():
            if count >= limits.MOCK_REPLY_BYTES_MAX:
                self._go_on(number)

    def _carry_out(self, item: Action | Effect) -> None:
        now_ns = self.clock.now_ns()
        if isinstance(item, Close):
            self._close(item, now_ns)
        elif isinstance(item, Cut):
            self._end(item.connection, is_abort=item.is_abort)
        elif isinstance(item, Deliver):
            if item.side == "server":
                self._write(item.connection, item.data)
            else:
                self._queue.extend(self.mock.received(item.connection, item.data, now_ns))
        elif isinstance(item, Misdeed):
            self.mock.keep(item.connection, item.how)
        elif not isinstance(item, Send):
            if item.side == "server":
                self._end(item.connection, is_abort=False)
            else:
                self._queue.extend(self.mock.ended(item.connection, now_ns))

    def _go_on(self, number: int) -> None:
        """Tell the mock soon that what it sent has left, where the connection took all of it at once."""
        end = self.sockets.get(number)
        if end is not None and not end.is_full:
            asyncio.get_running_loop().call_soon(self.drained, end)

    def _write(self, number: int, data: bytes) -> None:
        end = self.sockets.get(number)
        if end is None or not end.send(data):
            return
        self.traffic.sent[self._protocol_of[end.label]] += len(data)
        if self.recording is not None:
            self.record(lambda recording, now_ns: recording.sent(number, "server", data, now_ns))

    def _close(self, item: Close, now_ns: int) -> None:
        end = self.sockets.get(item.connection)
        if item.why and end is not None:
            self.tell(f"connection {item.connection} ({end.peer}): closed: {item.why}")
        interceptor = self._interceptor_of(item.connection)
        if interceptor is None or item.is_abort:
            self._end(item.connection, is_abort=item.is_abort)
        else:
            self._queue.extend(interceptor.end(item.connection, "server", now_ns))

    def _end(self, number: int, *, is_abort: bool) -> None:
        end = self.sockets.get(number)
        if end is None or not end.is_open:
            return
        if is_abort:
            self.record(lambda recording, now_ns: recording.lost(number, "server", now_ns))
            end.abort()
        else:
            self.record(lambda recording, now_ns: recording.finished(number, "server", now_ns))
            end.close()

    def _interceptor_of(self, number: int) -> Interceptor | None:
        return None if number in self._unseen else self.interceptor

    # -- what waits in the interceptor -----------------------------------------------------------------------------

    def _hold(self, number: int, interceptor: Interceptor) -> None:
        """To the mock and its client too much that waits here is as if the client took nothing."""
        if number in self._held or not any(interceptor.is_full(number, side) for side in SIDES):
            return
        end = self.sockets.get(number)
        if end is not None:
            self._held.add(number)
            self.full(end)

    def _release(self, interceptor: Interceptor) -> None:
        for number in [each for each in self._held if not any(interceptor.is_full(each, side) for side in SIDES)]:
            self._held.discard(number)
            end = self.sockets.get(number)
            if end is not None:
                self.drained(end)

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
        return named_counts(self.mock.outbox.counts)

    def operate(self, what: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Do something to the mock's state from outside."""
        told, actions = self.mock.operate(what, arguments, self.clock.now_ns())
        self.perform(actions)
        return told

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
            if self._held:
                self._release(self.interceptor)
        if wake_ns != self._alarm.when_ns:
            self._alarm.set(wake_ns)

    def _ring(self) -> None:
        now_ns = self.clock.now_ns()
        if self.interceptor is not None:
            self.perform(self.interceptor.woken(now_ns))
        self.perform(self.mock.woken(now_ns))
