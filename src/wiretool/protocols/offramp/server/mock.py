"""The mock Offramp server: who may connect to what, and everything that is on its roads."""

from collections.abc import Iterable, Mapping, Sequence, Set
from math import inf
from typing import Any

from wiretool import limits
from wiretool.errors import EncodeError, UsageError
from wiretool.protocols.offramp.handshake import StreamPath, stream_path
from wiretool.protocols.offramp.messages import HandshakeRequest
from wiretool.protocols.offramp.server.consumer import Consumer, Port
from wiretool.protocols.offramp.server.feed import FeedMessage, Maker, feed_message, read_feed
from wiretool.protocols.offramp.server.groups import Group
from wiretool.protocols.offramp.server.link import OfframpLink
from wiretool.protocols.offramp.server.roads import ConsumerName, Road, Roads, RoadStart
from wiretool.protocols.offramp.server.upgrade import Access, Verdict, decided
from wiretool.protocols.offramp.server.upgrade_real import path_of, recorded
from wiretool.server.mock import Action, Door, Link, Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import ServerPart

PARTITIONS = 6
#: The only user of the original server in memory, where nobody is named.
DEFAULT_AUTH: Mapping[str, str] = {"user": "pass"}
#: What every user is, beside its own name.
_AUTHORITY = "ROLE_USER"
#: How often messages are made at most.
_TICK_NS_MIN = 10_000_000


class OfframpMock(Mock):
    """A Data Highway Offramp v2 server in memory.

    `roads`: those there are, None: any. `feed`: messages on them from the start. `rate`: so many more a second on each
    road that somebody is connected to. `starts`: of roads that do not begin as new ones. `auth`: passwords by name;
    each user has the authority ROLE_USER and its own name. `permissions`: for a road, which authority holds which
    sensitivities; on any other every user holds all.
    `commits_own_only`: refuse to commit for partitions that are not assigned to the one who asks.
    `client_message_bytes_max`: the longest message of a client that it takes; None: the original's with `like_real`,
    limits.OFFRAMP_MOCK_CLIENT_MESSAGE_BYTES_MAX without. `like_real`: answer as the original was recorded to, where the
    reference decides otherwise.
    """

    doors = (Door("offramp", 8080, "offramp"),)
    operations = ("publish", "rebalance", "roads")

    def __init__(
        self,
        *,
        roads: Sequence[str] | None = None,
        feed: Iterable[FeedMessage] = (),
        rate: float = 0.0,
        starts: Mapping[str, RoadStart] | None = None,
        partitions: int = PARTITIONS,
        retain_bytes: int = limits.MOCK_RETAIN_BYTES,
        auth: Mapping[str, str] | None = None,
        permissions: Mapping[str, Mapping[str, Set[str]]] | None = None,
        agent_name: str = "unknown",
        deflate: bool = True,
        commits_own_only: bool = False,
        client_message_bytes_max: int | None = None,
        seed: int = 0,
        like_real: bool = False,
    ) -> None:
        super().__init__()
        if partitions < 1 or not 0 <= rate < inf:
            raise UsageError(f"a road has at least one partition, not {partitions}, and no rate of {rate}")
        users = {name: (word, {_AUTHORITY, name}) for name, word in (auth or DEFAULT_AUTH).items()}
        self._starts = starts or {}
        ruled = {name: start.permissions for name, start in self._starts.items() if start.permissions is not None}
        self._access = Access(users, {**ruled, **(permissions or {})})
        self._names, self._feed = roads, tuple(feed)
        self._partitions, self._retain_bytes = partitions, retain_bytes
        self._rate, self._seed = rate, seed
        self._deflates = deflate
        self._commits_own_only = commits_own_only
        self.agent_name = agent_name
        self.like_real = like_real
        self.client_message_bytes_max = (
            _client_message_bytes_max(like_real=like_real)
            if client_message_bytes_max is None
            else client_message_bytes_max
        )
        self.now_ns = 0
        self.forget()

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        return OfframpLink(self, connection, now_ns)

    def forget(self) -> None:
        self._roads = Roads(
            self._names,
            partitions=self._partitions,
            retain_bytes=self._retain_bytes,
            feed=self._feed,
            later=self._settle_later,
            starts=self._starts,
        )
        #: Groups to settle when everything that happens now has happened.
        self._unsettled: dict[Group, None] = {}
        self._makers: dict[str, Maker] = {}
        self._is_ticking = False

    def stopped(self, now_ns: int) -> list[Action]:
        """See Mock. Nobody gets the partitions of those who are told to go."""
        for road in self._roads:
            for group in road.groups.values():
                group.disband()
        return super().stopped(now_ns)

    # -- consumers that come and go --------------------------------------------------------------------------------

    def _settle_later(self, group: Group) -> None:
        if not self._unsettled:
            self.timers.at(self.now_ns, self._settle)
        self._unsettled[group] = None

    def _settle(self, now_ns: int) -> None:
        self.now_ns = now_ns
        groups, self._unsettled = self._unsettled, {}
        for group in groups:
            group.settle()

    # -- for its links ---------------------------------------------------------------------------------------------

    def answer(self, asked: HandshakeRequest) -> Verdict:
        """What a handshake gets."""
        path = (path_of if self.like_real else stream_path)(asked.target)
        is_road = path is not None and self._roads.has(path.road)
        if self.like_real:
            return recorded(asked, path, is_road, self._access, self.now_ns, deflates=self._deflates)
        return decided(asked, path, is_road, self._access, self.now_ns, deflates=self._deflates)

    def consumer(self, port: Port, path: StreamPath) -> Consumer:
        """The consumer of a client whose handshake was granted."""
        road = self._roads.get(path.road, self.now_ns)
        assert road is not None
        road.users += 1
        if self._rate and road.users == 1:
            self._start_making(road)
        name = road.came(path.stream)
        return Consumer(
            port,
            road,
            path.stream,
            starts_at_end=path.default_offset != "EARLIEST",
            sees_pii="PII" in path.grants,
            commits_own_only=self._commits_own_only,
            like_real=self.like_real,
            has_taken=lambda count: self._go_on(road, name, count),
        )

    def _go_on(self, road: Road, name: ConsumerName, count: int) -> None:
        """A consumer has been served so many events: what came to the road then is there now."""
        if road.go_on(name, count):
            road.pump()

    def gone(self, path: StreamPath) -> None:
        """A client whose handshake was granted is there no more."""
        road = self._roads.get(path.road, self.now_ns)
        if road is not None:
            road.users -= 1

    # -- messages at a rate ----------------------------------------------------------------------------------------

    def _start_making(self, road: Road) -> None:
        maker = self._makers.setdefault(road.name, Maker(self._seed, road.name, self._rate))
        maker.start(self.now_ns)
        if not self._is_ticking:
            self._is_ticking = True
            self._tick(self.now_ns)

    def _tick(self, now_ns: int) -> None:
        """Put what is due on every road in use, and come again while there is one."""
        self.now_ns = now_ns
        used = [road for road in self._roads if road.users]
        for road in used:
            for message in self._makers[road.name].due(now_ns):
                self._roads.put(road, message, now_ns)
            road.pump()
        self._is_ticking = bool(used)
        if used:
            self.timers.at(now_ns + max(int(1_000_000_000 / self._rate), _TICK_NS_MIN), self._tick)

    # -- from outside the protocol ---------------------------------------------------------------------------------

    def operate(self, what: str, arguments: Mapping[str, Any], now_ns: int) -> tuple[Mapping[str, Any], list[Action]]:
        self.now_ns = now_ns
        if what == "publish":
            return self._publish(arguments), self._done(now_ns)
        if what == "rebalance":
            return self._rebalance(arguments), self._done(now_ns)
        if what == "roads":
            return {"roads": [road.described() for road in self._roads]}, []
        return super().operate(what, arguments, now_ns)

    def publish(self, name: str, message: FeedMessage) -> tuple[int, int]:
        """Put a message on a road, for all who wait for it; its partition and offset. UsageError: it cannot be."""
        road = self._roads.get(name, self.now_ns)
        if road is None:
            raise UsageError(f"there is no road {name!r}")
        try:
            place = self._roads.put(road, message, self.now_ns)
        except EncodeError as err:
            raise UsageError(str(err)) from err
        road.pump()
        return place

    def _publish(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        message = feed_message(arguments)
        if message.road is None:
            raise UsageError("publish: missing road; expected a road")
        partition, offset = self.publish(message.road, message)
        return {"road": message.road, "partition": partition, "offset": offset}

    def _rebalance(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Assign the partitions of a stream anew, as after a consumer was lost and came back."""
        road = next((road for road in self._roads if road.name == arguments.get("road")), None)
        group = road.groups.get(str(arguments.get("stream"))) if road is not None else None
        if group is None:
            raise UsageError("rebalance: expected a road and a stream with consumers")
        group.rebalance()
        return {"consumers": len(group.members)}


def _client_message_bytes_max(*, like_real: bool) -> int:
    if like_real:
        return limits.OFFRAMP_CLIENT_MESSAGE_BYTES_MAX
    return limits.OFFRAMP_MOCK_CLIENT_MESSAGE_BYTES_MAX


def _make(options: MockOptions) -> OfframpMock:
    """Return a mock with these options."""
    return OfframpMock(
        roads=options.roads,
        feed=options.feed,
        rate=options.rate,
        starts=options.road_starts,
        retain_bytes=options.retain_bytes,
        auth=None if options.auth is None else dict([options.auth]),
        seed=options.seed,
        like_real=options.like_real,
    )


SERVER = ServerPart(_make, frozenset(("like_real", "auth", "roads", "feed", "rate", "road_starts")), read_feed)
