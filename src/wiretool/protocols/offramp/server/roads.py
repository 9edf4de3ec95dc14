"""What is on the roads: partitions of messages with offsets, bounded by what is kept of all of them together."""

import zlib
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from wiretool import limits
from wiretool.codec.remembering import ResultCache
from wiretool.errors import UsageError
from wiretool.protocols.offramp import events
from wiretool.protocols.offramp.messages import MessageEvent
from wiretool.protocols.offramp.server.feed import FeedMessage
from wiretool.protocols.offramp.server.groups import Group, Later
from wiretool.protocols.offramp.server.partitions import Entry, Partition
from wiretool.protocols.offramp.server.pii import blanked

#: A stream, and which of all its consumers, from 0, in the order in which they came.
ConsumerName = tuple[str, int]
#: How far each partition goes: the offset behind its last message.
Ends = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class RoadStart:
    """How a road is when somebody first comes to it, if otherwise than new."""

    #: How many partitions it has; None: as many as any road.
    partitions: int | None = None
    #: For a partition, the offset of the first message that is put on it.
    first: Mapping[int, int] = field(default_factory=dict)
    #: For a stream, what its earlier consumers have committed.
    committed: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    #: Which authority holds which sensitivities; None: as on any road.
    permissions: Mapping[str, Set[str]] | None = None
    #: For a consumer, how much of the road is there for its stream once so many of its events are served, the index.
    #: For a stream of which none is named, and once another consumer of it was served, all of it is there.
    paces: Mapping[ConsumerName, Sequence[Ends]] = field(default_factory=dict)


class Road:
    """A road, and the streams that are read from it; `later`: see groups.Group."""

    def __init__(self, name: str, partitions: int, later: Later, start: RoadStart | None = None) -> None:
        self.name = name
        self._later = later
        self.start = start or RoadStart()
        self.partitions = [Partition(self.start.first.get(index, 0)) for index in range(partitions)]
        self.groups: dict[str, Group] = {}
        #: Connections on it.
        self.users = 0
        self._turn = 0
        self._came: Counter[str] = Counter()
        #: How much of it is there by now for a stream that is told of it at a pace.
        self._shown: dict[str, dict[int, int]] = {stream: {} for stream, _ in self.start.paces}

    def came(self, stream: str) -> ConsumerName:
        """A further consumer of a stream has come; its name."""
        self._came[stream] += 1
        return stream, self._came[stream] - 1

    def end(self, stream: str, index: int) -> int:
        """The offset behind the last message of a partition that is there for a stream."""
        partition = self.partitions[index]
        if stream not in self._shown:
            return partition.end
        return min(max(self._shown[stream].get(index, 0), partition.first), partition.end)

    def go_on(self, name: ConsumerName, count: int) -> bool:
        """Show what is there for a stream once a consumer has been served so many events; whether that is more."""
        stream, _ = name
        shown = self._shown.get(stream)
        if shown is None:
            return False
        paces = self.start.paces
        if name not in paces:
            del self._shown[stream]
            return True
        ends = paces[name][count] if count < len(paces[name]) else {}
        more = {index: end for index, end in ends.items() if end > shown.get(index, 0)}
        shown.update(more)
        return bool(more)

    def group(self, stream: str) -> Group:
        """The consumers and commits of a stream. Streams that only have old commits are forgotten where many are."""
        group = self.groups.get(stream)
        if group is None:
            if len(self.groups) >= limits.OFFRAMP_STREAMS_MAX:
                self._forget_a_stream()
            committed = self.start.committed.get(stream)
            group = self.groups[stream] = Group(self.partitions, self._later, committed)
        return group

    def _forget_a_stream(self) -> None:
        idle = next((name for name, group in self.groups.items() if not group.members), None)
        if idle is not None:
            del self.groups[idle]

    def pump(self) -> None:
        """Send whoever waits for it what has come."""
        for group in self.groups.values():
            for member in group.members:
                member.pump()

    def described(self) -> Mapping[str, Any]:
        """What is on it, and how far each of its streams is."""
        streams = [
            {"stream": name, "consumers": len(group.members), "committed": dict(group.committed)}
            for name, group in self.groups.items()
        ]
        partitions = [{"first": partition.first, "end": partition.end} for partition in self.partitions]
        return {"road": self.name, "partitions": partitions, "streams": streams}

    def place(self, message: FeedMessage) -> int:
        """The partition for a message. UsageError: it names one that the road does not have."""
        count = len(self.partitions)
        if message.partition is not None:
            if message.partition >= count:
                raise UsageError(f"partition {message.partition}: road {self.name!r} has {count}, from 0 on")
            return message.partition
        if message.key is not None:
            return zlib.crc32(message.key.encode("utf-8", "surrogatepass")) % count
        self._turn += 1
        return (self._turn - 1) % count


class Roads:
    """All roads. `names`: those there are; None: any road there is, from when it is asked for; `later`: see Group.

    `starts`: of those that do not begin as new roads do.
    """

    def __init__(
        self,
        names: Sequence[str] | None,
        *,
        partitions: int,
        retain_bytes: int,
        feed: Sequence[FeedMessage],
        later: Later,
        starts: Mapping[str, RoadStart] | None = None,
    ) -> None:
        self._starts = starts or {}
        self._names = None if names is None else frozenset(names)
        self._partitions = partitions
        self._retain_bytes = retain_bytes
        self._feed = feed
        self._later = later
        self._kept_bytes = 0
        #: Where each kept message is, the oldest first.
        self._ages: deque[Partition] = deque()
        self._roads: dict[str, Road] = {}
        for message in feed:
            self._check(message)

    def _check(self, message: FeedMessage) -> None:
        """UsageError: a message of the feed fits no road."""
        if message.road is not None and not self.has(message.road):
            raise UsageError(f"the feed has a message for road {message.road!r}, which does not exist")
        count = self._partitions if message.road is None else self._partitions_of(message.road)
        if message.partition is not None and message.partition >= count:
            raise UsageError(f"the feed has a message for partition {message.partition} of {count}")

    def _partitions_of(self, name: str) -> int:
        start = self._starts.get(name)
        return self._partitions if start is None or start.partitions is None else start.partitions

    def __iter__(self) -> Iterator[Road]:
        return iter(self._roads.values())

    def has(self, name: str) -> bool:
        """Whether there is such a road, or will be when it is asked for."""
        if name in self._roads:
            return True
        if self._names is not None:
            return name in self._names
        return len(self._roads) < limits.OFFRAMP_ROADS_MAX

    def get(self, name: str, now_ns: int) -> Road | None:
        """The road of that name, or None where there is none."""
        road = self._roads.get(name)
        if road is None and self.has(name):
            road = self._roads[name] = Road(name, self._partitions_of(name), self._later, self._starts.get(name))
            for message in self._feed:
                if message.road in (None, name):
                    self.put(road, message, now_ns)
        return road

    def put(self, road: Road, message: FeedMessage, now_ns: int) -> tuple[int, int]:
        """Append a message to a road; its partition and offset. EncodeError: its payload is no JSON."""
        index = road.place(message)
        partition = road.partitions[index]
        entry = _entry(message, index, partition.end, now_ns)
        offset = partition.end
        partition.append(entry)
        self._ages.append(partition)
        self._kept_bytes += entry.size
        while self._kept_bytes > self._retain_bytes:
            self._kept_bytes -= self._ages.popleft().drop_oldest()
        return index, offset


#: Texts by the identity of their message, which is kept with them, and its place and time.
_entries: ResultCache[tuple[int, int, int, int], tuple[FeedMessage, Entry]] = ResultCache()


def _entry(message: FeedMessage, partition: int, offset: int, now_ns: int) -> Entry:
    """The texts of a message, each written once for all who get it."""
    time_ms = now_ns // 1_000_000 if message.timestamp is None else message.timestamp
    if not _entries.is_on:
        return _written(message, partition, offset, time_ms)
    key = id(message), partition, offset, time_ms
    found = _entries.get(key)
    if found is None:
        found = message, _written(message, partition, offset, time_ms)
        _entries.put(key, found)
    return found[1]


def _written(message: FeedMessage, partition: int, offset: int, time_ms: int) -> Entry:
    event = MessageEvent(
        partition=partition,
        offset=offset,
        schema=message.schema,
        timestampMs=time_ms,
        payload=message.payload,
    )
    text = events.encode(event)
    if not message.pii:
        return Entry(text, text)
    hidden = MessageEvent(
        partition=partition,
        offset=offset,
        schema=event.schema,
        timestampMs=event.timestampMs,
        payload=blanked(message.payload, message.pii),
    )
    return Entry(text, events.encode(hidden))
