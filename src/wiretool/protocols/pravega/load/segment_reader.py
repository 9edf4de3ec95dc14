"""Pravega's reads as a load sends them: one frame, changed in place, one answer each."""

from wiretool.codec.compiled import decoder
from wiretool.codec.frames.buffer import Inbox
from wiretool.codec.frames.patching import slot_of
from wiretool.errors import DecodeError
from wiretool.load.following import Piece
from wiretool.load.link import Failed
from wiretool.load.request_client import refused, unreadable
from wiretool.protocols.pravega.framing import EXTENTS, HEADER_BYTES, annotate, encode, parse, type_at
from wiretool.protocols.pravega.load.client import STRANGER
from wiretool.protocols.pravega.messages import KeepAlive, ReadSegment, SegmentRead

#: What one read asks for: enough to fill a connection, and checked before others have waited long.
READ_BYTES = 256 * 1024
_READ_TYPE = SegmentRead.declaration.type_id


class Reads:
    """Reads of one segment over one connection, one at a time. At its end the store waits for more."""

    pause_s = 0.0

    def __init__(self, segment: str, token: str = "") -> None:
        self._segment = segment
        self._offset = 0
        request = ReadSegment(
            segment=segment, offset=0, suggested_length=READ_BYTES, delegation_token=token, request_id=0
        )
        frame = encode(request, "client")
        spans = annotate(ReadSegment, frame, 0, len(frame))
        self._frame = bytearray(frame)
        self._slots = [slot_of(ReadSegment, spans, name) for name in ("offset", "request_id")]
        self._inbox = Inbox(EXTENTS["server"])
        self._decode = decoder(SegmentRead)

    def at(self, offset: int) -> bytearray:
        """The frame that asks for what is at that byte; it is the same object each time."""
        self._offset = offset
        for slot in self._slots:
            slot.put(self._frame, slot.at, offset)
        return self._frame

    def feed(self, data: bytes) -> Piece | None:
        """What the server said, once that is whole. Failed where it is no answer to the last read."""
        self._inbox.feed(data)
        try:
            while (frame := self._inbox.next()) is not None:
                if type_at(frame, 0) == _READ_TYPE:
                    return self._piece(self._decode(frame, HEADER_BYTES, len(frame))[0])
                if not isinstance(reply := parse(frame), KeepAlive):
                    raise refused("a read", reply)
        except DecodeError as err:
            raise unreadable("a read", STRANGER, err) from err
        return None

    def _piece(self, reply: SegmentRead) -> Piece:
        asked = self._segment, self._offset, self._offset
        if (reply.segment, reply.offset, reply.request_id) != asked:
            why = f"a read of {self._segment} at byte {self._offset:,} was answered with {reply.segment} at byte"
            raise Failed(f"{why} {reply.offset:,}", kind="a read answered with another place")
        if reply.end_of_segment:
            raise Failed(f"{self._segment} is sealed", kind="the segment is sealed")
        return Piece(reply.data, self._offset + len(reply.data), reply.at_tail)
