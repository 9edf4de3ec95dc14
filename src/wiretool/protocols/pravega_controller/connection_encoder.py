"""Encodes the frames and calls of one HTTP/2 connection: each call on the stream that its headers opened.

A record of a call does not name its stream. Where several streams wait for a request of one method, only the answer
shows which of them is meant: until then its frame is pending. The next frame shows whether a request ends its stream.
"""

from dataclasses import dataclass, field
from typing import Any

from wiretool.codec.message import Message, Side
from wiretool.errors import EncodeError
from wiretool.protocols.base.encoder import ConnectionEncoder, PendingFrame, SentMessage
from wiretool.protocols.pravega_controller.calls import METHODS, write_body
from wiretool.protocols.pravega_controller.encoding import FIRST_STREAM, data_frame_with
from wiretool.protocols.pravega_controller.messages import Continuation, Data, Headers

#: Messages of a connection that may come before a pending frame is decided without them.
LOOKAHEAD_MESSAGES_MAX = 4096


@dataclass(slots=True)
class _Call:
    """A message of a call whose frame is pending; `stream_id` is 0 while that is not known."""

    sent: SentMessage
    body: bytes
    stream_id: int = 0
    frame: PendingFrame = field(default_factory=PendingFrame)


class ControllerEncoder(ConnectionEncoder):
    """Remembers the streams that headers opened, and the parts of messages that plain DATA frames carried."""

    def __init__(self, *functions: Any) -> None:
        super().__init__(*functions)
        #: By method, the streams whose request was not found yet.
        self._opened: dict[str, list[int]] = {}
        #: Requests and answers that are pending, in their order; by number of the record, the streams of requests.
        self._requests: list[_Call] = []
        self._answers: list[_Call] = []
        self._stream_of: dict[int, int] = {}
        #: By stream and side, the bytes of a message that earlier frames carried; streams that an empty frame ends.
        self._begun: dict[tuple[int, Side], bytes] = {}
        self._ended_later: set[int] = set()
        self._messages_since = 0

    def encode(self, sent: SentMessage) -> PendingFrame:
        message = self.from_json(sent.name, sent.side, sent.fields)
        self._messages_since += 1
        if self._messages_since > LOOKAHEAD_MESSAGES_MAX:
            self.end()
        if sent.name in METHODS:
            call = _Call(sent, write_body(message))
            (self._request if sent.side == "client" else self._answer)(call)
            return call.frame
        self._note(sent, message)
        return PendingFrame(self.encode_message(message, sent.side))

    def end(self) -> None:
        for call in [*self._requests, *self._answers]:
            self._write(call)
        self._messages_since = 0

    def _request(self, call: _Call) -> None:
        opened = self._opened.get(call.sent.name, [])
        if len(opened) == 1:
            self._claim(call, opened[0])
        self._requests.append(call)
        self._messages_since = 0

    def _answer(self, call: _Call) -> None:
        stream_id = self._stream_of.get(call.sent.reply_to or 0, 0)
        self._answers.append(call)
        if stream_id:
            call.stream_id = stream_id
            self._hear_server(stream_id)
            self._write(call)

    def _note(self, sent: SentMessage, message: Message) -> None:
        """Note what a frame says of streams."""
        stream_id = getattr(message, "stream_id", 0)
        if sent.side == "server":
            if isinstance(message, Headers) and message.end_stream:
                self._resolve(sent, stream_id)
            if stream_id:
                self._hear_server(stream_id)
        elif isinstance(message, Headers | Continuation) and message.method in METHODS:
            self._opened.setdefault(str(message.method), []).append(stream_id)
            if sent.n is not None:
                self._stream_of[sent.n] = stream_id
        if isinstance(message, Data) and message.data:
            key = stream_id, sent.side
            self._begun[key] = self._begun.get(key, b"") + message.data
        elif isinstance(message, Data) and sent.side == "client":
            self._ended_later.add(stream_id)

    def _resolve(self, sent: SentMessage, stream_id: int) -> None:
        """Take the stream of headers for that of the answer before them, and of the request that was answered."""
        answer = self._answers[-1] if self._answers else None
        asked = sent.reply_to if answer is None else answer.sent.reply_to
        for request in self._requests:
            if request.sent.n is not None and request.sent.n == asked and not request.stream_id:
                self._claim(request, stream_id)
        if answer is not None:
            answer.stream_id = stream_id
            self._hear_server(stream_id)
            self._write(answer)

    def _claim(self, request: _Call, stream_id: int) -> None:
        request.stream_id = stream_id
        opened = self._opened.get(request.sent.name, [])
        if stream_id in opened:
            opened.remove(stream_id)
        if request.sent.n is not None:
            self._stream_of[request.sent.n] = stream_id

    def _hear_server(self, stream_id: int) -> None:
        """Write the request on a stream on which the server speaks: it had all of it."""
        for request in [each for each in self._requests if each.stream_id == stream_id]:
            self._write(request)

    def _write(self, call: _Call) -> None:
        """Decide a frame that is pending."""
        side = call.sent.side
        if not call.stream_id and side == "client":
            self._claim(call, (self._opened.get(call.sent.name) or [FIRST_STREAM])[0])
        stream_id = call.stream_id or self._stream_of.get(call.sent.reply_to or 0, FIRST_STREAM)
        begun = self._begun.pop((stream_id, side), b"")
        if not call.body.startswith(begun):
            raise EncodeError("does not continue the DATA frames before it", path=call.sent.name)
        ends = side == "client" and stream_id not in self._ended_later
        call.frame.data = data_frame_with(call.body[len(begun) :], stream_id, end_stream=ends)
        pending = self._requests if side == "client" else self._answers
        pending[:] = [each for each in pending if each is not call]
