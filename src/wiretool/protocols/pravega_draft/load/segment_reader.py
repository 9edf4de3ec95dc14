"""The 2017 draft's reads as a load sends them: one frame, changed in place."""

from wiretool.codec.frames.buffer import Inbox
from wiretool.codec.frames.patching import slot_of
from wiretool.errors import DecodeError
from wiretool.load.following import Piece
from wiretool.load.link import Failed
from wiretool.load.request_client import refused, unreadable
from wiretool.protocols.pravega.framing import annotate
from wiretool.protocols.pravega_draft.framing import encode
from wiretool.protocols.pravega_draft.load.client import STRANGER, Store
from wiretool.protocols.pravega_draft.messages import KeepAlive, ReadSegment, SegmentRead
from wiretool.protocols.pravega_draft.server.appends import message_of

#: What one read asks for.
READ_BYTES = 256 * 1024


class Reads:
    """Reads of one segment over one connection, one at a time. At its end the store waits for more.

    Replies have no number and several may answer one read (S18): the first is taken for its answer, and the next ones
    for those to the reads behind it. So of each reply counts what did not come before.
    """

    pause_s = 0.0

    def __init__(self, segment: str) -> None:
        self._segment = segment
        self._offset = 0
        frame = encode(ReadSegment(segment=segment, offset=0, suggested_length=READ_BYTES))
        self._slot = slot_of(ReadSegment, annotate(ReadSegment, frame, 0, len(frame)), "offset")
        self._frame = bytearray(frame)
        self._inbox = Inbox(Store.extent)

    def at(self, offset: int) -> bytearray:
        """The frame that asks for what is at that byte; it is the same object each time."""
        self._offset = offset
        self._slot.put(self._frame, self._slot.at, offset)
        return self._frame

    def feed(self, data: bytes) -> Piece | None:
        """What the server said, once that is whole. Failed where it is no answer to the last read."""
        self._inbox.feed(data)
        try:
            while (frame := self._inbox.next()) is not None:
                reply = message_of(frame)
                if isinstance(reply, SegmentRead):
                    if not self._is_old(reply):
                        return self._piece(reply)
                elif not isinstance(reply, KeepAlive):
                    raise refused("a read", reply)
        except DecodeError as err:
            raise unreadable("a read", STRANGER, err) from err
        return None

    def _is_old(self, reply: SegmentRead) -> bool:
        """Whether it is from a read before the last one."""
        behind = reply.offset + len(reply.data)
        return reply.segment == self._segment and reply.offset < self._offset and behind <= self._offset

    def _piece(self, reply: SegmentRead) -> Piece:
        came = max(self._offset - reply.offset, 0)
        if reply.segment != self._segment or reply.offset + came != self._offset:
            why = f"a read of {self._segment} at byte {self._offset:,} was answered with {reply.segment} at byte"
            raise Failed(f"{why} {reply.offset:,}", kind="a read answered with another place")
        if reply.end_of_segment:
            raise Failed(f"{self._segment} is sealed", kind="the segment is sealed")
        return Piece(reply.data[came:], reply.offset + len(reply.data), reply.at_tail)
