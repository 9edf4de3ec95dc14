"""How much a link may send that the client asked for long ago, before what was sent has left."""

from abc import abstractmethod

from wiretool import limits
from wiretool.server.mock import Link
from wiretool.server.timers import Timer, Timers

#: Long past: a timer that is set for then runs at the first chance.
_AT_ONCE_NS = 0


class PacedLink(Link):
    """A link that sends in turns of limits.MOCK_REPLY_BYTES_MAX.

    A turn begins with the client's bytes, and where what was sent has left: once `drained` says so; and by itself
    where nothing ever said `full`, so that a client that only waits has all of its replies.
    """

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        #: Bytes sent in this turn. Whatever begins one sets it to 0.
        self._unsent_bytes = 0
        #: What was sent leaves slowly: `drained` will follow.
        self._is_full = False
        self._next_turn: Timer | None = None

    @abstractmethod
    def _serve(self, now_ns: int) -> None:
        """Begin a turn: go on with whatever waits for one."""

    def full(self, now_ns: int) -> None:
        self._is_full = True

    def drained(self, now_ns: int) -> None:
        self._is_full = False
        self._serve(now_ns)

    def has_room(self) -> bool:
        """Whether more may be sent before what was sent has left."""
        return self._unsent_bytes < limits.MOCK_REPLY_BYTES_MAX and not self._is_full

    def _sent_unasked(self) -> None:
        """Something was sent while the client said nothing: where the turn is over by it, there is another one."""
        if self._unsent_bytes >= limits.MOCK_REPLY_BYTES_MAX and not self._is_full and self._next_turn is None:
            self._next_turn = self._timers.at(_AT_ONCE_NS, self._take_turn)

    def _take_turn(self, now_ns: int) -> None:
        self._next_turn = None
        if not self._is_full:
            self._serve(now_ns)
