"""One connection of HTTP/2: its frames, the headers of both sides, and the calls that they carry."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hyperframe import frame as h2

from wiretool import limits
from wiretool.codec.cursor import Span
from wiretool.codec.jsonform import json_form
from wiretool.codec.message import SIDES, Message, Side, other_side
from wiretool.errors import DecodeError, ProtocolViolation
from wiretool.protocols.base.conversation import Conversation, Defect, Reading
from wiretool.protocols.pravega_controller import frames
from wiretool.protocols.pravega_controller.annotation import annotate_frame
from wiretool.protocols.pravega_controller.blocks import Blocks, Told
from wiretool.protocols.pravega_controller.calls import METHODS, read_body
from wiretool.protocols.pravega_controller.headers import TABLE_BYTES_DEFAULT, Meaning, lacks_status, meaning_of
from wiretool.protocols.pravega_controller.messages import (
    BY_TYPE,
    ERROR_CODE,
    SETTINGS,
    Continuation,
    Data,
    GoAway,
    Headers,
    Ping,
    Preface,
    Priority,
    PushPromise,
    RstStream,
    Settings,
    Unknown,
    WindowUpdate,
)
from wiretool.protocols.pravega_controller.session import Phase, Session, Stream
from wiretool.protocols.pravega_controller.trust import trust_frame

_NO_CALL = "no call of the controller's service was seen on it"


class Connection(Conversation):
    """A connection; `from_start`: its first bytes were captured."""

    def __init__(self, *, from_start: bool) -> None:
        self._session = Session(from_start=from_start)
        self._blocks: dict[Side, Blocks] = {side: Blocks(is_whole=from_start) for side in SIDES}
        #: The longest frame that each side may send, None where that is not known.
        self._length_max: dict[Side, int | None] = dict.fromkeys(
            SIDES, frames.FRAME_LENGTH_DEFAULT if from_start else None
        )
        #: Of each side, settings and pings that its peer has not acknowledged yet.
        self._settings: dict[Side, deque[int]] = {side: deque(maxlen=limits.HTTP2_UNACKNOWLEDGED_MAX) for side in SIDES}
        self._pings: dict[Side, dict[bytes, int]] = {side: {} for side in SIDES}
        # HTTP/2 carries anything: only a call tells whose it is.
        self.is_decided = False
        self.doubt = _NO_CALL

    # -- bytes -----------------------------------------------------------------------------------------------------

    def extent(self, side: Side, data: bytes, at: int, end: int) -> int:
        return frames.frame_extent(side, data, at, end, self._length_max[side] or limits.HTTP2_FRAME_BYTES_MAX)

    def candidates(self, side: Side, data: bytes, at: int, end: int) -> Iterator[int]:
        return frames.frame_candidates(data, at, end)

    def trust(self, side: Side, data: bytes, at: int, end: int) -> int:
        return trust_frame(side, data, at, end, self._length_max[side] or frames.FRAME_LENGTH_DEFAULT)

    def annotate(self, side: Side, data: bytes, at: int, end: int) -> list[Span]:
        return annotate_frame(side, data, at, end)

    def hole(self, side: Side) -> None:
        self._session.hole(side)
        self._blocks[side].break_off()
        self._blocks[other_side(side)].reader.allow(limits.HTTP2_TABLE_BYTES_MAX)
        self._length_max[other_side(side)] = None
        # What is missing may have been an acknowledgement.
        self._settings[other_side(side)].clear()
        self._pings[other_side(side)].clear()

    @property
    def held_bytes(self) -> int:
        return self._session.held_bytes

    # -- frames ----------------------------------------------------------------------------------------------------

    def read(self, side: Side, data: bytes, at: int, end: int, n: int) -> Reading:
        defects: list[Defect] = []
        if frames.is_preface(side, data, at, end):
            self._take(side, Preface, defects)
            return Reading("Preface", Preface(), defects)
        header = frames.read_header(data, at)
        kind = BY_TYPE.get(header.type, Unknown)
        ends_block = kind not in (Headers, PushPromise, Continuation) or bool(header.flags & frames.END_HEADERS)
        self._take(side, kind, defects, ends_block=ends_block)
        if kind is Unknown:
            return Reading("Unknown", _raw_frame(header, data, at, end), defects)
        try:
            frame = frames.read_frame(data, at, end)
        except DecodeError as err:
            self._spoil(side, kind, header.stream_id)
            return Reading(kind.__name__, json_form(_raw_frame(header, data, at, end)), [*defects, err])
        reading = _HANDLERS[type(frame)](self, side, frame, n)
        return reading._replace(defects=[*defects, *reading.defects]) if defects else reading

    def _take(self, side: Side, kind: type[Message], defects: list[Defect], *, ends_block: bool = True) -> None:
        if self._blocks[side].is_open and kind is not Continuation:
            self._blocks[side].break_off()
        breach = self._session.take(side, kind, ends_block=ends_block)
        if breach is not None:
            defects.append(breach)

    def _spoil(self, side: Side, kind: type[Message], stream_id: int) -> None:
        """A frame of which only the header can be read: what it may have said is unknown."""
        if kind in (Headers, PushPromise, Continuation):
            self._blocks[side].break_off()
        if kind in (Headers, Data) and stream_id:
            self._session.stream(stream_id).hole(side)

    def _take_on_stream(self, side: Side, kind: type[Message], frame: h2.Frame) -> tuple[Stream, list[Defect]]:
        stream = self._session.stream(frame.stream_id)
        breach = stream.take(side, kind, ends="END_STREAM" in frame.flags)
        return stream, [] if breach is None else [breach]

    # -- frames of the connection ----------------------------------------------------------------------------------

    def _read_settings(self, side: Side, frame: h2.SettingsFrame, n: int) -> Reading:
        settings = {SETTINGS.get(number, str(number)): value for number, value in frame.settings.items()}
        message = Settings(ack="ACK" in frame.flags, settings=settings)
        peer = other_side(side)
        if message.ack:
            asked = self._settings[peer]
            return Reading("Settings", message, reply_to=asked.popleft() if asked else None)
        self._settings[side].append(n)
        defects = list(frames.setting_defects(settings))
        if "MAX_FRAME_SIZE" in settings and not defects:
            # What is on its way was sent before it was read, so it never shrinks.
            self._length_max[peer] = max(self._length_max[peer] or 0, settings["MAX_FRAME_SIZE"])
        if "HEADER_TABLE_SIZE" in settings:
            self._blocks[peer].reader.allow(max(settings["HEADER_TABLE_SIZE"], TABLE_BYTES_DEFAULT))
        return Reading("Settings", message, defects)

    def _read_ping(self, side: Side, frame: h2.PingFrame, n: int) -> Reading:
        message = Ping(ack="ACK" in frame.flags, opaque_data=frame.opaque_data)
        if message.ack:
            return Reading("Ping", message, reply_to=self._pings[other_side(side)].pop(frame.opaque_data, None))
        asked = self._pings[side]
        asked[frame.opaque_data] = n
        if len(asked) > limits.HTTP2_UNACKNOWLEDGED_MAX:
            del asked[next(iter(asked))]
        return Reading("Ping", message)

    def _read_goaway(self, side: Side, frame: h2.GoAwayFrame, n: int) -> Reading:
        message = GoAway(
            last_stream_id=frame.last_stream_id & 0x7FFF_FFFF,
            error_code=ERROR_CODE.name_of(frame.error_code),
            debug_data=frame.additional_data,
        )
        return Reading("GoAway", message)

    # -- frames of a stream ----------------------------------------------------------------------------------------

    def _read_window_update(self, side: Side, frame: h2.WindowUpdateFrame, n: int) -> Reading:
        message = WindowUpdate(stream_id=frame.stream_id, window_increment=frame.window_increment)
        defects = self._take_on_stream(side, WindowUpdate, frame)[1] if frame.stream_id else []
        return Reading("WindowUpdate", message, defects)

    def _read_priority(self, side: Side, frame: h2.PriorityFrame, n: int) -> Reading:
        message = Priority(
            stream_id=frame.stream_id,
            depends_on=frame.depends_on,
            weight=frame.stream_weight,
            exclusive=frame.exclusive,
        )
        return Reading("Priority", message)

    def _read_rst_stream(self, side: Side, frame: h2.RstStreamFrame, n: int) -> Reading:
        stream, defects = self._take_on_stream(side, RstStream, frame)
        stream.close()
        message = RstStream(stream_id=frame.stream_id, error_code=ERROR_CODE.name_of(frame.error_code))
        return Reading("RstStream", message, defects, stream.answer() if side == "server" else None)

    # -- headers ---------------------------------------------------------------------------------------------------

    def _read_headers(self, side: Side, frame: h2.HeadersFrame, n: int) -> Reading:
        breach = self._session.open(frame.stream_id) if side == "client" else None
        defects: list[Defect] = [] if breach is None else [breach]
        is_first = self._session.stream(frame.stream_id).phases[side] is Phase.IDLE
        stream, wrong = self._take_on_stream(side, Headers, frame)
        defects += wrong
        if side == "client" and stream.asked_n is None:
            stream.asked_n = n
        told = self._blocks[side].begin(frame, is_first=is_first)
        meaning, reply_to = self._understand(side, told, defects)
        message = Headers(
            stream_id=frame.stream_id,
            method=meaning.method,
            grpc_status=meaning.grpc_status,
            grpc_message=meaning.grpc_message,
            end_stream=told.block.ends_stream,
            end_headers="END_HEADERS" in frame.flags,
            headers=told.headers,
        )
        return Reading("Headers", message, defects, reply_to)

    def _read_continuation(self, side: Side, frame: h2.ContinuationFrame, n: int) -> Reading:
        defects: list[Defect] = []
        was_open = self._blocks[side].is_open
        told = self._blocks[side].go_on(frame)
        if told is None and was_open:
            why = f"a continuation of stream {frame.stream_id} inside the block of another"
            phase = Phase.HEADERS.value
            defects.append(ProtocolViolation("block_interrupted", why, phase=phase, side=side, message="Continuation"))
        meaning, reply_to = self._understand(side, told, defects) if told else (meaning_of(None), None)
        message = Continuation(
            stream_id=frame.stream_id,
            method=meaning.method,
            grpc_status=meaning.grpc_status,
            grpc_message=meaning.grpc_message,
            end_headers="END_HEADERS" in frame.flags,
            headers=told.headers if told else None,
        )
        return Reading("Continuation", message, defects, reply_to)

    def _read_push_promise(self, side: Side, frame: h2.PushPromiseFrame, n: int) -> Reading:
        told = self._blocks[side].begin(frame)
        message = PushPromise(
            stream_id=frame.stream_id,
            promised_stream_id=frame.promised_stream_id,
            end_headers="END_HEADERS" in frame.flags,
            headers=told.headers,
        )
        return Reading("PushPromise", message, [] if told.defect is None else [told.defect])

    def _understand(self, side: Side, told: Told, defects: list[Defect]) -> tuple[Meaning, int | None]:
        """What a block means for its call, and which request it answers."""
        if told.defect is not None:
            defects.append(told.defect)
        meaning = meaning_of(told.headers)
        if told.headers is None or told.block.is_promise:
            return meaning, None
        stream = self._session.stream(told.block.stream_id)
        if meaning.path is not None and side == "client":
            self._learn(stream, meaning)
        names = {name for name, _ in told.headers}
        if names & {":path", ":status"}:
            stream.joiners[side].begin()
        if side == "server" and lacks_status(told.headers, is_first=told.block.is_first):
            defects.append(stream.fail())
            return meaning, stream.answer()
        if not told.block.ends_stream:
            return meaning, None
        defects += self._ended(side, stream, is_failure=meaning.grpc_status != "OK")
        return meaning, stream.answer() if side == "server" else None

    def _learn(self, stream: Stream, meaning: Meaning) -> None:
        """A request says whose service it calls."""
        if meaning.method is not None:
            stream.method = meaning.method if meaning.method in METHODS else ""
            self.is_decided, self.doubt = True, ""
        elif self.doubt:
            self.doubt = f"it calls {str(meaning.path)[:60]!a}, no method of the controller's service"

    def _ended(self, side: Side, stream: Stream, *, is_failure: bool) -> Iterator[Defect]:
        """What is wrong with the messages of a side that ends its half of a call."""
        joiner = stream.joiners[side]
        if not stream.method or (side == "server" and stream.is_malformed):
            return
        if not joiner.is_between:
            yield DecodeError("incomplete_message", "the stream ends inside a message", path=stream.method)
        elif joiner.is_certain and not stream.said[side] and not is_failure:
            why = "a call has one message each way, and the stream ends without"
            phase = Phase.ENDED.value
            yield ProtocolViolation("missing_message", why, phase=phase, side=side, message=stream.method)
        joiner.drop()

    # -- calls -----------------------------------------------------------------------------------------------------

    def _read_data(self, side: Side, frame: h2.DataFrame, n: int) -> Reading:
        ends = "END_STREAM" in frame.flags
        stream, defects = self._take_on_stream(side, Data, frame)
        reading = Reading("Data", Data(stream_id=frame.stream_id, end_stream=ends, data=frame.data))
        if stream.method and not defects and not (side == "server" and stream.is_malformed):
            joined = stream.joiners[side].join(frame.data)
            defects += joined.defects
            if joined.body is not None:
                reading = self._read_message(side, stream, joined.body, joined.messages, reading, defects, n)
        if ends:
            defects += self._ended(side, stream, is_failure=bool(defects))
        return reading._replace(defects=defects) if defects else reading

    def _read_message(
        self, side: Side, stream: Stream, body: bytes, count: int, reading: Reading, defects: list[Defect], n: int
    ) -> Reading:
        """The first of `count` messages of a call in a frame: it gives the frame its name."""
        is_first = not stream.said[side]
        stream.said[side] += count
        if stream.said[side] > 1:
            why = f"a call has one message each way, with this frame there are {stream.said[side]}"
            phase = stream.phases[side].value
            defects.append(ProtocolViolation("second_message", why, phase=phase, side=side, message=stream.method))
        try:
            fields, left_over = read_body(stream.method, side, body)
        except DecodeError as err:
            defects.append(err)
            return reading
        if side == "client" and is_first:
            stream.asked_n = n
        reply_to = stream.answer() if side == "server" else None
        return Reading(stream.method, fields, reply_to=reply_to, left_over=left_over)


def _raw_frame(header: frames.Header, data: bytes, at: int, end: int) -> Unknown:
    """Return the frame `data[at:end]` as its header and the bytes after it."""
    content = data[at + frames.HEADER_BYTES : end]
    return Unknown(type=header.type, flags=header.flags, stream_id=header.stream, data=content)


_HANDLERS: Mapping[type[h2.Frame], Callable[[Connection, Side, Any, int], Reading]] = {
    h2.DataFrame: Connection._read_data,
    h2.HeadersFrame: Connection._read_headers,
    h2.PriorityFrame: Connection._read_priority,
    h2.RstStreamFrame: Connection._read_rst_stream,
    h2.SettingsFrame: Connection._read_settings,
    h2.PushPromiseFrame: Connection._read_push_promise,
    h2.PingFrame: Connection._read_ping,
    h2.GoAwayFrame: Connection._read_goaway,
    h2.WindowUpdateFrame: Connection._read_window_update,
    h2.ContinuationFrame: Connection._read_continuation,
}
