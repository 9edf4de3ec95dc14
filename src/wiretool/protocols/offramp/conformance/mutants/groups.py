"""Defects in how the consumers of a stream share its partitions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.protocols.offramp.messages import RebalanceEvent
from wiretool.protocols.offramp.server import consumer, groups, link, mock
from wiretool.protocols.offramp.server.groups import Group
from wiretool.protocols.offramp.server.roads import Road

_RANGE_OF = groups.range_of


def _shares(range_of: Callable[[int, int, int], range]) -> Callable[[Patcher], None]:
    return lambda patcher: patcher.set(groups, "range_of", range_of)


def _uneven(partitions: int, members: int, index: int) -> range:
    """All but the first get one partition."""
    start = 0 if not index else partitions - members + index
    return range(max(start, 0), max(start, 0) + (partitions - members + 1 if not index else 1))


def _last_is_lost(partitions: int, members: int, index: int) -> range:
    return _RANGE_OF(max(partitions - 1, 1), members, index)


def _never_settles(patcher: Patcher) -> None:
    patcher.set(Group, "settle", lambda self: self._fresh.clear())


def _leaving(patcher: Patcher) -> None:
    def replace(leave: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Group, member: Any) -> None:
            self.members.pop(member, None)
            self._fresh.pop(member, None)

        return wrong

    patcher.wrap(Group, "leave", replace)


def _reset_is_not_left(patcher: Patcher) -> None:
    def replace(lost: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, now_ns: int) -> None:
            consumer_, self._consumer = self._consumer, None
            lost(self, now_ns)
            if consumer_ is not None:
                consumer_._requested = 0

        return wrong

    patcher.wrap(link.OfframpLink, "lost", replace)


def _failure_is_not_left(patcher: Patcher) -> None:
    def replace(fail: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, code: int, why: str) -> None:
            consumer_, self._consumer = self._consumer, None
            if consumer_ is not None:
                consumer_._requested = 0
            fail(self, code, why)

        return wrong

    patcher.wrap(link.OfframpLink, "_fail", replace)


def _one_group(patcher: Patcher) -> None:
    patcher.wrap(Road, "group", lambda group: lambda self, stream: group(self, "all"))


def _commits_go_with_the_last(patcher: Patcher) -> None:
    def replace(leave: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Group, member: Any) -> None:
            leave(self, member)
            if not self.members:
                self.committed.clear()

        return wrong

    patcher.wrap(Group, "leave", replace)


def _goes_on_from_delivered(patcher: Patcher) -> None:
    """What a member has delivered counts as committed once it is assigned anew."""

    def replace(assign: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, assignment: Sequence[int], positions: Mapping[int, int]) -> None:
            reached = {
                index: position
                for member in (self._group.members if self._group else ())
                for index, position in member._positions.items()
            }
            assign(self, assignment, {**positions, **reached})

        return wrong

    patcher.wrap(consumer.Consumer, "assign", replace)


def _commits_are_ignored(patcher: Patcher) -> None:
    patcher.wrap(
        consumer.Consumer,
        "assign",
        lambda assign: lambda self, assignment, positions: assign(self, assignment, {}),
    )


def _latest_beats_commits(patcher: Patcher) -> None:
    patcher.wrap(
        consumer.Consumer,
        "assign",
        lambda assign: (
            lambda self, assignment, positions: assign(self, assignment, {} if self._starts_at_end else positions)
        ),
    )


def _rebalances(change: Callable[[RebalanceEvent], Sequence[RebalanceEvent]]) -> Callable[[Patcher], None]:
    """Return a patch of the assignments that are told."""

    def apply(patcher: Patcher) -> None:
        def replace(say: Callable[..., None]) -> Callable[..., None]:
            def wrong(self: Any, event: Any) -> None:
                for each in change(event) if isinstance(event, RebalanceEvent) else (event,):
                    say(self, each)

            return wrong

        patcher.wrap(link.OfframpLink, "say", replace)

    return apply


def _joins_at_once(patcher: Patcher) -> None:
    def replace(made: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, port: Any, path: Any) -> Any:
            member = made(self, port, path)
            member._group = member._road.group(path.stream)
            member._group.join(member)
            return member

        return wrong

    patcher.wrap(mock.OfframpMock, "consumer", replace)


def _keeps_what_it_lost(patcher: Patcher) -> None:
    """A member tells its new assignment and goes on to read the partitions that it had."""

    def replace(assign: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, assignment: Sequence[int], positions: Mapping[int, int]) -> None:
            assign(self, assignment, positions)
            every = range(len(self._road.partitions))
            self._assignment = tuple(every)
            self._positions = {index: positions.get(index, self._start_of(index)) for index in every}

        return wrong

    patcher.wrap(consumer.Consumer, "assign", replace)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "all-own-all", "Every consumer is assigned all partitions.", _shares(lambda count, members, index: range(count))
    ),
    Mutant("uneven", "All but the first consumer are assigned one partition.", _shares(_uneven)),
    Mutant("last-partition-lost", "The last partition is not assigned.", _shares(_last_is_lost)),
    Mutant("no-rebalance", "When a consumer joins, the others keep all their partitions.", _never_settles),
    Mutant("no-rebalance-on-leave", "When a consumer leaves, its partitions stay unassigned.", _leaving),
    Mutant("reset-unnoticed", "A consumer whose connection is reset keeps its partitions.", _reset_is_not_left),
    Mutant("failure-keeps", "A consumer that is closed for a failure keeps its partitions.", _failure_is_not_left),
    Mutant("one-group", "All streams of a road share one group.", _one_group),
    Mutant("commits-leave", "Commits are forgotten when the last consumer leaves.", _commits_go_with_the_last),
    Mutant(
        "delivered-is-committed", "Delivered messages do not come again after a rebalance.", _goes_on_from_delivered
    ),
    Mutant(
        "commits-unread", "An assignment begins at the default offset, whatever was committed.", _commits_are_ignored
    ),
    Mutant("latest-beats-commits", "With LATEST commits are ignored.", _latest_beats_commits),
    Mutant("rebalance-missing", "The assignment is not sent.", _rebalances(lambda event: ())),
    Mutant("rebalance-twice", "Each assignment is sent twice.", _rebalances(lambda event: (event, event))),
    Mutant(
        "rebalance-empty-missing",
        "An empty assignment is not sent.",
        _rebalances(lambda event: (event,) if event.assignment else ()),
    ),
    Mutant("joins-at-once", "A consumer joins before it asks for anything.", _joins_at_once),
    Mutant("lost-partitions-read", "After a rebalance messages of all partitions come.", _keeps_what_it_lost),
)
