"""Offramp's consistency model: messages at offsets of a road, and deliveries that contradict them.

A message that was delivered is known, and a COMMIT that succeeded fixes where its stream goes on. Delivery is at least
once (protocols/offramp.md §3.5): after a REBALANCE, and on another connection, each partition goes on from its last
commit, so messages may come again. Between two REBALANCEs the messages of a partition come in the order of their
offsets (§3.1): there none comes twice, and none that is known is passed over. An offset without a known message proves
nothing, nor does silence.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from json import dumps
from typing import NamedTuple
from urllib.parse import quote

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.consistency.model import Anomaly, Consistency, Question, ReadTalk
from wiretool.protocols.offramp import handshake
from wiretool.protocols.offramp.messages import (
    CommitEvent,
    CommitResponseEvent,
    HandshakeRequest,
    MessageEvent,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.records import Record

#: How the names of the streams begin on which questions are asked. No consumer has committed anything on them.
QUESTION_STREAM = "wiretool-check-"
_EARLIEST = "EARLIEST"
#: A nonce of 16 bytes, in base64: a server looks at nothing but its form (RFC 6455 §4.1).
_KEY = "d2lyZXRvb2wtY2hlY2stMA=="

#: Road and grants: without the grant PII some fields of payloads are blank.
RoadKey = tuple[str, tuple[str, ...]]


class _Known(NamedTuple):
    """A message that was delivered, by the record that was first to have it."""

    digest: bytes
    n: int


class _Commits:
    """The commits of one partition by one stream."""

    __slots__ = ("acknowledged", "highest")

    def __init__(self) -> None:
        #: The highest offset that a consumer asked to commit; the record of a response that a commit succeeded.
        self.highest = 0
        self.acknowledged = 0


class _Consumer:
    """One connection from its handshake on."""

    def __init__(self, asked: HandshakeRequest) -> None:
        assert asked.road is not None
        self.road: RoadKey = (asked.road, tuple(sorted(asked.grants or ())))
        self.stream = asked.stream or ""
        #: Road and stream, whatever the grants: these commit together.
        self.name = (asked.road, self.stream)
        self.starts_at_end = asked.defaultOffset != _EARLIEST
        #: By partition, the record of each offset that came since the last REBALANCE, the latest last.
        self.delivered: dict[int, dict[int, int]] = {}
        #: Whether all deliveries since the last REBALANCE are known.
        self.is_whole = False


class OfframpConsistency(Consistency):
    """The roads of a server, and the consumers of their streams."""

    def __init__(self, *, is_new: bool = False) -> None:
        super().__init__(is_new=is_new)
        self._judged = 0
        self._consumers: dict[int, _Consumer] = {}
        #: Messages by road, partition and offset; how many of these and of deliveries are kept.
        self._known: dict[RoadKey, dict[int, dict[int, _Known]]] = {}
        self._count = 0
        #: By road, stream and partition; the streams of which commits may be missing.
        self._commits: dict[tuple[str, str, int], _Commits] = {}
        self._unsure: set[tuple[str, str]] = set()
        #: Whether all consumers are known by their handshakes.
        self._is_whole = True
        #: Anomalies that a commit explains if one is missing, with the stream.
        self._held: list[tuple[tuple[str, str], Anomaly]] = []
        #: COMMITs without a response, by record.
        self._asked: dict[int, CommitEvent] = {}
        #: The headers that prove what a consumer of a road may read.
        self._proofs: dict[RoadKey, tuple[tuple[str, str], ...]] = {}

    @property
    def judged(self) -> int:
        """Return the number of known messages that were delivered again or passed over, and of commits that held."""
        return self._judged

    def follow(self, record: Record) -> Sequence[Anomaly]:
        if record.kind != "frame" or record.protocol != "offramp":
            return ()
        if isinstance(record.fields, HandshakeRequest):
            self._connect(record.connection, record.fields)
            return ()
        consumer = self._consumers.get(record.connection)
        if consumer is None:
            self._is_whole = False
            return ()
        match record.fields:
            case CommitEvent() as commit:
                self._ask_commit(consumer, commit, record.n)
            case CommitResponseEvent(success=True):
                self._acknowledge(consumer, record)
            case RebalanceEvent():
                self._count -= sum(map(len, consumer.delivered.values()))
                consumer.delivered.clear()
                consumer.is_whole = True
            case MessageEvent() as message:
                return self._deliver(consumer, message, record.n)
        if record.message == "Unknown":
            consumer.is_whole = False
        return ()

    def forget(self, connection: int, side: Side) -> None:
        consumer = self._consumers.get(connection)
        if consumer is None:
            self._is_whole = False
        elif side == "client":
            self._unsure.add(consumer.name)
        else:
            consumer.is_whole = False

    def end(self) -> Sequence[Anomaly]:
        held, self._held = self._held, []
        return [anomaly for stream, anomaly in held if self._is_sure_of(stream)]

    def _is_sure_of(self, stream: tuple[str, str]) -> bool:
        """Return whether all commits of a stream are known."""
        return stream[1].startswith(QUESTION_STREAM) or (self._is_whole and stream not in self._unsure)

    def questions(self) -> Iterable[Question]:
        for number, (road, partitions) in enumerate(self._known.items()):
            known = {(partition, offset) for partition, those in partitions.items() for offset in those}
            talk = _read_back(road, f"{QUESTION_STREAM}{number}", self._proofs.get(road, ()), known)
            yield Question(f"road {road[0]}", "offramp", "", talk)

    # -- consumers ---------------------------------------------------------------------------------------------------

    def _connect(self, connection: int, asked: HandshakeRequest) -> None:
        self._consumers.pop(connection, None)
        if asked.road is None:
            return
        consumer = self._consumers[connection] = _Consumer(asked)
        proofs = tuple((name, value) for name, value in asked.headers if name.lower() == "authorization")
        self._proofs.setdefault(consumer.road, proofs)

    def _ask_commit(self, consumer: _Consumer, commit: CommitEvent, n: int) -> None:
        self._asked[n] = commit
        for partition, offset in commit.offsets.items():
            commits = self._commits_of(consumer, int(partition))
            commits.highest = max(commits.highest, offset)

    def _acknowledge(self, consumer: _Consumer, record: Record) -> None:
        commit = self._asked.pop(record.reply_to or 0, None)
        if commit is None:
            self._unsure.add(consumer.name)
            return
        for partition in commit.offsets:
            self._commits_of(consumer, int(partition)).acknowledged = record.n

    def _commits_of(self, consumer: _Consumer, partition: int) -> _Commits:
        return self._commits.setdefault((*consumer.name, partition), _Commits())

    # -- deliveries --------------------------------------------------------------------------------------------------

    def _deliver(self, consumer: _Consumer, message: MessageEvent, n: int) -> list[Anomaly]:
        place = f"partition {message.partition} of road {consumer.road[0]}"
        known = self._known.setdefault(consumer.road, {}).setdefault(message.partition, {})
        anomalies = self._compare(known, message, place, n)
        if not consumer.is_whole:
            return anomalies
        delivered = consumer.delivered.setdefault(message.partition, {})
        if message.offset in delivered:
            why = f"the message at offset {message.offset:,} came before on the connection, with no REBALANCE between"
            anomalies.append(Anomaly("doubled-event", place, why, (delivered[message.offset], n)))
        elif delivered:
            last = next(reversed(delivered))
            anomalies += self._find_passed(known, range(last + 1, message.offset), place, (delivered[last], n))
        else:
            found = self._begin(consumer, known, message, place, n)
            if consumer.stream.startswith(QUESTION_STREAM):
                anomalies += found
            else:
                self._held += [(consumer.name, anomaly) for anomaly in found]
        self._count += message.offset not in delivered
        delivered[message.offset] = n
        self._bound()
        return anomalies

    def _compare(self, known: dict[int, _Known], message: MessageEvent, place: str, n: int) -> list[Anomaly]:
        """Compare a message with the one that was delivered at its offset before."""
        digest, before = _digest_of(message), known.get(message.offset)
        if before is None:
            self._count += 1
            known[message.offset] = _Known(digest, n)
            return []
        self._judged += 1
        if before.digest == digest:
            return []
        why = f"the message at offset {message.offset:,} differs from the one that was delivered before"
        return [Anomaly("changed-event", place, why, (before.n, n))]

    def _begin(
        self, consumer: _Consumer, known: Mapping[int, _Known], message: MessageEvent, place: str, n: int
    ) -> list[Anomaly]:
        """The first message of a partition after a REBALANCE: none is passed over that is not committed."""
        if not self._is_sure_of(consumer.name):
            return []
        commits = self._commits.get((*consumer.name, message.partition))
        if commits is None:
            is_fresh = self.is_new or consumer.stream.startswith(QUESTION_STREAM)
            if not is_fresh or consumer.starts_at_end:
                return []
            return self._find_passed(known, range(message.offset), place, (n,))
        if not commits.acknowledged:
            return []
        self._judged += message.offset == commits.highest
        skipped = range(commits.highest, message.offset)
        return self._find_passed(known, skipped, place, (commits.acknowledged, n))

    def _find_passed(
        self, known: Mapping[int, _Known], offsets: range, place: str, evidence: tuple[int, ...]
    ) -> list[Anomaly]:
        """Report the known messages at offsets that a delivery passed over."""
        few = offsets if len(offsets) <= len(known) else sorted(each for each in known if each in offsets)
        passed = [offset for offset in few if offset in known]
        self._judged += len(passed)
        return [
            Anomaly(
                "lost-event", place, f"the message at offset {offset:,} was passed over", (known[offset].n, *evidence)
            )
            for offset in passed
        ]

    def _bound(self) -> None:
        """Forget all messages where there are too many to keep."""
        if self._count > limits.CONSISTENCY_EVENTS_MAX:
            self._known.clear()
            self._count = 0
            for consumer in self._consumers.values():
                consumer.delivered.clear()
                consumer.is_whole = False


def _digest_of(message: MessageEvent) -> bytes:
    """Return the identity of a message's content; the order of an object's members does not count."""
    content = (message.schema, message.timestampMs, message.payload)
    return blake2b(dumps(content, sort_keys=True, default=str).encode(), digest_size=16).digest()


def _read_back(
    road: RoadKey, stream: str, proofs: Sequence[tuple[str, str]], missing: set[tuple[int, int]]
) -> ReadTalk:
    """Connect to a road on a stream of its own, and ask for messages until all known ones have come."""
    query = "&".join(("defaultOffset=EARLIEST", *(f"grants={grant}" for grant in road[1])))
    target = f"/offramp/v2/roads/{quote(road[0], safe='')}/streams/{stream}/messages?{query}"
    headers = (
        ("Host", "wiretool"),
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Key", _KEY),
        ("Sec-WebSocket-Version", "13"),
        *proofs,
    )
    yield [handshake.request(target, headers)]
    while missing:
        replies = yield [RequestEvent(count=len(missing))]
        messages = [each.fields for each in replies if isinstance(each.fields, MessageEvent)]
        while missing and (more := (yield [])):
            messages += [each.fields for each in more if isinstance(each.fields, MessageEvent)]
        if not messages:
            return
        missing -= {(message.partition, message.offset) for message in messages}


CONSISTENCY = OfframpConsistency
