"""What a record is about: a segment, a stream or a road."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.records import Record

#: Fields that name a segment, the most telling first, and those that stand for a writer to one.
SEGMENT_FIELDS = ("segment", "segment_name", "target", "parent_segment")
WRITER_FIELDS = ("writer_id", "connection_id")
#: How deep a header is searched for stream ids.
DEPTH_MAX = 6


class Subject(NamedTuple):
    """A thing that requests are made of."""

    kind: str
    name: str


class Subjects:
    """Knows what records are about; show it every record in order, for replies are about what was asked."""

    def __init__(self) -> None:
        self._writers: dict[tuple[int, str], Subject] = {}
        self._roads: dict[int, Subject] = {}
        self._asked: dict[int, tuple[Subject, ...]] = {}

    def of(self, record: Record) -> tuple[Subject, ...]:
        """The subjects of a frame, each once."""
        found = tuple(dict.fromkeys(self._found(record)))
        if not found and record.reply_to is not None:
            found = self._asked.get(record.reply_to, ())
        if found and record.reply_to is None:
            _remember(self._asked, record.n, found, limits.REQUESTS_OPEN_MAX)
        return found

    def _found(self, record: Record) -> Iterator[Subject]:
        fields = record.fields
        if record.protocol == "offramp":
            yield from self._road(record)
        elif isinstance(fields, Mapping) and "header" in fields:
            yield from (Subject("stream", str(number)) for number in _stream_ids(fields))
        else:
            yield from self._segment(record)

    def _road(self, record: Record) -> Iterator[Subject]:
        """The road of a connection is in the target of its handshake."""
        road = _value(record.fields, "road")
        if isinstance(road, str):
            _remember(self._roads, record.connection, Subject("road", road), limits.CONNECTIONS_MAX)
        if record.connection in self._roads:
            yield self._roads[record.connection]

    def _segment(self, record: Record) -> Iterator[Subject]:
        """A segment by its name, or the one for which the writer was set up."""
        names = (_value(record.fields, field) for field in SEGMENT_FIELDS)
        segment = next((name for name in names if isinstance(name, str)), None)
        if segment is None and record.append is not None:
            segment = record.append.get("segment")
        ids = (_value(record.fields, field) for field in WRITER_FIELDS)
        writer = next((each for each in ids if isinstance(each, str)), None)
        if segment is not None:
            if writer is not None:
                key = (record.connection, writer)
                _remember(self._writers, key, Subject("segment", segment), limits.WRITERS_MAX)
            yield Subject("segment", segment)
        elif writer is not None and (record.connection, writer) in self._writers:
            yield self._writers[record.connection, writer]


def _remember(memory: dict[Any, Any], key: object, value: object, most: int) -> None:
    """Keep the latest of what was said, forgetting the oldest."""
    if key not in memory and len(memory) >= most:
        del memory[next(iter(memory))]
    memory[key] = value


def _value(fields: Message | Mapping[str, Any] | None, name: str) -> Any:
    if isinstance(fields, Mapping):
        return fields.get(name)
    return getattr(fields, name, None)


def _stream_ids(frame: Mapping[str, Any]) -> Iterator[int]:
    """The ids of data streams; the `stream_id` of the frame itself names a request."""
    todo: list[tuple[Any, int]] = [(frame.get("payload"), 0), (frame.get("header"), 0)]
    while todo:
        value, depth = todo.pop()
        if isinstance(value, Mapping):
            if isinstance(value.get("stream_id"), int):
                yield value["stream_id"]
            inner = [each for each in value.values() if isinstance(each, Mapping | list)]
        else:
            inner = value if isinstance(value, list) else []
        if depth < DEPTH_MAX:
            todo += [(each, depth + 1) for each in reversed(inner)]
