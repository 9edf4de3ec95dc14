"""Exchanges of one user as a lane of the event loop: it is called when there is something to read, or to send.

The greenlet of the user sleeps meanwhile. It is woken for what it alone can do: to say what went wrong, to send what
the system did not take at once, to see that nothing is answered any more. If it waited for each answer itself, every
exchange would cost a switch there and back, a timer and a read in vain, which together are more than all the rest.
"""

import os
from abc import ABC, abstractmethod
from math import inf
from typing import Any

import gevent
from gevent.event import Event

from wiretool.load.link import ANSWER_S
from wiretool.load.loops import Exchange, Window, Work

#: What one call takes from the system at most: acknowledgements are short.
RECEIVE_BYTES = 16 * 1024
#: Of `loop.io`: something can be read.
READABLE = 1


class Lane(ABC):
    """How one user works on one connection until its session is over."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._fd = work.link.socket.fileno()
        self._watcher: Any = None
        self._unsent = bytearray()
        self._is_open = False
        self._error: Exception | None = None
        #: Set where there is something to do for the greenlet.
        self._wake = Event()

    def run(self) -> None:
        """Work, and wait for what is on the way at the end. Failed where the connection is lost or the server refuses.

        Failed too where nothing is answered for ten seconds.
        """
        session = self.work.session
        session.sleepers.add(self._wake)
        self._watcher = gevent.get_hub().loop.io(self._fd, READABLE)
        self._is_open = True
        try:
            self._watcher.start(self._guarded, self._read)
            self._guarded(self.advance, session.clock())
            while not self.is_done and self._error is None:
                self._guarded(self._attend)
        finally:
            self._is_open = False
            session.sleepers.discard(self._wake)
            self._watcher.stop()
            self._watcher.close()
        if self._error is not None:
            raise self._error

    @property
    @abstractmethod
    def is_done(self) -> bool:
        """Whether the session is over and nothing is on the way."""

    @abstractmethod
    def advance(self, now: float) -> None:
        """Send what is due."""

    @abstractmethod
    def take(self, acknowledged: int) -> None:
        """Events up to that number are acknowledged."""

    @abstractmethod
    def waits_since(self) -> float:
        """When the oldest of what is not answered was sent; infinity where all is."""

    def send(self, frames: bytes | bytearray) -> None:
        """Give it to the system; what that does not take at once the greenlet sends."""
        if self._unsent:
            self._unsent += frames
            return
        try:
            sent = os.write(self._fd, frames)
        except BlockingIOError:
            sent = 0
        if sent < len(frames):
            self._unsent += memoryview(frames)[sent:]
            self._wake.set()

    def take_turn(self) -> None:
        """Something is due by now."""
        if self._is_open and self._error is None:
            self._guarded(self.advance, self.work.session.clock())

    def _guarded(self, act: Any, *arguments: Any) -> None:
        """Do it in the event loop, in which nobody could catch anything: what goes wrong is for the greenlet."""
        try:
            act(*arguments)
        except BlockingIOError:
            return  # called in vain
        except OSError as err:
            self._fail(self.work.link.lost(err))
        except Exception as err:  # noqa: BLE001  (raised again where there is somebody to see it)
            self._fail(err)

    def _fail(self, err: Exception) -> None:
        """The first thing that went wrong is what is told."""
        self._error = self._error or err
        self._watcher.stop()
        self._wake.set()

    def _read(self) -> None:
        data = os.read(self._fd, RECEIVE_BYTES)
        if not data:
            raise self.work.link.closed()
        self.take(self.work.feed(data))

    def _attend(self) -> None:
        """What the greenlet has to do, once there is something."""
        clock = self.work.session.clock
        since_s = self.waits_since()
        self._wake.wait(None if since_s == inf else max(since_s + ANSWER_S - clock(), 0.0))
        self._wake.clear()
        while self._unsent and self._error is None:
            unsent = bytes(self._unsent)
            self.work.link.send(unsent)
            del self._unsent[: len(unsent)]
        if clock() - self.waits_since() >= ANSWER_S:
            raise TimeoutError


class OneByOne(Lane):
    """Each exchange as soon as the one before it is answered."""

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self._last = 0
        self._began_s = inf

    @property
    def is_done(self) -> bool:
        return self._began_s == inf

    def advance(self, now: float) -> None:
        work = self.work
        frame = work.source.next()
        work.writer.sent = self._last = last = work.source.last
        work.writer.since = self._began_s = began_s = work.session.clock()
        if work.sendings is not None:
            work.sendings.note(last, began_s, began_s)
        self.send(frame)

    def take(self, acknowledged: int) -> None:
        if acknowledged < self._last:
            return
        work = self.work
        now = work.session.clock()
        work.samples.service.append(now - self._began_s)
        work.writer.acknowledged = acknowledged
        work.samples.events += work.source.events
        work.samples.bytes += work.source.size
        if work.session.is_over:
            self._began_s = inf
            self._wake.set()
        else:
            self.advance(now)

    def waits_since(self) -> float:
        return self._began_s


class Windowed(Lane):
    """As many exchanges on the way as there is room for, each sent when it is due."""

    def __init__(self, work: Work, window: Window) -> None:
        super().__init__(work)
        self._window = window
        self._had_room = False
        self._has_turn = False

    @property
    def is_done(self) -> bool:
        return self.work.session.is_over and not self._window.on_the_way

    def advance(self, now: float) -> None:
        session, window = self.work.session, self._window
        if session.is_over:
            return
        due = window.arrivals.take(now, window.limit - len(window.on_the_way))
        if due:
            session.arrivals += len(due)
            if self._had_room and due[0] < now:
                session.late(now, due)
            self._send_all(due, now)
        self._had_room = len(window.on_the_way) < window.limit
        if self._had_room and not self._has_turn and (next_s := window.arrivals.next_s()) < inf:
            self._has_turn = True
            session.pacer.at(next_s, self.take_turn)

    def take_turn(self) -> None:
        self._has_turn = False
        super().take_turn()

    def _send_all(self, due: list[float], now: float) -> None:
        """A frame for each that is due, all in one go."""
        source, on_the_way, sendings = self.work.source, self._window.on_the_way, self.work.sendings
        frames = []
        for due_s in due:
            frames.append(bytes(source.next()))
            on_the_way.append(Exchange(source.last, due_s, now, source.size))
            if sendings is not None:
                sendings.note(source.last, now, due_s)
        self.work.writer.sent = source.last
        self.send(b"".join(frames))

    def take(self, acknowledged: int) -> None:
        now = self.work.session.clock()
        on_the_way, samples = self._window.on_the_way, self.work.samples
        service, response = samples.service.append, samples.response.append
        while on_the_way and on_the_way[0].last <= acknowledged:
            _, due_s, sent_s, size = on_the_way.popleft()
            service(now - sent_s)
            response(now - due_s)
            samples.events += self.work.source.events
            samples.bytes += size
        self.work.writer.acknowledged = max(self.work.writer.acknowledged, acknowledged)
        if self.work.session.is_over:
            if not on_the_way:
                self._wake.set()
        else:
            self.advance(now)

    def waits_since(self) -> float:
        return self._window.on_the_way[0].sent_s if self._window.on_the_way else inf
