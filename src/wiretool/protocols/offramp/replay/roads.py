"""What a recording shows of the roads behind it: partitions, messages and when they came, commits, and who may read."""

import base64
import binascii
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set

from wiretool.protocols.offramp import http
from wiretool.protocols.offramp.handshake import stream_path
from wiretool.protocols.offramp.messages import (
    Close,
    CommitEvent,
    HandshakeRequest,
    HandshakeResponse,
    MessageEvent,
    Ping,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.protocols.offramp.replay.consumer_trace import Course, commits_of
from wiretool.protocols.offramp.server.feed import FeedMessage
from wiretool.protocols.offramp.server.roads import ConsumerName, Ends, RoadStart

#: Places of a partition that nobody told anything of, and that are filled between two that somebody did.
_FILLED_MAX = 10_000
#: What stands where nobody was told what there is.
UNTOLD = "not recorded"


class RoadPast:
    """One road, and the connections to it in their order."""

    def __init__(self, name: str, courses: Sequence[Course]) -> None:
        self.name = name
        self.courses = courses
        self._told: dict[int, dict[int, MessageEvent]] = defaultdict(dict)
        for course in courses:
            for _, event in course.heard_after():
                self._told[event.partition].setdefault(event.offset, event)
        self.first = {partition: min(told) for partition, told in self._told.items()}

    def feed(self) -> Iterable[FeedMessage]:
        """What is on it, by partition."""
        for partition, told in self._told.items():
            before = self.first[partition] - 1
            for offset in sorted(told):
                for _ in range(min(offset - before - 1, _FILLED_MAX)):
                    yield FeedMessage(road=self.name, partition=partition, payload=UNTOLD)
                event, before = told[offset], offset
                yield FeedMessage(
                    road=self.name,
                    partition=partition,
                    schema=event.schema,
                    timestamp=event.timestampMs,
                    payload=event.payload,
                )

    def start(self) -> RoadStart:
        """How it is when the first of them comes."""
        return RoadStart(
            partitions=self._partitions(),
            first=self.first,
            committed=self._committed(),
            permissions=self._permissions(),
            paces=self._paces(),
        )

    def _partitions(self) -> int:
        """As many as anybody was told of."""
        assigned = {
            partition
            for course in self.courses
            for record in course.frames
            if isinstance(record.fields, RebalanceEvent)
            for partition in record.fields.assignment
        }
        return 1 + max((*assigned, *self._told), default=0)

    def _committed(self) -> Mapping[str, Mapping[int, int]]:
        """Return where each stream begins, where a new one begins elsewhere: at the first offset that it received."""
        found: dict[str, dict[int, int]] = defaultdict(dict)
        known: set[tuple[str, int]] = set()
        frames = ((record, course) for course in self.courses for record in course.frames)
        for record, course in sorted(frames, key=lambda each: (each[0].time_ns, each[0].n)):
            fields = record.fields
            if isinstance(fields, CommitEvent) and record.side == "client":
                known |= {(course.stream, partition) for partition in commits_of(record)}
            elif isinstance(fields, MessageEvent) and (course.stream, fields.partition) not in known:
                known.add((course.stream, fields.partition))
                if fields.offset != self.first[fields.partition] or course.default_offset != "EARLIEST":
                    found[course.stream][fields.partition] = fields.offset
        return found

    def _paces(self) -> Mapping[ConsumerName, Sequence[Ends]]:
        """When the messages came: by the first connection that was told of each, and how much it had said by then."""
        paces: dict[ConsumerName, Sequence[Ends]] = {}
        came: dict[str, int] = defaultdict(int)
        for course in self.courses:
            if not course.is_granted:
                continue
            ends: list[dict[int, int]] = [{} for _ in range(len(course.taken) + 2)]
            for count, event in course.heard_after():
                ends[count][event.partition] = max(event.offset + 1, ends[count].get(event.partition, 0))
            paces[course.stream, came[course.stream]] = ends
            came[course.stream] += 1
        return paces

    def _permissions(self) -> Mapping[str, Set[str]] | None:
        """What callers with a name were granted, if one of them was refused."""
        held: set[str] = set()
        is_refused = False
        for course in self.courses:
            for request in _requests(course):
                if not http.header_values(request.headers, "Authorization"):
                    continue
                if course.is_granted:
                    held |= {"PUBLIC", *(request.grants or ())}
                elif course.close is not None and getattr(course.close.fields, "code", 0) == 1011:
                    is_refused = True
        return {"*": held} if is_refused else None


def roads_of(courses: Iterable[Course]) -> Mapping[str, RoadPast]:
    """By name, the roads that are there: one to which nobody got is none."""
    found: dict[str, list[Course]] = defaultdict(list)
    for course in courses:
        found[course.road].append(course)
    return {name: RoadPast(name, at) for name, at in found.items() if _is_road(at)}


def _is_road(courses: Sequence[Course]) -> bool:
    """Whether somebody got to the road, or nobody was told that there is none."""
    return any(course.is_granted for course in courses) or not any(is_unknown(course) for course in courses)


def is_unknown(course: Course) -> bool:
    """Whether the server said that there is no such road: by 404, or after the upgrade by 1000 before any event."""
    if course.is_granted:
        return False
    if course.close is not None and isinstance(course.close.fields, Close):
        return course.close.fields.code == 1000
    return any(
        isinstance(record.fields, HandshakeResponse) and record.fields.status == 404 and _is_lawful(course)
        for record in course.frames
    )


def _is_lawful(course: Course) -> bool:
    return any(stream_path(request.target) is not None for request in _requests(course))


def _requests(course: Course) -> Iterable[HandshakeRequest]:
    return (record.fields for record in course.frames if isinstance(record.fields, HandshakeRequest))


def is_decided(courses: Iterable[Course]) -> bool:
    """Whether the server spoke as the reference decides, where the original speaks otherwise.

    It refuses in HTTP what the original refuses after the upgrade, it pings, or it sends a REBALANCE to a consumer that
    has no demand (decision 16).
    """
    for course in courses:
        if _has_rebalance_without_demand(course):
            return True
        if any(isinstance(record.fields, Ping) and record.side == "server" for record in course.frames):
            return True
        statuses = {record.fields.status for record in course.frames if isinstance(record.fields, HandshakeResponse)}
        paths = [stream_path(request.target) for request in _requests(course)]
        if any(paths) and (404 in statuses or 403 in statuses):
            return True
        if any(path is not None and path.wrong for path in paths) and 400 in statuses:
            return True
    return False


def _has_rebalance_without_demand(course: Course) -> bool:
    """Return whether a consumer that had received all that it had asked for was sent a REBALANCE."""
    asked = received = 0
    for record in course.frames if course.is_opened_whole else ():
        if isinstance(record.fields, RequestEvent):
            asked += max(record.fields.count, 0)
        elif isinstance(record.fields, MessageEvent):
            received += 1
        elif isinstance(record.fields, RebalanceEvent) and 0 < asked <= received:
            return True
    return False


def credentials_of(courses: Iterable[Course]) -> tuple[str, str] | None:
    """The user and the password of the first who was let in with any."""
    for course in courses:
        for request in _requests(course) if course.is_granted else ():
            for value in http.header_values(request.headers, "Authorization"):
                try:
                    name, colon, word = base64.b64decode(value.partition(" ")[2], validate=True).decode().partition(":")
                except (binascii.Error, ValueError):
                    continue
                if colon:
                    return name, word
    return None
