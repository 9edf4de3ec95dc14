"""One connection of a case: messages to bytes and bytes to messages, with the state of the conversation."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from wiretool.codec.frames.splitter import Piece, Splitter
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import Message, Side
from wiretool.conformance.active.endings import end_words
from wiretool.conformance.case import Incoming
from wiretool.errors import EncodeError
from wiretool.protocols.base.conversation import let_go
from wiretool.protocols.base.encoder import SentMessage
from wiretool.protocols.base.protocol import Protocol


class CaseConnection:
    """The end of a connection that a case has: it encodes its own messages and decodes those of the peer."""

    def __init__(self, protocol: Protocol, number: int, side: Side = "client") -> None:
        self.number = number
        self._side: Side = side
        self._peer: Side = "server" if side == "client" else "client"
        self._encoder = protocol.open_encoder()
        self._conversation = protocol.open(True)
        self._splitters = {each: Splitter(self._conversation, each) for each in ("client", "server")}
        self._n = 0
        #: Messages that have arrived and that no step has looked at.
        self.inbox: deque[Incoming] = deque()
        #: Bytes that wait for the next message that is sent, to leave with it.
        self.held = bytearray()
        self.is_open = False
        #: How the peer ended the connection, in words; empty while it has not.
        self.ended = ""
        #: The report of the network on a connection that was lost; empty for an orderly end.
        self.why_lost = ""

    def encode(self, name: str, fields: Mapping[str, Any]) -> bytes:
        """Encode the next message of our side. EncodeError where it has no bytes of its own."""
        pending = self._encoder.encode(SentMessage(name, self._side, fields))
        if pending.data is None:
            self._encoder.end()  # what we send is whole: no later message decides its bytes
        if pending.data is None:
            raise EncodeError(f"{name}: its bytes depend on a later message")
        return pending.data

    def note_sent(self, data: bytes) -> None:
        """Let the conversation see what was sent, so that replies are read as what they are."""
        for piece in self._splitters[self._side].feed(data):
            if piece.kind == "frame":
                self._read(self._side, piece)

    def feed(self, data: bytes) -> list[Incoming]:
        """Decode bytes of the peer; the messages go to the inbox, too."""
        return self._take(self._splitters[self._peer].feed(data))

    @property
    def end_words(self) -> str:
        """Return how the peer ended the connection, as a reason of a verdict."""
        return end_words(self.why_lost)

    def end(self, how: str) -> list[Incoming]:
        """Note that the peer sends no more; an unfinished frame becomes a message with a problem."""
        if self.ended:
            return []
        self.ended = how
        return self._take(self._splitters[self._peer].end())

    def _take(self, pieces: list[Piece]) -> list[Incoming]:
        found = list(self._messages(pieces))
        self.inbox.extend(found)
        return found

    def _messages(self, pieces: list[Piece]) -> Iterator[Incoming]:
        for piece in pieces:
            if piece.kind == "frame":
                yield self._read(self._peer, piece)
            elif piece.kind == "lost":
                data = piece.data[piece.at : piece.end]
                yield Incoming("(undecodable)", self._peer, {"data": data.hex()}, (f"{piece.error}: {piece.why}",))

    def _read(self, side: Side, piece: Piece) -> Incoming:
        self._n += 1
        reading = self._conversation.read(side, piece.data, piece.at, piece.end, self._n)
        problems = tuple(str(defect) for defect in reading.defects)
        let_go(reading.defects)
        fields = json_form(reading.fields) if isinstance(reading.fields, Message) else dict(reading.fields)
        if reading.left_over:
            problems += (f"{len(reading.left_over)} bytes after the last field",)
        return Incoming(reading.message, side, fields, problems)
