"""What a batch takes: of each capture up to one moment, so that whatever comes later was captured later."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from wiretool.capture.index.build import NO_TIME, Joint, Span
from wiretool.capture.index.cuts import cut_after
from wiretool.pipeline.flows.deduplicate import WINDOW_NS
from wiretool.pipeline.stream.following import Followed, Following

#: Bytes of captures in a batch: what is read of them is put in order in memory.
BATCH_BYTES = 128 * 1024 * 1024
#: Packets in a batch: of 64 bytes with their headers they are as many bytes; shorter ones cost no less time.
BATCH_PACKETS = 2 * 1024 * 1024


class Stretch(NamedTuple):
    """A part of the capture with that place, and where it is read."""

    place: int
    path: str
    span: Span


class Plan(NamedTuple):
    """Up to where captures are read, by their places; and the latest turn that is read then."""

    until: Mapping[int, Joint]
    turn_ns: int

    def packets(self, captures: Sequence[Followed]) -> int:
        """How many packets it takes."""
        return sum(joint.number - captures[place].since.number for place, joint in self.until.items())

    def bytes(self, captures: Sequence[Followed]) -> int:
        """How many bytes of captures it takes."""
        return sum(joint.at - captures[place].since.at for place, joint in self.until.items())

    def stretches(self, following: Following) -> Iterator[Stretch]:
        """What it takes, cut where that is known to be possible."""
        for place, until in self.until.items():
            capture = following.captures[place]
            index, path = capture.index, str(following.path_of(capture).absolute())
            inner = [joint for joint in index.joints if capture.since.number < joint.number < until.number]
            for since, to in pairwise([capture.since, *inner, until]):
                yield Stretch(place, path, index.between(since, to))


def planned(following: Following, latest_ns: int | None = None) -> Plan | None:
    """The next batch, or None where there is nothing to read; of turns up to the latest one, if that is given."""
    waiting = {place: capture for place, capture in enumerate(following.captures) if capture.has_more}
    if not waiting:
        return None
    turn_ns = _moment(list(waiting.values()))
    if latest_ns is not None:
        turn_ns = min(turn_ns, latest_ns)
    until = {
        place: cut_after(following.path_of(capture), capture.index, capture.since, turn_ns)
        for place, capture in waiting.items()
    }
    taken = {place: joint for place, joint in until.items() if joint.number > waiting[place].since.number}
    return Plan(taken, turn_ns) if taken else None


def _moment(captures: Sequence[Followed]) -> int:
    """Up to when the captures together have about so many bytes, or packets, as a batch takes."""
    ranges: list[tuple[int, int, int]] = []
    for capture in captures:
        bounds = [capture.since, *capture.index.joints, capture.index.tail]
        later = [joint for joint in bounds if joint.number >= capture.since.number]
        ranges += [(to.before_ns, to.at - since.at, to.number - since.number) for since, to in pairwise(later)]
    ranges.sort()
    moment_ns, size, packets = ranges[0]
    for turn_ns, more, more_packets in ranges[1:]:
        size, packets = size + more, packets + more_packets
        if (size > BATCH_BYTES or packets > BATCH_PACKETS) and moment_ns > NO_TIME:
            break
        moment_ns = turn_ns
    return moment_ns


def fill_batch(captures: Sequence[Followed]) -> bool:
    """Return whether what was not read of the captures is a batch, or more."""
    waiting = [(each.index.tail, each.since) for each in captures if each.has_more]
    size = sum(tail.at - since.at for tail, since in waiting)
    return size >= BATCH_BYTES or sum(tail.number - since.number for tail, since in waiting) >= BATCH_PACKETS


def overlap(captures: Sequence[Followed]) -> bool:
    """Whether several captures have news of the same time: then several programs write them."""
    news = sorted(
        (max(capture.since.before_ns, capture.index.first_ns), capture.index.tail.before_ns)
        for capture in captures
        if capture.has_more
    )
    latest_ns = NO_TIME
    for first_ns, last_ns in news:
        if first_ns < latest_ns - WINDOW_NS:
            return True
        latest_ns = max(latest_ns, last_ns)
    return False
