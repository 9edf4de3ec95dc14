"""FETCH in either style of SBP as a load sends it, one at a time.

No server waits for more where there is nothing (sbp.md §4.5, §4.6), so who is at the end of a stream asks again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from wiretool.codec.frames.buffer import Inbox
from wiretool.errors import DecodeError
from wiretool.load.following import Piece
from wiretool.protocols.sbp.framing import FrameReading, extent
from wiretool.protocols.sbp.load.frames import check_unasked, name_of, reading_of, refused, unreadable
from wiretool.protocols.sbp.messages import FETCH, RESPONSE_END, SbpFrame, Schema

#: Between an answer with nothing in it and the next FETCH: what a delivery may seem longer by.
PAUSE_S = 0.005


class Fetches(ABC):
    """FETCHes over one connection, with these identifiers."""

    pause_s = PAUSE_S

    def __init__(self, schema: Schema, ids: Iterator[int]) -> None:
        self._schema = schema
        self._ids = ids
        #: Of the last request: its identifier, and the offset that it asks for.
        self._id = 0
        self._offset = 0
        self._inbox = Inbox(extent)

    def at(self, offset: int) -> bytearray:
        """The frame that asks for what is at that offset; it may be the same object each time."""
        self._id, self._offset = next(self._ids), offset
        return self._frame(self._id, offset)

    def feed(self, data: bytes) -> Piece | None:
        """What the server said, once that is whole. Failed where it is no answer to the last request."""
        self._inbox.feed(data)
        try:
            while (raw := self._inbox.next()) is not None:
                reading = reading_of(self._schema, raw, "FETCH")
                if self._is_answer(reading.frame):
                    return self._piece(reading)
                check_unasked(self._schema, reading.frame, "FETCH")
        except DecodeError as err:
            raise unreadable("FETCH", err) from err
        return None

    def _is_answer(self, frame: SbpFrame) -> bool:
        if not frame.is_response or frame.stream_id != self._id:
            return False
        if frame.opcode != FETCH or not frame.flags & RESPONSE_END:
            raise refused("FETCH", f"{name_of(self._schema, frame)} with flags 0x{frame.flags:02x}")
        return True

    @abstractmethod
    def _frame(self, stream_id: int, offset: int) -> bytearray:
        """The request with that identifier for what is at that offset."""

    @abstractmethod
    def _piece(self, reading: FrameReading) -> Piece:
        """What an answer brings."""
