"""Streams from their creation to their deletion: scaled, truncated, sealed."""

from collections.abc import Callable, Sequence

from wiretool import limits
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server.names import MARK, as_java_set, is_name
from wiretool.protocols.pravega_controller.server.refused import Refused, Why
from wiretool.protocols.pravega_controller.server.scaling import even_ranges, replaced
from wiretool.protocols.pravega_controller.server.scopes import Scopes
from wiretool.protocols.pravega_controller.server.store import Store
from wiretool.protocols.pravega_controller.server.streams import Cut, KeyRange, Stream, StreamSegment


class Streams:
    """What happens to streams.

    `abort_all` ends the open transactions of one that is being sealed or deleted, and `keep_completed` remembers those
    that a deleted one has had.
    """

    def __init__(
        self,
        scopes: Scopes,
        store: Store,
        abort_all: Callable[[Stream, int], None],
        keep_completed: Callable[[Stream], None],
    ) -> None:
        self._scopes = scopes
        self._store = store
        self._abort_all = abort_all
        self._keep_completed = keep_completed
        #: Of the streams deleted last, by their full names: numbers of segments are not used twice under a name.
        self._next_numbers: dict[str, int] = {}

    def create(self, config: pb.StreamConfig, now_ns: int) -> None:
        """Make a stream with its first segments, and the stream that carries its watermarks."""
        scope, name = config.streamInfo.scope, config.streamInfo.stream
        if not is_name(name):
            raise Refused(Why.INVALID_STREAM_NAME, name)
        self._create(config, now_ns)
        if not name.startswith(MARK) and MARK + name not in self._scopes.find(scope).streams:
            mark = pb.StreamConfig(streamInfo=pb.StreamInfo(scope=scope, stream=MARK + name))
            mark.scalingPolicy.minNumSegments = 1
            self._create(mark, now_ns)

    def _create(self, config: pb.StreamConfig, now_ns: int) -> None:
        scope, name = config.streamInfo.scope, config.streamInfo.stream
        streams = self._scopes.find(scope).streams
        if name in streams:
            raise Refused(Why.STREAM_EXISTS, f"{scope}/{name}")
        ranges = even_ranges(config.scalingPolicy.minNumSegments)
        stream = Stream(scope, name, _kept(config), ranges, self._next_numbers.pop(f"{scope}/{name}", 0))
        self._make(stream, stream.active.segments, now_ns)
        streams.add(name, stream)

    def update(self, config: pb.StreamConfig, now_ns: int) -> None:
        """Give a stream another configuration; it is scaled where it has not the segments it should have now.

        A stream of a fixed number gets just as many, one that scales by rate at least so many. New tags alone change
        nothing else.
        """
        stream = self._unsealed(config.streamInfo.scope, config.streamInfo.stream)
        new, count = _kept(config), config.scalingPolicy.minNumSegments
        ranges = even_ranges(count)
        are_only_tags_new = _without_tags(new) == _without_tags(stream.config)
        stream.config = new
        if are_only_tags_new:
            return
        for segment in stream.active.segments:
            self._store.update_policy(stream.store_name(segment), new, now_ns)
        is_fixed = new.scalingPolicy.scaleType == pb.ScalingPolicy.FIXED_NUM_SEGMENTS
        has = len(stream.active.segments)
        if has < count or (is_fixed and has != count):
            self._replace(stream, stream.active.segments, ranges, now_ns)

    def scale(
        self, scope: str, stream: str, sealed: Sequence[int], ranges: Sequence[KeyRange], now_ns: int
    ) -> list[StreamSegment]:
        """Put new segments in the place of active ones that together have the same keys; the new ones."""
        found = self._unsealed(scope, stream)
        return self._replace(found, replaced(found, sealed, ranges), ranges, now_ns)

    def scale_to(self, scope: str, stream: str, count: int, now_ns: int) -> list[StreamSegment]:
        """Divide a stream evenly among `count` segments; those that fit stay. The new ones, none where all fit."""
        found = self._unsealed(scope, stream)
        wanted = even_ranges(count)
        has = {segment.keys: segment for segment in found.active.segments}
        new = [keys for keys in wanted if keys not in has]
        old = [has[keys].id for keys in has.keys() - set(wanted)]
        return self.scale(scope, stream, old, new, now_ns) if new else []

    def truncate(self, scope: str, stream: str, cut: Cut, now_ns: int) -> None:
        """Let a stream begin at a cut that lies at or after its beginning; it may lie beyond the end."""
        self._unsealed(scope, stream)
        found = self.settled(scope, stream, now_ns)
        if not found.is_cut(cut) or not found.is_at_or_behind(cut, found.head()) or min(cut.values()) < 0:
            raise Refused(Why.FAILURE, f"no cut after the beginning of {scope}/{stream}")
        self._begin_at(found, cut, now_ns)

    def settled(self, scope: str, stream: str, now_ns: int) -> Stream:
        """A stream that begins no earlier than what the store has kept of it, as if it had been truncated there."""
        found = self._scopes.stream(scope, stream)
        names = _names(found)
        starts = {segment.id: self._store.dropped_before(names[segment.id]) for segment in found.between({}, {})}
        head = found.head_of(starts)
        if head != found.head():
            self._begin_at(found, head, now_ns)
        return found

    def seal(self, scope: str, stream: str, now_ns: int) -> None:
        """Let a stream take no more events; open transactions are aborted."""
        found = self._scopes.stream(scope, stream)
        if found.is_sealed:
            return
        self._abort_all(found, now_ns)
        found.is_sealed = True
        for segment in found.active.segments:
            self._store.seal(found.store_name(segment), now_ns)

    def delete(self, scope: str, stream: str, now_ns: int) -> None:
        """Remove a sealed stream with all its segments, and its watermarks."""
        found = self._scopes.stream(scope, stream)
        if not found.is_sealed:
            raise Refused(Why.STREAM_NOT_SEALED, f"{scope}/{stream}")
        self.remove(found, now_ns)

    def remove(self, stream: Stream, now_ns: int) -> None:
        """Remove a stream, which is sealed first, and its watermarks."""
        self.seal(stream.scope, stream.name, now_ns)
        mark = self._scopes.find(stream.scope).streams.get(MARK + stream.name)
        for gone in (stream,) if mark is None else (mark, stream):
            self._abort_all(gone, now_ns)
            self._keep_completed(gone)
            for segment in gone.segments:
                self._store.delete(gone.store_name(segment), now_ns)
            self._next_numbers[f"{gone.scope}/{gone.name}"] = gone.next_number
            if len(self._next_numbers) > limits.CONTROLLER_DELETED_STREAMS_MAX:
                del self._next_numbers[next(iter(self._next_numbers))]
            self._scopes.find(gone.scope).streams.remove(gone.name)

    def _unsealed(self, scope: str, stream: str) -> Stream:
        found = self._scopes.stream(scope, stream)
        if found.is_sealed:
            raise Refused(Why.STREAM_SEALED, f"{scope}/{stream}")
        return found

    def _begin_at(self, stream: Stream, cut: Cut, now_ns: int) -> None:
        """Let a stream begin at a cut: segments before it are removed, its own are truncated."""
        names = _names(stream)
        gone = [segment for segment in stream.between(stream.head(), cut) if segment.id not in cut]
        stream.truncated_at = dict(cut)
        for segment in gone:
            self._store.delete(names[segment.id], now_ns)
        for number, offset in cut.items():
            self._store.truncate(names[number], offset, now_ns)

    def _replace(
        self, stream: Stream, old: Sequence[StreamSegment], ranges: Sequence[KeyRange], now_ns: int
    ) -> list[StreamSegment]:
        """Begin an epoch: the new segments are there before the old ones are sealed, which wakes their readers."""
        new = stream.new_segments(ranges)
        self._make(stream, new, now_ns)
        closed = set(old)
        stay = [segment for segment in stream.active.segments if segment not in closed]
        stream.begin_epoch([*stay, *new])
        for segment in old:
            self._store.seal(stream.store_name(segment), now_ns)
        return new

    def _make(self, stream: Stream, segments: Sequence[StreamSegment], now_ns: int) -> None:
        for segment in segments:
            self._store.create(stream.store_name(segment), stream.config, now_ns)


def _names(stream: Stream) -> dict[int, str]:
    """What the store calls the segments of a stream, by id."""
    return {segment.id: stream.store_name(segment) for segment in stream.segments}


def _kept(config: pb.StreamConfig) -> pb.StreamConfig:
    """Return a configuration as it is kept: the stream's name alone, tags always, an unknown retention never."""
    kept = pb.StreamConfig()
    kept.CopyFrom(config)
    kept.streamInfo.CopyFrom(pb.StreamInfo(scope=config.streamInfo.scope, stream=config.streamInfo.stream))
    kept.tags.CopyFrom(pb.Tags(tag=as_java_set(config.tags.tag)))
    if kept.retentionPolicy.retentionType == pb.RetentionPolicy.UNKNOWN:
        kept.ClearField("retentionPolicy")
    return kept


def _without_tags(config: pb.StreamConfig) -> pb.StreamConfig:
    bare = pb.StreamConfig()
    bare.CopyFrom(config)
    bare.ClearField("tags")
    return bare
