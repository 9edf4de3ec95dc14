"""Append blocks of one connection: stored when they are whole, acknowledged by connection offset.

What a connection has begun and not ended is forgotten with it; where an appender goes on stands in the segment, so that
nothing is stored twice or acknowledged and lost, whatever breaks when.
"""

from wiretool import limits
from wiretool.codec.message import Message
from wiretool.errors import ProtocolViolation
from wiretool.protocols.pravega.framing import HEADER_BYTES, unknown_type
from wiretool.protocols.pravega.server.segments import Segment, Segments
from wiretool.protocols.pravega_draft.blocks import Blocks
from wiretool.protocols.pravega_draft.framing import BY_HEAD, left_over
from wiretool.protocols.pravega_draft.messages import (
    AppendSetup,
    BeginAppendBlock,
    DataAppended,
    EndAppendBlock,
    NoSuchSegment,
    PartialMessage,
    SegmentIsSealed,
    SetupAppend,
)
from wiretool.protocols.pravega_draft.partial_messages import Partial, join, put_together
from wiretool.protocols.pravega_draft.session import TABLE, misplaced


class Appends:
    """The appenders of one connection, its open block and the message that is being put together."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._blocks = Blocks(is_whole=True)
        self._partial = Partial()
        #: Connection ids -> up to where they are stored, of what is not acknowledged yet.
        self._acks: dict[str, int] = {}

    def acks(self) -> list[Message]:
        """One acknowledgement for each appender of which more is stored than it was told; then it is told."""
        acks: list[Message] = [
            DataAppended(connection_id=connection_id, connection_offset_ack_level=level)
            for connection_id, level in self._acks.items()
        ]
        self._acks.clear()
        return acks

    @property
    def held_bytes(self) -> int:
        """Return the bytes kept of the open block and of the message that is put together."""
        return self._blocks.held_bytes + self._partial.held_bytes

    # -- in step ---------------------------------------------------------------------------------------------------

    def enter(self, message: Message, frame: bytes, *, is_put_together: bool = False) -> None:
        """Go on with a message, if this is the time for it (S8, S15); `frame`: its bytes, header and all."""
        blocks, cls = self._blocks, type(message)
        phase = TABLE.get((blocks.phase, "client", cls))
        if phase is None:
            raise misplaced(blocks, "client", message)
        if cls is not EndAppendBlock:
            if not is_put_together:
                blocks.pass_frame(len(frame))
            blocks.phase = phase

    def join(self, piece: PartialMessage, frame: bytes) -> tuple[Message, bytes] | None:
        """The message that is whole with this piece, and its bytes (S3, S4)."""
        self._blocks.pass_frame(len(frame))
        whole = join(self._partial, piece, self._blocks, "client")
        return None if whole is None else (self._put_together(whole), whole)

    def _put_together(self, whole: bytes) -> Message:
        return _complete(whole, *put_together(whole, self._blocks, "client"))

    # -- appending -------------------------------------------------------------------------------------------------

    def set_up(self, setup: SetupAppend, segment: Segment | None) -> Message:
        """Bind an appender to a segment; it goes on where the segment has the end of what it stored (S14)."""
        connection_id, writers = setup.connection_id, self._blocks.writers
        if connection_id == self._blocks.open_id:
            raise self._violation("block-not-ended", f"a block of appender {connection_id} is open", setup)
        if segment is None:
            writers.pop(connection_id, None)
            return NoSuchSegment(segment=setup.segment)
        if len(writers) >= limits.WRITERS_MAX and connection_id not in writers:
            raise self._violation("too-many-writers", f"more than {limits.WRITERS_MAX} of them", setup)
        level = segment.attributes.get(connection_id, 0)
        self._blocks.set_up(connection_id, setup.segment)
        self._blocks.learn(connection_id, setup.segment, level)
        return AppendSetup(segment=setup.segment, connection_id=connection_id, connection_offset_ack_level=level)

    def begin(self, begin: BeginAppendBlock) -> None:
        """A block begins."""
        self._blocks.begin(begin)

    def store(self, frame: bytes) -> None:
        """An event of the open block."""
        self._blocks.store(frame)

    def end(self, end: EndAppendBlock, now_ns: int) -> Message | None:
        """The block ends: it is complete now, or with the message that is cut (S13). What it is refused with."""
        self._blocks.finish(end)
        if self._partial.is_open:
            self._blocks.phase = "tail"
            return None
        return self.complete(now_ns)

    @property
    def is_in_tail(self) -> bool:
        """Whether the block waits for a message that is cut."""
        return self._blocks.phase == "tail"

    def complete(self, now_ns: int) -> Message | None:
        """Store the block; what it is refused with."""
        done = self._blocks.complete(EndAppendBlock.declaration.name)
        if done is None:
            why = f"a block of more than {limits.DRAFT_BLOCK_BYTES_MAX} bytes"
            raise self._blocks.violation("block-too-large", why, EndAppendBlock.declaration.name)
        form, data = done
        name, connection_id, offset = form["segment"], form["connection_id"], form["connection_offset"]
        segment = self._segments.find(name)
        if segment is None:
            return NoSuchSegment(segment=name)
        if segment.is_sealed:
            return SegmentIsSealed(segment=name)
        level = segment.attributes.get(connection_id, 0)
        if level != offset:
            why = f"a block from {offset} on, {level} is where the segment has this appender"
            raise self._blocks.violation("bad-connection-offset", why, EndAppendBlock.declaration.name)
        self._acks[connection_id] = segment.attributes[connection_id] = level + len(data)
        self._segments.append(segment, data, now_ns)
        return None

    def _violation(self, kind: str, why: str, message: Message) -> ProtocolViolation:
        return self._blocks.violation(kind, why, message.declaration.name)


def message_of(frame: bytes) -> Message:
    """The message in a whole frame. DecodeError, also where bytes are left over."""
    found = BY_HEAD.get(frame[:4])
    if found is None:
        raise unknown_type(frame, 0)
    return _complete(frame, *found[1](frame, HEADER_BYTES, len(frame)))


def _complete(frame: bytes, message: Message, stop: int) -> Message:
    """Return the message; DecodeError where its last field ends before its frame."""
    if stop != len(frame):
        raise left_over(len(frame) - stop, stop)
    return message
