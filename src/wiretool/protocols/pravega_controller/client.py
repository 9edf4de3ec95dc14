"""The client's end of one connection to the controller: HTTP/2 in and out, a stream of it for each call.

It knows no socket: it is given calls and bytes, and says what goes out now. What the server's windows do not let
through, or would be one call too many at once, waits for its turn.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError

from wiretool.errors import EncodeError

#: Name and value.
Header = tuple[str, str]


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
        if stream is None or self.why_gone:
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
        self.why_gone = "the client has said that no more calls will come (GOAWAY)"
        return [Part(None, self._h2.data_to_send())]

    def receive(self, data: bytes) -> list[Part]:
        """The server's next bytes; what is said to them: acknowledgements, and what has waited for them."""
        if self.why_gone:
            return []
        try:
            for event in self._h2.receive_data(data):
                if isinstance(event, DataReceived):
                    self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, StreamEnded | StreamReset):
                    self._calls = [each for each in self._calls if each.stream != event.stream_id]
                elif isinstance(event, ConnectionTerminated):
                    self.why_gone = "the server takes no more calls on this connection (GOAWAY)"
                    return []
        except ProtocolError as err:
            self.why_gone = f"what the server says is no HTTP/2: {err}"
            return []
        answer = self._h2.data_to_send()
        said = list(self._go_on())
        return [Part(None, answer), *said] if answer else said

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
