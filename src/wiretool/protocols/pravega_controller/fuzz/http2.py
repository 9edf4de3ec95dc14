"""Mutations of HTTP/2 frames (RFC 9113): settings, windows, streams, padding, lengths, types that do not exist."""

import random

from wiretool.fuzz.mutations.base import Mutation
from wiretool.protocols.pravega_controller.frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PREFACE,
    PRIORITISED,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS_TYPE,
    WINDOW_UPDATE,
)
from wiretool.protocols.pravega_controller.fuzz.frame_mutation import (
    STREAM_MAX,
    FrameMutation,
    Frames,
    FurtherFrames,
    RawFrame,
    other_streams,
)

#: For each setting, values at and beyond the ends of its range (RFC 9113 §6.5.2), and settings that do not exist.
SETTING_VALUES: dict[int, tuple[int, ...]] = {
    1: (0, 1, 65_536, 2**32 - 1),
    2: (0, 1, 2, 2**32 - 1),
    3: (0, 1, 2**32 - 1),
    4: (0, 1, 65_534, 2**31 - 1, 2**31, 2**32 - 1),
    5: (0, 16_383, 16_384, 2**24 - 1, 2**24, 2**32 - 1),
    6: (0, 1, 2**32 - 1),
    0: (0, 1),
    9: (1,),
    65_535: (2**32 - 1,),
}
INCREMENTS = (0, 1, STREAM_MAX, STREAM_MAX - 65_535, STREAM_MAX - 65_534, STREAM_MAX + 1, STREAM_MAX + 2)
FRAMES_MANY = 100


def u32(value: int) -> bytes:
    """Return a number of 4 bytes."""
    return (value % 2**32).to_bytes(4, "big")


def setting(number: int, value: int) -> bytes:
    """Return one setting."""
    return number.to_bytes(2, "big") + u32(value)


class OddSettings(FurtherFrames):
    name = "http2/settings"
    description = (
        "SETTINGS with odd values, twice, unknown, of a wrong length, on a stream, or as an odd acknowledgement"
    )
    region = "Settings"

    def further(self, frame: RawFrame, rng: random.Random) -> Frames:
        number = rng.choice(list(SETTING_VALUES))
        usual = setting(number, rng.choice(SETTING_VALUES[number]))
        settings = RawFrame(SETTINGS_TYPE, 0, 0, usual)
        choices: tuple[Frames, ...] = (
            [settings],
            [settings],
            [settings],
            [settings._replace(payload=usual + setting(number, 0))],
            [settings._replace(payload=usual[: rng.randrange(1, 6)])],
            [settings._replace(stream=frame.stream or 1)],
            [settings._replace(flags=ACK)],
            [settings._replace(flags=ACK, payload=b"")] * rng.choice((1, 2)),
            [settings._replace(flags=0xFE)],
            [settings._replace(payload=b"")] * FRAMES_MANY,
            [settings._replace(payload=usual * 1000)],
        )
        return rng.choice(choices)


class OddWindow(FurtherFrames):
    name = "http2/window"
    description = "WINDOW_UPDATE of 0, beyond 2^31-1, with the reserved bit, of a wrong length, or on an idle stream"
    region = "WindowUpdate"

    def further(self, frame: RawFrame, rng: random.Random) -> Frames:
        increment, stream = rng.choice(INCREMENTS), rng.choice(other_streams(frame))
        payload = u32(increment) if rng.random() < 0.8 else rng.choice((b"", b"\0\0\1", bytes(5)))
        return [RawFrame(WINDOW_UPDATE, rng.choice((0, 0, 0xFF)), stream, payload)] * rng.choice((1, 1, 2, FRAMES_MANY))


class OddReset(FurtherFrames):
    name = "http2/reset"
    description = "RST_STREAM on an idle, even or ended stream or on stream 0, of a wrong length, or in great numbers"
    region = "RstStream"

    def further(self, frame: RawFrame, rng: random.Random) -> Frames:
        stream = rng.choice(other_streams(frame))
        code = rng.choice((0, 7, 8, 13, 14, 2**31, 2**32 - 1))
        payload = u32(code) if rng.random() < 0.8 else rng.choice((b"", b"\0\0\0", bytes(5)))
        reset = RawFrame(RST_STREAM, 0, stream, payload)
        if frame.type == HEADERS and rng.random() < 0.3:
            # Calls that are opened and given up at once.
            return [
                each
                for number in range(frame.stream + 2, frame.stream + 2 + 2 * FRAMES_MANY, 2)
                for each in (frame._replace(stream=number), RawFrame(RST_STREAM, 0, number, u32(8)))
            ]
        return [reset] * rng.choice((1, 1, 2))


class OddContinuation(FrameMutation):
    name = "http2/continuation"
    description = "CONTINUATION without HEADERS, on another stream, after another frame, empty ones, or without an end"
    region = "Continuation"

    def remake(self, frame: RawFrame, rng: random.Random) -> Frames:
        stream = frame.stream or 1
        if frame.type != HEADERS:
            lone = RawFrame(CONTINUATION, rng.choice((0, END_HEADERS)), rng.choice(other_streams(frame)), b"\x82")
            return [lone, frame] if rng.random() < 0.6 else [frame, lone]
        at = rng.randrange(len(frame.payload) + 1)
        start = frame._replace(flags=frame.flags & ~END_HEADERS, payload=frame.payload[:at])
        rest = RawFrame(CONTINUATION, END_HEADERS, stream, frame.payload[at:])
        empty = RawFrame(CONTINUATION, 0, stream, b"")
        choices: tuple[Frames, ...] = (
            [start, rest],
            [start],
            [start, RawFrame(PING, 0, 0, bytes(8)), rest],
            [start, RawFrame(0x42, 0, stream, b"x"), rest],
            [start, rest._replace(stream=stream + 2)],
            [start, rest._replace(stream=0)],
            [start, rest, rest],
            [start, frame],
            [start, *[empty] * FRAMES_MANY, rest],
            [start, *[empty._replace(payload=bytes(1000))] * 100],
            [frame, RawFrame(CONTINUATION, END_HEADERS, stream, b"")],
            [start, RawFrame(DATA, END_STREAM, stream, bytes(5)), rest],
        )
        return rng.choice(choices)


class OddStream(FrameMutation):
    name = "http2/stream"
    description = "HEADERS on an even, lower, ended or huge stream or on stream 0; DATA before HEADERS"
    types = (HEADERS, DATA)
    region = "stream_id"

    def remake(self, frame: RawFrame, rng: random.Random) -> Frames:
        if rng.random() < 0.6:
            others = [stream for stream in other_streams(frame) if stream != frame.stream]
            return [frame._replace(stream=rng.choice(others))]
        data = RawFrame(DATA, rng.choice((0, END_STREAM)), frame.stream, bytes(5))
        choices: tuple[Frames, ...] = (
            [data, frame],
            [frame, frame],
            [frame._replace(flags=frame.flags | END_STREAM), data],
            [frame._replace(flags=frame.flags | END_STREAM), frame],
            [frame, RawFrame(RST_STREAM, 0, frame.stream, u32(8)), data],
        )
        return rng.choice(choices)


class OddPadding(FrameMutation):
    name = "http2/padding"
    description = (
        "a frame has padding: as long as it is allowed, longer than the frame, not zero, or none of its length"
    )
    types = (HEADERS, DATA)
    region = "padding"

    def remake(self, frame: RawFrame, rng: random.Random) -> Frames:
        flags, payload = frame.flags | PADDED, frame.payload
        count = len(payload)
        padded = rng.choice(
            (
                b"\xff" + payload + bytes(255),
                b"\x04" + payload + b"\xff" * 4,
                bytes((min(count + 1, 255),)) + payload,
                bytes((min(count, 255),)) + payload,
                b"\xff" + payload,
                payload,
                b"",
                b"\x00" + payload,
                b"\x01",
            )
        )
        return [frame._replace(flags=flags, payload=padded)]


class OddLength(FrameMutation):
    name = "http2/length"
    description = "the length of a frame is lower or higher than its payload, or larger than MAX_FRAME_SIZE"
    region = "length"

    def remake(self, frame: RawFrame, rng: random.Random) -> Frames:
        count = len(frame.payload)
        length = rng.choice((0, count - 1, count + 1, count + 9, 16_384, 16_385, 2**24 - 1, 2**23))
        if rng.random() < 0.2:
            return [frame._replace(payload=frame.payload + bytes(max(16_385 - count, 0)))]
        return [frame._replace(length=max(length, 0))]


class OddPriority(FrameMutation):
    name = "http2/priority"
    description = "a stream depends on itself or on stream 0; PRIORITY of a wrong length or on stream 0"
    region = "priority"

    def remake(self, frame: RawFrame, rng: random.Random) -> Frames:
        stream = rng.choice(other_streams(frame))
        if frame.type == HEADERS and not frame.flags & PRIORITISED and rng.random() < 0.6:
            depends_on = rng.choice((frame.stream, 0, stream, 2**31 + frame.stream))
            return [frame._replace(flags=frame.flags | PRIORITISED, payload=u32(depends_on) + b"\xff" + frame.payload)]
        if frame.type == HEADERS and rng.random() < 0.2:
            return [frame._replace(flags=frame.flags | PRIORITISED, payload=frame.payload[:4])]
        payload = rng.choice((u32(stream) + b"\x10", u32(2**31 + stream) + b"\x00", u32(stream), bytes(6), b""))
        return [RawFrame(PRIORITY, 0, stream, payload), frame]


class OddControl(FurtherFrames):
    name = "http2/control"
    description = "PING or GOAWAY of a wrong length, on a stream or unasked; PUSH_PROMISE of a client; a second preface"
    region = "control frame"

    def further(self, frame: RawFrame, rng: random.Random) -> Frames:
        stream = frame.stream or 1
        last = rng.choice((0, 1, stream, STREAM_MAX, 2**32 - 1))
        going = u32(last) + u32(rng.choice((0, 2, 11, 2**32 - 1)))
        choices: tuple[Frames, ...] = (
            [RawFrame(PING, 0, 0, bytes(rng.choice((0, 7, 9, 100))))],
            [RawFrame(PING, 0, stream, bytes(8))],
            [RawFrame(PING, ACK, 0, bytes(8))],
            [RawFrame(PING, 0, 0, bytes(8))] * FRAMES_MANY,
            [RawFrame(GOAWAY, 0, 0, going)],
            [RawFrame(GOAWAY, 0, 0, going), RawFrame(GOAWAY, 0, 0, u32(STREAM_MAX) + u32(0))],
            [RawFrame(GOAWAY, 0, stream, going)],
            [RawFrame(GOAWAY, 0, 0, going[: rng.randrange(8)])],
            [RawFrame(GOAWAY, 0, 0, going + bytes(5000))],
            [RawFrame(PUSH_PROMISE, END_HEADERS, stream, u32(2) + b"\x82")],
            [PREFACE],
            [PREFACE[:10]],
        )
        return rng.choice(choices)


class UnknownFrame(FurtherFrames):
    name = "http2/unknown"
    description = "frames of types that do not exist, which are to be ignored; or any flags and reserved bits"
    region = "type"

    def further(self, frame: RawFrame, rng: random.Random) -> Frames:
        if rng.random() < 0.3:
            return [frame._replace(flags=rng.randrange(256))]
        kind, size = rng.choice((10, 11, 12, 66, 127, 128, 255)), rng.choice((0, 1, 100, 16_384))
        return [RawFrame(kind, rng.choice((0, 255)), rng.choice(other_streams(frame)), bytes(size))]


MUTATIONS: tuple[Mutation, ...] = (
    OddSettings(), OddWindow(), OddReset(), OddContinuation(), OddStream(), OddPadding(), OddLength(), OddPriority(),
    OddControl(), UnknownFrame(),
)  # fmt: skip
