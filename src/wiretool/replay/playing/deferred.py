"""What may wait until the bytes that somebody waits for are on their way."""

from collections import deque
from collections.abc import Callable

#: So much may be put off until somebody asks for it.
WAITING_MAX = 1_024

Work = Callable[[], None]


class Later:
    """Work that is put off, and done in its order: some before more is heard, some when its results are wanted."""

    def __init__(self) -> None:
        self._soon: deque[Work] = deque()
        self._late: deque[Work] = deque()

    def soon(self, work: Work) -> None:
        """Do it before anything more is heard."""
        self._soon.append(work)

    def late(self, work: Work) -> None:
        """Do it before anybody wants to know what came of it, and behind all that is to be done soon."""
        self._late.append(work)

    def go_on(self) -> None:
        """Do what is to be done soon; and all, where it has become much."""
        _do(self._soon)
        if len(self._late) > WAITING_MAX:
            _do(self._late)

    def catch_up(self) -> None:
        """Do all of it."""
        while self._soon or self._late:
            _do(self._soon)
            _do(self._late)


def _do(waiting: deque[Work]) -> None:
    while waiting:
        waiting.popleft()()
