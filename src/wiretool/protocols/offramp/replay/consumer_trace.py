"""What one recorded Offramp connection was: which stream it read, what it heard when, and how the server failed it."""

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from wiretool.analysis.dialogues import Dialogue, Ended, Recording
from wiretool.codec.message import Message
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.handshake import StreamPath, stream_path
from wiretool.protocols.offramp.messages import (
    BY_NAME,
    CancelEvent,
    Close,
    CommitEvent,
    ConnectionEvent,
    HandshakeRequest,
    HandshakeResponse,
    MessageEvent,
    RebalanceEvent,
    RequestEvent,
)
from wiretool.protocols.offramp.server.upgrade_real import path_of
from wiretool.records import Record

#: Codes with which a server says that something went wrong with what the client sent, or with itself.
_FAILURES = frozenset({1001, 1002, 1003, 1007, 1009, 1011})
_UNNAMED = ("Fragment", "Empty", "Unknown", "Deflated")
#: What a consumer of a server takes, and counts.
_TAKEN = (RequestEvent, CancelEvent, CommitEvent)


@dataclass(frozen=True, slots=True)
class Part:
    """A frame of the client as a part of a message in several frames."""

    #: All frames of the message; the last one has what it says.
    frames: Sequence[Record]
    at: int

    @property
    def whole(self) -> Record:
        """The frame that completes the message."""
        return self.frames[-1]


@dataclass(eq=False)
class Course:
    """One connection; `name` stands in for what its handshake would tell, should that not be recorded."""

    dialogue: Dialogue
    road: str
    stream: str
    default_offset: str | None
    #: Whether its handshake is not recorded, so that one of our own is said.
    is_greeted: bool
    #: Whether the server has upgraded it, and gone on to events.
    is_granted: bool
    #: Whether its end was recorded, and that the client ended its side.
    is_ended: bool = True
    is_left: bool = True
    #: By the number of the record; and those that are parts of a message that was not recorded whole.
    parts: Mapping[int, Part] = field(default_factory=dict)
    halves: Set[int] = frozenset()

    # -- its frames ----------------------------------------------------------------------------------------------------

    @cached_property
    def frames(self) -> list[Record]:
        """All frames of both sides, in the order in which they were captured."""
        return [record for record in self._records if record.kind == "frame"]

    @cached_property
    def _records(self) -> list[Record]:
        """What is behind a hole is told late: its time says where it belongs."""
        return sorted(self.dialogue.records, key=lambda record: record.time_ns)

    @cached_property
    def _places(self) -> Mapping[int, int]:
        return {record.n: place for place, record in enumerate(self._records)}

    @cached_property
    def span(self) -> tuple[int, int]:
        """When it began and ended, in ns, as far as its records show; 0 where it has none."""
        times = [record.time_ns for record in self.dialogue.records]
        return (min(times), max(times)) if times else (0, 0)

    def is_behind(self, n: int, other: int) -> bool:
        """Whether record `n` was captured behind another; 0 stands for the beginning."""
        return self._places.get(n, -1) > self._places.get(other, -1)

    @cached_property
    def messages(self) -> list[Record]:
        """The MESSAGEs that could be read."""
        return [record for record in self.frames if isinstance(record.fields, MessageEvent) and record.side == "server"]

    @cached_property
    def contents(self) -> Mapping[tuple[int, int], str]:
        """What was heard, by partition and offset."""
        return {(each.partition, each.offset): content_of(each) for each in map(_event, self.messages)}

    @cached_property
    def taken(self) -> list[Record]:
        """The events of the client that a server takes, by our rules."""
        return [record for record in self.frames if record.side == "client" and isinstance(record.fields, _TAKEN)]

    def is_lossy_behind(self, n: int) -> bool:
        """Whether bytes of the server are missing in the recording, behind record `n`."""
        return any(
            each.side == "server" and each.kind != "frame" and self.is_behind(each.n, n)
            for each in self.dialogue.records
        )

    @property
    def is_lossy(self) -> bool:
        """Whether bytes of the server are missing anywhere."""
        return self.is_lossy_behind(0)

    @cached_property
    def is_torn(self) -> bool:
        """Whether bytes of the client are missing, so that its frames may stand in the wrong place."""
        return any(each.side == "client" and each.kind == "gap" for each in self.dialogue.records)

    def is_silent_behind(self, n: int) -> bool:
        """Whether nothing of the server was recorded behind record `n`."""
        return not any(each.side == "server" and self.is_behind(each.n, n) for each in self.frames)

    def is_cut_behind(self, n: int, message: str) -> bool:
        """Whether the recording ends before the answer to request `n`, or, without one, before the connection does."""
        answers = (each for each in self.frames if each.message == message and each.reply_to is not None)
        return not self.is_ended and not (n and any(self.is_behind(each.reply_to or 0, n) for each in answers))

    # -- its end -------------------------------------------------------------------------------------------------------

    @cached_property
    def close(self) -> Record | None:
        """The Close that the server sent by itself."""
        return next(
            (r for r in self.frames if r.side == "server" and r.message == "Close" and r.reply_to is None),
            None,
        )

    @property
    def is_all_said(self) -> bool:
        """Whether all that the client said was recorded."""
        return not (self.is_greeted or self.is_torn)

    @cached_property
    def is_opened_whole(self) -> bool:
        """Whether all that was said from the beginning on was recorded."""
        return not (self.is_greeted or self.is_lossy or self.is_torn)

    @cached_property
    def is_cut_short(self) -> bool:
        """Whether the server ended it for what the client said, and has assigned nothing before."""
        code = getattr(self.close.fields, "code", 0) if self.close is not None else 0
        return code in _FAILURES and not any(isinstance(each.fields, RebalanceEvent) for each in self.frames)

    @cached_property
    def lax_at(self) -> int | None:
        """The first event that no decoder takes but a lax one, and that the recorded server has not minded."""
        close = self.close
        if close is not None and isinstance(close.fields, Close) and close.fields.code in _FAILURES:
            return None
        odd = next((record for record in self.frames if record.side == "client" and _is_odd(record)), None)
        return None if odd is None or self.is_silent_behind(odd.n) else odd.n

    @cached_property
    def failure(self) -> tuple[int, str] | None:
        """From which record on, and how, the recorded server failed a client that did nothing wrong by our rules."""
        close = self.close
        if close is None or not isinstance(close.fields, Close) or close.fields.code not in (1001, 1011):
            return None
        if close.fields.code == 1001:
            return close.n, "the recorded server was stopped there"
        before = [record for record in self.frames if record.side == "client" and self.is_behind(close.n, record.n)]
        said = [record for record in before if record.message in BY_NAME or record.message in _UNNAMED]
        if any(_is_odd(record) for record in said) or not self.is_granted:
            return None
        last = next((record for record in reversed(said) if isinstance(record.fields, _TAKEN)), None)
        if last is not None and _begins_otherwise(last):
            return last.n, "the recorded server requires `type` first; members may have any order (decision 5)"
        return close.n, "the recorded server failed there, not because of the client (reference 1.4, 3.7)"

    @cached_property
    def is_memory(self) -> bool:
        """Whether the server assigned partitions before anything was asked for: the original in memory does."""
        first = next((record for record in self.frames if isinstance(record.fields, RebalanceEvent)), None)
        if first is None:
            return False
        counts = [
            each.fields.count
            for each in self.taken
            if isinstance(each.fields, RequestEvent) and self.is_behind(first.n, each.n)
        ]
        return all(count <= 0 for count in counts) and not self.is_greeted and not self.is_lossy_behind(0)

    # -- demand --------------------------------------------------------------------------------------------------------

    @cached_property
    def owed(self) -> int:
        """How many messages were asked for before the recording begins, as far as they came."""
        asked = owed = 0
        for at, record in enumerate(self.frames):
            fields = record.fields
            if isinstance(fields, MessageEvent):
                owed += asked == 0
                asked = max(asked - 1, 0)
            elif isinstance(fields, RequestEvent):
                asked += max(fields.count, 0)
            elif isinstance(fields, CancelEvent):
                return owed + (self._under_way(at) if asked == 0 else 0)
        return owed

    def heard_after(self) -> Iterator[tuple[int, MessageEvent]]:
        """Each MESSAGE, with how many events a server had taken when it was sent at the latest.

        What is under way when CANCEL is said was asked for before it.
        """
        count = int(self.is_greeted and self.owed > 0)
        before = count
        left: int | None = None
        for at, record in enumerate(self.frames):
            if record.side == "client" and isinstance(record.fields, _TAKEN):
                if isinstance(record.fields, CancelEvent):
                    before = before if left else count
                    left = self._under_way(at)
                count += 1
            elif isinstance(record.fields, MessageEvent):
                yield (before if left else count), record.fields
                left = left and left - 1

    def _under_way(self, at: int) -> int:
        """Of the messages between the CANCEL `at` and the next one, how many nobody asked for behind it."""
        came = asked = 0
        for record in self.frames[at + 1 :]:
            if isinstance(record.fields, CancelEvent):
                break
            if isinstance(record.fields, RequestEvent):
                asked += max(record.fields.count, 0)
            came += isinstance(record.fields, MessageEvent)
        return max(came - asked, 0)


def courses_of(recording: Recording, protocol: str) -> list[Course]:
    """All connections of a recording."""
    ends = [event for event in recording.events if isinstance(event, Ended)]
    ended = {event.dialogue for event in ends}
    left = {event.dialogue for event in ends if event.side == "client" or event.how == "rst"}
    return [
        course_of(dialogue, is_ended=dialogue in ended, is_left=dialogue in left) for dialogue in recording.of(protocol)
    ]


def course_of(dialogue: Dialogue, *, is_ended: bool = True, is_left: bool = True) -> Course:
    """What a recorded connection was."""
    frames = [record for record in dialogue.records if record.kind == "frame"]
    heads = [record for record in frames if isinstance(record.fields, HandshakeRequest)]
    path = next((found for found in map(_path, reversed(heads)) if found is not None), None)
    is_upgraded = any(isinstance(each.fields, HandshakeResponse) and each.fields.status == 101 for each in frames)
    is_event = any(isinstance(each.fields, ConnectionEvent | MessageEvent) for each in frames)
    is_greeted = not heads
    unnamed = "-".join(str(number) for number in (dialogue.number, *dialogue.copies))
    cuts = Cuts(dialogue, is_torn=is_greeted)
    return Course(
        dialogue,
        path.road if path else f"road-of-{dialogue.number}",
        path.stream if path else f"stream-of-{unnamed}",
        path.default_offset if path else "EARLIEST",
        is_greeted,
        is_event or (is_greeted and not is_upgraded),
        is_ended,
        is_left,
        cuts.parts,
        cuts.halves,
    )


def _path(record: Record) -> StreamPath | None:
    assert isinstance(record.fields, HandshakeRequest)
    return stream_path(record.fields.target) or path_of(record.fields.target)


class Cuts:
    """The client's messages in several frames; `halves` are the frames of messages of which some are missing."""

    def __init__(self, dialogue: Dialogue, *, is_torn: bool) -> None:
        self.parts: dict[int, Part] = {}
        self.halves: set[int] = set()
        self._open: list[Record] = []
        self._is_torn = is_torn
        for record in dialogue.records:
            if record.side == "client" and record.kind == "gap":
                self._lose()
            elif record.side == "client" and record.kind == "frame" and record.raw:
                self._take(record)

    def _lose(self) -> None:
        self._is_torn = True
        self.halves.update(record.n for record in self._open)
        self._open = []

    def _take(self, record: Record) -> None:
        first = record.raw[0]
        if framing.is_http("client", record.raw, 0, len(record.raw)) or first & 8:
            return
        if first & framing.OPCODE:
            self._open = []
        elif not self._open and self._is_torn:
            self.halves.add(record.n)
            return
        self._open.append(record)
        if first & framing.FIN:
            if len(self._open) > 1:
                self.parts.update({part.n: Part(self._open, at) for at, part in enumerate(self._open)})
            self._open = []


def content_of(event: MessageEvent) -> str:
    """What a message of a road says, whatever its place and time."""
    return json.dumps([event.schema, event.payload], sort_keys=True)


def _event(record: Record) -> MessageEvent:
    assert isinstance(record.fields, MessageEvent)
    return record.fields


def _is_odd(record: Record) -> bool:
    """Whether a frame of the client says what our rules refuse."""
    if record.message in ("Fragment", "Empty", "Deflated"):
        return False
    return not isinstance(record.fields, Message)


def _begins_otherwise(record: Record) -> bool:
    """Whether the first member of an event is not its type."""
    header = framing.read_header(record.raw, 0, len(record.raw))
    if header is None or header.is_compressed or not header.opcode:
        return False
    text = framing.payload_of(header, record.raw, 0, len(record.raw)).lstrip(b"{ \t\r\n")
    return not text.startswith(b'"type"')


def commits_of(record: Record) -> Mapping[int, int]:
    """The offsets of a COMMIT, by partition."""
    fields: Any = record.fields
    return {int(partition): offset for partition, offset in fields.offsets.items()}
