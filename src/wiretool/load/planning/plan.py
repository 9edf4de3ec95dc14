"""The plan of a load: every option, checked, in a form that can be sent to other processes and machines."""

from math import ceil
from typing import Self

import msgspec

from wiretool import limits

#: How long what is on the way when the time is up may take to come.
GRACE_S = 5.0


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A segment that a controller has given out, by the name that its store knows, and where that store is."""

    segment: str
    host: str
    port: int


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A load on one server. Its JSON form is what the master hands to its workers."""

    protocol: str
    host: str = ""
    port: int = 0
    #: Users of each kind, over all processes.
    appenders: int
    fetchers: int = 0
    #: What is measured, behind the warm-up.
    duration_s: float
    warmup_s: float = 0.0
    #: Exchanges a second of all appenders together, on schedule (open loop); None: each as soon as it can (closed).
    rate_per_s: float | None = None
    #: The time over which users begin, evenly.
    ramp_s: float = 0.0
    #: Bytes of an event, as `sizes_from` reads them.
    event_size: str = "100"
    #: Events of one append, and appends that one user has on the way at most; of Offramp messages and requests.
    batch: int = 1
    pipeline: int = 1
    segments: int = 1
    #: Offramp: the road that is read, empty for one of this run; messages a second that a mock puts on it.
    road: str = ""
    feed_per_s: float = 0.0
    is_conditional: bool = False
    #: The request that is sent again and again, where the protocol has no load part.
    message: str = ""
    #: Whether appenders write while nobody reads, and fetchers read all of it when they have stopped.
    has_backlog: bool = False
    is_verified: bool = True
    #: The share of the exchanges of an operation that may fail in a valid run.
    max_errors: float = 0.01
    seed: int = 0
    #: How many of the slowest exchanges are kept with their bytes.
    keep_slow: int = 0
    #: Names of this run alone begin with it.
    run: str
    #: Where a controller says that the segments are, and the token that it gives for them; empty where none is asked.
    places: tuple[Place, ...] = ()
    token: str = ""

    @property
    def target(self) -> str:
        """`HOST:PORT`, with the brackets that IPv6 wants."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def users(self) -> int:
        """How many users there are."""
        return self.appenders + self.fetchers

    @property
    def drain_s(self) -> float:
        """How long reading a backlog may take; 0 where there is none."""
        return max(self.duration_s, limits.BENCH_DRAIN_S) if self.has_backlog else 0.0

    @property
    def end_s(self) -> float:
        """Seconds that are measured begin before that: those of a drain are counted on behind the others."""
        return ceil(self.duration_s) + self.drain_s if self.has_backlog else self.duration_s

    @property
    def whole_s(self) -> float:
        """From its beginning to its end, which a drain may reach sooner."""
        return self.ramp_s + self.warmup_s + self.duration_s + self.drain_s

    def on(self, host: str, port: int) -> Self:
        """The same load on a server there."""
        return msgspec.structs.replace(self, host=host, port=port)

    def at(self, places: tuple[Place, ...], token: str) -> Self:
        """The same load on segments that are there already."""
        return msgspec.structs.replace(self, host=places[0].host, port=places[0].port, places=places, token=token)
