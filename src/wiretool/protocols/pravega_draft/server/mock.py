"""The mock of a store as the 2017 draft describes it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wiretool import limits
from wiretool.errors import UsageError
from wiretool.protocols.pravega.server.segments import Refusal, Segment, Segments
from wiretool.protocols.pravega_draft.server.link import DraftLink
from wiretool.server.mock import Action, Door, Link, Mock
from wiretool.server.options import MockOptions
from wiretool.server.part import ServerPart


@dataclass(frozen=True, slots=True)
class SegmentStart:
    """A segment as it is at the start."""

    data: bytes = b""
    #: How far each appender has come.
    levels: Mapping[str, int] = field(default_factory=dict)
    is_sealed: bool = False


class DraftMock(Mock):
    """A store with one door.

    The draft has no word for making a segment: the first SetupAppend makes it. With `segments`, just those are there.
    `starts`: segments that are there besides, with what is in them. The attributes of a segment are its appenders, and
    how far each has come.
    """

    doors = (Door("store", 12345, "pravega-draft"),)
    operations = ("create", "seal", "delete", "info")

    def __init__(
        self,
        *,
        segments: Iterable[str] | None = None,
        starts: Mapping[str, SegmentStart] | None = None,
        retain_bytes: int = limits.MOCK_RETAIN_BYTES,
    ) -> None:
        super().__init__()
        self._starts = starts or {}
        self._names = None if segments is None else tuple(dict.fromkeys(segments))
        self._retain_bytes = retain_bytes
        self.forget()

    def forget(self) -> None:
        self.segments = Segments(self._retain_bytes)
        self._count = 0
        for name in self._names or ():
            self._create(name, 0)
        for name, start in self._starts.items():
            segment = self.segments.find(name) or self._create(name, 0)
            self.segments.append(segment, start.data, 0)
            segment.attributes.update(start.levels)
            segment.is_sealed = start.is_sealed

    def greet(self, connection: int, door: str, now_ns: int) -> Link:
        return DraftLink(connection, self.segments, self._to_append, self.outbox, self.timers)

    def operate(self, what: str, arguments: Mapping[str, Any], now_ns: int) -> tuple[Mapping[str, Any], list[Action]]:
        """`create`, `seal`, `delete` or `info` of a {segment}: what the draft leaves to another protocol."""
        if what not in self.operations:
            return super().operate(what, arguments, now_ns)
        name = arguments.get("segment")
        if not isinstance(name, str) or len(arguments) != 1:
            raise UsageError(f"{what}: expected the name of a segment only")
        try:
            said = self._operate(what, name, now_ns)
        except Refusal as refusal:
            raise UsageError(f"segment {name!r} is {refusal.why}") from refusal
        return said, self._done(now_ns)

    def _operate(self, what: str, name: str, now_ns: int) -> Mapping[str, Any]:
        if what == "create":
            self._create(name, now_ns)
        elif what == "seal":
            self.segments.seal(name, now_ns)
        elif what == "delete":
            self.segments.delete(name, now_ns)
            self._count -= 1
            return {}
        segment = self.segments.info(name)
        return {"start": segment.start, "length": segment.length, "is_sealed": segment.is_sealed}

    def _to_append(self, name: str, now_ns: int) -> Segment | None:
        """The segment to append to."""
        segment = self.segments.find(name)
        if segment is None and self._names is None and name and self._count < limits.DRAFT_SEGMENTS_MAX:
            segment = self._create(name, now_ns)
        return segment

    def _create(self, name: str, now_ns: int) -> Segment:
        """A new segment, which nobody has appended to: an appender may be called like an attribute of other stores."""
        segment = self.segments.create_segment(name, now_ns)
        segment.attributes.clear()
        self._count += 1
        return segment


def _make(options: MockOptions) -> DraftMock:
    """Return a mock with these options."""
    return DraftMock(segments=options.segments, starts=options.segment_starts, retain_bytes=options.retain_bytes)


SERVER = ServerPart(_make, frozenset(("segments", "segment_starts")))
