"""The limits on what is sent to another machine: sessions a second, and the duration of all of it."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from wiretool.errors import PeerError

#: Sessions a second (sequences, conformance cases, probes), and seconds from the first to the last one.
REMOTE_PER_S, REMOTE_S = 100.0, 600.0
#: Seconds for new sequences; the rest is for the confirmation of findings.
REMOTE_SEARCH_S = 540.0
#: Sessions that begin together.
TOGETHER = 10
ItemT = TypeVar("ItemT")


class TimeIsOver(PeerError):
    """Nothing more may be sent."""


class Pacer:
    """Delays sessions so that they keep the limits."""

    def __init__(
        self,
        per_second: float = REMOTE_PER_S,
        seconds: float = REMOTE_S,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._per_second = per_second
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep
        self._end_s: float | None = None
        self._free_s = 0.0

    def wait(self, sessions: int) -> None:
        """Wait until so many sessions may begin. TimeIsOver after the end of the duration."""
        now_s = self._clock()
        if self._end_s is None:
            self._end_s, self._free_s = now_s + self._seconds, now_s
        begin_s = max(now_s, self._free_s)
        if begin_s >= self._end_s:
            raise TimeIsOver(f"the limit of {self._seconds:g} s on another machine is reached; nothing more is sent")
        self._free_s = begin_s + sessions / self._per_second
        if begin_s > now_s:
            self._sleep(begin_s - now_s)


def parts_of(items: Sequence[ItemT], pacer: Pacer | None) -> Iterator[Sequence[ItemT]]:
    """Yield the items in order, as many as begin together, each part when it may; all at once without a pacer."""
    if pacer is None:
        yield items
        return
    for at in range(0, len(items), TOGETHER):
        part = items[at : at + TOGETHER]
        pacer.wait(len(part))
        yield part
