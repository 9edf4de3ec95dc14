"""The frame of a message, for mutations of HTTP/2: the nine bytes of its header, and its payload."""

import random
from abc import abstractmethod
from typing import NamedTuple

from wiretool.fuzz.mutations.base import MessageMutation, MutationContext
from wiretool.fuzz.sequences.sequence import Change, Sending, Splice
from wiretool.protocols.pravega_controller import frames

STREAM_MAX = 2**31 - 1


class RawFrame(NamedTuple):
    """One frame as it is sent; its length may be another than that of its payload."""

    type: int
    flags: int
    stream: int
    payload: bytes
    length: int | None = None

    def data(self) -> bytes:
        """Return the bytes of the frame."""
        length = len(self.payload) if self.length is None else self.length
        head = (length % 2**24).to_bytes(3, "big") + bytes((self.type, self.flags))
        return head + (self.stream % 2**32).to_bytes(4, "big") + self.payload


#: Frames as a client sends them, and bytes that are not a frame.
Frames = list[RawFrame | bytes]


def frame_of(data: bytes) -> RawFrame | None:
    """Return the frame of a message that is one whole frame; None for any other bytes, as the preface."""
    if len(data) < frames.HEADER_BYTES or frames.is_preface("client", data, 0, len(data)):
        return None
    header = frames.read_header(data, 0)
    if frames.HEADER_BYTES + header.length != len(data):
        return None
    return RawFrame(header.type, header.flags, header.stream, data[frames.HEADER_BYTES :])


class FrameMutation(MessageMutation):
    """A mutation of the frames of one message: other bytes for it, or further frames before or after it."""

    #: The types of frames that it changes; empty for every type.
    types: tuple[int, ...] = ()
    region = "frame"

    def fits(self, sending: Sending) -> bool:
        frame = frame_of(sending.data)
        return frame is not None and (not self.types or frame.type in self.types)

    def change(self, sending: Sending, rng: random.Random, context: MutationContext) -> Sending | None:
        frame = frame_of(sending.data)
        assert frame is not None
        made = b"".join(each.data() if isinstance(each, RawFrame) else each for each in self.remake(frame, rng))
        splice = Splice(0, len(sending.data), made)
        return context.edited(sending, (splice,), Change(self.name, self.region))

    @abstractmethod
    def remake(self, frame: RawFrame, rng: random.Random) -> Frames:
        """Return the frames in the place of one."""


class FurtherFrames(FrameMutation):
    """A mutation that adds frames beside a message: mostly before it, so that the server has to go on."""

    def remake(self, frame: RawFrame, rng: random.Random) -> Frames:
        more = self.further(frame, rng)
        return [*more, frame] if rng.random() < 0.6 else [frame, *more]

    @abstractmethod
    def further(self, frame: RawFrame, rng: random.Random) -> Frames:
        """Return the frames to add; `frame` is the one beside them."""


def other_streams(frame: RawFrame) -> tuple[int, ...]:
    """Return numbers of streams: of the connection, of this call, idle, even, the last one, with the reserved bit."""
    return 0, frame.stream, frame.stream + 2, frame.stream + 1, 1, 2, 99, STREAM_MAX, STREAM_MAX + 1 + frame.stream
