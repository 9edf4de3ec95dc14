"""How connections begin, kept so that what comes later on them can be read by whoever has nothing else of them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.load.link import Link

Address = tuple[str, int]


class Opening:
    """What both sides say while a user sets up, in order: up to so many bytes, whole requests with their answers."""

    def __init__(self, bytes_max: int = limits.BENCH_OPENING_BYTES_MAX) -> None:
        #: When, which side, what.
        self.pieces: list[tuple[float, Side, bytes]] = []
        #: Whether what is said belongs to it.
        self.is_open = True
        self._room = bytes_max

    def said(self, at_s: float, side: Side, data: bytes) -> None:
        """A side sent that. Where there is no room for it, what it belongs to is left out, and all that follows."""
        if len(data) > self._room:
            if side == "server":
                self._drop("server")
                self._drop("client")
            self.is_open = False
            return
        self._room -= len(data)
        self.pieces.append((at_s, side, data))

    def end(self, held: int = 0) -> None:
        """It is over; the last bytes that came, so many, are the beginning of something else."""
        self.is_open = False
        while held and self.pieces and self.pieces[-1][1] == "server":
            at_s, side, data = self.pieces.pop()
            if len(data) > held:
                self.pieces.append((at_s, side, data[:-held]))
            held = max(held - len(data), 0)

    def _drop(self, side: Side) -> None:
        while self.pieces and self.pieces[-1][1] == side:
            self.pieces.pop()


@dataclass(slots=True, eq=False)
class Opened:
    """What is known of a connection: both ends, when it was opened, by the session's clock, and what was said first."""

    client: Address
    server: Address
    opened_s: float
    opening: Opening = field(default_factory=Opening)
    #: Replies that were told apart so far.
    replies: int = 0


class OpenedLink(Link):
    """A connection whose opening is kept."""

    def __init__(self, host: str, port: int, clock: Callable[[], float]) -> None:
        super().__init__(host, port)
        self.opened = Opened(self.socket.getsockname()[:2], self.socket.getpeername()[:2], clock())
        self._opening = self.opened.opening
        self._clock = clock

    def send(self, data: bytes | bytearray) -> None:
        if self._opening.is_open:
            self._opening.said(self._clock(), "client", bytes(data))
        super().send(data)

    def receive(self) -> bytes:
        return self._heard(super().receive())

    def receive_within(self, seconds: float) -> bytes:
        return self._heard(super().receive_within(seconds))

    def _heard(self, data: bytes) -> bytes:
        if data and self._opening.is_open:
            self._opening.said(self._clock(), "server", data)
        return data
