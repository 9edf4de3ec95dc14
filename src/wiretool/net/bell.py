"""Waiting for something that whoever rings may have brought about."""

import asyncio
from collections.abc import Callable


class Bell:
    """Rung whenever anything happened; costs next to nothing while nobody waits."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []
        #: Whether nobody will ring any more.
        self.is_silent = False

    @property
    def is_awaited(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    def ring(self) -> None:
        """Let those who wait look again."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def silence(self) -> None:
        """Let those who wait go: nothing more will happen."""
        self.is_silent = True
        self.ring()

    async def until(self, is_so: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until it is so, `timeout_s` at most; whether it is."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not is_so():
            rest_s = deadline - loop.time()
            if rest_s <= 0 or self.is_silent:
                return False
            future = loop.create_future()
            self._waiting.append(future)
            await asyncio.wait([future], timeout=rest_s)
        return True
