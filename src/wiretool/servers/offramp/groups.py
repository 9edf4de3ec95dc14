"""The consumers of one stream: who has which partitions, and from where each is read."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from wiretool.servers.offramp.partitions import Partition


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
    """

    def __init__(self, partitions: Sequence[Partition]) -> None:
        self.partitions = partitions
        self.committed: dict[int, int] = {}
        self.members: list[Member] = []

    def join(self, member: Member) -> None:
        """A further member; everyone is assigned anew."""
        self.members.append(member)
        self.rebalance()

    def leave(self, member: Member) -> None:
        """A member less; everyone else is assigned anew."""
        self.members.remove(member)
        self.rebalance()

    def rebalance(self) -> None:
        """Assign all partitions anew, and go on from what is committed."""
        members = tuple(self.members)
        for index, member in enumerate(members):
            member.assign(range_of(len(self.partitions), len(members), index), self.committed)
        for member in members:
            member.pump()

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Remember where to begin next time. What names a partition that is not there has no effect."""
        count = len(self.partitions)
        self.committed.update((partition, offset) for partition, offset in offsets.items() if partition < count)


def range_of(partitions: int, members: int, index: int) -> range:
    """The partitions of the `index`th of so many members."""
    each, more = divmod(partitions, members)
    start = each * index + min(index, more)
    return range(start, start + each + (index < more))
