"""What every client of ours is: it connects, is told bytes and a time, and gives back what it wants done.

A caller knows no socket and no clock. Whoever runs it (dialler.py, a test, a simulated network) tells it what
happened and when, and carries out the acts that it gets back, in their order.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple


class Dial(NamedTuple):
    """Connect; `opened` or `lost` will be told. Numbers of connections are never used again."""

    connection: int
    protocol: str
    #: Which of a server's addresses it is, by the name of the mock's door; empty for its first.
    door: str = ""
    #: What goes over it is not recorded: it is no part of what is to be kept of the run.
    is_aside: bool = False


class Send(NamedTuple):
    """These bytes go out on that connection."""

    connection: int
    data: bytes


class Finish(NamedTuple):
    """Nothing more is sent on that connection; what comes is still taken."""

    connection: int


class Abort(NamedTuple):
    """That connection is reset."""

    connection: int


Act = Dial | Send | Finish | Abort


class Caller(ABC):
    """The clients' side of any number of connections."""

    #: When `woken` wants to be called next; None for never.
    wake_ns: int | None = None
    #: Nothing more is to be done.
    is_over = False

    @property
    def progress(self) -> tuple[int, int]:
        """The steps that are done, and all of them; both 0 where there is nothing to count."""
        return 0, 0

    @abstractmethod
    def start(self, now_ns: int) -> list[Act]:
        """Begin."""

    @abstractmethod
    def opened(self, connection: int, now_ns: int) -> list[Act]:
        """The server has accepted."""

    @abstractmethod
    def received(self, connection: int, data: bytes, now_ns: int) -> list[Act]:
        """The server has sent bytes."""

    @abstractmethod
    def ended(self, connection: int, now_ns: int) -> list[Act]:
        """The server has sent its last byte."""

    @abstractmethod
    def lost(self, connection: int, why: str, now_ns: int) -> list[Act]:
        """The connection is gone, or never came to be; `why` says what the network said."""

    @abstractmethod
    def woken(self, now_ns: int) -> list[Act]:
        """It is `wake_ns` or later."""

    def stop(self) -> None:  # noqa: B027  (most have nothing to finish)
        """Somebody ends the run before it is over: what comes from now on is because of that."""

    def rest(self) -> None:  # noqa: B027  (most put nothing off)
        """All acts are done, and nothing else has happened yet: the time for what nobody waits for."""
