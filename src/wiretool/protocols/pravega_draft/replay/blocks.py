"""Append blocks in a recording of the draft: which are whole, what they store, and where their appenders are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from wiretool.analysis.dialogues import Dialogue
from wiretool.codec.message import Side
from wiretool.protocols.pravega.framing import HEADER_BYTES
from wiretool.protocols.pravega_draft.messages import (
    AppendSetup,
    BeginAppendBlock,
    DataAppended,
    EndAppendBlock,
    Event,
    Padding,
    PartialMessage,
    SetupAppend,
)
from wiretool.records import Record

_IN_BLOCKS = (Event, Padding, PartialMessage, EndAppendBlock)


@dataclass(eq=False, slots=True)
class Block:
    """An append block, as far as it was recorded."""

    begin: BeginAppendBlock
    segment: str
    #: Numbers of its records, and the bytes that the segment stores of it.
    numbers: list[int]
    stored: bytearray = field(default_factory=bytearray)
    between: int = 0
    end: EndAppendBlock | None = None
    #: Bytes of a message that is cut.
    cut: bytearray = field(default_factory=bytearray)

    @property
    def is_whole(self) -> bool:
        """Whether all of it was recorded, by what its messages say of its size."""
        return self.end is not None and not self.cut and len(self.stored) == self.end.block_length

    def add(self, record: Record) -> None:
        """The next frame of the client."""
        self.numbers.append(record.n)
        message = record.fields
        if isinstance(message, EndAppendBlock):
            self.end = message
        elif self.end is None:
            self.between += record.length
        if isinstance(message, Event):
            self.stored += record.raw
        elif isinstance(message, PartialMessage):
            self.cut += message.data
            if message.part == "END":
                self.stored += self.cut
                self.cut.clear()


class Past:
    """What the client of one connection appended. `left_out` has the numbers of frames that cannot be said again.

    That is a block of which a part is missing in the recording, and what its appender appended behind it: it would
    stand at no offset that fits.
    """

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.left_out: set[int] = set()
        #: For a record that names an appender, the segment that this one was bound to.
        self.segments: dict[int, str] = {}
        self.blocks: list[Block] = []
        #: Appenders that were set up before the recording, with the segment that stands for theirs.
        self.unbound: dict[str, str] = {}
        #: By segment and appender, the first offset that was told.
        self.levels: dict[tuple[str, str], int] = {}
        #: And the last that was acknowledged.
        self.acked: dict[tuple[str, str], int] = {}
        self._bound: dict[str, str] = {}
        self._next: dict[str, int | None] = {}
        self._block: Block | None = None
        self._is_torn = not dialogue.is_opened
        for record in dialogue.records:
            self._take(record)

    def has_hole(self, side: Side) -> bool:
        """Whether bytes of a side are missing in the recording."""
        return any(each.kind == "gap" and each.side == side for each in self.dialogue.records)

    @property
    def stored(self) -> list[Block]:
        """The blocks that the server has stored, as far as that was told."""
        is_told = not self.has_hole("server")
        silent = max((record.n for record in self.dialogue.records if record.side == "server"), default=0)
        return [
            block
            for block in self.blocks
            if block.end is not None
            and (
                block.end.connection_offset <= self.acked.get((block.segment, block.begin.connection_id), 0)
                or not is_told
                or block.numbers[-1] > silent
            )
        ]

    def _take(self, record: Record) -> None:
        if record.kind == "gap" and record.side == "client":
            self._tear()
        elif record.kind == "frame" and record.side == "client":
            self._client(record)
        elif record.kind == "frame" and isinstance(record.fields, AppendSetup):
            self._set_up(record, record.fields)
        elif record.kind == "frame" and isinstance(record.fields, DataAppended):
            name = self.segments[record.n] = self._segment_of(record.fields.connection_id, record.fields)
            self.acked[name, record.fields.connection_id] = record.fields.connection_offset_ack_level

    def _set_up(self, record: Record, reply: AppendSetup) -> None:
        level = reply.connection_offset_ack_level
        self.segments[record.n] = reply.segment
        self.levels.setdefault((reply.segment, reply.connection_id), level)
        self._next[reply.connection_id] = level
        if reply.connection_id not in self._bound:
            self._bound[reply.connection_id] = self.unbound[reply.connection_id] = reply.segment

    def _tear(self) -> None:
        self._is_torn = True
        if self._block is not None:
            self._leave_out(self._block)

    def _leave_out(self, block: Block) -> None:
        self.left_out.update(block.numbers)
        self._next[block.begin.connection_id] = -1
        self._block = None

    def _segment_of(self, connection_id: str, message: BeginAppendBlock | DataAppended) -> str:
        """The segment of an appender; of one that was bound before, a name that stands for it."""
        if connection_id not in self._bound:
            name = self._bound[connection_id] = self.unbound[connection_id] = f"segment-of-{connection_id}"
            if isinstance(message, BeginAppendBlock):
                level = message.connection_offset
            else:
                level = message.connection_offset_ack_level
            self.levels.setdefault((name, connection_id), level)
        return self._bound[connection_id]

    def _client(self, record: Record) -> None:
        message = record.fields
        if isinstance(message, SetupAppend):
            self._bound[message.connection_id] = message.segment
            self._next[message.connection_id] = None
        elif isinstance(message, BeginAppendBlock):
            self._begin(record, message)
        elif isinstance(message, _IN_BLOCKS):
            self._go_on(record)

    def _begin(self, record: Record, begin: BeginAppendBlock) -> None:
        if self._block is not None and self._is_torn:
            self._leave_out(self._block)
        segment = self.segments[record.n] = self._segment_of(begin.connection_id, begin)
        self._block = Block(begin, segment, [record.n])

    def _go_on(self, record: Record) -> None:
        block = self._block
        if block is None:
            if self._is_torn:
                self.left_out.add(record.n)
            return
        block.add(record)
        if isinstance(record.fields, EndAppendBlock):
            self.segments[record.n] = block.segment
        if block.end is not None and not block.cut:
            self._finish(block)

    def _finish(self, block: Block) -> None:
        self._block = None
        expected = self._next.get(block.begin.connection_id)
        is_in_place = expected is None or expected == block.begin.connection_offset
        if self._is_torn and not (block.is_whole and block.between == block.begin.length and is_in_place):
            self._leave_out(block)
            return
        if block.end is not None:
            self._next[block.begin.connection_id] = block.end.connection_offset
        self.blocks.append(block)


def content_before(appended: bytes, reads: Mapping[int, bytes]) -> bytes:
    """What was in a segment before `appended` came to it, by what was read at which offset; zeros where nobody read."""
    end = max((offset + len(data) for offset, data in reads.items()), default=0)
    image = bytearray(end)
    for offset, data in sorted(reads.items()):
        image[offset : offset + len(data)] = data
    if not appended:
        return bytes(image)
    for length in _lengths(appended, reads, end):
        if all(_agrees(appended, offset - length, data) for offset, data in reads.items()):
            return bytes(image[:length])
    return bytes(image)


def _lengths(appended: bytes, reads: Mapping[int, bytes], end: int) -> Iterator[int]:
    """How long the segment may have been before, the likeliest first."""
    yield 0
    begin = appended[: HEADER_BYTES + 8]
    for offset, data in sorted(reads.items()):
        at = data.find(begin)
        while at >= 0:
            yield offset + at
            at = data.find(begin, at + 1)
    yield from (offset for offset in sorted(reads) if offset)
    yield end


def _agrees(appended: bytes, at: int, data: bytes) -> bool:
    """Whether what was read `at` bytes behind the beginning of what was appended is that, where it is not before it."""
    behind = data[-at:] if at < 0 else data
    at = max(at, 0)
    return appended[at : at + len(behind)] == behind
