"""Reading a road of Offramp with credit: so many messages are asked for, taken, committed, and asked for again.

How long the messages of a REQUEST take says something about the server only where they were there when it was sent. So
that counts as `consume` where none of them came to the road later, by the time that each of them has. And of all that
came to the road since this began, it counts as `tail` how long each took from then until it was here, to a millisecond.
Both clocks must be the same for that: from a server on another machine all counts as `consume`, the waiting for
messages included.

Messages count with their REQUEST, once all of it has come; those of one that had to wait count as `tail`, as they come.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from time import time
from typing import NamedTuple

from wiretool import limits
from wiretool.load.findings import NOTHING, Outcome
from wiretool.load.keeping import Keeper, frames_in
from wiretool.load.link import Link
from wiretool.load.meter import Samples
from wiretool.load.session import Session
from wiretool.protocols.offramp.load.client import Answer, Arrival, Assignment, Stream
from wiretool.sinks.printable import printable

#: How often who waits for messages looks whether the run is over.
LOOK_S = 0.25
#: How long nothing comes until one message more is asked for, once: if what was owed is lost, that shows it.
SILENCE_S = 1.0
#: Partitions in one COMMIT: at 33 bytes each, a message of a client stays below 8,192 (offramp.md §1.4).
COMMITTED_MAX = 200


class Offsets:
    """Whether each partition's messages come once and in order: offset by offset, but for what a new assignment allows.

    After one, a partition goes on at what was committed last, or anywhere between that and where it was.
    """

    def __init__(self, road: str) -> None:
        self._road = printable(road)
        #: By partition: the offset that would be in order, and what is known to be committed.
        self.next: dict[int, int] = {}
        self.committed: dict[int, int] = {}
        self._assigned: frozenset[int] = frozenset()
        self._may_repeat: set[int] = set()
        #: By partition, the offset behind one that came again: more of the same are one defect.
        self._again: dict[int, int] = {}
        self.checked = 0
        self.found = 0
        self.kinds: dict[str, int] = {}
        self.findings: list[str] = []

    def assign(self, partitions: Iterable[int]) -> None:
        """These were assigned anew: of them, what is not committed may come once more."""
        self._assigned = frozenset(partitions)
        self._may_repeat = set(self.next)

    def take(self, partition: int, offset: int) -> None:
        """A message of that partition has come."""
        if partition not in self._assigned:
            self._add(
                "unassigned",
                partition,
                f"offset {offset:,} arrived, but the partition is not assigned to this consumer",
            )
            return
        expected = self.next.get(partition, offset)
        if offset != expected and not self._is_repeat(partition, offset, expected):
            self._miss(partition, offset, expected)
            if offset < expected:
                return
        else:
            self.checked += 1
        self._may_repeat.discard(partition)
        self.next[partition] = offset + 1

    def _is_repeat(self, partition: int, offset: int, expected: int) -> bool:
        return partition in self._may_repeat and self.committed.get(partition, 0) <= offset < expected

    def _miss(self, partition: int, offset: int, expected: int) -> None:
        if offset > expected:
            some = f"offset {expected:,}" if offset == expected + 1 else f"offsets {expected:,} to {offset - 1:,}"
            self._add("lost", partition, f"{some} did not arrive; {offset:,} follows {expected - 1:,}")
        elif offset != self._again.get(partition):
            self._add("doubled", partition, f"offset {offset:,} arrives again, after {expected - 1:,}")
        self._again[partition] = offset + 1

    def _add(self, kind: str, partition: int, words: str) -> None:
        self.found += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if len(self.findings) < limits.BENCH_FINDINGS_MAX:
            self.findings.append(f"{kind}: road {self._road}, partition {partition}: {words}")

    def outcome(self) -> Outcome:
        """What came of it so far."""
        return Outcome(checked=self.checked, found=self.found, kinds=self.kinds, findings=self.findings)


@dataclass(slots=True)
class Round:
    """Messages that were asked for at one time: how many are still to come."""

    left: int
    sent_s: float
    #: The same by the clock that messages have, milliseconds since 1970.
    sent_ms: float
    #: What asked for them.
    request: bytes = b""
    #: Whether some of them came to the road later.
    has_waited: bool = False
    #: Whether more was asked for than was to come.
    is_probed: bool = False
    #: What has come and is not counted yet.
    events: int = 0
    bytes: int = 0
    #: By partition, what to commit.
    offsets: dict[int, int] = field(default_factory=dict)


class Commit(NamedTuple):
    """One that is on the way."""

    offsets: Mapping[int, int]
    sent_s: float
    request: bytes


class Consuming:
    """How far one consumer is, over all connections that it has had: `pipeline` credits of `credit` messages each."""

    def __init__(
        self,
        session: Session,
        road: str,
        *,
        credit: int,
        pipeline: int,
        is_local: bool,
        is_verified: bool,
        now_ms: Callable[[], float] = lambda: time() * 1e3,
    ) -> None:
        self.session = session
        self._credit = credit
        self._pipeline = pipeline
        self._is_local = is_local
        self._now_ms = now_ms
        self._consume, self._tail = session.samples("consume"), session.samples("tail")
        self._commit = session.samples("commit")
        self._road = road
        #: What keeps the slowest exchanges on the connection that there is, if anybody wants them.
        self.keeper: Keeper | None = None
        self._is_told_apart = False
        self._offsets = Offsets(road) if is_verified else None
        self._rounds: deque[Round] = deque()
        self._commits: dict[str, Commit] = {}
        self._named = 0
        #: When the first messages were asked for, by their clock.
        self._began_ms = inf
        self._heard_s = 0.0
        session.due += [("commit", self._waiting), ("consume", self._asked)]
        session.checks.append(self.leave)

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to do: the time is up, and what was committed is answered."""
        return self.session.is_over and not self._commits

    def leave(self) -> Outcome:
        """Wait for nothing more; what was found."""
        self._commits.clear()
        return NOTHING if self._offsets is None else self._offsets.outcome()

    def begin(self, stream: Stream) -> bytes:
        """What to say first on a new connection: what was on the way is gone with the last one."""
        self._began_ms = min(self._began_ms, self._now_ms())
        self._heard_s = self.session.clock()
        self._rounds.clear()
        self._commits.clear()
        return b"".join(self._ask(stream) for _ in range(self._pipeline))

    def wait(self, stream: Stream) -> bytes:
        """Nothing has come; what to say to that."""
        is_quiet = self.session.clock() - self._heard_s >= SILENCE_S
        if not is_quiet or self.session.is_over or not self._rounds or self._rounds[0].is_probed:
            return b""
        self._rounds[0].is_probed = True
        return stream.request(1)

    def hear(self, stream: Stream, data: bytes) -> bytes:
        """What the server said in these bytes; what to say to that. What took long is kept if anybody wants it."""
        keeper = self.keeper
        self._is_told_apart = keeper is not None and keeper.is_slow(self._oldest_s())
        if keeper is None or not self._is_told_apart:
            return self.take(stream, stream.feed(data))
        said = []
        for part, frame in frames_in(stream, data):
            keeper.reply(frame)
            said.append(self.take(stream, stream.feed(part)))
        return b"".join(said)

    def _oldest_s(self) -> float:
        """When the oldest was sent of what is on the way; infinity where nothing is."""
        commit = next(iter(self._commits.values()), None)
        return min(self._rounds[0].sent_s if self._rounds else inf, inf if commit is None else commit.sent_s)

    def take(self, stream: Stream, heard: Iterable[Arrival | Answer | Assignment]) -> bytes:
        """What the server said; what to say to that."""
        now, now_ms = self.session.clock(), self._now_ms()
        self._heard_s = now
        said = []
        for each in heard:
            if isinstance(each, Arrival):
                said.append(self._arrived(stream, each, now, now_ms))
            elif isinstance(each, Answer):
                self._answered(each, now)
            elif self._offsets is not None:
                self._offsets.assign(each.partitions)
        return b"".join(said)

    def _arrived(self, stream: Stream, arrival: Arrival, now: float, now_ms: float) -> bytes:
        """A message; what to say where it is the last of its round."""
        if self._offsets is not None:
            self._offsets.take(arrival.partition, arrival.offset)
        if not self._rounds:
            return b""  # the time is up
        current = self._rounds[0]
        if self._is_local and arrival.came_ms is not None and arrival.came_ms >= int(self._began_ms):
            took_s = max(now_ms - arrival.came_ms, 0.0) / 1e3
            self._tail.service.append(took_s)
            self._tail.response.append(took_s)
            if arrival.came_ms >= int(current.sent_ms):
                current.has_waited = True
        current.events += 1
        current.bytes += arrival.size
        if current.has_waited:
            _count(current, self._tail)
        current.offsets[arrival.partition] = arrival.offset + 1
        current.left -= 1
        return b"" if current.left else self._done(stream, now)

    def _done(self, stream: Stream, now: float) -> bytes:
        """A round is there: commit it, and ask for another one."""
        current = self._rounds.popleft()
        if not current.has_waited:
            self._consume.service.append(now - current.sent_s)
            _count(current, self._consume)
            if now - current.sent_s > self.session.slowest.floor:
                what = f"{self._credit:,} messages of road {self._road}, of which the last is shown"
                self._keep("consume", what, current.sent_s, now, current.request)
        if self.session.is_over:
            return b""
        return b"".join(self._saved(stream, current.offsets)) + self._ask(stream)

    def _saved(self, stream: Stream, offsets: Mapping[int, int]) -> Iterator[bytes]:
        """Commits of these offsets, each as long as the server takes it."""
        items = list(offsets.items())
        for some in (items[at : at + COMMITTED_MAX] for at in range(0, len(items), COMMITTED_MAX)):
            self._named += 1
            name, sent_s = str(self._named), self.session.clock()
            commit = self._commits[name] = Commit(dict(some), sent_s, stream.commit(name, dict(some)))
            yield commit.request

    def _ask(self, stream: Stream) -> bytes:
        request = stream.request(self._credit)
        self._rounds.append(Round(self._credit, self.session.clock(), self._now_ms(), request=request))
        return request

    def _keep(self, operation: str, what: str, sent_s: float, now: float, request: bytes) -> None:
        """An exchange that took long; the frame that came last answers it."""
        if self.keeper is not None and self._is_told_apart:
            self.keeper.keep(operation, what, due_s=sent_s, sent_s=sent_s, answered_s=now, request=request)

    def _answered(self, answer: Answer, now: float) -> None:
        commit = self._commits.pop(answer.name, None) if answer.name is not None else None
        if commit is None:
            self._commit.errors["a reply without a commit"] += 1
        elif not answer.is_success:
            self._commit.errors["a commit was refused"] += 1
        else:
            self._commit.service.append(now - commit.sent_s)
            if now - commit.sent_s > self.session.slowest.floor:
                what = f"{len(commit.offsets):,} partitions of road {self._road}"
                self._keep("commit", what, commit.sent_s, now, commit.request)
            if self._offsets is not None:
                self._offsets.committed.update(commit.offsets)

    def _asked(self, now: float) -> tuple[int, float]:
        """How many times messages were asked for that have not all come, and since when; at the end nobody wants them.

        Whether the server owes them or has none nobody knows.
        """
        if self.session.is_over or not self._rounds:
            return 0, now
        return len(self._rounds), self._rounds[0].sent_s

    def _waiting(self, now: float) -> tuple[int, float]:
        """Commits that are not answered, and since when the first of them."""
        return len(self._commits), next((commit.sent_s for commit in self._commits.values()), now)


def _count(current: Round, samples: Samples) -> None:
    """The messages of a round that are not counted yet."""
    samples.events += current.events
    samples.bytes += current.bytes
    current.events = current.bytes = 0


def consume(link: Link, stream: Stream, consuming: Consuming) -> None:
    """Round after round, until the session is over. Failed where the connection is lost or the server refuses."""
    link.send(consuming.begin(stream))
    while not consuming.is_over:
        data = link.receive_within(LOOK_S)
        if said := consuming.hear(stream, data) if data else consuming.wait(stream):
            link.send(said)
