"""All segments of the store and what can be done to them, in no protocol's words.

The store's door and the controller work on the same `Segments`. Times are nanoseconds since the epoch. What cannot be
done raises a Refusal and changes nothing.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple, Protocol

from wiretool import limits
from wiretool.protocols.pravega.server.chunks import Chunks

#: "No such number": an attribute that is absent, a writer that the segment does not know.
NONE_I64 = -(2**63)
#: Attributes that every segment has: when it was made (ms since the epoch), and how many events were appended.
CREATION_TIME = "80000000-0000-0000-0000-000000000000"
EVENT_COUNT = "80000000-0000-0000-0000-000000000001"
#: For so long the name of a segment that is gone cannot be used again (seen: more than 8 s, less than 60 s).
NAME_FREE_AFTER_NS = 30_000_000_000
_NS_PER_MS = 1_000_000
#: So many chunks are not worth looking for those that are gone.
_CHUNKS_FEW = 1_024


class Waiter(Protocol):
    """Somebody who waits for something to happen to a segment."""

    def __call__(self, *, is_idle: bool = False) -> bool:
        """Something did; or, with `is_idle`, nothing has for too long. Whether that was waited for."""


class Refusal(Exception):
    """What was asked cannot be done to this segment."""

    why = "in the way"

    def __init__(self, segment: str) -> None:
        super().__init__(segment)
        self.segment = segment


class SegmentMissing(Refusal):
    """No segment has this name."""

    why = "missing"


class SegmentExists(Refusal):
    """The name is taken, or was until a moment ago."""

    why = "there already"


class SegmentSealed(Refusal):
    """The segment is sealed."""

    why = "sealed"


class BadOffset(Refusal):
    """The offset is not one the segment takes; `expected` would have been."""

    def __init__(self, segment: str, expected: int, offset: int) -> None:
        super().__init__(segment)
        self.expected = expected
        self.offset = offset


class AttributeConflict(Refusal):
    """An attribute has another value than the one it was to be changed from."""


class Kind(IntEnum):
    """How an attribute is changed (AttributeUpdateType.java)."""

    #: Only if it is absent now.
    NONE = 0
    REPLACE = 1
    REPLACE_IF_GREATER = 2
    ACCUMULATE = 3
    REPLACE_IF_EQUALS = 4


class Update(NamedTuple):
    """A change of one attribute; NONE_I64 is an absent value, before and after."""

    attribute: str
    new: int
    #: The value it must have now, where that is asked for.
    old: int = NONE_I64
    kind: Kind = Kind.REPLACE_IF_EQUALS


class Segment:
    """One segment: read its attributes, change it through `Segments` only."""

    __slots__ = (
        "attributes",
        "data",
        "dropped_before",
        "is_gone",
        "is_sealed",
        "modified_ns",
        "name",
        "touched_ns",
        "waiters",
    )

    def __init__(self, name: str, now_ns: int) -> None:
        self.name = name
        self.data = Chunks()
        #: The offset before which the oldest data was dropped to bound the memory; 0 before that happens.
        self.dropped_before = 0
        self.is_sealed = False
        #: Deleted, or merged into another.
        self.is_gone = False
        #: The last number of each writer is one, under the writer's id.
        self.attributes: dict[str, int] = {CREATION_TIME: now_ns // _NS_PER_MS, EVENT_COUNT: 0}
        self.modified_ns = now_ns
        #: When anybody last used it, also to read.
        self.touched_ns = now_ns
        self.waiters: dict[Waiter, None] = {}

    @property
    def start(self) -> int:
        """The offset of the first byte that is still there."""
        return self.data.start

    @property
    def length(self) -> int:
        """The offset behind the last byte; what was truncated counts."""
        return self.data.end

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset` on, which must lie within `start` to `length`."""
        return self.data.read(offset, size)


class Segments:
    """Every segment by name. `retain_bytes`: past it the oldest data goes, as if its segment had been truncated."""

    def __init__(self, retain_bytes: int = limits.MOCK_RETAIN_BYTES) -> None:
        self._retain_bytes = retain_bytes
        self._segments: dict[str, Segment] = {}
        #: Names whose segments are gone -> when they went; in that order.
        self._gone: dict[str, int] = {}
        self._held_bytes = 0
        #: Every chunk, as its segment and where it begins, in the order in which they were begun; some are gone.
        self._chunks: deque[tuple[Segment, int]] = deque()
        self._tidy_at = _CHUNKS_FEW

    # -- looking -----------------------------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        """Whether there is a segment of this name."""
        return name in self._segments

    def find(self, name: str) -> Segment | None:
        """The segment of this name, if there is one."""
        return self._segments.get(name)

    def info(self, name: str) -> Segment:
        """The segment of this name: `start`, `length`, `is_sealed`, ... of it may be read. SegmentMissing."""
        segment = self._segments.get(name)
        if segment is None:
            raise SegmentMissing(name)
        return segment

    def open(self, name: str) -> Segment:
        """The segment of this name, which can be changed. SegmentMissing, SegmentSealed."""
        segment = self.info(name)
        if segment.is_sealed:
            raise SegmentSealed(name)
        return segment

    @property
    def held_bytes(self) -> int:
        """Bytes of data that are kept now."""
        return self._held_bytes

    # -- life --------------------------------------------------------------------------------------------------------

    def create_segment(self, name: str, now_ns: int, attributes: Mapping[str, int] | None = None) -> Segment:
        """Make an empty segment. SegmentExists."""
        if name in self._segments:
            raise SegmentExists(name)
        self._gone.pop(name, None)
        segment = self._segments[name] = Segment(name, now_ns)
        segment.attributes.update(attributes or {})
        return segment

    def is_name_free(self, name: str, now_ns: int) -> bool:
        """Whether a client may use this name for a segment: not while one has it, nor soon after it is gone."""
        gone_ns = self._gone.get(name)
        return name not in self._segments and (gone_ns is None or now_ns - gone_ns >= NAME_FREE_AFTER_NS)

    def free_name(self, name: str) -> None:
        """Let the name of a segment that is gone be used at once."""
        self._gone.pop(name, None)

    def seal(self, name: str, now_ns: int) -> None:
        """Let nothing be appended any more. SegmentMissing, SegmentSealed."""
        segment = self.open(name)
        segment.is_sealed = True
        self._changed(segment, now_ns)

    def delete(self, name: str, now_ns: int) -> None:
        """Remove a segment and its data, sealed or not. SegmentMissing."""
        segment = self.info(name)
        del self._segments[name]
        self._drop(segment, segment.length)
        self._forget_names(now_ns)
        self._gone[name] = now_ns
        segment.is_gone = True
        self._changed(segment, now_ns)

    def truncate(self, name: str, offset: int, now_ns: int) -> None:
        """Drop what lies before an offset. SegmentMissing; BadOffset before the start or behind the end."""
        segment = self.info(name)
        if not segment.start <= offset <= segment.length:
            raise BadOffset(name, segment.start, offset)
        self._drop(segment, offset)
        self._touch(segment, now_ns)

    def merge(self, target: str, source: str, now_ns: int, updates: Iterable[Update] = ()) -> int:
        """Put the whole of one segment behind another, and remove it; the length of the target then.

        The source is sealed first, whatever comes of the rest. SegmentMissing and SegmentSealed name the one of the
        two that is the trouble; AttributeConflict: the updates of the target cannot be made, so nothing is merged.
        """
        taken = self.info(source)
        into = self.info(target)
        if not taken.is_sealed:
            self.seal(source, now_ns)
        if into.is_sealed:
            raise SegmentSealed(target)
        self.update_attributes(target, updates, now_ns)
        for begin in into.data.adopt(taken.data):
            self._note_chunk(into, begin)
        self._held_bytes += taken.length - taken.start
        self.delete(source, now_ns)
        self._changed(into, now_ns)
        self._bound_bytes()
        return into.length

    # -- data and attributes -----------------------------------------------------------------------------------------

    def append(self, segment: Segment, data: bytes, now_ns: int) -> int:
        """Put bytes behind the last; the length then. The caller has seen that the segment is there and not sealed."""
        begin = segment.data.end
        if segment.data.append(data):
            self._note_chunk(segment, begin)
        self._held_bytes += len(data)
        segment.modified_ns = segment.touched_ns = now_ns
        if segment.waiters:
            self.wake(segment)
        if self._held_bytes > self._retain_bytes:
            self._bound_bytes()
        return segment.data.end

    def attribute(self, name: str, attribute: str) -> int:
        """The value of an attribute, NONE_I64 where it is absent. SegmentMissing."""
        return self.info(name).attributes.get(attribute, NONE_I64)

    def update_attributes(self, name: str, updates: Iterable[Update], now_ns: int) -> None:
        """Change attributes, all of them or none. SegmentMissing, SegmentSealed, AttributeConflict."""
        segment = self.open(name)
        changed = dict(segment.attributes)
        for update in updates:
            value = _updated(name, changed.get(update.attribute, NONE_I64), update)
            changed.pop(update.attribute, None)
            if value != NONE_I64:
                changed[update.attribute] = value
        segment.attributes = changed
        segment.touched_ns = now_ns

    # -- those who wait ------------------------------------------------------------------------------------------------

    def wake(self, segment: Segment, *, is_idle: bool = False) -> None:
        """Let everyone who waits in a segment look at it again; those who are done waiting leave."""
        for waiter in list(segment.waiters):
            if waiter(is_idle=is_idle):
                segment.waiters.pop(waiter, None)

    def unload_idle(self, now_ns: int, idle_ns: int) -> None:
        """End what waits in segments that nobody has used for longer than `idle_ns`; nothing else changes for them."""
        for segment in self._segments.values():
            if segment.waiters and now_ns - segment.touched_ns > idle_ns:
                self.wake(segment, is_idle=True)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _touch(self, segment: Segment, now_ns: int) -> None:
        segment.modified_ns = segment.touched_ns = now_ns

    def _changed(self, segment: Segment, now_ns: int) -> None:
        self._touch(segment, now_ns)
        self.wake(segment)

    def _note_chunk(self, segment: Segment, begin: int) -> None:
        """A chunk was begun; now and then those that are gone are forgotten."""
        self._chunks.append((segment, begin))
        if len(self._chunks) >= self._tidy_at:
            self._chunks = deque(chunk for chunk in self._chunks if chunk[0].data.is_kept(chunk[1]))
            self._tidy_at = max(_CHUNKS_FEW, 2 * len(self._chunks))

    def _drop(self, segment: Segment, before: int) -> None:
        self._held_bytes -= segment.data.drop(before)

    def _bound_bytes(self) -> None:
        """Drop the oldest chunks while too many bytes are kept."""
        while self._held_bytes > self._retain_bytes and self._chunks:
            segment, begin = self._chunks.popleft()
            if segment.data.is_kept(begin):
                self._drop(segment, segment.data.first_chunk_end)
                segment.dropped_before = segment.start

    def _forget_names(self, now_ns: int) -> None:
        """Forget the names that may be used again."""
        for name, gone_ns in list(self._gone.items()):
            if now_ns - gone_ns < NAME_FREE_AFTER_NS:
                return
            del self._gone[name]


def _updated(name: str, value: int, update: Update) -> int:
    """What an attribute's value becomes by an update."""
    match update.kind:
        case Kind.NONE if value != NONE_I64:
            raise AttributeConflict(name)
        case Kind.REPLACE_IF_EQUALS if value != update.old:
            raise AttributeConflict(name)
        case Kind.REPLACE_IF_GREATER if value >= update.new:
            raise AttributeConflict(name)
        case Kind.ACCUMULATE if value != NONE_I64:
            return wrapped(value + update.new)
    return update.new


def wrapped(value: int) -> int:
    """A sum as 64 bits hold it."""
    return value if -(2**63) <= value < 2**63 else (value + 2**63) % 2**64 - 2**63
