"""Turns on time: one greenlet that lets each of many have its turn when that is due.

The timers of an event loop come a millisecond or two late, and many who wait awake for the rest of the time hold each
other up. So one waits for all: by such a timer until shortly before, then in `select`, whose timer is that of the
kernel, on the file that the event loop itself waits on. Whatever comes meanwhile ends that wait.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count as counted

import gevent
from gevent.event import Event
from gevent.monkey import get_original

from wiretool.load.link import TIMER_S

#: What the kernel's may: Linux lets a process sleep for 50 us longer than it asked for.
SLACK_S = 0.00008
#: Above what is done when something comes, which would otherwise hold up the turns for as long as it comes.
URGENT = 2

_select = get_original("select", "select")


class Pacer:
    """Calls whoever wants a turn when it is due, by that clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        #: When, whose turn came to be known first, and what is called.
        self._turns: list[tuple[float, int, Callable[[], None]]] = []
        self._order = counted()
        self._has_new = Event()
        self._pacing: gevent.Greenlet | None = None

    def at(self, due_s: float, take_turn: Callable[[], None]) -> None:
        """Call that once the time has come; it must not wait, nor raise anything."""
        heappush(self._turns, (due_s, next(self._order), take_turn))
        self._has_new.set()
        if self._pacing is None:
            self._pacing = gevent.spawn(self._pace)

    def _pace(self) -> None:
        """Until nobody wants a turn any more."""
        while self._turns:
            self._has_new.clear()
            left_s = self._turns[0][0] - self._clock()
            if left_s > TIMER_S:
                self._has_new.wait(left_s - TIMER_S)
            else:
                if left_s > SLACK_S:
                    _select([gevent.get_hub().loop.fileno()], [], [], left_s - SLACK_S)
                self._give(self._clock())
                # Once around the event loop; sleep(0) would come back hundreds of times before anything is read.
                gevent.idle(URGENT)
        self._pacing = None

    def _give(self, now: float) -> None:
        """Their turns to all whose time has come; who wants another one at once has that the next time."""
        due = []
        while self._turns and self._turns[0][0] <= now:
            due.append(heappop(self._turns))
        for _, _, take_turn in due:
            take_turn()
