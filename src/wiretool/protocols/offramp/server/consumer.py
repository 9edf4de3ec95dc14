"""What one consumer has asked for and gets: demand, commits, assignment and positions. Events in, events out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from wiretool.codec.message import Message
from wiretool.errors import ProtocolViolation
from wiretool.protocols.offramp.messages import (
    CancelEvent,
    CommitEvent,
    CommitResponseEvent,
    ErrorEvent,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.protocols.offramp.server.groups import Group
from wiretool.protocols.offramp.server.roads import Road

#: Demand does not grow beyond what a long holds.
COUNT_MAX = 2**63 - 1
#: Records of one partition that are sent before another one has its turn: the first count asked for, within these.
BATCH_MIN, BATCH_MAX = 10, 5_000


class Port(Protocol):
    """The way to the client."""

    @property
    def has_room(self) -> bool:
        """Whether messages may be sent now; when this is so again, the consumer is pumped."""

    def say(self, event: Message) -> None:
        """Send an event."""

    def deliver(self, text: bytes) -> None:
        """Send a MESSAGE, given as its text."""

    def flush(self) -> None:
        """Nothing more is to be sent now."""


class Consumer:
    """One consumer of a stream, from CONNECTION to the end of its connection.

    It joins its group when it first has demand: a Kafka consumer joins when it first polls. Each event is served to
    its end before the next, so how the client's bytes were cut makes no difference to what it gets.
    """

    def __init__(
        self,
        port: Port,
        road: Road,
        stream: str,
        *,
        starts_at_end: bool = True,
        sees_pii: bool = False,
        commits_own_only: bool = False,
        like_real: bool = False,
        has_taken: Callable[[int], None] = lambda count: None,
    ) -> None:
        """`has_taken` is told how many events were served, after each."""
        self._port = port
        self._road = road
        self._stream = stream
        self._starts_at_end = starts_at_end
        self._sees_pii = sees_pii
        self._commits_own_only = commits_own_only
        self._like_real = like_real
        self._has_taken = has_taken
        self._taken = 0
        self._requested = 0
        self._batch = 0
        self._group: Group | None = None
        self._assignment: tuple[int, ...] = ()
        #: For each partition, the offset of its next message.
        self._positions: dict[int, int] = {}
        #: Whose turn it is among the assigned ones, and how many messages are left of it.
        self._turn = 0
        self._left = 0
        #: An assignment that the client was not sent.
        self._is_unsent = False

    def take(self, event: Message) -> None:
        """Do what an event of the client asks for. ProtocolViolation: the connection is to end."""
        if isinstance(event, RequestEvent):
            self._request(event.count)
        elif isinstance(event, CancelEvent):
            self._requested = 0
        else:
            assert isinstance(event, CommitEvent)
            offsets = {int(partition): offset for partition, offset in event.offsets.items()}
            success = self._commit(offsets)
            self._port.say(CommitResponseEvent(correlationId=event.correlationId, success=success))
        self._taken += 1
        self._has_taken(self._taken)

    def leave(self) -> None:
        """The consumer is gone; its partitions go to the others of its stream."""
        self._requested = 0
        if self._group is not None:
            group, self._group = self._group, None
            group.leave(self)

    # -- demand ----------------------------------------------------------------------------------------------------

    def _request(self, count: int) -> None:
        if not self._batch:
            self._batch = min(max(count, BATCH_MIN), BATCH_MAX)
        if count < 0:
            self._port.say(ErrorEvent(reason=f"Requested count cannot be negative value (given {count})"))
            return
        self._requested = min(self._requested + count, COUNT_MAX)
        if self._requested and self._group is None:
            self._group = self._road.group(self._stream)
            self._group.join(self)
        else:
            self.pump()

    def pump(self) -> None:
        """Send messages while there is demand, room, and something to send."""
        port = self._port
        if self._is_unsent and self._requested:
            self._tell()
        while self._requested and port.has_room:
            text = self._next()
            if text is None:
                break
            self._requested -= 1
            port.deliver(text)
        port.flush()

    def _next(self) -> bytes | None:
        """The text of the next message, of the partition whose turn it is or the next one that has any."""
        for _ in range(len(self._assignment) + bool(self._assignment)):
            index = self._assignment[self._turn]
            partition = self._road.partitions[index]
            position = self._positions[index]
            if not partition.first <= position <= partition.end:
                position = self._positions[index] = self._start_of(index)
            if self._left and position < self._road.end(self._stream, index):
                self._left -= 1
                self._positions[index] = position + 1
                entry = partition.at(position)
                return entry.text if self._sees_pii else entry.blanked
            self._turn = (self._turn + 1) % len(self._assignment)
            self._left = self._batch
        return None

    # -- the group -------------------------------------------------------------------------------------------------

    def assign(self, assignment: Sequence[int], positions: Mapping[int, int]) -> None:
        """See groups.Member. What was delivered but not committed will be delivered again."""
        self._assignment = tuple(assignment)
        self._positions = {index: positions.get(index, self._start_of(index)) for index in assignment}
        self._turn = 0
        self._left = self._batch
        if self._like_real and not self._requested:
            self._is_unsent = True
        else:
            self._tell()

    def _tell(self) -> None:
        if self._is_unsent and self._group is not None:  # it may have committed since it was assigned
            self._positions = {index: self._group.committed.get(index, at) for index, at in self._positions.items()}
        self._is_unsent = False
        self._port.say(RebalanceEvent(assignment=self._assignment))
        self._port.flush()

    def _start_of(self, index: int) -> int:
        """Where a partition begins for which nothing that is there is committed."""
        if self._starts_at_end:
            return self._road.end(self._stream, index)
        return self._road.partitions[index].first

    def _commit(self, offsets: Mapping[int, int]) -> bool:
        if self._group is None:
            if self._like_real and self._batch:
                why = "it is not in its group before it has polled"
                raise ProtocolViolation("commit_before_join", why, phase="open", side="client", message="COMMIT")
            return False
        if any(offset < 0 for offset in offsets.values()):
            return False
        if self._commits_own_only and not set(self._assignment).issuperset(offsets):
            return False
        self._group.commit(offsets)
        return True
