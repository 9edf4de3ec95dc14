"""The slowest exchanges of a load process, as it says them: what went over the wire, and when."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from wiretool import limits
from wiretool.load.slow.top_n import Slowest


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that one side sent, and when: ns since 1970, by the clock of the load process."""

    at_ns: int
    side: Literal["client", "server"]
    data: bytes


class SlowExchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request and what answered it.

    Times are ns since 1970. The service time is from `sent_ns` to `answered_ns`, the response time from `due_ns`.
    """

    operation: str
    #: Whose it was and what was in it, in words.
    about: str
    due_ns: int
    sent_ns: int
    answered_ns: int
    request: bytes
    reply: bytes
    #: The number of the reply on its connection: others that it answers too have the same.
    reply_number: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(self.request) + len(self.reply)

    @property
    def service_ms(self) -> float:
        """From its sending to its answer."""
        return (self.answered_ns - self.sent_ns) / 1e6

    @property
    def response_ms(self) -> float:
        """From when it was due to its answer."""
        return (self.answered_ns - self.due_ns) / 1e6


class SlowConnection(msgspec.Struct, frozen=True, kw_only=True):
    """A connection, how it began, and its exchanges in the order in which they were sent."""

    client: tuple[str, int]
    server: tuple[str, int]
    opened_ns: int
    #: What was said while its user set up, up to a bound.
    opening: list[Piece]
    exchanges: list[SlowExchange]


class Slow(msgspec.Struct, kw_only=True, tag="slow"):
    """The slowest exchanges of a load process, as many as it was to keep, by connection."""

    worker: str
    connections: list[SlowConnection]
    #: How many more there would be, but for their bytes, and what response time none of them exceeds.
    left_out: int = 0
    cut_ns: int = 0


class Place(NamedTuple):
    """An exchange on its connection."""

    connection: SlowConnection
    exchange: SlowExchange


class SlowOnes:
    """The slowest exchanges of all load processes together."""

    def __init__(self, limit: int, bytes_max: int = limits.BENCH_SLOW_BYTES_MAX) -> None:
        self._slowest: Slowest[Place] = Slowest(limit, bytes_max)
        self._slowest.open()
        self._left_out = 0

    def add(self, slow: Slow) -> None:
        """What one process has to say."""
        self._left_out += slow.left_out
        if slow.cut_ns:
            self._slowest.leave_out(slow.cut_ns)
        for connection in slow.connections:
            for exchange in connection.exchanges:
                took_ns = exchange.answered_ns - exchange.due_ns
                if took_ns > self._slowest.floor:
                    self._slowest.add(took_ns, exchange.size, Place(connection, exchange))

    @property
    def left_out(self) -> int:
        """How many there were too many bytes for, of those that would be here."""
        return min(self._left_out + self._slowest.left_out, self._slowest.limit - len(self))

    def __len__(self) -> int:
        return len(self._slowest)

    def __iter__(self) -> Iterator[Place]:
        """The slowest first."""
        return iter(self._slowest.ranked())
