"""Proof in recordings with missing bytes: a failure needs a part of the connection in which none are missing."""

from collections.abc import Iterator
from dataclasses import replace

from wiretool.conformance.recorded.observed import UNDECODABLE, Missing, Observed, ObservedConnection


def complete_parts(connection: ObservedConnection) -> Iterator[ObservedConnection]:
    """Yield the parts of a connection in which nothing is missing; none where only one side was captured.

    Each is a connection whose beginning was not captured, except the first one of a whole connection.
    """
    if not connection.is_two_sided:
        return
    begin = 0
    for first, last in (*_doubtful(connection), (len(connection.items), len(connection.items))):
        if begin < first:
            until_ns = connection.recorded_until_ns
            if first < len(connection.items):
                until_ns = min(until_ns, connection.items[first].time_ns)
            yield replace(
                connection,
                is_whole=connection.is_whole and not begin,
                items=connection.items[begin:first],
                recorded_until_ns=until_ns,
            )
        begin = max(begin, last + 1)


def is_before_losses(connection: ObservedConnection, n: int, time_ns: int) -> bool:
    """Return whether nothing is missing up to a record, or without one (0) up to a time."""
    first = next((first for first, _ in _doubtful(connection)), None)
    if first is None:
        return True
    if not n:
        return time_ns < connection.items[first].time_ns
    return any(isinstance(item, Observed) and item.n == n for item in connection.items[:first])


def _doubtful(connection: ObservedConnection) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of items between which a loss may lie; the ranges may overlap.

    A gap is noticed by what its side sends next, and may be as old as what that side sent before. What cannot be
    decoded beside it may be a part of a message.
    """
    items = connection.items
    for at, gap in enumerate(items):
        if not isinstance(gap, Missing):
            continue
        before = next((index for index in range(at - 1, -1, -1) if items[index].side == gap.side), None)
        after = next((index for index in range(at + 1, len(items)) if items[index].side == gap.side), None)
        first, last = 0 if before is None else before + 1, at
        if before is not None and getattr(items[before], "name", "") == UNDECODABLE:
            first = before
        if after is not None and getattr(items[after], "name", "") == UNDECODABLE:
            last = after
        yield first, last
