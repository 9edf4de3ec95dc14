"""The mock of a Pravega cluster of one store and one controller."""

import random
from collections.abc import Mapping
from typing import Any

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.errors import UsageError
from wiretool.protocols.pravega.failures import SegmentIsSealed
from wiretool.protocols.pravega.segments import (
    CreateSegment,
    GetStreamSegmentInfo,
    SealSegment,
    SegmentSealed,
    StreamSegmentInfo,
)
from wiretool.protocols.pravega.server.link import Port, StoreLink
from wiretool.protocols.pravega.server.reading import GROUPING_NS
from wiretool.protocols.pravega.server.store import SegmentStore
from wiretool.protocols.pravega.server.tokens import TokenChecker
from wiretool.protocols.pravega_controller.server.authority import Authority
from wiretool.protocols.pravega_controller.server.context import Address, Context
from wiretool.protocols.pravega_controller.server.link import ControllerLink
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.service import Service
from wiretool.protocols.pravega_controller.server.state import ControllerState
from wiretool.protocols.pravega_controller.server.transactions import ABORT_NS
from wiretool.server.mock import Action, Door, Link, Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import ServerPart

#: Wire versions of servers 0.11.0 and 0.12.0, of 0.13.0, the newest release, and of the newest code.
OLDEST_SERVED_VERSION = 15
RELEASED_VERSION = 16
NEWEST_VERSION = 17
STORE_DOOR = Door("store", 12345, "pravega")
CONTROLLER_DOOR = Door("controller", 9090, "pravega-controller")
ADMIN_DOOR = Door("admin", 9999, "pravega")
#: How often the store looks for idle segments, and for how long one must have been idle to be unloaded.
_IDLE_NS = 60_000_000_000


class PravegaMock(Mock):
    """A store and its controller. Times are nanoseconds since the epoch: they are told to clients.

    `like_real`: segments that are idle for a minute or two are unloaded, which ends the reads that wait in them
    with an empty reply; a writer whose append was refused has to be set up anew. `auth`: user and password that the
    controller asks for; with them the store asks for delegation tokens, signed with `token_key`. `advertise`: where
    clients are sent to find the store, if not to its door; port 0 is that of the door. `has_admin`: there is an
    admin port too. `has_leases`: transactions whose lease is over are aborted. `is_paced`: aborts and the first
    reads of a connection take as long as clients need that know a real server; without, all is done at once.
    """

    operations = ("seal", "scale")

    def __init__(
        self,
        *,
        wire_version: int = RELEASED_VERSION,
        seed: int = 0,
        retain_bytes: int = limits.MOCK_RETAIN_BYTES,
        like_real: bool = False,
        auth: tuple[str, str] | None = None,
        token_key: bytes = b"secret",
        advertise: tuple[str, int] | None = None,
        has_admin: bool = False,
        has_leases: bool = True,
        is_paced: bool = False,
    ) -> None:
        if not OLDEST_SERVED_VERSION <= wire_version <= NEWEST_VERSION:
            raise UsageError(
                f"wire version {wire_version}: not supported; expected {OLDEST_SERVED_VERSION} to {NEWEST_VERSION}"
            )
        super().__init__()
        self.doors = (STORE_DOOR, CONTROLLER_DOOR, *((ADMIN_DOOR,) if has_admin else ()))
        self._wire_version = wire_version
        self._seed = seed
        self._retain_bytes = retain_bytes
        self._like_real = like_real
        self._tokens = None if auth is None else TokenChecker(token_key)
        self._authority = None if auth is None or self._tokens is None else Authority(*auth, self._tokens)
        self._advertise = advertise
        self._has_leases = has_leases
        self._is_paced = is_paced
        #: Where each door is; where it usually is until it is told.
        self._bound = {door.name: Address("127.0.0.1", door.port) for door in self.doors}
        #: Those that are open.
        self._open: set[str] = set()
        self.forget()

    def bound(self, door: str, host: str, port: int) -> None:
        self._bound[door] = Address(host, port)
        self._open.add(door)
        self.service = self._new_service()

    def forget(self) -> None:
        self._is_watching = False
        rng = random.Random(self._seed)
        self.store = SegmentStore(
            wire_version=self._wire_version,
            retain_bytes=self._retain_bytes,
            rng=rng,
            tokens=self._tokens,
            forgets_refused=self._like_real,
            grouping_ns=GROUPING_NS if self._is_paced else 0,
        )
        self.controller = ControllerState(
            self._ask,
            self.store.append_event,
            self.store.dropped_before,
            rng,
            self.timers,
            has_leases=self._has_leases,
            abort_ns=ABORT_NS if self._is_paced else 0,
        )
        self.service = self._new_service()

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        if door == CONTROLLER_DOOR.name:
            return ControllerLink(connection, self.service, self.outbox)
        if self._like_real and not self._is_watching:
            self._watch(now_ns)
        port: Port = "admin" if door == ADMIN_DOOR.name else "main"
        return StoreLink(connection, self.store, self.outbox, self.timers, port, self._place_of_controller())

    def _place_of_controller(self) -> str:
        if CONTROLLER_DOOR.name not in self._open:
            return "no controller is open, --controller ADDRESS opens one"
        host, port = self._bound[CONTROLLER_DOOR.name]
        return f"the controller listens at {f'[{host}]' if ':' in host else host}:{port}"

    def operate(self, what: str, arguments: Mapping[str, Any], now_ns: int) -> tuple[Mapping[str, Any], list[Action]]:
        """`seal` {segment} seals a segment; `scale` {scope, stream, segments} divides a stream anew."""
        match what:
            case "seal":
                told = self._seal(now_ns, **_checked(what, arguments, segment=str))
            case "scale":
                told = self._scale(now_ns, **_checked(what, arguments, scope=str, stream=str, segments=int))
            case _:
                return super().operate(what, arguments, now_ns)
        return told, self._done(now_ns)

    def _seal(self, now_ns: int, segment: str) -> Mapping[str, Any]:
        """As a client seals one: a table segment too."""
        reply = self.store.ask(SealSegment(request_id=0, segment=segment), now_ns)
        if not isinstance(reply, SegmentSealed):
            raise UsageError(f"segment {segment!r} is {'sealed' if isinstance(reply, SegmentIsSealed) else 'missing'}")
        info = self.store.ask(GetStreamSegmentInfo(request_id=0, segment_name=segment), now_ns)
        assert isinstance(info, StreamSegmentInfo), "it was there to be sealed"
        return {"segment": segment, "length": info.write_offset}

    def _scale(self, now_ns: int, scope: str, stream: str, segments: int) -> Mapping[str, Any]:
        if not 1 <= segments <= limits.CONTROLLER_SEGMENTS_MAX:
            raise UsageError(f"a stream is scaled to 1 to {limits.CONTROLLER_SEGMENTS_MAX} segments, not {segments}")
        try:
            made = self.controller.scale_to(scope, stream, segments, now_ns)
        except Refused as refused:
            raise UsageError(_not_scaled(f"{scope}/{stream}", refused)) from refused
        return {"segments": [segment.id for segment in made]}

    def _ask(self, request: Message, now_ns: int) -> Message:
        """What the store tells the controller, which may use the name of a segment again at once."""
        if isinstance(request, CreateSegment):
            self.store.segments.free_name(request.segment)
        return self.store.ask(request, now_ns)

    def _new_service(self) -> Service:
        host, port = self._advertise or self._bound[STORE_DOOR.name]
        store = Address(host, port or self._bound[STORE_DOOR.name].port)
        return Service(Context(self.controller, store, self._bound[CONTROLLER_DOOR.name], self._authority))

    def _watch(self, now_ns: int) -> None:
        """Look for idle segments, now and from time to time."""
        self._is_watching = True
        self.store.segments.unload_idle(now_ns, _IDLE_NS)
        self.timers.at(now_ns + _IDLE_NS, self._watch)


def _not_scaled(stream: str, refused: Refused) -> str:
    if refused.why in (Why.SCOPE_NOT_FOUND, Why.STREAM_NOT_FOUND):
        return f"scale: there is no stream {stream}; expected SCOPE/STREAM"
    return f"{stream} is not scaled: {refused}"


def _checked(what: str, arguments: Mapping[str, Any], **kinds: type) -> dict[str, Any]:
    """The arguments of the operation `what`, if they are these and of these kinds. UsageError."""
    if set(arguments) != set(kinds):
        raise UsageError(f"{what}: expected {', '.join(kinds)}, got {', '.join(arguments) or 'nothing'}")
    for name, kind in kinds.items():
        if type(arguments[name]) is not kind:
            raise UsageError(f"{what}, {name}: expected {kind.__name__}, got {arguments[name]!r}")
    return dict(arguments)


def _make(options: MockOptions) -> PravegaMock:
    """Return a mock with these options."""
    return PravegaMock(
        wire_version=RELEASED_VERSION if options.wire_version is None else options.wire_version,
        seed=options.seed,
        retain_bytes=options.retain_bytes,
        like_real=options.like_real,
        auth=options.auth,
        advertise=options.advertise,
        has_admin=options.has_admin,
        has_leases=options.leases,
        is_paced=options.is_paced,
    )


SERVER = ServerPart(
    _make,
    frozenset(("wire_version", "has_admin", "leases", "advertise", "like_real", "auth")),
    blocking_clients=frozenset(("pravega_client",)),
)
