"""Runs a caller: its dials become sockets, its acts bytes, its waking a timer of the loop's."""

import asyncio
import errno
import socket
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

from wiretool.errors import WiretoolError
from wiretool.net.addresses import Address
from wiretool.net.alarm import Alarm
from wiretool.net.calling.caller import Abort, Act, Caller, Dial, Finish, Send
from wiretool.net.clock import Clock
from wiretool.net.sockets import Owner, Socket, why_lost
from wiretool.sinks.pcapng import Recording

#: How long a server may take to accept.
CONNECT_S = 10.0
#: Protocol, and name of the door.
Target = tuple[str, str]


def describe_absence(address: Address, err: Exception) -> str:
    """Return why a server cannot be reached, by what a connection attempt raised."""
    return f"cannot reach {address}: {why_absent(err, CONNECT_S)}"


def why_absent(err: Exception, within_s: float) -> str:
    """Return the reason alone, of an attempt that was given up after `within_s` seconds."""
    return f"no answer in {within_s:g} s" if isinstance(err, TimeoutError) and not err.errno else why_lost(err)


class Dialler(Owner):
    """Joins a caller and sockets; what goes over them is written into `recording`, if there is one."""

    def __init__(
        self,
        caller: Caller,
        targets: Mapping[Target, Address],
        *,
        recording: Recording | None = None,
        asides: set[Address] | None = None,
    ) -> None:
        """`targets` has for each protocol and door an address; the door that has none is where the first one is.

        The local address of each connection that is aside is added to `asides` before the server can accept it; all
        targets must be IPv4 addresses then.
        """
        self._caller = caller
        self._targets = targets
        self._recording = recording
        self._asides = asides
        #: Connections that are not recorded.
        self._unrecorded: set[int] = set()
        self._clock = Clock()
        self._alarm = Alarm(self._clock, self._ring)
        self._sockets: dict[int, Socket] = {}
        self._dialling: set[asyncio.Task[None]] = set()
        self._queue: deque[Act] = deque()
        self._is_working = False
        self._over = asyncio.Event()
        #: Connections that came to be, and what the network said of the last one that did not.
        self.reached = 0
        self.why_unreached = ""
        self._failure: Exception | None = None
        #: Why the recording ends before the run does.
        self.unrecorded: WiretoolError | None = None

    async def run(self, stopped: asyncio.Event | None = None) -> bool:
        """Until the caller is over, or `stopped` is set; whether it came to its end.

        What a callback of the loop raises meanwhile ends the run and is raised here: such a caller would wait for ever.
        """
        loop = asyncio.get_running_loop()
        usual = loop.get_exception_handler()
        loop.set_exception_handler(self._fail)
        try:
            return await self._run(stopped)
        finally:
            loop.set_exception_handler(usual)

    async def _run(self, stopped: asyncio.Event | None) -> bool:
        self._perform(self._caller.start(self._clock.now_ns()))
        waits = [asyncio.ensure_future(event.wait()) for event in (self._over, stopped) if event is not None]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            self._end()
        if self._failure is not None:
            raise self._failure
        return self._caller.is_over

    def _fail(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End the run with what a callback raised; what the system lacks is told as usual, and tried again."""
        error = context.get("exception")
        if not isinstance(error, Exception) or isinstance(error, OSError):
            loop.default_exception_handler(context)
            return
        self._failure = self._failure or error
        self._over.set()

    def _end(self) -> None:
        self._alarm.cancel()
        if not self._caller.is_over:
            self._caller.stop()
        for task in self._dialling:
            task.cancel()
        for end in list(self._sockets.values()):
            end.close() if self._caller.is_over else end.abort()

    # -- what sockets say ------------------------------------------------------------------------------------------

    def opened(self, end: Socket) -> None:
        self.reached += 1
        self._sockets[end.number] = end
        self._record(end.number, lambda recording, now_ns: recording.opened(end.number, end.local, end.peer, now_ns))
        self._perform(self._caller.opened(end.number, self._clock.now_ns()))

    def received(self, end: Socket, data: bytes) -> None:
        self._record(end.number, lambda recording, now_ns: recording.sent(end.number, "server", data, now_ns))
        self._perform(self._caller.received(end.number, data, self._clock.now_ns()))

    def ended(self, end: Socket) -> None:
        self._record(end.number, lambda recording, now_ns: recording.finished(end.number, "server", now_ns))
        self._perform(self._caller.ended(end.number, self._clock.now_ns()))

    def full(self, end: Socket) -> None:
        """What a caller says is no more than was recorded or asked for: it waits in the socket."""

    def drained(self, end: Socket) -> None:
        """Nothing was held back."""

    def lost(self, end: Socket, why: str) -> None:
        if self._sockets.pop(end.number, None) is None:
            return
        if why:
            self._record(end.number, lambda recording, now_ns: recording.lost(end.number, "server", now_ns))
        self._record(end.number, lambda recording, _: recording.forget(end.number))
        self._perform(self._caller.lost(end.number, why, self._clock.now_ns()))

    # -- what is to be done ----------------------------------------------------------------------------------------

    def _perform(self, acts: Iterable[Act]) -> None:
        """Do it behind all that is to be done already, whatever that leads to meanwhile."""
        self._queue.extend(acts)
        if self._is_working:
            return
        self._is_working = True
        try:
            while self._queue:
                self._do(self._queue.popleft())
            self._caller.rest()
        finally:
            self._is_working = False
        self._alarm.set(self._caller.wake_ns)
        if self._caller.is_over:
            self._over.set()

    def _do(self, act: Act) -> None:
        if isinstance(act, Dial):
            if act.is_aside:
                self._unrecorded.add(act.connection)
            task = asyncio.ensure_future(self._dial(act))
            self._dialling.add(task)
            task.add_done_callback(self._dialling.discard)
            return
        end = self._sockets.get(act.connection)
        if end is None:
            return
        if isinstance(act, Send):
            if end.send(act.data):
                self._record(
                    end.number, lambda recording, now_ns: recording.sent(end.number, "client", act.data, now_ns)
                )
        elif isinstance(act, Finish):
            self._record(end.number, lambda recording, now_ns: recording.finished(end.number, "client", now_ns))
            end.finish()
        elif isinstance(act, Abort):
            self._record(end.number, lambda recording, now_ns: recording.lost(end.number, "client", now_ns))
            end.abort()

    async def _dial(self, act: Dial) -> None:
        address = self._targets.get((act.protocol, act.door)) or self._targets[act.protocol, ""]
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._connect(act, address)
        except (OSError, TimeoutError, UnicodeError) as err:
            self.why_unreached = describe_absence(address, err)
            self._perform(self._caller.lost(act.connection, self.why_unreached, self._clock.now_ns()))

    async def _connect(self, act: Dial, address: Address) -> None:
        loop = asyncio.get_running_loop()
        if not act.is_aside or self._asides is None:
            _, end = await loop.create_connection(lambda: Socket(self, act.connection, act.door), *address)
            self._check_accepted(end)
            return
        with ExitStack() as stack:
            bound = stack.enter_context(socket.socket())
            bound.setblocking(False)
            bound.bind((address.host, 0))
            self._asides.add(Address(*bound.getsockname()))
            await loop.sock_connect(bound, address)
            _, end = await loop.create_connection(lambda: Socket(self, act.connection, act.door), sock=bound)
            stack.pop_all()
            self._check_accepted(end)

    def _check_accepted(self, end: Socket) -> None:
        """ConnectionResetError where the server reset a connection so early that its socket never reported it."""
        if not end.is_reported:
            raise ConnectionResetError(errno.ECONNRESET, "reset when it was accepted")

    def _record(self, connection: int, what: Callable[[Recording, int], None]) -> None:
        """Write into the recording at the time it is now. Where that fails the run goes on without it.

        Where nobody reads it any longer, the run ends.
        """
        if self._recording is None or connection in self._unrecorded:
            return
        try:
            what(self._recording, self._clock.now_ns())
        except WiretoolError as err:
            self._recording, self.unrecorded = None, err
        except BrokenPipeError as err:
            self._recording, self._failure = None, err
            self._over.set()

    def _ring(self) -> None:
        self._perform(self._caller.woken(self._clock.now_ns()))
