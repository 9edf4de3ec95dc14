"""The client's end of one connection to the controller: HTTP/2 in and out, a stream of it for each call.

It knows no socket: it is given calls and bytes, and says what goes out now. What the server's windows do not let
through, or would be one call too many at once, waits for its turn.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError

from wiretool import limits
from wiretool.codec.frames.buffer import Inbox
from wiretool.errors import EncodeError
from wiretool.protocols.pravega_controller.frames import GOAWAY, plain_extent, read_header

#: Name and value.
Header = tuple[str, str]
_NO_MORE = "the server takes no more calls on this connection (GOAWAY)"
#: In a GOAWAY: the last stream that the server serves, and an error, 0 for none (RFC 9113 §6.8).
_LAST_STREAM, _ERROR = slice(9, 13), slice(13, 17)


class Part(NamedTuple):
    """Bytes that go out, and the call of which they say something; None where they say nothing of any."""

    call: int | None
    data: bytes


class _Call:
    """A call that is not said to its end yet."""

    __slots__ = ("call", "headers", "rest", "stream")

    def __init__(self, call: int, headers: Sequence[Header], message: bytes) -> None:
        self.call = call
        self.headers = headers
        self.rest = message
        self.stream = 0


class Client:
    """Says calls, each by the number that the caller has for it."""

    def __init__(self) -> None:
        self._h2 = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self._h2.initiate_connection()
        self._calls: list[_Call] = []
        self._streams: dict[int, int] = {}
        #: Why no more calls are taken; empty as long as they are.
        self.why_gone = ""
        #: Up to which stream there will be answers; None for all.
        self._last_stream: int | None = None
        self._inbox = Inbox(partial(plain_extent, length_max=limits.HTTP2_FRAME_BYTES_MAX))

    def call(self, call: int, headers: Sequence[Header], message: bytes) -> list[Part]:
        """Begin a call with a message in its prefix. EncodeError where the server takes no more, or headers are bad."""
        if self.why_gone:
            raise EncodeError(self.why_gone)
        self._calls.append(_Call(call, headers, message))
        return list(self._go_on())

    def cancel(self, call: int) -> list[Part]:
        """Let go of a call."""
        self._calls = [each for each in self._calls if each.call != call]
        stream = self._streams.get(call)
        if stream is None or self.why_lost(call):
            return []
        try:
            self._h2.reset_stream(stream, ErrorCodes.CANCEL)
        except ProtocolError:  # it has come to its end meanwhile
            return []
        return [Part(None, self._h2.data_to_send())]

    def leave(self) -> list[Part]:
        """Say that no more calls will come."""
        if self.why_gone:
            return []
        self._h2.close_connection()
        self._end("the client announced that it sends no more calls (GOAWAY)")
        return [Part(None, self._h2.data_to_send())]

    def why_lost(self, call: int) -> str:
        """Why a call will not be answered; empty as long as it may be."""
        is_served = self._last_stream is None or self._streams.get(call, 0) in range(1, self._last_stream + 1)
        return "" if is_served else self.why_gone

    def receive(self, data: bytes) -> list[Part]:
        """The server's next bytes; what is said to them: acknowledgements, and what has waited for them."""
        if self._is_over:
            return []
        try:
            for frame in self._frames(data):
                if not self._is_over:
                    self._hear(frame)
        except ProtocolError as err:
            self._end(f"the server violates HTTP/2 ({ErrorCodes(err.error_code).name})")
        if self._is_over:
            return []
        answer = self._h2.data_to_send()
        said = list(self._go_on())
        return [Part(None, answer), *said] if answer else said

    @property
    def _is_over(self) -> bool:
        return self._last_stream == 0

    def _end(self, why: str, last_stream: int = 0) -> None:
        """No more calls are taken, and those on later streams are not answered."""
        self.why_gone = why
        self._last_stream = last_stream if self._last_stream is None else min(last_stream, self._last_stream)
        self._calls = [each for each in self._calls if 0 < each.stream <= self._last_stream]

    def _frames(self, data: bytes) -> Iterator[bytes]:
        """The frames that are whole by now."""
        self._inbox.feed(data)
        while (frame := self._inbox.next()) is not None:
            yield frame

    def _hear(self, frame: bytes) -> None:
        """What a frame says. At a GOAWAY h2 lets go of all streams, so it hears of none that lets calls go on."""
        if _is_graceful(frame):
            self._end(_NO_MORE, int.from_bytes(frame[_LAST_STREAM], "big") & 0x7FFF_FFFF)
            return
        for event in self._h2.receive_data(frame):
            if isinstance(event, DataReceived):
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded | StreamReset):
                self._calls = [each for each in self._calls if each.stream != event.stream_id]
            elif isinstance(event, ConnectionTerminated):
                self._end(_NO_MORE)

    def _go_on(self) -> Iterator[Part]:
        """Say what can be said by now, call by call."""
        for call in list(self._calls):
            if not call.stream and self._is_full():
                return
            self._say(call)
            if not call.rest:
                self._calls.remove(call)
            if data := self._h2.data_to_send():
                yield Part(call.call, data)

    def _is_full(self) -> bool:
        return self._h2.open_outbound_streams >= self._h2.remote_settings.max_concurrent_streams

    def _say(self, call: _Call) -> None:
        """Open the stream of a call, if it is not, and say as much of its message as the windows let through."""
        if not call.stream:
            call.stream = self._streams[call.call] = self._h2.get_next_available_stream_id()
            self._h2.send_headers(call.stream, call.headers)
        while call.rest:
            room = min(self._h2.local_flow_control_window(call.stream), self._h2.max_outbound_frame_size)
            if room <= 0:
                return
            part, call.rest = call.rest[:room], call.rest[room:]
            self._h2.send_data(call.stream, part, end_stream=not call.rest)


def _is_graceful(frame: bytes) -> bool:
    """Whether it is a GOAWAY that tells of no error: what the server serves already it brings to its end."""
    header = read_header(frame, 0)
    is_goodbye = header.type == GOAWAY and not header.stream_id and len(frame) >= _ERROR.stop
    return is_goodbye and not any(frame[_ERROR])
