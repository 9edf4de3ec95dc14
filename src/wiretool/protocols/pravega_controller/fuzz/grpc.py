"""Mutations of gRPC: the prefix of messages, their protobuf, and the fields that a call begins with."""

import gzip
import random
from abc import abstractmethod
from functools import cache

from wiretool.fuzz.mutations.base import Mutation
from wiretool.fuzz.mutations.texts import NOT_UTF8
from wiretool.protocols.pravega_controller.calls import PREFIX_BYTES
from wiretool.protocols.pravega_controller.frames import DATA, END_STREAM, HEADERS, PADDED
from wiretool.protocols.pravega_controller.fuzz.frame_mutation import FrameMutation, Frames, RawFrame
from wiretool.protocols.pravega_controller.fuzz.header_blocks import BlockMutation, literal, varint

#: Fields of calls (gRPC over HTTP/2, "Requests"): encodings, deadlines, types and metadata that a server must refuse.
CALL_FIELDS: tuple[tuple[bytes, bytes], ...] = (
    (b"grpc-encoding", b"gzip"), (b"grpc-encoding", b"no-such"), (b"grpc-encoding", b""),
    (b"grpc-timeout", b"0S"), (b"grpc-timeout", b"1n"), (b"grpc-timeout", b"99999999H"),
    (b"grpc-timeout", b"999999999H"),
    (b"grpc-timeout", b"-1S"), (b"grpc-timeout", b"1x"), (b"grpc-timeout", b""), (b"grpc-timeout", b"1e9S"),
    (b"content-type", b"text/html"), (b"content-type", b""), (b"grpc-status", b"0"), (b"data-bin", b"not base64!"),
    (b"authorization", b"Basic " + b"A" * 9000), (b"authorization", b"Basic \xff"), (b"authorization", b"Bearer"),
    (b"grpc-accept-encoding", b"," * 1000), (b"grpc-message", b"%zz%00"),
)  # fmt: skip
#: Levels of nested messages.
DEPTHS = (10, 100, 1000, 5000)
#: Varints that protobuf does not allow: longer than 10 bytes, above 64 bits, and without an end.
_VARINTS = (b"\xff" * 9 + b"\x01", b"\xff" * 10 + b"\x01", b"\x80" * 20 + b"\x00", b"\xff" * 9 + b"\x7f", b"\x80")


class _DataMutation(FrameMutation):
    """A mutation of a DATA frame that begins with the prefix of a message."""

    types = (DATA,)
    region = "message"

    def remake(self, frame: RawFrame, rng: random.Random) -> Frames:
        if frame.flags & PADDED or len(frame.payload) < PREFIX_BYTES:
            return [frame]
        return self.messages(frame, frame.payload[PREFIX_BYTES:], rng)

    @abstractmethod
    def messages(self, frame: RawFrame, body: bytes, rng: random.Random) -> Frames:
        """Return the frames in the place of one with a message."""


def prefixed(body: bytes, *, compressed: int = 0, length: int | None = None) -> bytes:
    """Return a message with its prefix."""
    return bytes((compressed,)) + ((len(body) if length is None else length) % 2**32).to_bytes(4, "big") + body


class OddPrefix(_DataMutation):
    name = "grpc/prefix"
    description = "a message is marked as compressed, has another length than its bytes, is cut, doubled or in pieces"

    def messages(self, frame: RawFrame, body: bytes, rng: random.Random) -> Frames:
        count, open_ = len(body), frame._replace(flags=frame.flags & ~END_STREAM)
        whole = prefixed(body)
        if rng.random() < 0.25:
            at = rng.randrange(len(whole) + 1)
            parts = rng.choice(
                (
                    [whole[:at], whole[at:]],
                    [whole[i : i + 1] for i in range(len(whole))],
                    [whole, b""],
                    [b"", whole],
                    [whole, whole],
                )
            )
            return [*(open_._replace(payload=each) for each in parts[:-1]), frame._replace(payload=parts[-1])]
        payload = rng.choice(
            (
                prefixed(body, compressed=1),
                prefixed(gzip.compress(body, mtime=0), compressed=1),
                prefixed(body, compressed=rng.choice((2, 127, 128, 255))),
                prefixed(body, length=count + 1),
                prefixed(body, length=max(count - 1, 0)),
                prefixed(body, length=2**32 - 1),
                prefixed(body, length=2**31),
                prefixed(body, length=4 * 1024 * 1024 + 1),
                prefixed(b""),
                prefixed(body)[: rng.randrange(PREFIX_BYTES + 1)],
                whole + whole,
                whole + b"\x00",
                whole + b"tail" * 10,
            )
        )
        return [frame._replace(payload=payload)]


@cache
def nested(depth: int, number: int = 1) -> bytes:
    """Return a message in a message, so many levels deep."""
    data = b""
    for _ in range(depth):
        data = bytes((number << 3 | 2,)) + varint(len(data)) + data
    return data


class OddProtobuf(_DataMutation):
    name = "grpc/protobuf"
    description = "the protobuf of a message: other wire types, endless numbers, deep nesting, lengths, not UTF-8"
    region = "protobuf"

    def messages(self, frame: RawFrame, body: bytes, rng: random.Random) -> Frames:
        number = rng.choice((1, 1, 2, 3, 15))
        made = rng.choice(
            (
                *(bytes((number << 3 | kind,)) + bytes(8) + body for kind in (0, 1, 3, 4, 5, 6, 7)),
                b"\x00\x01" + body,  # field 0
                bytes((number << 3,)) + rng.choice(_VARINTS),
                b"\xff" * 10 + body,
                bytes((number << 3 | 2,)) + b"\xff\xff\xff\xff\x0f" + body,
                bytes((number << 3 | 2, len(body) % 128 + 1)) + body,
                nested(rng.choice(DEPTHS), number),
                bytes((number << 3 | 3,)) * rng.choice(DEPTHS),  # groups without an end
                bytes((number << 3 | 2, 2)) + rng.choice(NOT_UTF8)[:2].ljust(2, b"\x80"),
                body + body,
                body[: rng.randrange(len(body) + 1)],
                body + b"\xfa\x01\x03abc",  # an unknown field
            )
        )
        return [frame._replace(payload=prefixed(made))]


class CallField(BlockMutation):
    name = "grpc/call"
    description = "a call has an encoding, deadline, type or metadata that a server must refuse"
    types = (HEADERS,)
    region = "call"

    def blocks(self, block: bytes, rng: random.Random) -> list[bytes]:
        return [block + b"".join(literal(*rng.choice(CALL_FIELDS)) for _ in range(rng.choice((1, 1, 2))))]


MUTATIONS: tuple[Mutation, ...] = (OddPrefix(), OddProtobuf(), CallField())
