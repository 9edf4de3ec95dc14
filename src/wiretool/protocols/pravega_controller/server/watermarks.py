"""Watermarks: what writers note of their own clocks, and the bounds that readers get from it.

A real controller looks every ten seconds at what the writers of a stream have noted, and appends a watermark to its
`_MARK` stream where all of them have got on. Left out: writers that fall silent hold watermarks back for ever, and old
watermarks are kept.
"""

from dataclasses import replace

from wiretool.protocols.pravega_controller.server.names import MARK
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.scopes import Scopes
from wiretool.protocols.pravega_controller.server.store import Store
from wiretool.protocols.pravega_controller.server.streams import Cut, Mark, Stream
from wiretool.protocols.pravega_controller.watermark import SegmentPosition, encode_watermark
from wiretool.server.timers import Timers

#: Between two looks at the writers of a stream, from the first note on.
PERIOD_NS = 10_000_000_000


class WriterMarks:
    """The last timestamp of every writer, and the watermarks made of them."""

    def __init__(self, scopes: Scopes, store: Store, timers: Timers) -> None:
        self._scopes = scopes
        self._store = store
        self._timers = timers
        #: Streams that are looked at when their period is over, by full name.
        self._watched: set[tuple[str, str]] = set()

    def note(self, scope: str, stream: str, writer: str, timestamp: int, cut: Cut, now_ns: int) -> None:
        """Note that a writer has written all its events up to a time before a cut; neither may go back."""
        found = self._scopes.stream(scope, stream)
        last = found.marks.get(writer)
        if last is not None and timestamp < last.timestamp:
            raise Refused(Why.INVALID_TIME, f"{timestamp} from {writer}")
        is_known = all(segment in found for segment in cut)
        if not is_known or (last is not None and not found.is_at_or_behind(cut, last.cut)):
            raise Refused(Why.INVALID_POSITION, f"position of {writer}")
        found.marks[writer] = Mark(timestamp, dict(cut))
        self._watch(found, now_ns)

    def remove(self, scope: str, stream: str, writer: str) -> None:
        """Note that a writer will write no more. What it has noted counts once more."""
        found = self._scopes.stream(scope, stream) if self._scopes.has_stream(scope, stream) else None
        mark = None if found is None else found.marks.get(writer)
        if found is None or mark is None or mark.is_last:
            raise Refused(Why.UNKNOWN_WRITER, writer)
        found.marks[writer] = replace(mark, is_last=True)

    def _watch(self, stream: Stream, now_ns: int) -> None:
        """Look at a stream when the period is over, if that is not to be done already."""
        name = (stream.scope, stream.name)
        if name not in self._watched:
            self._watched.add(name)
            self._timers.at(now_ns + PERIOD_NS, lambda at_ns: self._look(name, at_ns))

    def _look(self, name: tuple[str, str], now_ns: int) -> None:
        """Append a watermark if every writer has got on since the last one, and look again if so."""
        self._watched.discard(name)
        if not self._scopes.has_stream(*name):
            return
        stream = self._scopes.stream(*name)
        lower = min((mark.timestamp for mark in stream.marks.values()), default=None)
        if lower is not None and (stream.watermark is None or lower > stream.watermark):
            stream.watermark = lower
            self._append(stream, lower, now_ns)
            self._watch(stream, now_ns)
        stream.marks = {writer: mark for writer, mark in stream.marks.items() if not mark.is_last}

    def _append(self, stream: Stream, lower: int, now_ns: int) -> None:
        """Append a watermark to the stream for them, unless somebody has removed or sealed that."""
        mark_stream = self._scopes.find(stream.scope).streams.get(MARK + stream.name)
        if mark_stream is None or mark_stream.is_sealed:
            return
        upper = max(mark.timestamp for mark in stream.marks.values())
        cut = stream.furthest([mark.cut for mark in stream.marks.values()])
        segments = [(stream.segment(segment), offset) for segment, offset in cut.items()]
        position = [SegmentPosition(each.id, each.keys.low, each.keys.high, offset) for each, offset in segments]
        name = mark_stream.store_name(mark_stream.active.segments[0])
        if self._store.is_sealed(name, now_ns) is False:
            self._store.append_event(name, encode_watermark(lower, upper, position), now_ns)
