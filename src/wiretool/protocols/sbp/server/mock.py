"""The mock of the newest schema: a range server and a placement driver, behind one door or behind two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wiretool import limits
from wiretool.errors import UsageError
from wiretool.protocols.sbp.server.arguments import whole_number
from wiretool.protocols.sbp.server.link import ConnectionPolicy, Role
from wiretool.protocols.sbp.server.placement import Node, PlacementDriver
from wiretool.protocols.sbp.server.range_server import RangeServer
from wiretool.protocols.sbp.server.roles import Roles
from wiretool.protocols.sbp.server.serving import ServerLink
from wiretool.server.mock import Action, Door, Link, Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import ServerPart

#: Silence of a range server after which it gets no new ranges (sbp.md §4.2).
SERVER_SILENCE_NS = 100_000_000_000
#: How long a real range server takes over an append, as recorded.
REAL_COMMIT_NS = 100_000
RANGE_SERVER_PORT, PLACEMENT_DRIVER_PORT = 10911, 12378


@dataclass(slots=True)
class _Site:
    """The two servers that a door leads to."""

    policy: ConnectionPolicy
    placement: PlacementDriver
    range_server: RangeServer
    commit_ns: int


def _names(kind: str, count: int) -> list[str]:
    """What the doors of the second and later servers of a kind are called."""
    return [f"{kind}-{number}" for number in range(2, count + 1)]


def _more_doors(kind: str, port: int, count: int) -> list[Door]:
    return [Door(name, port + at, "sbp") for at, name in enumerate(_names(kind, count), start=1)]


class SbpMock(Mock):
    """Range server and placement driver of the newest schema.

    By default both answer at the door `sbp` (roles.py says which of them a request is for). With `has_two_doors` the
    placement driver has a door of its own, and each serves only its operations, as the real ones do.

    `servers` are range servers that the placement driver knows from the start; None: this one, under number 0, until
    another reports. With doors of their own there may be several `range_servers`, each with ranges of its own, and
    `followers`: nodes of the placement driver that do not lead. `commit_ns` is how long an append takes to be durable:
    it is answered then, and until then another at its offset is refused as pending; None: no time at all, or with
    `like_real` about what the real one needs.
    """

    operations = ("seal", "lead")

    def __init__(
        self,
        *,
        has_two_doors: bool = False,
        like_real: bool = False,
        advertise: str = f"127.0.0.1:{RANGE_SERVER_PORT}",
        advertise_placement_driver: str = "",
        servers: Mapping[int, str] | None = None,
        nodes: Sequence[Node] = (),
        is_leader: bool = True,
        retain_bytes: int = limits.MOCK_RETAIN_BYTES,
        range_servers: int = 1,
        followers: int = 0,
        commit_ns: int | None = None,
        server_silence_ns: int = SERVER_SILENCE_NS,
        policy: ConnectionPolicy | None = None,
    ) -> None:
        super().__init__()
        self.has_two_doors = has_two_doors
        self.doors = (Door("sbp", RANGE_SERVER_PORT, "sbp"),)
        self._followers = followers if has_two_doors else 0
        self._range_servers = range_servers if has_two_doors else 1
        if has_two_doors:
            self.doors += tuple(_more_doors("range-server", RANGE_SERVER_PORT, range_servers))
            self.doors += (Door("placement-driver", PLACEMENT_DRIVER_PORT, "sbp"),)
            self.doors += tuple(_more_doors("placement-driver", PLACEMENT_DRIVER_PORT, 1 + followers))
        self.policy = policy or ConnectionPolicy(like_real=like_real)
        self.advertise = advertise
        self.advertise_placement_driver = advertise_placement_driver
        self.commit_ns = commit_ns if commit_ns is not None else REAL_COMMIT_NS if self.policy.like_real else 0
        self._servers = servers
        self._nodes = nodes
        self._is_leader = is_leader
        self._retain_bytes = retain_bytes
        self._server_silence_ns = server_silence_ns
        #: Where the doors of further servers are.
        self._advertised: dict[str, str] = {}
        self.forget()

    def bound(self, door: str, host: str, port: int) -> None:
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if door == "placement-driver":
            self.advertise_placement_driver = address
        elif door == "sbp":
            self.advertise = address
        else:
            self._advertised[door] = address
        self._introduce()

    def forget(self) -> None:
        kept, cuts = self._retain_bytes // self._range_servers, not self.policy.like_real
        servers = [RangeServer(kept, cuts_answers=cuts) for _ in range(self._range_servers)]
        self.range_server = servers[0]
        self.placement = PlacementDriver((), self._server_silence_ns, self._is_leader)
        drivers = [PlacementDriver((), self._server_silence_ns, False) for _ in range(self._followers)]
        #: The servers behind the doors of their own.
        self._server_at = dict(zip(_names("range-server", self._range_servers), servers[1:], strict=True))
        self._driver_at = dict(zip(_names("placement-driver", 1 + self._followers), drivers, strict=True))
        for number, address in (self._servers or {}).items():
            self.placement.knows(number, address)
        self._introduce()

    def _introduce(self) -> None:
        """Let the placement driver know itself and, unless it was told of others, the range server beside it."""
        address = self.advertise_placement_driver or self.advertise
        own = [Node("wiretool", address, self._is_leader)]
        own += [Node(f"wiretool-{door}", self._advertised.get(door, ""), False) for door in self._driver_at]
        for driver in (self.placement, *self._driver_at.values()):
            driver.nodes = tuple(self._nodes or own)
        if self._servers is None:
            self.placement.stand_in = self.advertise

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        role: Role | None = None
        placement = self._driver_at.get(door, self.placement)
        if self.has_two_doors:
            is_driver = door == "placement-driver" or door in self._driver_at
            role = Role.PLACEMENT_DRIVER if is_driver else Role.RANGE_SERVER
        site = _Site(self.policy, placement, self._server_at.get(door, self.range_server), self.commit_ns)
        return ServerLink(self, site, connection, Roles(role, placement), now_ns)

    def operate(self, what: str, arguments: Mapping[str, Any], now_ns: int) -> tuple[Mapping[str, Any], list[Action]]:
        """`seal`: a range of the range server, by `stream` and `index`; `lead`: whether this node `leads` from now."""
        if what == "seal":
            return self._seal(arguments), self.outbox.take()
        if what == "lead":
            return self._lead(arguments), self.outbox.take()
        return super().operate(what, arguments, now_ns)

    def _seal(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        key = (whole_number("seal", arguments, "stream"), whole_number("seal", arguments, "index", 0))
        replica = self.range_server.replicas.get(key)
        if replica is None:
            raise UsageError(f"no range {key[1]} of stream {key[0]}")
        self.range_server.seal(replica)
        return {"stream": key[0], "index": key[1], "end": replica.committed}

    def _lead(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        leads = arguments.get("leads", True)
        if not isinstance(leads, bool):
            raise UsageError(f"leads is true or false, not {leads!r}")
        self._is_leader = self.placement.is_leader = leads
        self._introduce()
        return {"leads": leads}


def _make(options: MockOptions) -> SbpMock:
    """Return a mock with these options."""
    is_apart = options.range_servers > 0
    return SbpMock(
        has_two_doors=is_apart,
        like_real=options.like_real,
        servers={} if is_apart else None,
        range_servers=options.range_servers or 1,
        followers=options.followers,
        retain_bytes=options.retain_bytes,
    )


SERVER = ServerPart(_make, frozenset(("like_real", "range_servers", "followers")))
