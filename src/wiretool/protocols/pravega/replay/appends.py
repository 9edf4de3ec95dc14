"""The appends of a recording: what each of them added, to which segment, and what became of it."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from wiretool.analysis.dialogues import Dialogue, Recording, Told
from wiretool.codec.message import Message
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.appends import Appends, event_frame
from wiretool.protocols.pravega.messages import (
    AppendBlock,
    AppendBlockEnd,
    AppendSetup,
    ConditionalAppend,
    ConditionalBlockEnd,
    DataAppended,
    SegmentRead,
    SetupAppend,
)
from wiretool.protocols.pravega.replay.content import Contents
from wiretool.records import Record

#: So few bytes may be found in a segment by chance.
_TELLING_BYTES = 16


class Fate(Enum):
    """What became of an append."""

    #: It hangs in the air.
    OPEN = auto()
    STORED = auto()
    REFUSED = auto()
    #: The server ended before it took it: a later AppendSetup says so.
    LOST = auto()


@dataclass(eq=False, slots=True)
class Append:
    """One append of a client."""

    record: Record
    dialogue: Dialogue
    #: None where its SetupAppend was not recorded.
    segment: str | None
    writer: str
    number: int
    #: None where not all of it was recorded.
    data: bytes | None
    #: Its SetupAppend was recorded, or may have been before the recording, but not in a hole.
    is_bound: bool
    fate: Fate = Fate.OPEN
    #: Length of the segment behind it.
    end: int | None = None

    @property
    def length(self) -> int:
        """Bytes that it adds."""
        return len(self.data or b"")


@dataclass(slots=True)
class AppendLog:
    """Every append of a recording, by the number of its record."""

    of: dict[int, Append] = field(default_factory=dict)
    #: By the numbers of their blocks, those that are in blocks.
    of_block: dict[int, Append] = field(default_factory=dict)
    #: By the number of the ack: what it settles, oldest first.
    acked: dict[int, list[Append]] = field(default_factory=dict)
    contents: Contents = field(default_factory=Contents)
    #: Numbers that an ack may name as the one before it: those of the writer's appends, and what it was set up with.
    numbers: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))


def frames_of(recording: Recording, *protocols: str) -> Iterator[Told]:
    """The frames of all connections of protocols, the store's if none is named, in the order of time."""
    names = protocols or ("pravega",)
    for event in recording.events:
        if isinstance(event, Told) and event.dialogue.protocol in names and event.record.kind == "frame":
            yield event


def append_log(recording: Recording) -> AppendLog:
    """The appends of a recording."""
    reader = AppendReader()
    for event in recording.events:
        if isinstance(event, Told) and event.dialogue.protocol == "pravega":
            reader.read(event)
    reader.find_segments()
    reader.fill()
    return reader.log


class AppendReader:
    """Reads appends and what is said to them."""

    def __init__(self) -> None:
        self.log = AppendLog()
        self._decoders: dict[Dialogue, Appends] = {}
        self._bound: set[tuple[Dialogue, str]] = set()
        #: The block that is open on a connection.
        self._blocks: dict[Dialogue, int] = {}
        #: Writer -> its appends that wait for an ack, on all connections.
        self._waiting: dict[str, list[Append]] = defaultdict(list)

    def read(self, event: Told) -> None:
        """The next record."""
        record, dialogue = event.record, event.dialogue
        decoder = self._decoders.get(dialogue)
        if decoder is None:
            decoder = self._decoders[dialogue] = Appends(is_whole=dialogue.is_opened)
        if record.kind == "gap" and record.side == "client":
            decoder.lose()
            self._blocks.pop(dialogue, None)
        elif record.kind == "frame" and isinstance(record.fields, Message):
            try:
                self._hear(event) if record.side == "server" else self._say(event, decoder)
            except ProtocolViolation:
                decoder.drop_block()

    def _say(self, event: Told, decoder: Appends) -> None:
        message = event.record.fields
        if isinstance(message, SetupAppend):
            decoder.set_up(message)
            self._bound.add((event.dialogue, message.writer_id))
        elif isinstance(message, AppendBlock):
            decoder.begin(message)
            decoder.phase = "block"
            self._blocks[event.dialogue] = event.record.n
        elif isinstance(message, AppendBlockEnd):
            writer, data = decoder.finish(message)
            decoder.phase = "idle"
            self._note(event, writer.segment, message.writer_id, message.last_event_number, data)
        elif isinstance(message, ConditionalAppend | ConditionalBlockEnd):
            writer = decoder.condition(message)
            decoder.phase = "idle"
            data = message.data if isinstance(message, ConditionalBlockEnd) else event_frame(message.event.data)
            self._note(event, writer.segment, message.writer_id, message.event_number, data)

    def _note(self, event: Told, segment: str | None, writer: str, number: int, data: bytes | None) -> None:
        is_bound = not event.dialogue.is_opened or (event.dialogue, writer) in self._bound
        append = Append(event.record, event.dialogue, segment, writer, number, data, is_bound)
        self.log.of[event.record.n] = append
        if (block := self._blocks.pop(event.dialogue, None)) is not None:
            self.log.of_block[block] = append
        self.log.numbers[writer].add(number)
        self._waiting[writer].append(append)

    def _hear(self, event: Told) -> None:
        record, message = event.record, event.record.fields
        if isinstance(message, DataAppended):
            self._ack(event, message)
        elif isinstance(message, AppendSetup):
            self.log.numbers[message.writer_id].add(message.last_event_number)
            self._settle(message)
        elif isinstance(message, SegmentRead):
            self.log.contents.add(message.segment, message.offset, message.data)
        elif record.reply_to in self.log.of:
            append = self.log.of[record.reply_to]
            append.fate = Fate.REFUSED
            self._waiting[append.writer] = [each for each in self._waiting[append.writer] if each is not append]

    def _ack(self, event: Told, ack: DataAppended) -> None:
        self.log.numbers[ack.writer_id].add(ack.previous_event_number)
        waiting = self._waiting[ack.writer_id]
        mine = [each for each in waiting if each.dialogue is event.dialogue and each.number <= ack.event_number]
        end = ack.current_segment_write_offset
        for append in reversed(mine):
            append.fate = Fate.STORED
            if end >= 0:
                append.end = end
                end = end - append.length if append.data is not None else -1
        self.log.acked[event.record.n] = mine
        self._waiting[ack.writer_id] = [each for each in waiting if each not in mine]

    def _settle(self, setup: AppendSetup) -> None:
        """The writer is set up anew: what of it is stored is known."""
        waiting = self._waiting[setup.writer_id]
        for append in waiting:
            if append.segment in (None, setup.segment):
                append.fate = Fate.STORED if append.number <= setup.last_event_number else Fate.LOST
        self._waiting[setup.writer_id] = [each for each in waiting if each.fate is Fate.OPEN]

    def find_segments(self) -> None:
        """Of writers that were set up before the recording: the segment in which their bytes were read."""
        unknown: dict[tuple[Dialogue, str], list[Append]] = defaultdict(list)
        for append in self.log.of.values():
            if append.segment is None:
                unknown[append.dialogue, append.writer].append(append)
        for appends in unknown.values():
            segment = next(filter(None, map(self._where, appends)), None)
            for append in appends:
                append.segment = segment

    def _where(self, append: Append) -> str | None:
        if append.end is None or append.data is None:
            return None
        found = self.log.contents.find_holders(append.end - len(append.data), append.data, _TELLING_BYTES)
        return found[0] if len(found) == 1 else None

    def fill(self) -> None:
        """What was appended is what the segment holds there, where nobody read it."""
        for append in self.log.of.values():
            if append.segment and append.fate is Fate.STORED and append.end is not None and append.data:
                self.log.contents.add(append.segment, append.end - len(append.data), append.data, is_sure=False)
