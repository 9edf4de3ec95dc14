"""The mock of the batch style: a placement manager and a data node, behind one door or behind two."""

from collections.abc import Mapping
from typing import Any

from wiretool import limits
from wiretool.errors import UsageError
from wiretool.protocols.sbp.messages import Schema
from wiretool.protocols.sbp.server.arguments import whole_number
from wiretool.protocols.sbp.server.link import ConnectionPolicy, Role
from wiretool.protocols.sbp_0_1.messages import S1, S2
from wiretool.protocols.sbp_0_1.server.serving import BatchLink
from wiretool.protocols.sbp_0_1.server.store import Node, Refusal, Store
from wiretool.server.mock import Action, Door, Link, Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import ServerPart

#: Silence of a data node after which it gets no new ranges.
NODE_SILENCE_NS = 100_000_000_000
DATA_NODE_PORT, PLACEMENT_MANAGER_PORT = 10911, 12378
SCHEMAS: Mapping[str, Schema] = {"S1": S1, "S2": S2}


class Sbp01Mock(Mock):
    """Placement manager and data node of the batch style.

    By default both answer at the door `sbp-0.1`: SEAL_RANGES seals and makes the next range there, as the placement
    manager does. With `has_two_doors` the placement manager has a door of its own, and the data node only seals; in S2
    each then serves its own operations and no others.

    `schema` is S1 or S2; without one a connection is answered in S1 until a request can only be of S2, for requests
    often fit both. `nodes` are data nodes that are known from the start; None: this one, under number 0, until another
    reports.
    """

    operations = ("seal",)

    def __init__(
        self,
        *,
        has_two_doors: bool = False,
        schema: str = "",
        like_real: bool = False,
        advertise: str = f"127.0.0.1:{DATA_NODE_PORT}",
        advertise_placement_manager: str = "",
        nodes: Mapping[int, str] | None = None,
        retain_bytes: int = limits.MOCK_RETAIN_BYTES,
        node_silence_ns: int = NODE_SILENCE_NS,
        policy: ConnectionPolicy | None = None,
    ) -> None:
        super().__init__()
        if schema and schema not in SCHEMAS:
            raise UsageError(f"the batch style has the schemas {' and '.join(SCHEMAS)}, not {schema!r}")
        self.has_two_doors = has_two_doors
        self.doors = (Door("sbp-0.1", DATA_NODE_PORT, "sbp-0.1"),)
        if has_two_doors:
            self.doors += (Door("placement-manager", PLACEMENT_MANAGER_PORT, "sbp-0.1"),)
        self.schema = SCHEMAS.get(schema)
        self.policy = policy or ConnectionPolicy(like_real=like_real)
        self.advertise = advertise
        self.advertise_placement_manager = advertise_placement_manager
        self._nodes = nodes
        self._retain_bytes = retain_bytes
        self._node_silence_ns = node_silence_ns
        self.forget()

    def bound(self, door: str, host: str, port: int) -> None:
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if door == "placement-manager":
            self.advertise_placement_manager = address
        else:
            self.advertise = address
        self._introduce()

    def forget(self) -> None:
        self.store = Store(self._retain_bytes, self._node_silence_ns)
        for number, address in (self._nodes or {}).items():
            self.store.nodes[number] = Node(address, None)
        self._introduce()

    def _introduce(self) -> None:
        """Let the placement manager know itself and, unless it was told of others, the data node beside it."""
        self.store.manager = self.advertise_placement_manager or self.advertise
        if self._nodes is None:
            self.store.stand_in = self.advertise

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        place: Role | None = None
        if self.has_two_doors:
            place = Role.PLACEMENT_DRIVER if door == "placement-manager" else Role.RANGE_SERVER
        return BatchLink(self, self, connection, place, now_ns)

    def operate(self, what: str, arguments: Mapping[str, Any], now_ns: int) -> tuple[Mapping[str, Any], list[Action]]:
        """`seal`: the writable range of `stream`, or the one with `index`, at the data node."""
        if what != "seal":
            return super().operate(what, arguments, now_ns)
        stream = whole_number(what, arguments, "stream")
        index = whole_number(what, arguments, "index") if arguments.get("index") is not None else None
        try:
            target = self.store.range_of(stream, index)
        except Refusal as why:
            raise UsageError(why.message) from why
        self.store.seal(target)
        return {"stream": target.stream_id, "index": target.index, "end": target.next}, self.outbox.take()


def _make(options: MockOptions) -> Sbp01Mock:
    """Return a mock with these options."""
    is_apart = options.range_servers > 0
    return Sbp01Mock(
        has_two_doors=is_apart,
        schema=options.schema,
        like_real=options.like_real,
        nodes={} if is_apart else None,
        retain_bytes=options.retain_bytes,
    )


SERVER = ServerPart(_make, frozenset(("like_real", "range_servers", "schema")))
