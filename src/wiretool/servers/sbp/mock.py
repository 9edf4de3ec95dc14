"""The mock of the newest schema: a range server and a placement driver, behind one door or behind two."""

from collections.abc import Mapping, Sequence
from typing import Any

from wiretool import limits
from wiretool.errors import UsageError
from wiretool.servers.mock import Action, Door, Link, Mock
from wiretool.servers.sbp.arguments import whole_number
from wiretool.servers.sbp.link import Manner, Role
from wiretool.servers.sbp.placement import Node, PlacementDriver
from wiretool.servers.sbp.range_server import RangeServer
from wiretool.servers.sbp.roles import Roles
from wiretool.servers.sbp.serving import ServerLink

#: Silence of a range server after which it gets no new ranges (sbp.md §4.2).
SERVER_SILENCE_NS = 100_000_000_000
#: How long a real range server takes over an append, as recorded.
REAL_COMMIT_NS = 100_000
RANGE_SERVER_PORT, PLACEMENT_DRIVER_PORT = 10911, 12378


class SbpMock(Mock):
    """Range server and placement driver of the newest schema.

    By default both answer at the door `sbp` (roles.py says which of them a request is for). With `has_two_doors` the
    placement driver has a door of its own, and each serves only its operations, as the real ones do.

    `servers` are range servers that the placement driver knows from the start; None: this one, under number 0, until
    another reports. `commit_ns` is how long an append takes to be durable: it is answered then, and until then another
    at its offset is refused as pending; None: no time at all, or with `like_real` about what the real one needs.
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
        commit_ns: int | None = None,
        server_silence_ns: int = SERVER_SILENCE_NS,
        manner: Manner | None = None,
    ) -> None:
        super().__init__()
        self.has_two_doors = has_two_doors
        self.doors = (Door("sbp", RANGE_SERVER_PORT, "sbp"),)
        if has_two_doors:
            self.doors += (Door("placement-driver", PLACEMENT_DRIVER_PORT, "sbp"),)
        self.manner = manner or Manner(like_real=like_real)
        self.advertise = advertise
        self.advertise_placement_driver = advertise_placement_driver
        self.commit_ns = commit_ns if commit_ns is not None else REAL_COMMIT_NS if self.manner.like_real else 0
        self._servers = servers
        self._nodes = nodes
        self._is_leader = is_leader
        self._retain_bytes = retain_bytes
        self._server_silence_ns = server_silence_ns
        self.forget()

    def bound(self, door: str, host: str, port: int) -> None:
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if door == "placement-driver":
            self.advertise_placement_driver = address
        else:
            self.advertise = address
        self._introduce()

    def forget(self) -> None:
        self.range_server = RangeServer(self._retain_bytes, cuts_answers=not self.manner.like_real)
        self.placement = PlacementDriver((), self._server_silence_ns, self._is_leader)
        for number, address in (self._servers or {}).items():
            self.placement.knows(number, address)
        self._introduce()

    def _introduce(self) -> None:
        """Let the placement driver know itself and, unless it was told of others, the range server beside it."""
        address = self.advertise_placement_driver or self.advertise
        self.placement.nodes = tuple(self._nodes) or (Node("wiretool", address, self._is_leader),)
        if self._servers is None:
            self.placement.stand_in = self.advertise

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        role: Role | None = None
        if self.has_two_doors:
            role = Role.PLACEMENT_DRIVER if door == "placement-driver" else Role.RANGE_SERVER
        return ServerLink(self, self, connection, Roles(role, self.placement), now_ns)

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
