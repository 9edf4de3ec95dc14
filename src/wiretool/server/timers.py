"""Things to do later, on a clock that somebody else holds."""

import heapq
from collections.abc import Callable
from itertools import count

#: What is to be done, given the time at which it is done.
Task = Callable[[int], None]


class Timer:
    """Something to be done at a time, unless it is cancelled first."""

    __slots__ = ("task", "when_ns")

    def __init__(self, when_ns: int, task: Task) -> None:
        self.when_ns = when_ns
        self.task: Task | None = task

    def cancel(self) -> None:
        """Never do it."""
        self.task = None


class Timers:
    """Timers by when they are due; those due at the same time run in the order in which they were set."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._serial = count()

    def at(self, when_ns: int, task: Task) -> Timer:
        """Do `task` at `when_ns`, or at the first chance afterwards."""
        timer = Timer(when_ns, task)
        heapq.heappush(self._heap, (when_ns, next(self._serial), timer))
        return timer

    @property
    def next_ns(self) -> int | None:
        """When the next one is due."""
        while self._heap and self._heap[0][2].task is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run(self, now_ns: int) -> None:
        """Do everything that is due; what is set meanwhile waits for the next call, though it be due at once."""
        due: list[Timer] = []
        while self._heap and self._heap[0][0] <= now_ns:
            due.append(heapq.heappop(self._heap)[2])
        for timer in due:
            if timer.task is not None:
                timer.task(now_ns)

    def clear(self) -> None:
        """Forget them all."""
        self._heap.clear()
