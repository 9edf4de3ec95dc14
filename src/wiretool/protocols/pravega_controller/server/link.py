"""One connection to the controller: HTTP/2 in and out, a stream of it for each call."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from wiretool import limits
from wiretool.codec.frames.buffer import Inbox
from wiretool.errors import DecodeError, OverLimit
from wiretool.protocols.base.recognise import Chunk, describe_foreign
from wiretool.protocols.pravega_controller.frames import FRAME_LENGTH_DEFAULT, PREFACE, plain_extent
from wiretool.protocols.pravega_controller.header_tables import RememberingEncoder, decoder_like
from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code
from wiretool.protocols.pravega_controller.server.grpc_messages import (
    OK_TRAILERS,
    RESPONSE_HEADERS,
    Headers,
    failure_headers,
    framed,
    message_in,
)
from wiretool.protocols.pravega_controller.server.service import METHODS, PATH, Service
from wiretool.server.mock import Link, Outbox

#: How calls are counted whose method the service has not: clients may make up names without end.
_UNKNOWN = "Unknown"
#: What is sent is our own, and needs no validation.
_CONFIGURATION = H2Configuration(client_side=False, header_encoding=None, validate_outbound_headers=False)
_SETTINGS: dict[SettingCodes, int] = {
    SettingCodes.MAX_CONCURRENT_STREAMS: limits.CONTROLLER_CALLS_MAX,
    SettingCodes.MAX_HEADER_LIST_SIZE: limits.HTTP_HEAD_BYTES_MAX,
}


class _Request:
    """A call whose request is not whole yet."""

    __slots__ = ("authorization", "body", "method")

    def __init__(self, method: str, authorization: str | None) -> None:
        self.method = method
        self.authorization = authorization
        self.body = bytearray()


class ControllerLink(Link):
    """A connection to the controller.

    HTTP/2 is cut into frames here and given to h2 one by one, so that what is sent does not hang on how the bytes came.
    An answer that the client's windows do not let through waits for them.
    """

    def __init__(self, number: int, service: Service, outbox: Outbox) -> None:
        self._number = number
        self._service = service
        self._outbox = outbox
        self._inbox = Inbox(self._extent)
        self._h2 = H2Connection(_CONFIGURATION)
        self._h2.decoder, self._h2.encoder = decoder_like(self._h2.decoder), RememberingEncoder()
        self._h2.local_settings = Settings(client=False, initial_values=_SETTINGS)
        self._is_greeted = False
        self._is_closed = False
        self._requests: dict[int, _Request] = {}
        #: Bytes of unfinished requests; bytes sent in this turn.
        self._request_bytes = 0
        self._unsent_bytes = 0
        #: What is left of answers, by stream, until the client's windows let it through.
        self._waiting: dict[int, deque[bytes]] = {}
        self._h2.initiate_connection()
        self._flush()

    # -- what happens to the connection ------------------------------------------------------------------------------

    def feed(self, data: bytes, now_ns: int) -> None:
        self._inbox.feed(data)
        self._serve(now_ns)

    @property
    def held_bytes(self) -> int:
        return self._inbox.held + self._request_bytes

    def drained(self, now_ns: int) -> None:
        self._serve(now_ns)

    def end(self, now_ns: int) -> None:
        self._close("")

    def lost(self, now_ns: int) -> None:
        self._is_closed = True
        self._inbox.clear()
        self._requests.clear()
        self._waiting.clear()

    def stop(self, now_ns: int) -> None:
        """Say GOAWAY."""
        if not self._is_closed:
            self._is_closed = True
            self._h2.close_connection()
            self._flush()

    # -- frames ------------------------------------------------------------------------------------------------------

    def _extent(self, data: bytes, at: int, available: int) -> int:
        """Bytes of the frame at `at`, or of the preface; see Inbox."""
        if not self._is_greeted:
            begin = data[at : at + len(PREFACE)]
            if not PREFACE.startswith(begin):
                seen = describe_foreign([Chunk("client", data[at:])]) or f"not HTTP/2 ({begin[:8].hex(' ')})"
                raise DecodeError("bad-preface", f"this is {seen}, expected the preface of HTTP/2")
            return len(PREFACE)
        return plain_extent(data, at, available, FRAME_LENGTH_DEFAULT)  # we never offer more

    def _serve(self, now_ns: int) -> None:
        """Serve the frames that are there, until too many bytes have not left."""
        self._unsent_bytes = 0
        try:
            while not self._is_closed and self._unsent_bytes < limits.MOCK_REPLY_BYTES_MAX:
                frame = self._inbox.next()
                if frame is None:
                    return
                self._is_greeted = True
                for event in self._h2.receive_data(frame):
                    handle = _HANDLERS.get(type(event))
                    if handle is not None:
                        handle(self, event, now_ns)
                self._flush()
        except ProtocolError as err:
            self._break(f"{type(err).__name__}: {err}")
        except DecodeError as err:
            is_too_long = isinstance(err, OverLimit)
            self._h2.close_connection(ErrorCodes.FRAME_SIZE_ERROR if is_too_long else ErrorCodes.PROTOCOL_ERROR)
            self._break(str(err))

    def _break(self, why: str) -> None:
        """End the connection for what the client has sent; h2 has its GOAWAY ready."""
        self._flush()
        self._close(why)

    def _close(self, why: str) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._outbox.close(self._number, why)

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data:
            self._unsent_bytes += len(data)
            self._outbox.send(self._number, data)

    # -- calls -------------------------------------------------------------------------------------------------------

    def _request_received(self, event: RequestReceived, now_ns: int) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
        status = _http_status(headers)
        if status is not None:
            self._refuse(event, [(":status", status)])
            return
        path = headers[":path"]
        if not path.startswith(PATH):
            self._refuse(event, failure_headers(CallFailed(Code.UNIMPLEMENTED, f"Method not found: {path}")))
            return
        self._requests[event.stream_id] = _Request(path.removeprefix(PATH), headers.get("authorization"))

    def _data_received(self, event: DataReceived, now_ns: int) -> None:
        self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        request = self._requests.get(event.stream_id)
        if request is None:
            return
        request.body += event.data
        self._request_bytes += len(event.data)
        if self._request_bytes > limits.CONTROLLER_REQUEST_BYTES_MAX:
            self._forget(event.stream_id)
            why = f"more than {limits.CONTROLLER_REQUEST_BYTES_MAX} bytes of requests"
            self._refuse(event, failure_headers(CallFailed(Code.RESOURCE_EXHAUSTED, why)))

    def _stream_ended(self, event: StreamEnded, now_ns: int) -> None:
        request = self._forget(event.stream_id)
        if request is None:
            return
        counted = request.method if request.method in METHODS else _UNKNOWN
        try:
            message = message_in(bytes(request.body))
            self._outbox.counts["client", counted] += 1
            answer = self._service.call(request.method, message, request.authorization, now_ns)
        except CallFailed as failed:
            self._outbox.counts["server", f"{counted} {failed.code.name}"] += 1
            self._h2.send_headers(event.stream_id, failure_headers(failed), end_stream=True)
            return
        self._outbox.counts["server", counted] += 1
        self._h2.send_headers(event.stream_id, RESPONSE_HEADERS)
        self._waiting[event.stream_id] = deque([framed(answer)])
        self._send_waiting(event.stream_id)

    def _stream_reset(self, event: StreamReset, now_ns: int) -> None:
        """The client wants no answer any more."""
        self._forget(event.stream_id)
        self._waiting.pop(event.stream_id, None)

    def _terminated(self, event: ConnectionTerminated, now_ns: int) -> None:
        """The client says goodbye: every call has had its answer, or waits for windows that will not open."""
        self._flush()
        self._close("")

    def _windows_changed(self, event: Event, now_ns: int) -> None:
        for stream in list(self._waiting):
            self._send_waiting(stream)

    def _send_waiting(self, stream: int) -> None:
        """Send as much of an answer as the windows let through, behind its last byte the trailers."""
        pieces = self._waiting[stream]
        while pieces:
            room = min(self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)
            if room <= 0:
                return
            piece = pieces.popleft()
            self._h2.send_data(stream, piece[:room])
            if len(piece) > room:
                pieces.appendleft(piece[room:])
        del self._waiting[stream]
        self._h2.send_headers(stream, OK_TRAILERS, end_stream=True)

    def _refuse(self, event: RequestReceived | DataReceived, headers: Headers) -> None:
        """End a call; if its request is not whole, the rest of that is not wanted."""
        self._h2.send_headers(event.stream_id, headers, end_stream=True)
        if event.stream_ended is None:
            self._h2.reset_stream(event.stream_id, ErrorCodes.NO_ERROR)

    def _forget(self, stream: int) -> _Request | None:
        request = self._requests.pop(stream, None)
        if request is not None:
            self._request_bytes -= len(request.body)
        return request


def _http_status(headers: Mapping[str, str]) -> str | None:
    """The status of HTTP for what is no call of gRPC; None where it is one."""
    if headers.get(":method") != "POST":
        return "405"
    if not headers.get("content-type", "").startswith("application/grpc"):
        return "415"
    return None


_HANDLERS: Mapping[type[Event], Callable[[ControllerLink, Any, int], None]] = {
    RequestReceived: ControllerLink._request_received,
    DataReceived: ControllerLink._data_received,
    StreamEnded: ControllerLink._stream_ended,
    StreamReset: ControllerLink._stream_reset,
    ConnectionTerminated: ControllerLink._terminated,
    WindowUpdated: ControllerLink._windows_changed,
    RemoteSettingsChanged: ControllerLink._windows_changed,
}
