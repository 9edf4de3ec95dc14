"""Requests of one connection whose replies come in their order, and name none of them."""

from collections import deque
from typing import Generic, TypeVar

from wiretool import limits
from wiretool.codec.message import Side

R = TypeVar("R")
#: After a gap, frames in strict turns of client and server after which no other request is taken to be open.
TURNS_SURE = 32


class OrderedPairs(Generic[R]):
    """The open requests with their numbers, the oldest first.

    After a gap, and where the beginning was not captured, nothing is paired until the sides have taken turns for long.
    """

    def __init__(self, *, from_start: bool) -> None:
        self._open: deque[tuple[int, R]] = deque()
        self._is_sure = from_start
        self._turns = 0
        self._last: Side | None = None

    def add(self, n: int, request: R) -> None:
        """Note a request, the record `n`."""
        self._turn("client")
        self._is_sure |= self._turns >= TURNS_SURE
        if self._is_sure:
            self._open.append((n, request))
            if len(self._open) > limits.REQUESTS_OPEN_MAX:
                self.forget()

    @property
    def first(self) -> R | None:
        """The oldest open request."""
        return self._open[0][1] if self._open else None

    def answer(self, *, is_last: bool = True) -> int | None:
        """Return the number of the request that a reply answers; None where that is not known.

        `is_last`: no further reply to it will come.
        """
        self._turn("server")
        if not self._open:
            return None
        return self._open.popleft()[0] if is_last else self._open[0][0]

    def forget(self) -> None:
        """Forget all requests: bytes are missing, or their order means nothing."""
        self._open.clear()
        self._is_sure, self._turns = False, 0

    def _turn(self, side: Side) -> None:
        self._turns = self._turns + 1 if side != self._last else 0
        self._last = side
