"""The time for machines that hold no clock."""

import time


class Clock:
    """Nanoseconds since 1970 that never go back, whatever is done to the wall clock meanwhile."""

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """The time now."""
        return time.monotonic_ns() + self._offset
