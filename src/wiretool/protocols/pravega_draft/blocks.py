"""What the append messages of one connection add up to: whole blocks, out of events and messages that were cut.

The rules are S3 and S8 to S15 in SOURCES.md; what a hole or an uncaptured beginning could explain breaks none of them.
"""

from itertools import islice
from typing import Any, Literal

from wiretool import limits
from wiretool.codec.message import Side
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega_draft.messages import BeginAppendBlock, EndAppendBlock

#: Where the client is with its appends: outside a block, in one, behind its end with a cut message still to come, or
#: a block may be open that was not captured.
Phase = Literal["outside", "block", "tail", "lost"]


class Writer:
    """An appender: where its next block begins, and how many losses there had been when that was known.

    `asked` is how many there had been when it asked to be set up, `first` where its first block began if that was sent
    before the answer.
    """

    __slots__ = ("asked", "first", "losses", "offset", "segment")

    def __init__(self, segment: str | None) -> None:
        self.segment = segment
        self.offset = 0
        self.losses = -1
        self.asked = -1
        self.first: int | None = None


class Block:
    """A block that was begun, and what of it is stored so far."""

    __slots__ = ("begin", "between", "end", "is_too_large", "stored")

    def __init__(self, begin: BeginAppendBlock) -> None:
        self.begin = begin
        self.end: EndAppendBlock | None = None
        self.stored = bytearray()
        self.between = 0
        self.is_too_large = False


class Blocks:
    """The appenders of one connection and its open block. `is_whole`: nothing that the client said is missing."""

    def __init__(self, *, is_whole: bool) -> None:
        self.writers: dict[str, Writer] = {}
        self.is_whole = is_whole
        #: Moved on by the session, along its table.
        self.phase: Phase = "outside" if is_whole else "lost"
        self._block: Block | None = None
        #: How often frames of the client were missing: where an appender was before the last time says nothing.
        self._losses = 0
        #: Rules that a reply shows to be broken by what the client said before it.
        self._belated: list[ProtocolViolation] = []

    @property
    def open_id(self) -> str | None:
        """The appender whose block is not complete, if there is one."""
        return None if self._block is None else self._block.begin.connection_id

    @property
    def held_bytes(self) -> int:
        """Return the bytes kept of the open block."""
        return 0 if self._block is None else len(self._block.stored)

    def lose(self) -> None:
        """Frames of the client are missing."""
        self.is_whole = False
        self.phase = "lost"
        self._block = None
        self._losses += 1

    def drop_block(self) -> None:
        """The open block will not be completed."""
        self.phase = "outside"
        self._block = None

    def set_up(self, connection_id: str, segment: str) -> None:
        """The appender is bound to a segment."""
        self._add(connection_id, segment).asked = self._losses

    def learn(self, connection_id: str, segment: str | None, offset: int | None) -> None:
        """A reply of the server proves that the appender is set up; an AppendSetup says where it goes on (S14)."""
        writer = self.writers.get(connection_id) or self._add(connection_id, segment)
        writer.segment = writer.segment or segment
        if offset is None:
            return
        if self.is_contradicted(connection_id, offset):
            why = f"the first block began at {writer.first}, the appender was at {offset}"
            self._belated.append(self.violation("bad-connection-offset", why, "BeginAppendBlock"))
        if writer.first is None or writer.asked != self._losses:
            self._place(writer, offset)  # else the blocks behind the first one count
        writer.first = None

    def is_contradicted(self, connection_id: str, offset: int) -> bool:
        """Return whether the appender's first block began elsewhere than its AppendSetup, which came later, says."""
        writer = self.writers.get(connection_id)
        return (
            writer is not None and writer.first is not None and writer.asked == self._losses and writer.first != offset
        )

    def take_belated(self) -> list[ProtocolViolation]:
        """Return the broken rules that the last reply showed, each once."""
        belated, self._belated = self._belated, []
        return belated

    def begin(self, begin: BeginAppendBlock) -> None:
        """A block begins where the one before it ended (S10)."""
        writer = self.writers.get(begin.connection_id)
        if writer is None:
            if self.is_whole:
                why = f"no SetupAppend named {begin.connection_id}"
                raise self.violation("append-before-setup", why, "BeginAppendBlock")
            writer = self._add(begin.connection_id, None)
        if begin.length < 0:
            raise self.violation("bad-block-length", f"a length of {begin.length}", "BeginAppendBlock")
        if writer.losses == self._losses and begin.connection_offset != writer.offset:
            why = f"begins at {begin.connection_offset}, the appender is at {writer.offset}"
            raise self.violation("bad-connection-offset", why, "BeginAppendBlock")
        if writer.losses != self._losses == writer.asked and writer.first is None:
            writer.first = begin.connection_offset
        self._block = Block(begin)

    def pass_frame(self, frame_bytes: int) -> None:
        """A frame of this size stands between the beginning and the end of the block (S8)."""
        if self._block is not None and self._block.end is None:
            self._block.between += frame_bytes

    def store(self, frame: bytes) -> None:
        """An event, header and all, belongs to the block (S9)."""
        block = self._block
        if block is None:
            return
        if len(block.stored) + len(frame) > limits.DRAFT_BLOCK_BYTES_MAX:
            block.is_too_large = True
        else:
            block.stored += frame

    def finish(self, end: EndAppendBlock) -> None:
        """The block ends (S8, S10)."""
        block = self._block
        if block is None:
            return
        begin = block.begin
        if end.connection_id != begin.connection_id:
            why = f"the open block is of appender {begin.connection_id}"
            raise self.violation("writer-mismatch", why, "EndAppendBlock")
        if end.connection_offset != begin.connection_offset + end.block_length:
            why = f"{end.block_length} bytes from {begin.connection_offset} end at no {end.connection_offset}"
            raise self.violation("bad-connection-offset", why, "EndAppendBlock")
        if block.between != begin.length:
            why = f"{block.between} bytes since the beginning, which has the length {begin.length}"
            raise self.violation("bad-block-length", why, "EndAppendBlock")
        block.end = end

    def is_sound(self, end: EndAppendBlock) -> bool:
        """Whether `finish` and `complete` would find nothing wrong with the end, and the block whole."""
        block = self._block
        return (
            self.phase == "block"
            and block is not None
            and not block.is_too_large
            and end.connection_id == block.begin.connection_id
            and end.connection_offset == block.begin.connection_offset + end.block_length
            and block.between == block.begin.length
            and len(block.stored) == end.block_length
        )

    def complete(self, message: str) -> tuple[dict[str, Any], bytes] | None:
        """The block that is complete now and the bytes to store (S11, S13); None where it was not captured whole."""
        self.phase = "outside"
        block, self._block = self._block, None
        if block is None or block.end is None or block.is_too_large:
            return None
        begin, end, data = block.begin, block.end, bytes(block.stored)
        if len(data) != end.block_length:
            why = f"{len(data)} bytes to store, the end has {end.block_length}"
            raise self.violation("bad-block-length", why, message)
        writer = self.writers.get(begin.connection_id) or self._add(begin.connection_id, None)
        self._place(writer, end.connection_offset)
        form = {
            "segment": writer.segment,
            "connection_id": begin.connection_id,
            "connection_offset": begin.connection_offset,
            "length": len(data),
        }
        return form, data

    def _place(self, writer: Writer, offset: int) -> None:
        """The next block of an appender begins here."""
        writer.offset, writer.losses = offset, self._losses

    def _add(self, connection_id: str, segment: str | None) -> Writer:
        if len(self.writers) >= limits.WRITERS_MAX and connection_id not in self.writers:
            self.is_whole = False
            for old in list(islice(self.writers, limits.WRITERS_MAX // 2)):
                del self.writers[old]
        writer = self.writers[connection_id] = Writer(segment)
        return writer

    def violation(self, kind: str, why: str, message: str, side: Side = "client") -> ProtocolViolation:
        """A rule that was broken here."""
        return ProtocolViolation(kind, why, phase=self.phase, side=side, message=message)
