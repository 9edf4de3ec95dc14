"""Index segments, which stand beside the segments of streams from wire version 17 on: where appends have ended.

The segment `<name>#index` is a segment like any other. An entry of it has 24 bytes: the length of the segment after an
append, its events until then, and the time in ms.
"""

from wiretool.protocols.pravega.server.segments import EVENT_COUNT, Segment, Segments

SUFFIX = "#index"
_ENTRY_BYTES = 24
_NS_PER_MS = 1_000_000


def is_index(name: str) -> bool:
    """Whether a segment of this name is an index."""
    return name.endswith(SUFFIX)


def is_indexed(name: str) -> bool:
    """Whether a segment of this name has an index: those of users' streams, but no transaction and no transient one."""
    scope, slash, stream = name.partition("/")
    return (
        bool(slash) and not scope.startswith("_") and not stream.startswith("_") and "#" not in _without_epoch(stream)
    )


def _without_epoch(name: str) -> str:
    return name.replace(".#epoch.", "", 1)


class SegmentIndex:
    """The indexes of all segments."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments

    def create(self, name: str, now_ns: int) -> None:
        """Make the index of a new segment. SegmentExists: a segment of that name is there already."""
        if is_indexed(name):
            self._segments.create_segment(name + SUFFIX, now_ns)

    def ensure(self, name: str, now_ns: int) -> None:
        """Make the index of a segment that somebody wants to append to, if it should have one and has none."""
        if is_indexed(name) and not self._segments.exists(name + SUFFIX):
            self._segments.create_segment(name + SUFFIX, now_ns)

    def delete(self, name: str, now_ns: int) -> None:
        """Remove the index of a segment that is gone, if it had one."""
        if self._segments.exists(name + SUFFIX):
            self._segments.delete(name + SUFFIX, now_ns)

    def note(self, segment: Segment, now_ns: int) -> None:
        """Something was appended to a segment."""
        index = self._segments.find(segment.name + SUFFIX)
        if index is None or index.is_sealed:
            return
        numbers = (segment.length, segment.attributes[EVENT_COUNT], now_ns // _NS_PER_MS)
        self._segments.append(index, b"".join(number.to_bytes(8, "big", signed=True) for number in numbers), now_ns)

    def truncate(self, name: str, offset: int, now_ns: int) -> None:
        """Drop the entries of what was truncated."""
        index = self._segments.find(name + SUFFIX)
        if index is not None:
            self._segments.truncate(index.name, self._first_at(index, offset), now_ns)

    def locate(self, segment: Segment, target: int) -> int:
        """The first end of an append at or behind an offset; the length of the segment where there is none."""
        index = self._segments.find(segment.name + SUFFIX)
        if index is None:
            return segment.length
        at = self._first_at(index, target)
        return _boundary(index, at) if at < index.length else segment.length

    def _first_at(self, index: Segment, target: int) -> int:
        """Where the first entry lies whose append ended at or behind `target`; the length of the index if none did."""
        first = -(-index.start // _ENTRY_BYTES)
        last = index.length // _ENTRY_BYTES
        while first < last:
            middle = (first + last) // 2
            if _boundary(index, middle * _ENTRY_BYTES) < target:
                first = middle + 1
            else:
                last = middle
        return first * _ENTRY_BYTES


def _boundary(index: Segment, at: int) -> int:
    return int.from_bytes(index.read(at, 8), "big", signed=True)
