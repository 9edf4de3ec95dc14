"""The order of MESSAGEs: what one connection may receive next, after all that its stream has sent and received.

The rules (offramp.md 3.1, 3.5 and decision 18): messages come within demand; a partition that is not assigned is not
received; between two REBALANCEs the offsets of a partition rise; after a REBALANCE it begins at what the stream has
committed, or where it began before if nothing is.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from wiretool.codec.message import Message
from wiretool.protocols.offramp.handshake import stream_path
from wiretool.protocols.offramp.messages import (
    CommitEvent,
    CommitResponseEvent,
    HandshakeRequest,
    MessageEvent,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.protocols.offramp.replay.consumer_trace import commits_of, content_of
from wiretool.records import Record
from wiretool.replay.adapter import ABSENT, Breach, Difference


@dataclass(eq=False, slots=True)
class Commit:
    """An offset that somebody has committed, or tries to."""

    offset: int
    connection: int
    is_acknowledged: bool = False


@dataclass(eq=False, slots=True)
class Stream:
    """What is known of a stream, by partition."""

    #: What was committed, in the order of the requests; a refused one is taken out again.
    commits: defaultdict[int, list[Commit]] = field(default_factory=lambda: defaultdict(list))
    #: Where the stream began without a commit, for those who want the earliest.
    starts: dict[int, int] = field(default_factory=dict)
    #: The lowest and the highest offset that was received.
    lowest: dict[int, int] = field(default_factory=dict)
    highest: dict[int, int] = field(default_factory=dict)
    #: By partition and offset, the content that was received.
    received: dict[tuple[int, int], str] = field(default_factory=dict)
    #: Some of what was committed is not known.
    is_torn: bool = False


@dataclass(eq=False, slots=True)
class Consumer:
    """One connection, as far as its order matters."""

    number: int
    #: None where its handshake is not known: others of its stream are not known either.
    stream: Stream | None = None
    is_earliest: bool = False
    #: How many messages it may still receive; None where not all of its requests are known.
    demand: int | None = None
    #: The partitions and the record of the last REBALANCE; None where one may have been missed.
    assignment: frozenset[int] | None = None
    assigned_by: int = 0
    #: The last offset of each partition since the last REBALANCE, and its record; and the last one before it.
    last: dict[int, tuple[int, int]] = field(default_factory=dict)
    earlier: dict[int, int] = field(default_factory=dict)
    #: How many commits of the stream were certainly in force at the last REBALANCE, less one.
    certain: dict[int, int] = field(default_factory=dict)
    #: Partition and offset of those that were passed over between two REBALANCEs.
    skipped: set[tuple[int, int]] = field(default_factory=set)
    #: The highest commit of each partition at a REBALANCE.
    begun: dict[int, int] = field(default_factory=dict)


#: Offsets passed over at once that are remembered.
SKIPPED_MAX = 10_000


class Deliveries:
    """Follows all connections of a run, and names the rule that a MESSAGE breaks."""

    def __init__(self) -> None:
        self._consumers: dict[int, Consumer] = {}
        self._streams: defaultdict[tuple[str, str], Stream] = defaultdict(Stream)
        #: Connection and number of a COMMIT -> what it commits, until it is answered.
        self._open: dict[tuple[int, int], list[tuple[list[Commit], Commit]]] = {}

    def follow(self, record: Record) -> Breach | None:
        """Take the next record of the run; the rule that it breaks, if any."""
        consumer = self._consumers.get(record.connection)
        if consumer is None:
            consumer = self._consumers[record.connection] = Consumer(record.connection)
        event = record.fields
        if record.kind == "gap" or _is_unreadable(record):
            self._lose(consumer, record)
        elif isinstance(event, MessageEvent):
            return self._receive(consumer, event, record.n)
        elif isinstance(event, RebalanceEvent):
            self._assign(consumer, record, event)
        elif isinstance(event, HandshakeRequest):
            self._open_stream(consumer, event)
        elif isinstance(event, RequestEvent) and record.side == "client":
            consumer.demand = None if consumer.demand is None else consumer.demand + max(event.count, 0)
        elif isinstance(event, CommitEvent):
            self._commit(consumer, record)
        elif isinstance(event, CommitResponseEvent):
            self._settle(record, event)
        return None

    def why_missing(self, connection: int, event: MessageEvent) -> str:
        """Return why a MESSAGE need not have come on a connection by now; empty if it should have come.

        A server may send other messages within the same demand (3.2), and assign the partition to another consumer
        before the message arrives (3.5). It never passes over an offset (3.1).
        """
        consumer, place = self._consumers.get(connection), (event.partition, event.offset)
        if consumer is None or consumer.stream is None or place in consumer.skipped:
            return ""
        received = consumer.stream.received.get(place)
        if received is not None:
            is_same = received == content_of(event)
            return "the stream received the message under another assignment (reference 3.5)" if is_same else ""
        if consumer.demand == 0:
            return "the demand of the client was spent on other messages of the road (reference 3.2)"
        if event.offset < consumer.begun.get(event.partition, 0):
            return "after a REBALANCE the partition went on from a commit beyond the message (reference 3.5)"
        return ""

    def _lose(self, consumer: Consumer, lost: Record) -> None:
        """What one side sent there is not known."""
        if lost.side == "server":
            consumer.assignment = None
            consumer.last.clear()
            consumer.earlier.clear()
        else:
            consumer.demand = None
            if consumer.stream is not None:
                consumer.stream.is_torn = True

    def _open_stream(self, consumer: Consumer, event: HandshakeRequest) -> None:
        path = stream_path(event.target)
        if path is not None:
            consumer.stream = self._streams[path.road, path.stream]
            consumer.is_earliest = path.default_offset == "EARLIEST"
            consumer.demand = 0
            consumer.assignment = frozenset()

    # -- commits -------------------------------------------------------------------------------------------------------

    def _commit(self, consumer: Consumer, record: Record) -> None:
        stream = consumer.stream
        if stream is None:
            return
        found = self._open[record.connection, record.n] = []
        for partition, offset in commits_of(record).items():
            commit = Commit(offset, consumer.number)
            stream.commits[partition].append(commit)
            found.append((stream.commits[partition], commit))

    def _settle(self, record: Record, event: CommitResponseEvent) -> None:
        for commits, commit in self._open.pop((record.connection, record.reply_to or 0), ()):
            if event.success:
                commit.is_acknowledged = True
            else:
                commits.remove(commit)

    def _assign(self, consumer: Consumer, record: Record, event: RebalanceEvent) -> None:
        consumer.assignment, consumer.assigned_by = frozenset(event.assignment), record.n
        consumer.earlier.update({partition: offset for partition, (offset, _) in consumer.last.items()})
        consumer.last.clear()
        consumer.certain.clear()
        for partition in event.assignment if consumer.stream is not None else ():
            commits = consumer.stream.commits[partition] if consumer.stream is not None else []
            own = (at for at in range(len(commits) - 1, -1, -1) if _is_certain(commits[at], consumer))
            consumer.certain[partition] = next(own, -1)
            consumer.begun[partition] = max((commit.offset for commit in commits), default=0)

    # -- messages ------------------------------------------------------------------------------------------------------

    def _receive(self, consumer: Consumer, event: MessageEvent, n: int) -> Breach | None:
        breach = self._breach(consumer, event)
        partition, offset = event.partition, event.offset
        last, _ = consumer.last.get(partition, (offset, 0))
        consumer.skipped.update((partition, between) for between in range(max(last + 1, offset - SKIPPED_MAX), offset))
        consumer.last[partition] = offset, n
        if consumer.demand is not None:
            consumer.demand -= 1
        if (stream := consumer.stream) is not None:
            stream.received[partition, offset] = content_of(event)
            stream.lowest[partition] = min(offset, stream.lowest.get(partition, offset))
            stream.highest[partition] = max(offset, stream.highest.get(partition, offset))
        return breach

    def _breach(self, consumer: Consumer, event: MessageEvent) -> Breach | None:
        partition, offset = event.partition, event.offset
        if consumer.demand == 0:
            return Breach(
                Difference((), ABSENT, "MESSAGE"), "it comes beyond the demand of the client (offramp.md 3.2)"
            )
        if consumer.assignment is not None and partition not in consumer.assignment:
            why = f"partition {partition} is not one of those that the last REBALANCE assigned (offramp.md 3.5)"
            differs = Difference(("partition",), sorted(consumer.assignment), partition)
            return Breach(differs, why, consumer.assigned_by)
        if partition not in consumer.last:
            return self._breach_at_start(consumer, event)
        last, n = consumer.last[partition]
        if offset > last:
            return None
        what = "is repeated" if offset == last else f"follows offset {last}"
        why = f"offset {offset} of partition {partition} {what} without a REBALANCE in between (offramp.md 3.1)"
        return Breach(Difference(("offset",), f"above {last}", offset), why, n)

    def _breach_at_start(self, consumer: Consumer, event: MessageEvent) -> Breach | None:
        """The first message of a partition after a REBALANCE is the one that was committed."""
        stream, partition, offset = consumer.stream, event.partition, event.offset
        if stream is None or stream.is_torn or consumer.assignment is None:
            return None
        allowed = self._starts(consumer, stream, partition)
        if consumer.is_earliest and not stream.commits[partition]:
            stream.starts.setdefault(partition, offset)
        is_going_on = consumer.earlier.get(partition, offset) == offset - 1
        if not allowed or offset in allowed or is_going_on:
            return None
        places = " or ".join(map(str, sorted(allowed)))
        why = f"after a REBALANCE partition {partition} begins at {places}, as it was committed (offramp.md 3.5)"
        return Breach(Difference(("offset",), places, offset), why)

    def _starts(self, consumer: Consumer, stream: Stream, partition: int) -> set[int]:
        """Where a partition may begin; empty where it may begin anywhere."""
        commits, certain = stream.commits[partition], consumer.certain.get(partition, -1)
        allowed = {commit.offset for commit in commits[max(certain, 0) :]}
        if certain < 0:  # nothing may have been in force
            if not consumer.is_earliest or partition not in stream.starts:
                return set()
            allowed.add(stream.starts[partition])
        lowest, highest = stream.lowest.get(partition, 0), stream.highest.get(partition, -1)
        is_within = all(lowest <= offset <= highest + 1 for offset in allowed)
        return allowed if is_within else set()  # what is beyond its ends counts as no commit


def _is_unreadable(record: Record) -> bool:
    """Return whether a frame says what only a lax decoder takes, or nobody can read: a REQUEST, perhaps."""
    is_part = record.message in ("Fragment", "Empty")
    return record.kind == "frame" and not (isinstance(record.fields, Message) or is_part)


def _is_certain(commit: Commit, consumer: Consumer) -> bool:
    """Whether the server had taken a commit before what it says on a connection now."""
    return commit.is_acknowledged and commit.connection == consumer.number


def breaches_in(records: Iterable[Record]) -> dict[int, Breach]:
    """The messages of a run that break a rule, by number."""
    deliveries = Deliveries()
    found = ((record.n, deliveries.follow(record)) for record in records)
    return {n: breach for n, breach in found if breach is not None}
