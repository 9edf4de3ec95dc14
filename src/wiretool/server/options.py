"""The options of mock servers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wiretool import limits

#: Messages a second that a mock of Offramp may be asked to feed to a road.
RATE_MAX = 1e6
#: Options that every mock has.
COMMON = frozenset(("seed", "retain_bytes", "is_paced"))
_SPELLED = {"roads": "road", "has_admin": "admin", "leases": "no-leases"}


@dataclass(frozen=True, slots=True)
class MockOptions:
    """All options of all mocks; what is not asked for has its default."""

    seed: int = 0
    #: Bytes of data to keep; the oldest goes first.
    retain_bytes: int = limits.MOCK_RETAIN_BYTES
    #: Behave as recorded where a real server crashes, hangs or goes silent, as far as that harms nobody.
    like_real: bool = False
    #: Pravega: the highest wire version; None for the newest released server's.
    wire_version: int | None = None
    #: Pravega: whether there is an admin gateway.
    has_admin: bool = False
    #: Pravega: the host and, if not 0, the port that getURI gives; None for where the store's door is.
    advertise: tuple[str, int] | None = None
    #: Pravega: whether transactions whose lease is over are aborted.
    leases: bool = True
    #: Pravega: whether aborts and first reads take time, for clients that know a real server.
    is_paced: bool = False
    #: User and password that clients must give; None lets everybody in.
    auth: tuple[str, str] | None = None
    #: Offramp: the roads there are; None for any. Each `FeedMessage` that is put on them at the start, and how many are
    #: made per second and road.
    roads: Sequence[str] | None = None
    feed: Sequence[Any] = ()
    rate: float = 0.0
    #: Offramp: the `RoadStart` of roads that do not begin as new ones do.
    road_starts: Mapping[str, Any] | None = None
    #: Pravega's draft: the segments there are, None: any; and the `SegmentStart` of those that do not begin empty.
    segments: Sequence[str] | None = None
    segment_starts: Mapping[str, Any] | None = None
    #: SBP: range servers (data nodes) that have doors of their own, as the placement driver has then; 0 for one door.
    range_servers: int = 0
    #: SBP: nodes of the placement driver that do not lead, with such doors.
    followers: int = 0
    #: SBP v0.1: S1 or S2; empty for what each connection shows.
    schema: str = ""


def spelling(option: str) -> str:
    """Return how the command line spells an option: `--like-real`."""
    return "--" + _SPELLED.get(option, option).replace("_", "-")
