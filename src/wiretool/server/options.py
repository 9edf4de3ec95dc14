"""What a mock may be asked to do, and which protocol's mock can."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from wiretool import limits
from wiretool.errors import UsageError

if TYPE_CHECKING:
    from wiretool.protocols.offramp.server.feed import FeedMessage
    from wiretool.protocols.offramp.server.roads import RoadStart
    from wiretool.protocols.pravega_draft.server.mock import SegmentStart

#: Messages a second that a mock of Offramp may be asked to feed to a road.
RATE_MAX = 1e6
#: Options that only some protocols' mocks have, and how the command line spells them where that differs.
BELONG = {
    "wire_version": ("pravega",),
    "has_admin": ("pravega",),
    "leases": ("pravega",),
    "advertise": ("pravega",),
    "like_real": ("pravega", "sbp", "sbp-0.1", "offramp"),
    "auth": ("pravega", "offramp"),
    "roads": ("offramp",),
    "feed": ("offramp",),
    "rate": ("offramp",),
    "road_starts": ("offramp",),
    "segments": ("pravega-draft",),
    "segment_starts": ("pravega-draft",),
    "range_servers": ("sbp", "sbp-0.1"),
    "followers": ("sbp",),
    "schema": ("sbp-0.1",),
}
SPELLED = {"roads": "road", "has_admin": "admin", "leases": "no-leases"}


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
    #: Offramp: the roads there are; None for any. Messages put on them at the start, and made per second and road.
    roads: Sequence[str] | None = None
    feed: Sequence["FeedMessage"] = ()
    rate: float = 0.0
    #: Offramp: roads that do not begin as new ones do.
    road_starts: "Mapping[str, RoadStart] | None" = None
    #: Pravega's draft: the segments there are, None: any; and those that do not begin empty.
    segments: Sequence[str] | None = None
    segment_starts: "Mapping[str, SegmentStart] | None" = None
    #: SBP: range servers (data nodes) that have doors of their own, as the placement driver has then; 0 for one door.
    range_servers: int = 0
    #: SBP: nodes of the placement driver that do not lead, with such doors.
    followers: int = 0
    #: SBP v0.1: S1 or S2; empty for what each connection shows.
    schema: str = ""


def check_options(protocol: str, options: MockOptions) -> None:
    """UsageError for an option that the protocol's mock does not have."""
    plain = MockOptions()
    for field in fields(options):
        homes = BELONG.get(field.name, (protocol,))
        if protocol not in homes and getattr(options, field.name) != getattr(plain, field.name):
            spelled = SPELLED.get(field.name, field.name).replace("_", "-")
            raise UsageError(f"--{spelled}: not allowed with {protocol}; only with {' and '.join(homes)}")
