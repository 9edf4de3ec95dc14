"""Calls of Pravega's controller, one at a time over one blocking connection: gRPC over HTTP/2, read as in captures."""

from collections.abc import Iterable, Mapping
from functools import partial
from time import monotonic
from typing import Any, NoReturn

from wiretool import limits
from wiretool.codec.frames.buffer import Inbox
from wiretool.codec.message import SIDES
from wiretool.errors import DecodeError, EncodeError
from wiretool.load.link import Failed, Link
from wiretool.protocols.base.conversation import Conversation, Reading
from wiretool.protocols.pravega_controller import PROTOCOL
from wiretool.protocols.pravega_controller.calls import write_body
from wiretool.protocols.pravega_controller.client import Client, Header, Part
from wiretool.protocols.pravega_controller.frames import DATA, END_STREAM, begins, read_header
from wiretool.protocols.pravega_controller.headers import path_of
from wiretool.protocols.pravega_controller.messages import Continuation, GoAway, Headers, RstStream
from wiretool.sinks.printable import printable

#: How long one call may take; making a stream is several seconds' work for a real controller.
CALL_S = 15.0
#: What shows whether it is HTTP/2 at all.
HEADER_BYTES = 9
#: With these a server says that it has not begun with a call.
_UNDONE_STATUSES = frozenset({"UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED", "INVALID_ARGUMENT"})
#: With these the controller says that it has made nothing; after a FAILURE there may be something.
_UNDONE_ANSWERS = frozenset(
    {"SCOPE_EXISTS", "STREAM_EXISTS", "SCOPE_NOT_FOUND", "INVALID_SCOPE_NAME", "INVALID_STREAM_NAME"}
)


class Undone(Failed):
    """A call of which it is certain that the server has not done it."""


class Controller:
    """A connection to a controller. Failed, with its address, wherever it or the network says no."""

    def __init__(self, link: Link, headers: Iterable[Header] = ()) -> None:
        self.link = link
        self._headers = [(name.lower(), value) for name, value in headers]
        self._client = Client()
        self._conversation: Conversation = PROTOCOL.open(True)
        self._inboxes = {side: Inbox(partial(self._conversation.extent, side)) for side in SIDES}
        #: What came first, until that shows whether it is HTTP/2; None from then on.
        self._first: bytes | None = b""
        self._calls = 0
        self._frames = 0

    def ask(self, method: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a call, both in the JSON form of their messages. Failed where there is none in time."""
        message = PROTOCOL.from_json(method, "client", fields)
        if self._client.why_gone:
            self._fail(self._client.why_gone, Undone)
        self._calls += 1
        answer = _Answer(method)
        end_s = monotonic() + CALL_S
        try:
            self._say(self._client.call(self._calls, self._metadata(method), write_body(message)))
            while not answer.is_whole:
                left_s = end_s - monotonic()
                if left_s <= 0:
                    self._fail(f"no answer to {method} in {CALL_S:g} s")
                if data := self._receive(left_s):
                    self._take(data, answer)
        except (DecodeError, EncodeError) as err:
            self._fail(f"the reply to {method} is not gRPC: {err}")
        if answer.failure:
            self._fail(answer.failure, Undone if answer.is_undone else Failed)
        return answer.fields

    def do(self, method: str, fields: Mapping[str, Any]) -> None:
        """Make a call whose answer is a status. Failed where that is not SUCCESS, Undone where it has done nothing."""
        status = self.ask(method, fields).get("status")
        if status != "SUCCESS":
            why = f"{method} was answered with {status}"
            self._fail(why, Undone if status in _UNDONE_ANSWERS else Failed)

    def refusal(self, method: str, fields: Mapping[str, Any], *, also: str = "") -> str:
        """Make such a call; why the controller did not do it, empty where it did. The status `also` is none either."""
        status = self.ask(method, fields).get("status")
        return "" if status in ("SUCCESS", also) else f"{method} was answered with {status}"

    def close(self) -> None:
        """Say that no more calls will come, and let go of the connection."""
        try:
            self._say(self._client.leave())
        except Failed:
            pass  # it is gone already
        finally:
            self.link.close()

    def _metadata(self, method: str) -> list[Header]:
        return [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", path_of(method)),
            (":authority", self.link.name),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
            ("grpc-timeout", f"{CALL_S:.0f}S"),
            ("grpc-accept-encoding", "identity"),
            *self._headers,
        ]

    def _say(self, parts: Iterable[Part]) -> None:
        """Send it; whoever reads the answers reads along."""
        for part in parts:
            inbox = self._inboxes["client"]
            inbox.feed(part.data)
            while (frame := inbox.next()) is not None:
                self._read("client", frame)
            self.link.send(part.data)

    def _take(self, data: bytes, answer: "_Answer") -> None:
        """What the server says next."""
        self._check_first(data)
        replies = self._client.receive(data)
        inbox = self._inboxes["server"]
        inbox.feed(data)
        while (frame := inbox.next()) is not None:
            reading = self._read("server", frame)
            if isinstance(reading.fields, GoAway) and not answer.is_whole:
                self._check_served(reading.fields)
            header = read_header(frame, 0)
            if header.stream_id in (0, self._stream):
                answer.take(reading, ends=header.type == DATA and bool(header.flags & END_STREAM))
        if not answer.is_whole and (why := self._client.why_lost(self._calls)):
            self._fail(why)
        self._say(replies)

    @property
    def _stream(self) -> int:
        """That of the last call."""
        return 2 * self._calls - 1

    def _check_served(self, goodbye: GoAway) -> None:
        """Failed where the call will not be answered: else the server brings it to its end (RFC 9113 §6.8)."""
        is_served = self._stream <= goodbye.last_stream_id
        if not is_served or goodbye.error_code != "NO_ERROR":
            why = f"it takes no more calls: {goodbye.error_code} {_said(goodbye.debug_data)}"
            self._fail(why, Failed if is_served else Undone)

    def _receive(self, left_s: float) -> bytes:
        """What comes in that time. Failed where the connection is lost, with a hint where that is no controller."""
        try:
            return self.link.receive_within(left_s)
        except Failed as err:
            if self._first is None:
                raise
            # What a controller says first is there before any call is done; a reset may have overtaken it.
            error = Undone if err.kind == self.link.closed().kind else Failed
            raise error(f"{err} before any HTTP/2; expected a controller", kind=err.kind) from err

    def _check_first(self, data: bytes) -> None:
        """Failed where a server of HTTP/2 never begins so."""
        if self._first is None:
            return
        self._first += data
        if len(self._first) >= HEADER_BYTES:
            if not begins("server", self._first):
                self._fail(f"not a controller: not HTTP/2: {_said(self._first)}", Undone)
            self._first = None

    def _read(self, side: Any, frame: bytes) -> Reading:
        self._frames += 1
        return self._conversation.read(side, frame, 0, len(frame), self._frames)

    def _fail(self, why: str, error: type[Failed] = Failed) -> NoReturn:
        why = why.strip()
        raise error(f"the controller at {self.link.name}: {why}", kind=why)


class _Answer:
    """What has come of the answer to a call."""

    def __init__(self, method: str) -> None:
        self._method = method
        self.fields: Mapping[str, Any] = {}
        self._is_told = False
        #: Why there is none; empty where there is.
        self.failure = ""
        #: Whether the failure says that nothing was done.
        self.is_undone = False
        self.is_whole = False

    def take(self, reading: Reading, *, ends: bool) -> None:
        """The next frame of its stream or of the connection; `ends`: it is data that is followed by nothing."""
        fields = reading.fields
        if reading.message == self._method and isinstance(fields, Mapping):
            self.fields, self._is_told = fields, True
        elif isinstance(fields, RstStream):
            is_undone = fields.error_code == "REFUSED_STREAM"
            self._end(f"{self._method} was broken off: {fields.error_code}", is_undone=is_undone)
        elif isinstance(fields, Headers | Continuation):
            self._take_headers(fields)
        if ends:
            self._end(f"{self._method} has ended without a status")
        for defect in reading.defects:
            self._end(f"the reply to {self._method} is not gRPC: {defect}")

    def _take_headers(self, headers: Headers | Continuation) -> None:
        status = dict(headers.headers or ()).get(":status", "200")
        if status != "200":
            is_undone = str(status).startswith("4")
            self._end(f"{self._method} was answered with HTTP status {_cut(str(status))}", is_undone=is_undone)
        elif headers.grpc_status not in (None, "OK"):
            is_undone = headers.grpc_status in _UNDONE_STATUSES
            self._end(f"{self._method}: {headers.grpc_status} {_cut(headers.grpc_message or '')}", is_undone=is_undone)
        elif headers.grpc_status is not None:
            self._end("" if self._is_told else f"{self._method} has ended without an answer")
        elif isinstance(headers, Headers) and headers.end_stream and headers.end_headers:
            self._end(f"{self._method} has ended without a status")

    def _end(self, failure: str, *, is_undone: bool = False) -> None:
        if not self.is_whole:
            self.failure, self.is_undone, self.is_whole = failure, is_undone, True


def _cut(text: str) -> str:
    """As much of what the server wrote as a line has room for."""
    return printable(text[: limits.BENCH_SAID_CHARACTERS_MAX])


def _said(data: bytes) -> str:
    """Bytes that may be text."""
    return _cut(data[: limits.BENCH_SAID_CHARACTERS_MAX].decode("utf-8", "backslashreplace"))
