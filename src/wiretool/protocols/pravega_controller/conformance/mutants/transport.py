"""Defects in HTTP/2, gRPC and authorization."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import replace as replaced
from typing import Any

from wiretool.codec.frames.buffer import Inbox
from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.errors import DecodeError
from wiretool.protocols.pravega_controller import controller_pb2 as pb
from wiretool.protocols.pravega_controller.server import link, service
from wiretool.protocols.pravega_controller.server.authority import Authority
from wiretool.protocols.pravega_controller.server.calls import segments
from wiretool.protocols.pravega_controller.server.codes import CallFailed, Code
from wiretool.protocols.pravega_controller.server.context import Context
from wiretool.protocols.pravega_controller.server.grpc_messages import failure_headers
from wiretool.protocols.pravega_controller.server.link import ControllerLink

_HEADER_BYTES = 9
_SETTINGS, _PING, _GOAWAY, _CONTINUATION = 4, 6, 7, 9
_ACK = 1


def _frames(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = _HEADER_BYTES + int.from_bytes(data[at : at + 3], "big")
        yield data[at : at + size]
        at += size


def _sends(change: Callable[[bytes], bytes]) -> Callable[[Patcher], None]:
    """Return a patch of the frames that the server sends."""

    def apply(patcher: Patcher) -> None:
        def wrong(self: Any) -> None:
            data = b"".join(change(frame) for frame in _frames(self._h2.data_to_send()))
            if data:
                self._unsent_bytes += len(data)
                self._outbox.send(self._number, data)

        patcher.set(ControllerLink, "_flush", wrong)

    return apply


def _without_ack(kind: int) -> Callable[[bytes], bytes]:
    return lambda frame: b"" if frame[3] == kind and frame[4] & _ACK else frame


def _ping_data_lost(frame: bytes) -> bytes:
    return frame[:_HEADER_BYTES] + bytes(8) if frame[3] == _PING and frame[4] & _ACK else frame


def _goaway_without_code(frame: bytes) -> bytes:
    return frame[: _HEADER_BYTES + 4] + bytes(4) + frame[_HEADER_BYTES + 8 :] if frame[3] == _GOAWAY else frame


def _fails_with(code: Code, *instead_of: Code) -> Callable[[Patcher], None]:
    """Return a patch that fails calls with another code."""

    def apply(patcher: Patcher) -> None:
        def replace(failure_headers: Callable[..., Any]) -> Callable[..., Any]:
            return lambda failed: failure_headers(
                CallFailed(code, failed.text) if failed.code in instead_of else failed
            )

        patcher.wrap(link, "failure_headers", replace)

    return apply


def _without_text(patcher: Patcher) -> None:
    patcher.wrap(link, "failure_headers", lambda made: lambda failed: made(CallFailed(failed.code, "")))


def _compression_unchecked(patcher: Patcher) -> None:
    patcher.wrap(link, "message_in", lambda message_in: lambda body: message_in(b"\0" + body[1:]))


def _length_unchecked(patcher: Patcher) -> None:
    patcher.wrap(
        link,
        "message_in",
        lambda message_in: lambda body: message_in(body[:1] + (len(body) - 5).to_bytes(4, "big") + body[5:]),
    )


def _bad_protobuf_is_empty(patcher: Patcher) -> None:
    def replace(call: Callable[..., bytes]) -> Callable[..., bytes]:
        def wrong(self: Any, method: str, request: bytes, *given: Any) -> bytes:
            try:
                return call(self, method, request, *given)
            except CallFailed as failed:
                if not failed.text.startswith("Invalid protobuf"):
                    raise
                return call(self, method, b"", *given)

        return wrong

    patcher.wrap(service.Service, "call", replace)


def _handles(event: str, instead: Callable[[Any, Any, int, Callable[..., None]], None]) -> Callable[[Patcher], None]:
    """Return a patch of what an event of HTTP/2 does."""

    def apply(patcher: Patcher) -> None:
        handlers = dict(link._HANDLERS)
        kind = next(each for each in handlers if each.__name__ == event)
        handle = handlers[kind]
        handlers[kind] = lambda self, given, now_ns: instead(self, given, now_ns, handle)
        patcher.set(link, "_HANDLERS", handlers)

    return apply


def _last_frame_only(self: Any, event: Any, now_ns: int, handle: Callable[..., None]) -> None:
    request = self._requests.get(event.stream_id)
    if request is not None:
        self._request_bytes -= len(request.body)
        request.body.clear()
    handle(self, event, now_ns)


def _one_at_a_time(self: Any, event: Any, now_ns: int, handle: Callable[..., None]) -> None:
    if self._requests:
        self._refuse(event, failure_headers(CallFailed(Code.RESOURCE_EXHAUSTED, "one call at a time")))
    else:
        handle(self, event, now_ns)


def _reset_closes(self: Any, event: Any, now_ns: int, handle: Callable[..., None]) -> None:
    self._close("a call was reset")


def _is_ignored(self: Any, event: Any, now_ns: int, handle: Callable[..., None]) -> None:
    return


def _ten_calls(self: Any, event: Any, now_ns: int, handle: Callable[..., None]) -> None:
    handle(self, event, now_ns)
    if event.stream_id > 20:
        self._break("ten calls were served")


def _known_metadata_only(self: Any, event: Any, now_ns: int, handle: Callable[..., None]) -> None:
    if any(name == b"requestid" for name, _ in event.headers):
        self._refuse(event, failure_headers(CallFailed(Code.UNKNOWN, "unknown metadata")))
    else:
        handle(self, event, now_ns)


def _refuses_frames(is_wrong: Callable[[int], bool]) -> Callable[[Patcher], None]:
    def apply(patcher: Patcher) -> None:
        def replace(extent: Callable[..., int]) -> Callable[..., int]:
            def wrong(self: Any, data: bytes, at: int, available: int) -> int:
                if self._is_greeted and available - at >= _HEADER_BYTES and is_wrong(data[at + 3]):
                    raise DecodeError("bad-frame", f"a frame of type {data[at + 3]}")
                return extent(self, data, at, available)

            return wrong

        patcher.wrap(ControllerLink, "_extent", replace)

    return apply


def _size_is_protocol_error(patcher: Patcher) -> None:
    def replace(extent: Callable[..., int]) -> Callable[..., int]:
        def wrong(self: Any, data: bytes, at: int, available: int) -> int:
            try:
                return extent(self, data, at, available)
            except DecodeError as err:
                raise DecodeError("bad-frame", err.why) from err

        return wrong

    patcher.wrap(ControllerLink, "_extent", replace)


def _broken_stays_open(patcher: Patcher) -> None:
    def wrong(self: Any, why: str) -> None:
        self._flush()
        self._inbox = Inbox(self._extent)

    patcher.set(ControllerLink, "_break", wrong)


def _content_type_unchecked(patcher: Patcher) -> None:
    patcher.set(link, "_http_status", lambda headers: None)


def _trailers(*headers: tuple[str, str]) -> Callable[[Patcher], None]:
    return lambda patcher: patcher.set(link, "OK_TRAILERS", list(headers))


# -- authorization -----------------------------------------------------------------------------------------------------


def _admits(admits: Callable[[Any, str | None], bool]) -> Callable[[Patcher], None]:
    return lambda patcher: patcher.set(Authority, "admits", admits)


def _account(authorization: str | None) -> bytes:
    return base64.b64decode((authorization or "").partition(" ")[2])


def _any_password(self: Any, authorization: str | None) -> bool:
    return bool(_account(authorization).partition(b":")[0] == self._account.partition(b":")[0])


def _any_name(self: Any, authorization: str | None) -> bool:
    return bool(_account(authorization).partition(b":")[2] == self._account.partition(b":")[2])


def _any_scheme(self: Any, authorization: str | None) -> bool:
    return _account(authorization) == bytes(self._account)


def _refused_too_late(patcher: Patcher) -> None:
    """The call is done before its credentials are looked at."""

    def replace(call: Callable[..., bytes]) -> Callable[..., bytes]:
        def wrong(self: Any, method: str, request: bytes, authorization: str | None, now_ns: int) -> bytes:
            context = self._context
            self._context = replaced(context, authority=None)
            try:
                answer = call(self, method, request, authorization, now_ns)
            finally:
                self._context = context
            if context.authority is not None and not context.authority.admits(authorization):
                raise CallFailed(Code.UNAUTHENTICATED, "Authentication failed")
            return answer if context.authority is None else call(self, method, request, authorization, now_ns)

        return wrong

    patcher.wrap(service.Service, "call", replace)


def _no_tokens(patcher: Patcher) -> None:
    patcher.set(Context, "token", lambda self, scope, stream, permission, now_ns: "")


def _tokens_unasked(patcher: Patcher) -> None:
    patcher.wrap(
        segments,
        "_token",
        lambda token: (
            lambda context, info, now_ns, *given: token(
                context, pb.StreamInfo(scope=info.scope, stream=info.stream), now_ns, *given
            )
        ),
    )


MUTANTS: tuple[Mutant, ...] = (
    Mutant("settings-unacknowledged", "Settings are not acknowledged.", _sends(_without_ack(_SETTINGS))),
    Mutant("ping-unanswered", "Pings are not answered.", _sends(_without_ack(_PING))),
    Mutant("ping-data-lost", "Pings are answered with zeros.", _sends(_ping_data_lost)),
    Mutant("goaway-without-code", "GOAWAY has no error code.", _sends(_goaway_without_code)),
    Mutant(
        "unimplemented-internal",
        "An unknown method fails with INTERNAL.",
        _fails_with(Code.INTERNAL, Code.UNIMPLEMENTED),
    ),
    Mutant(
        "not-found-unknown", "A call for a missing entry fails with UNKNOWN.", _fails_with(Code.UNKNOWN, Code.NOT_FOUND)
    ),
    Mutant("failures-without-text", "Failures have no text.", _without_text),
    Mutant("compression-unchecked", "The compressed flag is ignored.", _compression_unchecked),
    Mutant("length-unchecked", "The length prefix of a message is ignored.", _length_unchecked),
    Mutant("bad-protobuf-empty", "A message that is not protobuf counts as empty.", _bad_protobuf_is_empty),
    Mutant(
        "last-data-frame",
        "Of a request in several frames the last one counts.",
        _handles("DataReceived", _last_frame_only),
    ),
    Mutant(
        "one-call-at-a-time",
        "A call is refused while another one is not whole.",
        _handles("RequestReceived", _one_at_a_time),
    ),
    Mutant("reset-closes", "A reset call ends the connection.", _handles("StreamReset", _reset_closes)),
    Mutant("goaway-ignored", "The client's GOAWAY is ignored.", _handles("ConnectionTerminated", _is_ignored)),
    Mutant("window-ignored", "An answer that had to wait is never sent.", _handles("WindowUpdated", _is_ignored)),
    Mutant("ten-calls", "After ten calls a connection is closed.", _handles("StreamEnded", _ten_calls)),
    Mutant("metadata-checked", "Unknown metadata is refused.", _handles("RequestReceived", _known_metadata_only)),
    Mutant(
        "unknown-frames-refused",
        "A frame of an unknown type ends the connection.",
        _refuses_frames(lambda kind: kind > _CONTINUATION),
    ),
    Mutant(
        "continuation-refused", "CONTINUATION ends the connection.", _refuses_frames(lambda kind: kind == _CONTINUATION)
    ),
    Mutant("frame-size-code", "A frame that is too long is called a PROTOCOL_ERROR.", _size_is_protocol_error),
    Mutant("broken-stays-open", "A connection that broke the rules stays open.", _broken_stays_open),
    Mutant("content-type-unchecked", "A request that is not a gRPC call is served as one.", _content_type_unchecked),
    Mutant("status-missing", "Answers have trailers without a status.", _trailers(("grpc-message", ""))),
    Mutant("anybody-admitted", "Credentials are not checked.", _admits(lambda self, authorization: True)),
    Mutant("password-unchecked", "Any password is taken.", _admits(_any_password)),
    Mutant("name-unchecked", "Any name is taken.", _admits(_any_name)),
    Mutant("scheme-unchecked", "Credentials of any method are taken.", _admits(_any_scheme)),
    Mutant("refused-too-late", "A call without credentials is refused after it was done.", _refused_too_late),
    Mutant(
        "unauthenticated-unknown",
        "Wrong credentials fail with UNKNOWN.",
        _fails_with(Code.UNKNOWN, Code.UNAUTHENTICATED),
    ),
    Mutant("tokens-empty", "Delegation tokens are empty.", _no_tokens),
    Mutant("tokens-unasked", "Answers carry a token that was not requested.", _tokens_unasked),
)
