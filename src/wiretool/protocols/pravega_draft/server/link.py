"""One connection of the draft: bytes to frames, frames to messages, replies to bytes."""

from collections.abc import Callable, Mapping
from typing import Any

from wiretool.codec.frames.buffer import Inbox
from wiretool.codec.message import Message
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.pravega.server.segments import Segment, Segments
from wiretool.protocols.pravega_draft.framing import encode, extent
from wiretool.protocols.pravega_draft.messages import (
    BeginAppendBlock,
    EndAppendBlock,
    Event,
    KeepAlive,
    Padding,
    PartialMessage,
    ReadSegment,
    SetupAppend,
)
from wiretool.protocols.pravega_draft.server.appends import Appends, message_of
from wiretool.protocols.pravega_draft.server.reads import Reads
from wiretool.server.mock import Outbox
from wiretool.server.room import PacedLink
from wiretool.server.timers import Timers

#: The segment to append to by name, made if that is how it comes to be; None where there is none.
Finder = Callable[[str, int], Segment | None]


class DraftLink(PacedLink):
    """A connection. What came in front of a broken frame is done and answered, then the connection is closed."""

    def __init__(self, number: int, segments: Segments, find: Finder, outbox: Outbox, timers: Timers) -> None:
        super().__init__(timers)
        self._number = number
        self._find = find
        self._outbox = outbox
        self._inbox = Inbox(extent)
        self._appends = Appends(segments)
        self._reads = Reads(segments, self)
        #: Replies of this turn.
        self._replies: list[bytes] = []
        self._is_serving = False
        #: Frames wait until the replies to those before them have left.
        self._is_held = False
        self._is_ending = False
        self._is_closed = False

    # -- what happens to the connection ----------------------------------------------------------------------------

    def feed(self, data: bytes, now_ns: int) -> None:
        self._inbox.feed(data)
        if not self._is_held:
            self._serve(now_ns)

    @property
    def held_bytes(self) -> int:
        return self._inbox.held + self._appends.held_bytes

    def end(self, now_ns: int) -> None:
        self._is_ending = True
        if not self._is_held:
            self._close("")

    def lost(self, now_ns: int) -> None:
        self._inbox.clear()
        self._is_closed = True
        self._reads.forget()

    # -- replies ---------------------------------------------------------------------------------------------------

    def reply(self, message: Message) -> None:
        """Send a message, behind what is to be acknowledged by now."""
        for each in (*self._appends.acks(), message):
            self._send(each)

    def _send(self, message: Message) -> None:
        frame = encode(message)
        self._outbox.counts["server", message.declaration.name] += 1
        self._unsent_bytes += len(frame)
        if self._is_serving:
            self._replies.append(frame)
        else:
            self._outbox.send(self._number, frame)
            self._sent_unasked()

    def _close(self, why: str) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._outbox.close(self._number, why)

    # -- frames ----------------------------------------------------------------------------------------------------

    def _serve(self, now_ns: int) -> None:
        """Serve the frames that are there, until too many bytes of replies have not left."""
        if self._is_closed:
            return
        why = None
        self._is_serving = True
        self._unsent_bytes = 0
        try:
            self._reads.resume()
            while self.has_room() and (frame := self._inbox.next()) is not None:
                self._frame(frame, now_ns)
        except (DecodeError, ProtocolViolation) as err:
            why = str(err)
        self._is_held = not self.has_room()
        for ack in self._appends.acks():
            self._send(ack)
        self._is_serving = False
        if self._replies:
            self._outbox.send(self._number, b"".join(self._replies))
            self._replies.clear()
        if why is not None or (self._is_ending and not self._is_held):
            self._close(why or "")

    def _frame(self, frame: bytes, now_ns: int) -> None:
        message = message_of(frame)
        self._outbox.counts["client", message.declaration.name] += 1
        if not isinstance(message, PartialMessage):
            self._appends.enter(message, frame)
            self._said(message, frame, now_ns)
            return
        whole = self._appends.join(message, frame)
        if whole is not None:
            self._put_together(*whole, now_ns)

    def _put_together(self, message: Message, frame: bytes, now_ns: int) -> None:
        """A message in pieces is whole; where a block waits for it, that is complete now (S13)."""
        if not self._appends.is_in_tail:
            self._appends.enter(message, frame, is_put_together=True)
            self._said(message, frame, now_ns)
            return
        if not isinstance(message, Event):
            self._appends.enter(message, frame, is_put_together=True)
        self._said(message, frame, now_ns)
        self._answer(self._appends.complete(now_ns))

    # -- messages --------------------------------------------------------------------------------------------------

    def _said(self, message: Message, frame: bytes, now_ns: int) -> None:
        if isinstance(message, Event):
            self._appends.store(frame)
        else:
            _HANDLERS[type(message)](self, message, now_ns)

    def _answer(self, reply: Message | None) -> None:
        if reply is not None:
            self.reply(reply)

    def _set_up(self, setup: SetupAppend, now_ns: int) -> None:
        self.reply(self._appends.set_up(setup, self._find(setup.segment, now_ns)))

    def _begin(self, begin: BeginAppendBlock, now_ns: int) -> None:
        self._appends.begin(begin)

    def _end(self, end: EndAppendBlock, now_ns: int) -> None:
        self._answer(self._appends.end(end, now_ns))

    def _read(self, request: ReadSegment, now_ns: int) -> None:
        self._reads.read(request, now_ns)

    def _keep_alive(self, message: KeepAlive, now_ns: int) -> None:
        self.reply(KeepAlive(data=b""))

    def _padding(self, padding: Padding, now_ns: int) -> None:
        """It fills room in a block, and is not stored (S12)."""


_HANDLERS: Mapping[type[Message], Callable[[DraftLink, Any, int], None]] = {
    SetupAppend: DraftLink._set_up,
    BeginAppendBlock: DraftLink._begin,
    EndAppendBlock: DraftLink._end,
    ReadSegment: DraftLink._read,
    KeepAlive: DraftLink._keep_alive,
    Padding: DraftLink._padding,
}
