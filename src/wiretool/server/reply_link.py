"""A link that answers the frames of its client one by one, as most servers of requests and replies do."""

from abc import abstractmethod
from functools import partial

from wiretool.codec.frames.buffer import Inbox
from wiretool.errors import DecodeError
from wiretool.protocols.base.conversation import Conversation
from wiretool.server.mock import Mock
from wiretool.server.room import PacedLink


class ReplyLink(PacedLink):
    """A connection: frames are answered in order, those before broken bytes too, while there is room for replies."""

    def __init__(self, number: int, mock: Mock, conversation: Conversation) -> None:
        """`conversation` finds the frames of the client, and reads none."""
        super().__init__(mock.timers)
        self.number = number
        self.outbox = mock.outbox
        self._inbox = Inbox(partial(conversation.extent, "client"))
        self._is_ending = self._is_over = False

    @abstractmethod
    def answer(self, frame: bytes, now_ns: int) -> bytes:
        """Return the replies to a frame; empty where it has none. DecodeError where the connection cannot go on."""

    def refusal(self, err: DecodeError) -> bytes:
        """Return what is sent to a client whose bytes are broken, before its connection is closed."""
        return b""

    def leave(self) -> None:
        """Answer no more frames, and close the connection after the replies so far."""
        self._is_over = True

    @property
    def held_bytes(self) -> int:
        return self._inbox.held

    def feed(self, data: bytes, now_ns: int) -> None:
        self._inbox.feed(data)
        self._serve(now_ns)

    def end(self, now_ns: int) -> None:
        self._is_ending = True
        self._serve(now_ns)

    def lost(self, now_ns: int) -> None:
        self._inbox.clear()
        self._is_over = True

    def _serve(self, now_ns: int) -> None:
        if self._is_over:
            return
        self._unsent_bytes = 0
        replies, why = [], ""
        try:
            while not self._is_over and self.has_room() and (frame := self._inbox.next()) is not None:
                replies.append(self.answer(frame, now_ns))
                self._unsent_bytes += len(replies[-1])
        except DecodeError as err:
            why = str(err)
            replies.append(self.refusal(err))
        if any(replies):
            self.outbox.send(self.number, b"".join(replies))
        if why or self._is_over or (self._is_ending and self.has_room()):
            self._is_over = True
            self.outbox.close(self.number, why)
