"""What the controller does to a store when it is called: where its calls are said again, it does that by itself."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from wiretool.analysis.dialogues import Dialogue, Recording
from wiretool.protocols.base.registry import PROTOCOLS
from wiretool.protocols.pravega import segments
from wiretool.protocols.pravega.replay.appends import frames_of
from wiretool.protocols.pravega.replay.state import Change, Create, Delete, Seal, Truncate
from wiretool.protocols.pravega.session import SEGMENT_FIELD
from wiretool.protocols.pravega_controller.replay.adapter import ControllerReplayAdapter
from wiretool.protocols.pravega_controller.replay.names import stream_at, stream_of, transaction_suffix
from wiretool.protocols.pravega_controller.replay.prepare import Before
from wiretool.protocols.pravega_controller.server.names import MARK, READER_GROUP, TABLE
from wiretool.records import Record

CONTROLLER = "pravega-controller"
#: Where the controller keeps what it knows.
_METADATA = "_system/_tables/"
_TRANSACTION = "#transaction."
#: What it does to a stream's segments in the store when it is asked for what.
_MAKES = frozenset({"createStream", "createReaderGroup", "createKeyValueTable"})
_DOES: Mapping[type[Change], frozenset[str]] = {
    Create: _MAKES | {"scale", "createTransaction", "commitTransaction"},
    Seal: frozenset({"scale", "sealStream", "deleteReaderGroup", "deleteScopeRecursive", "commitTransaction"}),
    Delete: frozenset(
        {
            *("deleteStream", "truncateStream", "commitTransaction", "abortTransaction", "createTransaction"),
            *("deleteReaderGroup", "deleteKeyValueTable", "deleteScopeRecursive"),
        }
    ),
    Truncate: frozenset({"truncateStream", "updateSubscriberStreamCut", "updateStream"}),
}


class Calls:
    """The calls of a recording, as far as the controller did something to the store because of them."""

    def __init__(self, recording: Recording) -> None:
        #: Stream -> method -> number of the first record that asks for it.
        self._asked: dict[str, dict[str, int]] = defaultdict(dict)
        #: Segments that scalings and transactions made -> number of the record that asked for that.
        self._made: dict[str, int] = {}
        for event in frames_of(recording, CONTROLLER):
            record = event.record
            if record.side == "client" and isinstance(record.fields, Mapping):
                for stream in _streams_of(record.fields):
                    self._asked[stream].setdefault(record.message, record.n)
        #: Stream -> number of the first answer that says that it was made.
        self._new: dict[str, int] = dict(_new_in(recording))
        #: Number of a commit that was done -> stream, and what stands behind the names of the transaction's segments.
        self.commits: dict[int, tuple[str, str]] = dict(_commits_in(recording))
        for name, answer in _told_in(recording):
            is_part = answer.message == "createTransaction" and _TRANSACTION in name
            if (is_part or answer.message == "scale") and answer.reply_to is not None:
                self._made.setdefault(name, answer.reply_to)

    def __bool__(self) -> bool:
        return bool(self._asked)

    def is_about(self, segment: str) -> bool:
        """Whether anything was asked of the stream of a segment."""
        return stream_of(segment) in self._asked

    def makes(self, segment: str, n: int) -> bool:
        """Whether a segment that is there by a record was made by the controller since the recording began."""
        if self._made.get(segment, n) < n:
            return True
        return _TRANSACTION not in segment and self._is_asked(segment, n, _MAKES)

    def creates(self, segment: str, n: int) -> bool:
        """Return whether answers before a record say that the controller created a segment."""
        if self._made.get(segment, n) < n:
            return True
        stream = stream_of(segment)
        return _TRANSACTION not in segment and stream is not None and self._new.get(stream, n) < n

    def does(self, change: Change, n: int) -> bool:
        """Whether the controller was asked before a record for what leads to such a change."""
        return self._is_asked(change.segment, n, _DOES.get(type(change), frozenset()))

    def _is_asked(self, segment: str, n: int, methods: frozenset[str]) -> bool:
        stream = stream_of(segment)
        asked = self._asked.get(stream) if stream is not None else None
        return asked is not None and any(asked.get(method, n) < n for method in methods)


def _new_in(recording: Recording) -> Iterator[tuple[str, int]]:
    """Yield the streams that calls created, the last first, each with the number of the answer."""
    asked: dict[int, Mapping[str, Any]] = {}
    found: list[tuple[str, int]] = []
    for event in frames_of(recording, CONTROLLER):
        record = event.record
        if record.message not in _MAKES or not isinstance(record.fields, Mapping):
            continue
        if record.side == "client":
            asked[record.n] = record.fields
        elif record.reply_to in asked and record.fields.get("status") == "SUCCESS":
            found += [(stream, record.n) for stream in _streams_of(asked[record.reply_to])]
    return reversed(found)


def _commits_in(recording: Recording) -> Iterator[tuple[int, tuple[str, str]]]:
    asked: dict[int, Mapping[str, Any]] = {}
    for event in frames_of(recording, CONTROLLER):
        record = event.record
        if record.message != "commitTransaction" or not isinstance(record.fields, Mapping):
            continue
        if record.side == "client":
            asked[record.n] = record.fields
        elif record.reply_to in asked and record.fields["status"] == "SUCCESS":
            request = asked[record.reply_to]
            stream, suffix = stream_at(request, ()), transaction_suffix(request["txnId"])
            if stream is not None and suffix:
                yield record.reply_to, (stream, suffix)


def _streams_of(request: Mapping[str, Any]) -> Iterator[str]:
    """The streams, `scope/stream`, to which a call does something."""
    if "readerGroupName" in request or "readerGroup" in request:
        yield f"{request['scope']}/{READER_GROUP}{request.get('readerGroupName') or request.get('readerGroup')}"
        return
    stream = stream_at(request, ())
    if stream is None and "kvtName" in request:
        stream = f"{request['scope']}/{request['kvtName']}{TABLE}"
    if stream is not None:
        scope, _, name = stream.partition("/")
        yield stream
        yield f"{scope}/{MARK}{name}"


def names_told(recording: Recording) -> set[str]:
    """The names of segments that follow from what the recorded controller says, or had said before."""
    return {name for name, _ in _told_in(recording)} | set(Before(recording, CONTROLLER).parts())


def _told_in(recording: Recording) -> Iterator[tuple[str, Record]]:
    """The same, each with the answer that tells it."""
    manner = ControllerReplayAdapter(PROTOCOLS[CONTROLLER])
    asked: dict[int, Record] = {}
    for event in frames_of(recording, CONTROLLER):
        record = event.record
        asked[record.n] = record
        if record.side == "server" and _is_call(record):
            request = asked.get(record.reply_to or 0)
            yield from ((place.value, record) for place in manner.told(record, manner.form(record), request))


def own_connections(recording: Recording) -> set[Dialogue]:
    """The recorded controller's connections to its store."""
    if not any(event.record.side == "client" and _is_call(event.record) for event in frames_of(recording, CONTROLLER)):
        return set()
    return {
        dialogue
        for dialogue in recording.of("pravega")
        if any(record.side == "client" and _is_controllers(record) for record in dialogue.records)
    }


def _is_call(record: Record) -> bool:
    return isinstance(record.fields, Mapping)


def _is_controllers(record: Record) -> bool:
    """Whether only a controller asks that of a store: its own tables, or segments of streams."""
    message: Any = record.fields
    name = getattr(message, SEGMENT_FIELD.get(type(message), ""), "")
    if name.startswith(_METADATA):
        return True
    return isinstance(message, segments.CreateSegment) and stream_of(name) is not None and "#epoch." in name
