"""What the servers of the batch style know, in no schema's words: streams, their ranges, and who keeps them.

A placement manager and its data node share it; the batches that are kept are those of this data node alone.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice

from wiretool import limits
from wiretool.protocols.sbp.server.batches import Batches, Keeper
from wiretool.protocols.sbp_0_1.server.codes import (
    BAD_REQUEST,
    DN_INTERNAL_SERVER_ERROR,
    NO_AVAILABLE_DN,
    NOT_FOUND,
    OFFSET_OVERFLOW,
    PM_INTERNAL_SERVER_ERROR,
    RANGE_ALREADY_SEALED,
    RANGE_NOT_FOUND,
    SEAL_RANGE_NOT_FOUND,
)

OFFSET_MAX = 2**63 - 1
#: The highest number of a range.
INDEX_MAX = 2**31 - 1
#: Where the offset stands that a data node gives a batch: behind its magic (sbp.md §3.1).
BASE_OFFSET = slice(1, 9)


class Refusal(Exception):
    """What was asked is not done: why, as a code and a sentence, and the range that is writable instead."""

    def __init__(self, code: int, message: str, current: "Range | None" = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.current = current


@dataclass(slots=True)
class Stream:
    """A stream and how it is kept."""

    stream_id: int
    replicas: int
    retention_ms: int


@dataclass(slots=True, eq=False)
class Range:
    """A stretch of a stream; what this data node has of it reaches up to `next`."""

    stream_id: int
    index: int
    start: int
    nodes: tuple[int, ...]
    next: int
    #: -1 while it is open at the placement manager.
    end: int = -1
    #: No more appends at the data node.
    is_sealed: bool = False
    batches: Batches = field(default_factory=Batches)


@dataclass(slots=True)
class Node:
    """A data node, and when it was last heard of; None for one that never falls silent."""

    address: str | None
    heard_ns: int | None


class Store:
    """Streams, ranges and data nodes."""

    def __init__(self, retain_bytes: int, silence_ns: int) -> None:
        self.silence_ns = silence_ns
        #: The address of the data node that is there, as number 0, while no other has reported; empty for none.
        self.stand_in = ""
        #: Where the placement manager is.
        self.manager = ""
        self.streams: dict[int, Stream] = {}
        #: The ranges of a stream by their index, and so by where they start; the last one is writable.
        self.ranges: dict[int, list[Range]] = {}
        self.nodes: dict[int, Node] = {}
        self.next_stream = self.next_node = 0
        self.keeper = Keeper(retain_bytes)
        self._range_count = 0
        #: Streams that were removed and have ranges still.
        self._deleted: set[int] = set()

    # -- data nodes ------------------------------------------------------------------------------------------------

    def heard(self, number: int, address: str | None, now_ns: int) -> None:
        """A data node lives."""
        if number in self.nodes or len(self.nodes) < limits.SBP_RANGES_MAX:
            self.nodes[number] = Node(address, now_ns)

    def allocate_node(self) -> int:
        """The number of a new data node."""
        self.next_node += 1
        return self.next_node - 1

    def address_of(self, number: int) -> str | None:
        """Where a data node is."""
        node = self.nodes.get(number)
        return node.address if node else self.stand_in or None

    def _chosen(self, replicas: int, now_ns: int) -> tuple[int, ...]:
        living = [number for number, node in sorted(self.nodes.items()) if self._lives(node, now_ns)]
        if self.stand_in and not self.nodes:
            living = [0]
        if len(living) < replicas:
            raise Refusal(NO_AVAILABLE_DN, f"required {replicas}, available {len(living)}: not enough data nodes")
        return tuple(living[: max(replicas, 0)])

    def _lives(self, node: Node, now_ns: int) -> bool:
        return node.heard_ns is None or now_ns - node.heard_ns < self.silence_ns

    # -- streams ---------------------------------------------------------------------------------------------------

    def create_streams(self, wanted: list[tuple[int, int]], now_ns: int) -> list[tuple[Stream, Range]]:
        """Streams with so many replicas and that retention, each with its first range; all of them, or Refusal.

        Their numbers are used up either way, as the real one does; those that have ranges already are passed over.
        """
        numbers = list(islice((each for each in count(self.next_stream) if each not in self.ranges), len(wanted)))
        self.next_stream = max((self.next_stream, *(number + 1 for number in numbers)))
        nodes = [self._chosen(replicas, now_ns) for replicas, _ in wanted]
        self._check_room(len(wanted))
        self._check_room_for_ranges(len(wanted))
        made = []
        for number, (replicas, retention_ms), chosen in zip(numbers, wanted, nodes, strict=True):
            stream = Stream(number, replicas, retention_ms)
            self.streams[stream.stream_id] = stream
            made.append((stream, self._open(Range(number, 0, 0, chosen, 0))))
        return made

    def delete_stream(self, stream_id: int) -> Stream | None:
        """The stream that was removed; its ranges stay."""
        gone = self.streams.pop(stream_id, None)
        if gone is not None and stream_id in self.ranges:
            self._deleted.add(stream_id)
        return gone

    def check_not_deleted(self, stream_id: int) -> None:
        """Refusal where a stream was removed: it takes no more writes."""
        if stream_id in self._deleted:
            raise Refusal(NOT_FOUND, f"stream {stream_id} was deleted")

    def update_stream(self, stream: Stream) -> None:
        """Overwrite a stream; one that is not there is made, without a range."""
        if stream.stream_id not in self.streams:
            self._check_room(1)
        self.streams[stream.stream_id] = stream
        self._deleted.discard(stream.stream_id)

    def _check_room(self, more: int) -> None:
        if len(self.streams) + more > limits.SBP_STREAMS_MAX:
            why = f"no room for more than {limits.SBP_STREAMS_MAX} streams"
            raise Refusal(PM_INTERNAL_SERVER_ERROR, why)

    # -- ranges ----------------------------------------------------------------------------------------------------

    def _check_room_for_ranges(self, more: int) -> None:
        if self._range_count + more > limits.SBP_RANGES_MAX:
            raise Refusal(PM_INTERNAL_SERVER_ERROR, f"no room for more than {limits.SBP_RANGES_MAX} ranges")

    def _open(self, made: Range) -> Range:
        """Put a new range to the others of its stream."""
        ranges = self.ranges.setdefault(made.stream_id, [])
        ranges.insert(_place_of(ranges, made.index), made)
        self._range_count += 1
        return made

    def list_ranges(self, node: int | None, stream_id: int | None) -> Iterator[Range]:
        """The ranges of a stream, of a data node, or of both."""
        for number in sorted(self.ranges) if stream_id is None else (stream_id,):
            for each in self.ranges.get(number, ()):
                if node is None or node in each.nodes:
                    yield each

    def range_of(self, stream_id: int, index: int | None) -> Range:
        """A range by its index; without one the writable range of the stream. Refusal: there is none."""
        ranges = self.ranges.get(stream_id, [])
        place = len(ranges) - 1 if index is None else _place_of(ranges, index)
        if 0 <= place < len(ranges) and index in (None, ranges[place].index):
            return ranges[place]
        which = "range" if index is None else f"range {index}"
        raise Refusal(RANGE_NOT_FOUND, f"no {which} in stream {stream_id}")

    def seal_and_new(self, stream_id: int, index: int) -> tuple[Range, Range]:
        """The range, sealed by now, and the writable one of its stream (the placement manager's SEAL_RANGES)."""
        ranges = self.ranges.get(stream_id)
        if not ranges:
            raise Refusal(SEAL_RANGE_NOT_FOUND, f"stream {stream_id} does not exist: range not found")
        current = ranges[-1]
        if not 0 <= index <= current.index:
            why = f"range {index} not found in stream {stream_id}: range not found"
            raise Refusal(SEAL_RANGE_NOT_FOUND, why, current)
        sealed = self.range_of(stream_id, index)
        if sealed is current:
            self._check_room_for_ranges(1)
            if index == INDEX_MAX:
                raise Refusal(PM_INTERNAL_SERVER_ERROR, f"no range comes behind range {index}", current)
            self.seal(current)
            current.end = current.next
            self._open(Range(stream_id, index + 1, current.end, current.nodes, current.end))
        return sealed, ranges[-1]

    def seal(self, target: Range) -> None:
        """Take no more appends (a data node's SEAL_RANGES)."""
        target.is_sealed = True

    def take_over(self, stream_id: int, index: int, start: int, nodes: tuple[int, ...]) -> Range:
        """A range that a placement manager tells its data node of; one that is there already stays as it is.

        Refusal: it has no such index or start, or does not start between the ranges beside it.
        """
        if index < 0 or start < 0:
            raise Refusal(BAD_REQUEST, f"range {index} cannot start at {start}")
        ranges = self.ranges.get(stream_id, [])
        place = _place_of(ranges, index)
        behind = ranges[place] if place < len(ranges) else None
        if behind is not None and behind.index == index:
            return behind
        if (place and ranges[place - 1].start > start) or (behind is not None and behind.start < start):
            raise Refusal(BAD_REQUEST, f"range {index} of stream {stream_id} is out of order with a start of {start}")
        self._check_room_for_ranges(1)
        return self._open(Range(stream_id, index, start, nodes, start))

    def trim(self, stream_id: int, offset: int) -> Range | None:
        """Drop the sealed ranges that end at `offset` or in front of it; the first that is left (sbp.md §4.5)."""
        ranges = self.ranges.get(stream_id, [])
        gone = 0
        while gone < len(ranges) - 1 and 0 <= ranges[gone].end <= offset:
            self.keeper.drop(ranges[gone].batches)
            gone += 1
        del ranges[:gone]
        self._range_count -= gone
        if ranges and ranges[0].start < offset:
            ranges[0].start = min(offset, ranges[0].next, *(each.start for each in ranges[1:2]))
        return ranges[0] if ranges else None

    # -- batches ---------------------------------------------------------------------------------------------------

    def append(self, target: Range, data: bytes, records: int) -> int:
        """Give a batch its offset, write that into it, and keep it; the offset."""
        if target.is_sealed:
            raise Refusal(RANGE_ALREADY_SEALED, f"range {target.index} of stream {target.stream_id} is sealed")
        base = target.next
        if base + records > OFFSET_MAX:
            raise Refusal(OFFSET_OVERFLOW, "the batch passes the last offset")
        placed = bytearray(data)
        placed[BASE_OFFSET] = base.to_bytes(8, "big")
        self.keeper.put(target.batches, base, bytes(placed))
        target.next = base + records
        return base

    def fetch(self, stream_id: int, index: int | None, offset: int, wanted: int, room: int) -> list[bytes]:
        """Batches from the one with `offset` on, up to about `wanted` bytes and `room` at most; 0 asks for any.

        None where there is none; Refusal where the first alone takes more than the room.
        """
        target = self._holding(stream_id, offset) if index is None else self.range_of(stream_id, index)
        if offset < 0:
            raise Refusal(BAD_REQUEST, f"an offset of {offset}")
        if offset >= target.next:
            return []
        found = target.batches.between(max(offset, target.start), None, wanted if wanted > 0 else None, room)
        if found and len(found[0]) > room:
            raise Refusal(DN_INTERNAL_SERVER_ERROR, f"a batch of {len(found[0])} bytes does not fit into the answer")
        return found

    def _holding(self, stream_id: int, offset: int) -> Range:
        """The range of a stream with that offset, or the first behind it, or else the last."""
        ranges = self.ranges.get(stream_id, [])
        place = max(bisect_right(ranges, offset, key=lambda each: each.start) - 1, 0)
        if place + 1 < len(ranges) and ranges[place].next <= offset:
            place += 1
        return ranges[place] if ranges else self.range_of(stream_id, None)


def _place_of(ranges: list[Range], index: int) -> int:
    """Where among the ranges of a stream the one with that index is, or goes."""
    return bisect_left(ranges, index, key=lambda each: each.index)
