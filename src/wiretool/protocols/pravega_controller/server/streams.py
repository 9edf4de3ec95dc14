"""One stream: its segments over time, and where they follow each other.

An epoch is the set of segments that take events at the same time; together their key ranges are [0, 1). A segment is
known by the number it got in its stream and the epoch that made it. Of two segments whose ranges overlap, one always
ends before the other begins.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.names import missing_entry, segment_id, segment_name
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.server.timers import Timer

#: Offsets by segment id.
Cut = Mapping[int, int]


class KeyRange(NamedTuple):
    """Hashes of routing keys from `low` to below `high`, both within 0.0 and 1.0."""

    low: float
    high: float

    def overlaps(self, other: "KeyRange") -> bool:
        """Whether a key can be in both."""
        return self.low < other.high and other.low < self.high


class StreamSegment(NamedTuple):
    """A segment of a stream. `epoch` is the one that made it."""

    number: int
    epoch: int
    keys: KeyRange

    @property
    def id(self) -> int:
        """Its 64-bit id."""
        return segment_id(self.number, self.epoch)


class Epoch(NamedTuple):
    """The segments between two scalings, by key range; `reference` is the epoch of which it is a copy, or itself."""

    number: int
    reference: int
    segments: tuple[StreamSegment, ...]


@dataclass
class Transaction:
    """A transaction that is open, and the segments into which it will be merged."""

    high_bits: int
    low_bits: int
    epoch: Epoch
    #: Whether it is being aborted: its segments go a little later.
    is_aborting: bool = False
    #: Begins to abort it when its lease is over, where leases are enforced; ends that where it has begun.
    timer: Timer | None = None


@dataclass
class Subscription:
    """A reader group that tells how far it has read a stream: the generation of its configuration, the last cut."""

    generation: int
    cut: Cut = field(default_factory=dict)


@dataclass(frozen=True)
class Mark:
    """How far a writer was, by its own clock."""

    timestamp: int
    cut: Cut
    #: Whether the writer has gone: the mark counts for one more watermark.
    is_last: bool = False


class Stream:
    """A stream of a scope. `first_number`: of its first segment; not 0 where a stream of this name has been before."""

    def __init__(
        self, scope: str, name: str, config: pb.StreamConfig, ranges: Iterable[KeyRange], first_number: int = 0
    ) -> None:
        self.scope = scope
        self.name = name
        self.config = config
        self.is_sealed = False
        #: Where it begins; None: with the first segments at 0.
        self.truncated_at: Cut | None = None
        segments = tuple(StreamSegment(first_number + number, 0, keys) for number, keys in enumerate(ranges))
        self.next_number = first_number + len(segments)
        self.epochs = [Epoch(0, 0, segments)]
        #: The epoch from which on a segment takes no events any more, by id.
        self._closed_in: dict[int, int] = {}
        self._by_id = {segment.id: segment for segment in segments}
        self.open_transactions: dict[tuple[int, int], Transaction] = {}
        #: Whether it was committed, by id; the oldest first.
        self.completed: OrderedDict[tuple[int, int], bool] = OrderedDict()
        self.subscriptions: dict[str, Subscription] = {}
        self.marks: dict[str, Mark] = {}
        #: The lower bound of the last watermark; None before the first.
        self.watermark: int | None = None

    # -- segments ------------------------------------------------------------------------------------------------------

    @property
    def active(self) -> Epoch:
        """The epoch that takes events now."""
        return self.epochs[-1]

    @property
    def segments(self) -> list[StreamSegment]:
        """All segments that ever were, the oldest first."""
        return list(self._by_id.values())

    def __contains__(self, segment: object) -> bool:
        """Whether there is or was a segment of that id."""
        return segment in self._by_id

    def epoch(self, number: int) -> Epoch:
        """The epoch of that number."""
        if not 0 <= number < len(self.epochs):
            text = missing_entry(f"epochRecord-{number}", f"{self.scope}/{self.name}/metadata")
            raise Refused(Why.EPOCH_NOT_FOUND, f"{self.scope}/{self.name} epoch {number}", text)
        return self.epochs[number]

    def store_name(self, segment: StreamSegment) -> str:
        """What the store calls a segment of this stream."""
        return segment_name(self.scope, self.name, segment.number, segment.epoch)

    def new_segments(self, ranges: Iterable[KeyRange]) -> list[StreamSegment]:
        """Segments with fresh numbers for the next epoch, which is not begun by this."""
        epoch = len(self.epochs)
        return [StreamSegment(self.next_number + at, epoch, keys) for at, keys in enumerate(ranges)]

    def begin_epoch(self, segments: Iterable[StreamSegment], reference: int | None = None) -> None:
        """From now on these segments take events; those of the last epoch that are not among them are closed."""
        number = len(self.epochs)
        ordered = tuple(sorted(segments, key=lambda segment: segment.keys))
        kept = {segment.id for segment in ordered}
        for segment in self.active.segments:
            if segment.id not in kept:
                self._closed_in[segment.id] = number
        for segment in ordered:
            self._by_id.setdefault(segment.id, segment)
            self.next_number = max(self.next_number, segment.number + 1)
        self.epochs.append(Epoch(number, number if reference is None else reference, ordered))

    def successors(self, segment: int) -> list[tuple[StreamSegment, list[int]]]:
        """The segments that go on where one ended, each with the ids of all that it goes on from.

        Nothing where the segment is active, was closed by sealing the stream, or never was.
        """
        closed_in = self._closed_in.get(segment)
        if closed_in is None:
            return []
        keys = self._by_id[segment].keys
        new = [later for later in self.epochs[closed_in].segments if later.epoch == closed_in]
        closed = [old for old in self.epochs[closed_in - 1].segments if self._closed_in.get(old.id) == closed_in]
        return [
            (later, [old.id for old in closed if old.keys.overlaps(later.keys)])
            for later in new
            if later.keys.overlaps(keys)
        ]

    # -- cuts ----------------------------------------------------------------------------------------------------------

    def head(self) -> Cut:
        """Where the stream begins."""
        if self.truncated_at is not None:
            return self.truncated_at
        return {segment.id: 0 for segment in self.epochs[0].segments}

    def head_of(self, starts: Mapping[int, int]) -> Cut:
        """Where the stream begins once its segments from the head on begin at `starts`, the oldest data being gone.

        Where an epoch's segments have lost data, those that were closed before it have none left.
        """
        head = {segment: max(offset, starts[segment]) for segment, offset in self.head().items()}
        cut_in = [self._by_id[segment].epoch for segment, start in starts.items() if start and segment not in head]
        for epoch in self.epochs[max(cut_in) :] if cut_in else ():
            cut = {segment.id: starts.get(segment.id, 0) for segment in epoch.segments}
            if self.is_at_or_behind(cut, head):
                return cut
        return head

    def is_cut(self, cut: Cut) -> bool:
        """Whether a cut is one place in every key's events: known segments whose ranges tile [0, 1)."""
        if not cut or any(segment not in self for segment in cut):
            return False
        ranges = sorted(self._by_id[segment].keys for segment in cut)
        return ranges[0].low == 0.0 and ranges[-1].high == 1.0 and all(a.high == b.low for a, b in pairwise(ranges))

    def is_at_or_behind(self, cut: Cut, other: Cut) -> bool:
        """Whether no part of a cut lies before the same part of the other; both are cuts of this stream."""
        for segment, offset in cut.items():
            for theirs, limit in other.items():
                if segment == theirs and offset < limit:
                    return False
                if self._ends_before(segment, theirs):
                    return False
        return True

    def furthest(self, cuts: Iterable[Cut]) -> Cut:
        """Return the cut that lies at or behind all of some cuts, and no further."""
        offsets: dict[int, int] = {}
        for cut in cuts:
            for segment, offset in cut.items():
                offsets[segment] = max(offset, offsets.get(segment, 0))
        return {
            segment: offset
            for segment, offset in offsets.items()
            if not any(self._ends_before(segment, other) for other in offsets)
        }

    def segment(self, segment: int) -> StreamSegment:
        """Return the segment of an id that this stream has or had."""
        return self._by_id[segment]

    def between(self, begin: Cut, end: Cut) -> list[StreamSegment]:
        """The segments that have a part between two cuts, their own segments included; empty cuts are the ends."""
        begin = begin or self.head()
        end = end or {segment.id: 0 for segment in self.active.segments}
        if not self.is_cut(begin) or not self.is_cut(end):
            raise Refused(Why.INVALID_ARGUMENT, f"no cut of {self.scope}/{self.name}")
        if any(self._ends_before(last, first) for first in begin for last in end):
            raise Refused(Why.INVALID_ARGUMENT, f"cuts of {self.scope}/{self.name} in the wrong order")
        return [
            segment
            for segment in self._by_id.values()
            if not any(self._ends_before(segment.id, first) for first in begin)
            and not any(self._ends_before(last, segment.id) for last in end)
        ]

    def _ends_before(self, segment: int, other: int) -> bool:
        """Whether a segment was closed when another, with keys in common, began."""
        closed_in = self._closed_in.get(segment)
        later = self._by_id[other]
        return closed_in is not None and closed_in <= later.epoch and self._by_id[segment].keys.overlaps(later.keys)
