"""Defects of connections and frames, which the servers of all schemas share."""

from collections.abc import Callable
from typing import Any

import msgspec

from wiretool import limits
from wiretool.codec.frames.buffer import Inbox
from wiretool.conformance.mutation.mutants import Mutant, Patcher
from wiretool.errors import DecodeError, OverLimit
from wiretool.protocols.sbp.framing import extent
from wiretool.protocols.sbp.messages import GOAWAY, PING, RESPONSE
from wiretool.protocols.sbp.server import link
from wiretool.protocols.sbp.server.link import ID_MASK, WHOLE, LinkPhase, Role, SbpLink
from wiretool.protocols.sbp.server.reading import FLAGS_AT

#: Bytes of Frame Length.
_LENGTH_BYTES = 4


def _forgive_extent(kind: str, extent_of: Callable[[int], int]) -> Callable[[Patcher], None]:
    """Return a patch that makes another length of what `extent` refuses for a reason."""

    def forgiving(extent: Callable[..., int]) -> Callable[..., int]:
        def judge(data: bytes, at: int, end: int) -> int:
            try:
                return extent(data, at, end)
            except DecodeError as err:
                if err.kind != kind:
                    raise
                return extent_of(int.from_bytes(data[at : at + _LENGTH_BYTES], "big"))

        return judge

    return lambda patcher: patcher.wrap(link, "extent", forgiving)


def _length_limit_exclusive(patcher: Patcher) -> None:
    def stricter(extent: Callable[..., int]) -> Callable[..., int]:
        def judge(data: bytes, at: int, end: int) -> int:
            length = extent(data, at, end)
            if length >= _LENGTH_BYTES + limits.SBP_FRAME_LENGTH_MAX:
                raise OverLimit("length_too_large", "one byte too many", path="frame_length")
            return length

        return judge

    patcher.wrap(link, "extent", stricter)


def _not_fatal(kind: str) -> Callable[[Patcher], None]:
    return lambda patcher: patcher.set(link, "_FATAL", link._FATAL - {kind})


def _checksum_of_nothing(patcher: Patcher) -> None:
    def stricter(read: Callable[..., Any]) -> Callable[..., Any]:
        def read_request(schema: Any, data: bytes) -> Any:
            reading = read(schema, data)
            if reading.frame.payload or not reading.frame.checksum:
                return reading
            return reading._replace(defects=[DecodeError("checksum_mismatch", "not 0"), *reading.defects])

        return read_request

    patcher.wrap(link, "read_request", stricter)


def _resynchronise(patcher: Patcher) -> None:
    def skip(self: SbpLink, err: DecodeError, now_ns: int) -> None:
        self._inbox = Inbox(extent)

    patcher.set(SbpLink, "_malformed", skip)


def _no_goaway(patcher: Patcher) -> None:
    patcher.set(SbpLink, "_say_goaway", lambda self: None)


def _leave_at_once(patcher: Patcher) -> None:
    patcher.set(SbpLink, "_leave", lambda self, why, now_ns: self.close(why))


def _never_leave(patcher: Patcher) -> None:
    def stay(self: SbpLink, why: str, now_ns: int) -> None:
        self._phase = max(self._phase, LinkPhase.LEAVING)

    patcher.set(SbpLink, "_leave", stay)


def _serve_while_leaving(patcher: Patcher) -> None:
    def wrap(leave: Callable[..., None]) -> Callable[..., None]:
        def go_on(self: SbpLink, why: str, now_ns: int) -> None:
            leave(self, why, now_ns)
            if self._phase is LinkPhase.LEAVING:
                self._phase = LinkPhase.OPEN

        return go_on

    patcher.wrap(SbpLink, "_leave", wrap)


def _serve_responses(patcher: Patcher) -> None:
    def wrap(take: Callable[..., None]) -> Callable[..., None]:
        def serve(self: SbpLink, data: bytes, now_ns: int) -> None:
            flags = bytes((data[FLAGS_AT] & ~RESPONSE,))
            take(self, data[:FLAGS_AT] + flags + data[FLAGS_AT + 1 :], now_ns)

        return serve

    patcher.wrap(SbpLink, "take", wrap)


def _drop_flagged(patcher: Patcher) -> None:
    def wrap(take: Callable[..., None]) -> Callable[..., None]:
        def serve(self: SbpLink, data: bytes, now_ns: int) -> None:
            if not data[FLAGS_AT]:
                take(self, data, now_ns)

        return serve

    patcher.wrap(SbpLink, "take", wrap)


def _around_request(change: Callable[[SbpLink, Any], None], *, before: bool) -> Callable[[Patcher], None]:
    """Return a patch that changes the connection before or after each request is taken."""

    def wrap(take_request: Callable[..., None]) -> Callable[..., None]:
        def take(self: SbpLink, reading: Any, now_ns: int) -> None:
            if before:
                change(self, reading.frame)
            take_request(self, reading, now_ns)
            if not before:
                change(self, reading.frame)

        return take

    return lambda patcher: patcher.wrap(SbpLink, "_take_request", wrap)


def _forget_identifier(self: SbpLink, frame: Any) -> None:
    self._next_id = 0


def _identifier_twice(self: SbpLink, frame: Any) -> None:
    self._next_id = frame.stream_id


def _do_not_wrap(self: SbpLink, frame: Any) -> None:
    if frame.stream_id == ID_MASK:
        self._next_id = ID_MASK


def _gaps_refused(self: SbpLink, frame: Any) -> None:
    if self._next_id and frame.stream_id > self._next_id and frame.opcode == PING:
        self._say_goaway()
        self._phase, self._is_mute = LinkPhase.LEAVING, True


def _reply_as(change: Callable[[Any], Any]) -> Callable[[Patcher], None]:
    """Return a patch that replies to another frame than the one that was sent."""

    def wrap(reply: Callable[..., None]) -> Callable[..., None]:
        def reply_otherwise(self: SbpLink, frame: Any, header: Any, **more: Any) -> None:
            reply(self, change(frame), header, **more)

        return reply_otherwise

    return lambda patcher: patcher.wrap(SbpLink, "reply", wrap)


def _identifier(change: Callable[[int], int]) -> Callable[[Patcher], None]:
    return _reply_as(lambda frame: msgspec.structs.replace(frame, stream_id=change(frame.stream_id)))


def _swapped(number: int) -> int:
    return int.from_bytes(number.to_bytes(4, "little"), "big")


def _reply_with(**more: Any) -> Callable[[Patcher], None]:
    """Return a patch that sends all replies with other flags."""

    def wrap(reply: Callable[..., None]) -> Callable[..., None]:
        return lambda self, frame, header, **given: reply(self, frame, header, **given | more)

    return lambda patcher: patcher.wrap(SbpLink, "reply", wrap)


def _pong_otherwise(**changes: Any) -> Callable[[Patcher], None]:
    def wrap(pong: Callable[..., None]) -> Callable[..., None]:
        return lambda self, frame: pong(self, msgspec.structs.replace(frame, **changes))

    return lambda patcher: patcher.wrap(SbpLink, "_pong", wrap)


def _pong_cut(patcher: Patcher) -> None:
    def wrap(pong: Callable[..., None]) -> Callable[..., None]:
        return lambda self, frame: pong(self, msgspec.structs.replace(frame, payload=frame.payload[:65_536]))

    patcher.wrap(SbpLink, "_pong", wrap)


def _pong_twice(patcher: Patcher) -> None:
    def wrap(pong: Callable[..., None]) -> Callable[..., None]:
        def twice(self: SbpLink, frame: Any) -> None:
            pong(self, frame)
            pong(self, frame)

        return twice

    patcher.wrap(SbpLink, "_pong", wrap)


def _pong_for_format_1(patcher: Patcher) -> None:
    def wrap(pong: Callable[..., None]) -> Callable[..., None]:
        def strict(self: SbpLink, frame: Any) -> None:
            if frame.header_format == 1:
                pong(self, frame)

        return strict

    patcher.wrap(SbpLink, "_pong", wrap)


def _encode_otherwise(change: Callable[[bytes], bytes]) -> Callable[[Patcher], None]:
    def wrap(encode: Callable[..., bytes]) -> Callable[..., bytes]:
        return lambda frame, side: change(encode(frame, side))

    return lambda patcher: patcher.wrap(link, "encode_frame", wrap)


def _length_counts_itself(data: bytes) -> bytes:
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data[_LENGTH_BYTES:]


def _checksum_swapped(data: bytes) -> bytes:
    return data[:-4] + data[-4:][::-1]


def _checksum_of_nothing_sent(data: bytes) -> bytes:
    return data[:-4] + b"\xff\xff\xff\xff" if data[-4:] == bytes(4) else data


def _never_idle(patcher: Patcher) -> None:
    patcher.set(SbpLink, "_look_for_silence", lambda self, now_ns: None)


def _tick_never(patcher: Patcher) -> None:
    patcher.set(SbpLink, "_tick", lambda self, now_ns: None)


def _tick_always(patcher: Patcher) -> None:
    def tick(self: SbpLink, now_ns: int) -> None:
        if self.role is Role.RANGE_SERVER:
            self.close("silent")

    patcher.set(SbpLink, "_tick", tick)


def _tick_with_goaway(patcher: Patcher) -> None:
    def wrap(tick: Callable[..., None]) -> Callable[..., None]:
        def say(self: SbpLink, now_ns: int) -> None:
            if self.role is Role.RANGE_SERVER and now_ns - self._heard_ns >= self.policy.tick_ns - link.TICK_SLACK_NS:
                self._say_goaway()
            tick(self, now_ns)

        return say

    patcher.wrap(SbpLink, "_tick", wrap)


def _silence_since_accept(patcher: Patcher) -> None:
    def wrap(take: Callable[..., None]) -> Callable[..., None]:
        def keep(self: SbpLink, data: bytes, now_ns: int) -> None:
            heard_ns = self._heard_ns
            take(self, data, now_ns)
            self._heard_ns = heard_ns

        return keep

    patcher.wrap(SbpLink, "take", wrap)


def _parts_count(patcher: Patcher) -> None:
    def wrap(feed: Callable[..., None]) -> Callable[..., None]:
        def hear(self: SbpLink, data: bytes, now_ns: int) -> None:
            self._heard_ns = now_ns
            feed(self, data, now_ns)

        return hear

    patcher.wrap(SbpLink, "feed", wrap)


def _end_ignored(patcher: Patcher) -> None:
    patcher.set(SbpLink, "end", lambda self, now_ns: None)


def _parts_dropped(patcher: Patcher) -> None:
    def wrap(read_on: Callable[..., None]) -> Callable[..., None]:
        def forget(self: SbpLink, now_ns: int) -> None:
            read_on(self, now_ns)
            self._inbox = Inbox(extent)

        return forget

    patcher.wrap(SbpLink, "_read_on", wrap)


def _goaway_echoed(patcher: Patcher) -> None:
    def wrap(reply: Callable[..., None]) -> Callable[..., None]:
        def echo(self: SbpLink, frame: Any, header: Any, **more: Any) -> None:
            reply(self, frame, frame.header if frame.opcode == GOAWAY and header is None else header, **more)

        return echo

    patcher.wrap(SbpLink, "reply", wrap)


def _goaway_not_answered(patcher: Patcher) -> None:
    def wrap(reply: Callable[..., None]) -> Callable[..., None]:
        def silent(self: SbpLink, frame: Any, header: Any, **more: Any) -> None:
            if frame.opcode != GOAWAY or more.get("flags", WHOLE) != WHOLE:
                reply(self, frame, header, **more)

        return silent

    patcher.wrap(SbpLink, "reply", wrap)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "short-length-waits",
        "A Frame Length below 16 makes the server wait for more bytes.",
        _forgive_extent("length_too_small", lambda length: 0),
    ),
    Mutant(
        "long-length-waits",
        "A Frame Length above 16 MiB makes the server wait for the whole frame.",
        _forgive_extent("length_too_large", lambda length: _LENGTH_BYTES + length),
    ),
    Mutant("longest-refused", "A Frame Length of exactly 16 MiB is refused.", _length_limit_exclusive),
    Mutant(
        "magic-unchecked",
        "A frame with another magic code is served.",
        _forgive_extent("bad_magic", lambda length: _LENGTH_BYTES + length),
    ),
    Mutant("checksum-unchecked", "A wrong checksum is not noticed.", _not_fatal("checksum_mismatch")),
    Mutant(
        "header-length-unchecked",
        "A Header Length beyond the frame is not noticed.",
        _not_fatal("header_length_overflow"),
    ),
    Mutant("empty-checksum-checked", "The checksum of an empty payload has to be 0.", _checksum_of_nothing),
    Mutant(
        "resynchronise", "After bytes that are not a frame the server continues with the next ones.", _resynchronise
    ),
    Mutant("parts-dropped", "A frame that comes in two parts is lost.", _parts_dropped),
    Mutant("no-goaway", "The server never sends GOAWAY unprompted.", _no_goaway),
    Mutant("leave-at-once", "The server closes right after a GOAWAY.", _leave_at_once),
    Mutant("never-leave", "The server leaves the connection open after a GOAWAY.", _never_leave),
    Mutant("serve-while-leaving", "The server goes on answering after a GOAWAY.", _serve_while_leaving),
    Mutant("goaway-echoed", "The answer to GOAWAY has the header of the request.", _goaway_echoed),
    Mutant("goaway-not-answered", "GOAWAY closes the connection without an answer.", _goaway_not_answered),
    Mutant("responses-served", "Frames with the response flag are served as requests.", _serve_responses),
    Mutant("flagged-dropped", "Only frames whose flags are 0 are requests.", _drop_flagged),
    Mutant(
        "identifiers-unchecked",
        "A placement driver takes identifiers in any order.",
        _around_request(_forget_identifier, before=True),
    ),
    Mutant(
        "identifier-twice",
        "A placement driver takes the last identifier a second time.",
        _around_request(_identifier_twice, before=False),
    ),
    Mutant(
        "identifier-never-wraps",
        "After the highest identifier no other is accepted.",
        _around_request(_do_not_wrap, before=False),
    ),
    Mutant(
        "identifier-gaps-refused", "Identifiers may not leave numbers out.", _around_request(_gaps_refused, before=True)
    ),
    Mutant(
        "identifier-31-bits",
        "A response loses the highest bit of the identifier.",
        _identifier(lambda number: number & 0x7FFF_FFFF),
    ),
    Mutant("identifier-swapped", "A response has its identifier in little-endian order.", _identifier(_swapped)),
    Mutant("response-not-ended", "Responses lack the flag END_OF_STREAM.", _reply_with(flags=RESPONSE)),
    Mutant("pong-without-header", "The response to a PING has no header.", _pong_otherwise(header=None)),
    Mutant("pong-without-payload", "The response to a PING has no payload.", _pong_otherwise(payload=b"")),
    Mutant("pong-cut", "The response to a PING has 64 KiB of its payload.", _pong_cut),
    Mutant("pong-twice", "A PING is answered twice.", _pong_twice),
    Mutant("pong-by-format", "A PING in another header format is not answered.", _pong_for_format_1),
    Mutant("length-counts-itself", "Frame Length counts its own four bytes.", _encode_otherwise(_length_counts_itself)),
    Mutant("checksum-swapped", "Checksums are sent in little-endian order.", _encode_otherwise(_checksum_swapped)),
    Mutant(
        "empty-checksum-sent",
        "The checksum of an empty payload is sent as 0xFFFFFFFF.",
        _encode_otherwise(_checksum_of_nothing_sent),
    ),
    Mutant("never-idle", "A placement driver keeps silent connections.", _never_idle),
    Mutant("silence-since-accept", "Requests do not end a silence.", _silence_since_accept),
    Mutant("parts-end-silence", "A part of a frame ends a silence.", _parts_count),
    Mutant("replica-never-idle", "A range server keeps silent connections.", _tick_never),
    Mutant("replica-always-idle", "A range server closes every connection after 6 s.", _tick_always),
    Mutant(
        "replica-says-goaway", "A range server sends GOAWAY before it closes a silent connection.", _tick_with_goaway
    ),
    Mutant("end-ignored", "The server keeps a connection that the client has ended.", _end_ignored),
)
