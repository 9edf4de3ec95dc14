"""One timer of the loop for a machine that says when it wants to be woken."""

import asyncio
from collections.abc import Callable

from wiretool.net.clock import Clock

#: From this delay on the loop was busy with something else, so that bytes may wait in the sockets.
LATE_NS = 20_000_000
#: Time for the loop to read them: its timers come before its sockets.
READING_S = 0.001


class Alarm:
    """Calls `ring` when it is time; `set` it anew after whatever may have changed that.

    Where it is late, the sockets are read first: a peer is not silent if the loop had no time to read its bytes.
    """

    __slots__ = ("_clock", "_handle", "_ring", "when_ns")

    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None
        self.when_ns: int | None = None

    def set(self, when_ns: int | None) -> None:
        """Ring at that time, or never."""
        if when_ns == self.when_ns:
            return
        self.cancel()
        self.when_ns = when_ns
        if when_ns is not None:
            delay_s = max(when_ns - self._clock.now_ns(), 0) / 1e9
            self._handle = asyncio.get_running_loop().call_later(delay_s, self._fire)

    def cancel(self) -> None:
        """Never ring."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self.when_ns = None

    def _fire(self) -> None:
        if self.when_ns is not None and self._clock.now_ns() - self.when_ns > LATE_NS:
            self._handle = asyncio.get_running_loop().call_later(READING_S, self._ring_now)
        else:
            self._ring_now()

    def _ring_now(self) -> None:
        self._handle = self.when_ns = None
        self._ring()
