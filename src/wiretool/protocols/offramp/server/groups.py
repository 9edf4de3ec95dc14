"""The consumers of one stream: who has which partitions, and from where each is read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from wiretool.protocols.offramp.server.partitions import Partition


class Member(Protocol):
    """A consumer, as its group sees it."""

    def assign(self, assignment: Sequence[int], positions: Mapping[int, int]) -> None:
        """These are its partitions now, with what is committed for some of them."""

    def pump(self) -> None:
        """Send what there is for it."""


class Group:
    """The consumers of a stream in the order in which they joined, and what any of them has committed.

    Partitions are dealt out as Kafka's range assignor does it: in order and in one piece each, the first ones getting
    one more where they do not come out even. After every change all members begin at what is committed.

    Who joins has its partitions at once. The others are told of all who came and went at one time together: `later` is
    called for a `settle` when everything that happens at that time has happened.
    """

    def __init__(
        self, partitions: Sequence[Partition], later: "Later", committed: Mapping[int, int] | None = None
    ) -> None:
        """`committed`: what earlier members have."""
        self.partitions = partitions
        self.committed: dict[int, int] = dict(committed or {})
        self.members: dict[Member, None] = {}
        self._later = later
        #: What those who have joined since the last `settle` have.
        self._fresh: dict[Member, range] = {}

    def join(self, member: Member) -> None:
        """A further member, the last one; everyone else is assigned anew."""
        self.members[member] = None
        count = len(self.members)
        self._fresh[member] = range_of(len(self.partitions), count, count - 1)
        member.assign(self._fresh[member], self.committed)
        member.pump()
        self._later(self)

    def leave(self, member: Member) -> None:
        """A member less; everyone else is assigned anew."""
        if member in self.members:
            del self.members[member]
            self._fresh.pop(member, None)
            self._later(self)

    def disband(self) -> None:
        """There are no members any more, and nobody is told."""
        self.members.clear()
        self._fresh.clear()

    def settle(self) -> None:
        """Assign all partitions anew, save to those who joined last and have theirs."""
        fresh, self._fresh = self._fresh, {}
        self._assign(fresh)

    def rebalance(self) -> None:
        """Assign all partitions anew, and go on from what is committed."""
        self._fresh.clear()
        self._assign({})

    def _assign(self, fresh: Mapping[Member, range]) -> None:
        assigned = []
        for index, member in enumerate(self.members):
            assignment = range_of(len(self.partitions), len(self.members), index)
            if fresh.get(member) != assignment:
                member.assign(assignment, self.committed)
                assigned.append(member)
        for member in assigned:
            member.pump()

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Remember where to begin next time. What names a partition that is not there has no effect."""
        count = len(self.partitions)
        self.committed.update((partition, offset) for partition, offset in offsets.items() if partition < count)


#: Has a group settled when everything that happens now has happened.
Later = Callable[[Group], None]


def range_of(partitions: int, members: int, index: int) -> range:
    """The partitions of the `index`th of so many members."""
    each, more = divmod(partitions, members)
    start = each * index + min(index, more)
    return range(start, start + each + (index < more))
