"""What may wait until the bytes that somebody waits for are on their way."""

from collections import deque
from collections.abc import Callable


class Later:
    """Work that is put off, and done in its order."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()

    def put_off(self, work: Callable[[], None]) -> None:
        """Do it later."""
        self._waiting.append(work)

    def catch_up(self) -> None:
        """Do all of it now."""
        while self._waiting:
            self._waiting.popleft()()
