"""The subject of a record: a segment, a stream, or that of its whole connection, such as a road."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.records import Record

#: Fields that name a segment, the most telling first, and those that stand for a writer to one.
SEGMENT_FIELDS = ("segment", "segment_name", "target", "parent_segment")
WRITER_FIELDS = ("writer_id", "connection_id")
#: How deep a header is searched for stream ids.
DEPTH_MAX = 6
_NESTED = (dict, list, Mapping)


class Subject(NamedTuple):
    """A thing that requests are made of."""

    kind: str
    name: str


#: What stands for a subject on a connection: a writer, or the connection itself, with no name beside it.
Key = tuple[int, str]
CONNECTION_KEY = ""


class Mention(NamedTuple):
    """What a frame says of its subjects by itself: each once, and the key that stands for them.

    With both, the key stands for these subjects from then on; with the key alone, it is about what that stands for.
    """

    subjects: tuple[Subject, ...] = ()
    key: Key | None = None


class Subjects:
    """Knows what frames are about; show it every frame in order.

    Of the keys the latest `limits.CONNECTIONS_MAX` are remembered.
    """

    def __init__(self) -> None:
        self.known: dict[Key, tuple[Subject, ...]] = {}

    def of(self, record: Record) -> tuple[Subject, ...]:
        """The subjects of a frame, each once; a reply may only be about what was asked."""
        subjects, key = mention_of(record)
        if key is None:
            return subjects
        if not subjects:
            return self.known.get(key, ())
        self.remember(key, subjects)
        return subjects

    def has_room(self, keys: int) -> bool:
        """Whether so many new keys fit without any being forgotten."""
        return len(self.known) + keys <= limits.CONNECTIONS_MAX

    def forget(self, connections: Collection[int]) -> None:
        """What was said on these connections is not asked for any more."""
        self.known = {key: about for key, about in self.known.items() if key[0] not in connections}

    def give(self, connections: Collection[int]) -> Mapping[Key, tuple[Subject, ...]]:
        """What was said on these connections, for others to go on with; it is remembered no longer."""
        given = {key: about for key, about in self.known.items() if key[0] in connections}
        self.known = {key: about for key, about in self.known.items() if key not in given}
        return given

    def remember(self, key: Key, subjects: tuple[Subject, ...]) -> Key | None:
        """Keep what the key stands for; return the oldest key where that is forgotten for it."""
        oldest = None
        if key not in self.known and not self.has_room(1):
            oldest = next(iter(self.known))
            del self.known[oldest]
        self.known[key] = subjects
        return oldest


def mention_of(record: Record) -> Mention:
    """What a frame says of its subjects by itself."""
    fields = record.fields
    if kind := connection_subject(record.protocol):
        return _connection_mention(record.connection, kind, _value(fields, kind))
    if isinstance(fields, Mapping) and "header" in fields:
        return stream_mention(_stream_ids(fields))
    segment = _first_text(fields, SEGMENT_FIELDS)
    if segment is None and record.append is not None:
        segment = record.append.get("segment")
    return segment_mention(record.connection, segment, _first_text(fields, WRITER_FIELDS))


@cache
def connection_subject(protocol: str | None) -> str:
    """Return `Wire.connection_subject` of the protocol with this name; empty where there is none."""
    known = None if protocol is None else PROTOCOLS.get(protocol)
    return "" if known is None else known.connection_subject


def _connection_mention(connection: int, kind: str, name: Any) -> Mention:
    """Return what a whole connection is about; one frame of it has the name, the others have none."""
    return Mention((Subject(kind, name),) if isinstance(name, str) else (), (connection, CONNECTION_KEY))


def stream_mention(ids: Iterable[int]) -> Mention:
    """Data streams by their ids."""
    return Mention(tuple(Subject("stream", str(number)) for number in dict.fromkeys(ids)))


def segment_mention(connection: int, segment: str | None, writer: str | None) -> Mention:
    """A segment by its name, or the one for which the writer was set up."""
    about = () if segment is None else (Subject("segment", segment),)
    return Mention(about, None if writer is None else (connection, writer))


def _first_text(fields: Message | Mapping[str, Any] | None, names: tuple[str, ...]) -> str | None:
    for name in names:
        value = _value(fields, name)
        if isinstance(value, str):
            return value
    return None


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
            inner = [each for each in value.values() if isinstance(each, _NESTED)]
        else:
            inner = value if isinstance(value, list) else []
        if depth < DEPTH_MAX:
            todo += [(each, depth + 1) for each in reversed(inner)]
