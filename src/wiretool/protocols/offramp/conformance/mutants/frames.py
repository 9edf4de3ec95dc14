"""Defects in frames, control frames and closes."""

from collections.abc import Callable
from typing import Any

from wiretool.codec.message import Message
from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.errors import DecodeError, OverLimit
from wiretool.protocols.offramp import framing
from wiretool.protocols.offramp.closing import CloseBody
from wiretool.protocols.offramp.messages import Close, Ping, Pong
from wiretool.protocols.offramp.server import deflate, link, mock, websocket
from wiretool.protocols.offramp.server.deflate import Deflater

_KIB = 1024


def _tolerates(*kinds: str) -> Callable[[Patcher], None]:
    """Return a patch that lets headers with some defects pass."""

    def apply(patcher: Patcher) -> None:
        def replace(extent: Callable[..., int]) -> Callable[..., int]:
            def wrong(self: Any, data: bytes, at: int, end: int) -> int:
                try:
                    return extent(self, data, at, end)
                except DecodeError as err:
                    if err.kind not in kinds:
                        raise
                    header = framing.read_header(data, at, end)
                    return header.size + header.length if header is not None else 0

            return wrong

        patcher.wrap(websocket.Receiver, "extent", replace)

    return apply


def _long_controls(patcher: Patcher) -> None:
    _tolerates("control_too_long")(patcher)
    _controls(_pong_is_cut)(patcher)


def _pong_is_cut(self: Any, message: Message, take: Callable[..., None]) -> None:
    take(self, Ping(payload=message.payload[: framing.SHORT_MAX]) if isinstance(message, Ping) else message)


def _joins(*kinds: str) -> Callable[[Patcher], None]:
    """Return a patch that drops messages whose fragments are in a wrong order, without a word."""

    def apply(patcher: Patcher) -> None:
        def replace(take: Callable[..., Any]) -> Callable[..., Any]:
            def wrong(self: Any, frame: bytes) -> Any:
                try:
                    return take(self, frame)
                except DecodeError as err:
                    if err.kind not in kinds:
                        raise
                    return None

            return wrong

        patcher.wrap(websocket.Receiver, "take", replace)

    return apply


def _last_fragment_only(patcher: Patcher) -> None:
    def replace(take: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, frame: bytes) -> Any:
            if frame[0] & 0x0F == 0:
                self._joiner._content = bytearray()
            return take(self, frame)

        return wrong

    patcher.wrap(websocket.Receiver, "take", replace)


def _headers_must(why: str, is_wrong: Callable[[Any, bytes, int], bool]) -> Callable[[Patcher], None]:
    """Return a patch that refuses headers which are in order."""

    def apply(patcher: Patcher) -> None:
        def replace(extent: Callable[..., int]) -> Callable[..., int]:
            def wrong(self: Any, data: bytes, at: int, end: int) -> int:
                header = framing.read_header(data, at, end)
                if header is not None and is_wrong(header, data, at):
                    raise DecodeError("bad_frame_header", why)
                return extent(self, data, at, end)

            return wrong

        patcher.wrap(websocket.Receiver, "extent", replace)

    return apply


def _is_long_form(header: Any, data: bytes, at: int) -> bool:
    code = data[at + 1] & 0x7F
    return (code == 126 and header.length < 126) or (code == 127 and header.length < 0x1_0000)


def _has_zero_mask(header: Any, data: bytes, at: int) -> bool:
    return bool(header.length) and not any(data[at + header.size - 4 : at + header.size])


def _controls(instead: Callable[[Any, Message, Callable[..., None]], None]) -> Callable[[Patcher], None]:
    """Return a patch of what control messages do."""

    def apply(patcher: Patcher) -> None:
        patcher.wrap(
            link.OfframpLink,
            "_take_control",
            lambda take: lambda self, message: instead(self, message, take),
        )

    return apply


def _pong_is_empty(self: Any, message: Message, take: Callable[..., None]) -> None:
    take(self, Ping() if isinstance(message, Ping) else message)


def _ping_is_ignored(self: Any, message: Message, take: Callable[..., None]) -> None:
    if not isinstance(message, Ping):
        take(self, message)


def _pong_is_answered(self: Any, message: Message, take: Callable[..., None]) -> None:
    take(self, Ping(payload=message.payload) if isinstance(message, Pong) else message)


def _close_is_not_echoed(self: Any, message: Message, take: Callable[..., None]) -> None:
    if isinstance(message, Close):
        self._hang_up("")
    else:
        take(self, message)


def _close_keeps_tcp(self: Any, message: Message, take: Callable[..., None]) -> None:
    if isinstance(message, Close):
        self._send_message(websocket.answer_to(message))
    else:
        take(self, message)


def _idle_is_cut(patcher: Patcher) -> None:
    patcher.set(link.OfframpLink, "_lose_patience", lambda self, now_ns: self._abandon("it was silent"))


def _answers(answer: Callable[[Close], Close]) -> Callable[[Patcher], None]:
    return lambda patcher: patcher.set(link, "answer_to", answer)


def _codes_unchecked(patcher: Patcher) -> None:
    patcher.wrap(
        websocket,
        "read_close",
        lambda read: (
            lambda side, payload: (
                CloseBody(Close(code=1000), {}) if read(side, payload).wrong is not None else read(side, payload)
            )
        ),
    )


def _code(code: int, *instead_of: int) -> Callable[[Patcher], None]:
    """Return a patch that closes with another code."""

    def apply(patcher: Patcher) -> None:
        def replace(close_code: Callable[..., int]) -> Callable[..., int]:
            return lambda wrong: code if close_code(wrong) in instead_of else close_code(wrong)

        patcher.wrap(link, "close_code", replace)

    return apply


def _undecodable_ignored(patcher: Patcher) -> None:
    def replace(take: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, text: bytes) -> None:
            try:
                take(self, text)
            except OverLimit:
                raise
            except DecodeError:
                return

        return wrong

    patcher.wrap(link.OfframpLink, "_take_event", replace)


def _empty_is_undecodable(patcher: Patcher) -> None:
    def replace(take: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, text: bytes) -> None:
            if not text:
                raise DecodeError("malformed_json", "an empty text")
            take(self, text)

        return wrong

    patcher.wrap(link.OfframpLink, "_take_event", replace)


def _serves_on(patcher: Patcher) -> None:
    """After a Close of its own, the server goes on with the frames that follow."""

    def replace(fail: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, code: int, why: str) -> None:
            consumer = self._consumer
            fail(self, code, why)
            if self._phase is link.Phase.CLOSING and consumer is not None:
                self._phase, self._consumer = link.Phase.OPEN, consumer

        return wrong

    patcher.wrap(link.OfframpLink, "_fail", replace)


def _limit(size: int) -> Callable[[Patcher], None]:
    return lambda patcher: patcher.set(mock, "_client_message_bytes_max", lambda *, like_real: size)


def _fin_is_ignored(patcher: Patcher) -> None:
    patcher.set(link.OfframpLink, "end", lambda self, now_ns: None)


def _keeps_context(patcher: Patcher) -> None:
    def replace(init: Callable[..., None]) -> Callable[..., None]:
        return lambda self, *, resets: init(self, resets=False)

    patcher.wrap(Deflater, "__init__", replace)


def _forgets_context(patcher: Patcher) -> None:
    def replace(init: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, *given: Any) -> None:
            init(self, *given)
            self._joiner.inflater.resets = True

        return wrong

    patcher.wrap(websocket.Receiver, "__init__", replace)


def _tail_is_kept(patcher: Patcher) -> None:
    patcher.set(deflate, "TAIL", b"\x00\x00\xff")


MUTANTS: tuple[Mutant, ...] = (
    Mutant("unmasked-taken", "Frames without a mask are taken.", _tolerates("unmasked_client_frame")),
    Mutant("opcodes-unchecked", "Frames with reserved opcodes are taken.", _tolerates("reserved_opcode")),
    Mutant("bits-unchecked", "Reserved bits are not checked.", _tolerates("reserved_bits")),
    Mutant("controls-unchecked", "Control frames may be long.", _long_controls),
    Mutant("controls-fragmented", "Control frames may be fragmented.", _tolerates("control_fragmented")),
    Mutant("continuation-dropped", "A continuation of nothing is dropped.", _joins("lone_continuation")),
    Mutant("interruption-dropped", "A new message inside another is dropped.", _joins("message_inside_message")),
    Mutant("utf8-unchecked", "A TEXT message that is not UTF-8 is dropped.", _joins("bad_utf8")),
    Mutant("last-fragment", "Of fragments only the last one is kept.", _last_fragment_only),
    Mutant(
        "shortest-length", "A length in a longer form than needed is refused.", _headers_must("long", _is_long_form)
    ),
    Mutant("zero-mask", "A mask of zeros is refused.", _headers_must("zero mask", _has_zero_mask)),
    Mutant("pong-empty", "Pongs have no payload.", _controls(_pong_is_empty)),
    Mutant("ping-ignored", "Pings are not answered.", _controls(_ping_is_ignored)),
    Mutant("pong-answered", "A pong is answered with a pong.", _controls(_pong_is_answered)),
    Mutant("close-not-echoed", "A Close ends TCP without an answer.", _controls(_close_is_not_echoed)),
    Mutant("close-keeps-tcp", "After the answer to a Close TCP stays open.", _controls(_close_keeps_tcp)),
    Mutant("idle-cut", "A client that is silent for 30 s is disconnected without a ping.", _idle_is_cut),
    Mutant(
        "reason-not-echoed",
        "A Close is echoed without its reason.",
        _answers(lambda close: Close(code=close.code or 1000)),
    ),
    Mutant(
        "close-1000",
        "Every Close is answered with 1000.",
        _answers(lambda close: Close(code=1000, reason=close.reason)),
    ),
    Mutant(
        "empty-close-1001",
        "A Close without a code is answered with 1001.",
        _answers(lambda close: close if close.code else Close(code=1001)),
    ),
    Mutant("codes-unchecked", "A Close that no client may send is answered as one with 1000.", _codes_unchecked),
    Mutant("violation-1011", "A violation of WebSocket's rules is closed with 1011.", _code(1011, 1002)),
    Mutant("utf8-1002", "Bad UTF-8 and long messages are closed with 1002.", _code(1002, 1007, 1009)),
    Mutant("event-1003", "An event that cannot be decoded is closed with 1003.", _code(1003, 1011)),
    Mutant("undecodable-ignored", "A message that cannot be decoded is ignored.", _undecodable_ignored),
    Mutant("empty-undecodable", "An empty message is one that cannot be decoded.", _empty_is_undecodable),
    Mutant("serves-on", "Events after Close 1011 are served.", _serves_on),
    Mutant("limit-high", "Messages of up to 2 MiB are taken.", _limit(2 * _KIB * _KIB)),
    Mutant("limit-off-by-one", "A message of 8192 bytes is one too long.", _limit(8 * _KIB - 1)),
    Mutant("fin-ignored", "The end of the client's TCP goes unnoticed.", _fin_is_ignored),
    Mutant("context-kept", "The context is kept though it was agreed not to.", _keeps_context),
    Mutant("context-forgotten", "Each message of the client is inflated by itself.", _forgets_context),
    Mutant("tail-kept", "One byte of the tail of each compressed message is not removed.", _tail_is_kept),
)
