"""Defects of framing and decoding."""

from collections.abc import Mapping
from typing import Any

from wiretool.codec.frames.buffer import Inbox
from wiretool.conformance.mutation.mutants import Mutants, Patcher, replaced
from wiretool.errors import DecodeError
from wiretool.protocols.pravega import framing
from wiretool.protocols.pravega.conformance.mutants.patches import (
    Routes,
    head_of,
    ignore,
    ignored_route,
    redecode,
    rereply,
    reroute,
)
from wiretool.protocols.pravega.messages import (
    AppendBlockEnd,
    AppendSetup,
    DataAppended,
    Event,
    KeepAlive,
    Padding,
    PartialEvent,
)
from wiretool.protocols.pravega.segments import CreateSegment, LocateOffset, MergeSegments, SegmentCreated
from wiretool.protocols.pravega.server import link
from wiretool.protocols.pravega.server.link import StoreLink
from wiretool.protocols.pravega.tables import CreateTableSegment, UpdateTableEntries

MUTANTS = Mutants()
_MINUS_ONE = b"\xff" * 4


@MUTANTS.declare("frame-limit-over", "The longest frame is measured without its header.")
def _limit_over(patcher: Patcher) -> None:
    patcher.set(link, "_extent", framing.EXTENTS["server"])


@MUTANTS.declare("frame-limit-under", "The longest frame that is allowed is one byte too long.")
def _limit_under(patcher: Patcher) -> None:
    patcher.set(link, "_extent", framing.extent(framing.PAYLOAD_BYTES_MAX["client"] - 1))


@MUTANTS.declare("frame-length-signed", "A length with the highest bit set counts as negative, and as nothing.")
def _length_signed(patcher: Patcher) -> None:
    def replace(extent: Any) -> Any:
        def signed(data: bytes, at: int, end: int) -> int:
            is_negative = end - at >= framing.HEADER_BYTES and data[at + 4] >= 0x80
            return framing.HEADER_BYTES if is_negative else int(extent(data, at, end))

        return signed

    patcher.wrap(link, "_extent", replace)


@MUTANTS.declare("frame-too-long-waits", "A frame that is too long is waited for like any other.")
def _too_long_waits(patcher: Patcher) -> None:
    patcher.set(link, "_extent", framing.extent(0xFFFF_FFFF))


@MUTANTS.declare("frame-in-one-piece", "A frame that does not arrive in one piece is lost.")
def _one_piece(patcher: Patcher) -> None:
    def replace(feed: Any) -> Any:
        def fresh(self: Any, data: bytes, now_ns: int) -> None:
            if not self._inbox.held or self._inbox.held < framing.HEADER_BYTES:
                self._inbox = Inbox(link._extent)
            feed(self, data, now_ns)

        return fresh

    patcher.wrap(StoreLink, "feed", replace)


@MUTANTS.declare("frame-half-served", "A frame is served as soon as its header has arrived.")
def _half_served(patcher: Patcher) -> None:
    def replace(feed: Any) -> Any:
        def early(self: Any, data: bytes, now_ns: int) -> None:
            if data == head_of(KeepAlive) or data == head_of(KeepAlive)[:3]:
                self.reply(KeepAlive())
            feed(self, data, now_ns)

        return early

    patcher.wrap(StoreLink, "feed", replace)


class _Ignoring(dict[bytes, Any]):
    """Routes with one for every type."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key) or {"idle": ignored_route("idle"), "block": ignored_route("block")}


@MUTANTS.declare("unknown-type-ignored", "Frames of unknown types are skipped.")
def _unknown_ignored(patcher: Patcher) -> None:
    reroute(patcher, _Ignoring)


@MUTANTS.declare("unknown-type-bytes", "Only the last byte of a type is checked.")
def _type_of_one_byte(patcher: Patcher) -> None:
    class LastByte(dict[bytes, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            known = super().get(key)
            return known or next((route for head, route in self.items() if head[3] == key[3]), default)

    reroute(patcher, LastByte)


@MUTANTS.declare("locate-before-its-version", "LocateOffset is dropped by servers that are too old for it.")
def _locate_dropped(patcher: Patcher) -> None:
    def change(routes: Routes) -> Mapping[bytes, Any]:
        dropped = {"idle": ignored_route("idle"), "block": ignored_route("block")}
        return {head_of(LocateOffset): dropped, **routes}

    reroute(patcher, change)


@MUTANTS.declare("broken-hides-good", "Good frames that arrive together with a broken one are not served.")
def _broken_hides_good(patcher: Patcher) -> None:
    def replace(feed: Any) -> Any:
        def all_or_none(self: Any, data: bytes, now_ns: int) -> None:
            inbox = Inbox(link._extent)
            inbox.feed(data)
            try:
                while (frame := inbox.next()) is not None:
                    if frame[:4] not in self._routes:
                        raise framing.unknown_type(frame, 0)
            except DecodeError as err:
                self.close(str(err))
            else:
                feed(self, data, now_ns)

        return all_or_none

    patcher.wrap(StoreLink, "feed", replace)


@MUTANTS.declare("close-takes-next", "A connection that a broken frame ends takes the one opened next along.")
def _close_takes_next(patcher: Patcher) -> None:
    def replace(close: Any) -> Any:
        def both(self: Any, why: str) -> None:
            if why and not self._is_serving:
                self._outbox.close(self._number + 1, why)
            close(self, why)

        return both

    patcher.wrap(StoreLink, "close", replace)


@MUTANTS.declare("end-of-client-ignored", "A client that sends no more keeps its connection.")
def _end_ignored(patcher: Patcher) -> None:
    patcher.wrap(StoreLink, "end", lambda end: lambda self, now_ns: None)


@MUTANTS.declare("events-anywhere", "Events outside of blocks are dropped.")
def _events_anywhere(patcher: Patcher) -> None:
    ignore(patcher, Event, PartialEvent)


@MUTANTS.declare("replies-from-clients", "Replies that a client sends are dropped.")
def _replies_from_clients(patcher: Patcher) -> None:
    ignore(patcher, AppendSetup, DataAppended, SegmentCreated)


@MUTANTS.declare("admin-on-main-port", "The main port serves commands of the admin port.")
def _admin_on_main(patcher: Patcher) -> None:
    patcher.wrap(
        link, "_routes", lambda routes: lambda version, port: {**routes(version, "admin"), **routes(version, "main")}
    )


@MUTANTS.declare("padding-outside-refused", "Padding outside a block ends the connection.")
def _padding_refused(patcher: Patcher) -> None:
    reroute(patcher, lambda routes: {head: route for head, route in routes.items() if head != head_of(Padding)})


@MUTANTS.declare("padding-must-be-zero", "Padding that is not zero ends the connection.")
def _padding_zero(patcher: Patcher) -> None:
    def replace(decode: Any) -> Any:
        def checked(data: bytes, at: int, end: int) -> Any:
            if any(data[at:end]):
                raise DecodeError("bad-padding", "padding that is not zero")
            return decode(data, at, end)

        return checked

    redecode(patcher, replace, Padding)


# -- fields ------------------------------------------------------------------------------------------------------------


@MUTANTS.declare("undecodable-ignored", "Frames that cannot be decoded are skipped.")
def _undecodable_ignored(patcher: Patcher) -> None:
    def change(routes: Routes) -> Routes:
        for phases in routes.values():
            for phase, (counted, decode, handle, after) in phases.items():
                phases[phase] = (counted, _lenient(decode), _unless_none(handle), after)
        return routes

    reroute(patcher, change)


def _lenient(decode: Any) -> Any:
    def lenient(data: bytes, at: int, end: int) -> Any:
        try:
            return decode(data, at, end)
        except DecodeError:
            return None, end

    return lenient


def _unless_none(handle: Any) -> Any:
    return lambda each, message, now_ns: None if message is None else handle(each, message, now_ns)


@MUTANTS.declare("trailing-bytes-refused", "Bytes after the last field end the connection.")
def _trailing_refused(patcher: Patcher) -> None:
    def replace(decode: Any) -> Any:
        def strict(data: bytes, at: int, end: int) -> Any:
            message, stop = decode(data, at, end)
            if stop != end:
                raise DecodeError("trailing-bytes", f"{end - stop} bytes after the last field")
            return message, stop

        return strict

    redecode(patcher, replace)


@MUTANTS.declare("late-id-zero", "A request id that is missing at the end of a request counts as 0.")
def _late_id_zero(patcher: Patcher) -> None:
    def replace(decode: Any) -> Any:
        def zero(data: bytes, at: int, end: int) -> Any:
            message, stop = decode(data, at, end)
            return (replaced(message, request_id=0) if getattr(message, "request_id", 0) == -1 else message), stop

        return zero

    redecode(patcher, replace)


@MUTANTS.declare("negative-count-refused", "A negative count ends the connection where it stands for nothing.")
def _negative_refused(patcher: Patcher) -> None:
    def replace(is_negative: Any) -> Any:
        def wrapped(decode: Any) -> Any:
            def checked(data: bytes, at: int, end: int) -> Any:
                if is_negative(data[at:end]):
                    raise DecodeError("bad-count", "a negative count")
                return decode(data, at, end)

            return checked

        return wrapped

    redecode(patcher, replace(lambda payload: payload.endswith(_MINUS_ONE)), MergeSegments)
    redecode(patcher, replace(lambda payload: payload.endswith(_MINUS_ONE * 3)), UpdateTableEntries)
    redecode(patcher, replace(lambda payload: payload[20:24] == _MINUS_ONE), AppendBlockEnd)


@MUTANTS.declare("options-mandatory", "Optional fields at the end of a request must all be there.")
def _options_mandatory(patcher: Patcher) -> None:
    def replace(least: int) -> Any:
        def wrapped(decode: Any) -> Any:
            def checked(data: bytes, at: int, end: int) -> Any:
                name_bytes = int.from_bytes(data[at + 8 : at + 10], "big")
                if end - at < 8 + 2 + name_bytes + least:
                    raise DecodeError("truncated-field", "an optional field is missing")
                return decode(data, at, end)

            return checked

        return wrapped

    redecode(patcher, replace(2 + 1 + 4 + 8), CreateTableSegment)
    redecode(patcher, replace(4 + 1 + 2 + 8), CreateSegment)


@MUTANTS.declare("names-in-plain-utf-8", "Names in replies are written in standard UTF-8.")
def _plain_utf_8(patcher: Patcher) -> None:
    smile, surrogates = "\U0001f600".encode(), b"\xed\xa0\xbd\xed\xb8\x80"

    def replace(encode: Any) -> Any:
        def plain(message: Any, version: int) -> bytes:
            payload: bytes = encode(message, version)
            if surrogates not in payload:
                return payload
            shorter = len(surrogates) - len(smile)
            size = int.from_bytes(payload[8:10], "big") - shorter
            return payload[:8] + size.to_bytes(2, "big") + payload[10:].replace(surrogates, smile)

        return plain

    patcher.wrap(link, "encode", replace)


@MUTANTS.declare("names-end-at-zero", "Names in replies end at their first zero character.")
def _names_end_at_zero(patcher: Patcher) -> None:
    rereply(
        patcher,
        lambda message: (
            replaced(message, segment=message.segment.split("\0")[0]) if hasattr(message, "segment") else message
        ),
    )
